/* tests/simulation/wic_world.h: actors of one thread, that run in an order that a seed decides, and
 * the kernel's part of a medium played by memory of our own. An actor goes on until it comes to a
 * *point*: there the next one is drawn. Points are where the medium is about to take its lock, and
 * wherever it asks anything of the kernel or the platform. */
#ifndef TIDE_SIM_WIC_WORLD_H
#define TIDE_SIM_WIC_WORLD_H

#include "base/random.h"
#include "wic/fiber_switch.h"
#include "wic/fiber_watch.h"
#include "wic/medium.h"

enum { ACTORS = 16, PAGES = 64, PAGE = 64, FAULTS = 32, TAG_PAGES = 4 };

struct actor {
  struct tide_fiber_domain place;
  struct tide_fiber_watch watch;
  void (*run)(void *self);
  void *self;
  bool there, over, blocked;
  const uint32_t *word; /* blocked: on this … */
  uint32_t expected;
  size_t page;  /* … or, stalled by the kernel, on this page: SIZE_MAX: not */
  size_t tag;   /* … or on this tag page */
  bool monitor; /* … or on the bell, and faults */
  uint64_t until;
};

struct world {
  struct tide_random random;
  struct tide_platform platform;
  struct actor actors[ACTORS];
  size_t actor_count, current;
  struct tide_fiber_domain back;
  struct tide_fiber_watch watch;
  uint64_t now, steps;
  bool bell, giving;
  bool poor;                  /* now and then there is no memory for zeros */
  struct tide_medium *medium; /* the one that there is */
  size_t monitor;             /* its actor */
  /* What the kernel knows of the readers' view. */
  enum page_state { MISSING, MAPPED, BLANK } pages[PAGES];
  struct {
    size_t page, actor;
  } faults[FAULTS];
  size_t fault_count;
  uint64_t stalls;
  /* And of tag pages. */
  bool open[TAG_PAGES];
  size_t stores[FAULTS], store_count;
};

extern struct world *the_world;

void world_open(struct world *w, uint64_t seed);
size_t world_add(struct world *w, void (*run)(void *self), void *self);
/* Until all are over. False: some never will be, since nobody wakes them; they stay where they are.
 */
bool world_run(struct world *w);
void world_close(struct world *w);
/* By an actor: others may go on. */
void world_point(void);
uint32_t world_below(uint32_t limit);
/* By an actor: loads a page of the readers' view. */
void world_load(const struct tide_medium *medium, const void *address, uint32_t out[PAGE / 4]);
/* By an actor: stores 1 to a tag page's word. */
void world_store(const struct tide_medium *medium, uint64_t *word);

#endif
