/* wic/medium.h: what the interrupter, the monitor and the activator share.
 *
 * Pages. A medium has twice as many pages as *places*: page `place` and page `place + half` are
 * companions, P and P'. Runs of places are given out, on one *side* or the other. Once finished, a
 * run's pages on its side are *used*: still mapped, so they would not fault. Before used pages are
 * given out again they are dropped: all of a side in one call when nothing of that side is given
 * out, else the run alone.
 *
 * A request is a *message* here, from the moment that it has pages until nobody holds it any more:
 * its consumer, each tag that has not called, and whoever maps its pages just now.
 *
 *      WAITING --tags reached--> AVAILABLE --mapped--> MAPPED
 *         |                          (by the monitor: when somebody has faulted)
 *         +--tag failed, deadline, close--> FAILED
 *
 * Locks: `giving` (sleeps) for who gives out pages, over `lock` (spins) for all else. No system
 * call under `lock`. Tags call without either. */
#ifndef TIDE_WIC_MEDIUM_H
#define TIDE_WIC_MEDIUM_H

#include "base/counter.h"
#include "base/list.h"
#include "base/lock.h"
#include "tidemark/wic.h"
#include "wic/pages.h"
#include "wic/region.h"
#include "wic/tags.h"

#include <pthread.h>

/* So many failed messages show zeros of their own at a time, at most: each may cost the process two
 * mappings, of 65530. */
#define TIDE_MEDIUM_BLANKS 4096

/* Owners of a page that no message has. Doubted: no message has had it since the monitor told
 * whoever was stalled there to try again, so a fault that is read from now on is a stray one. */
#define TIDE_NO_MESSAGE UINT32_MAX
#define TIDE_NO_MESSAGE_DOUBTED (UINT32_MAX - 1)

enum tide_message_state {
  TIDE_MESSAGE_FREE,
  TIDE_MESSAGE_WAITING,
  TIDE_MESSAGE_AVAILABLE,
  TIDE_MESSAGE_MAPPED,
  TIDE_MESSAGE_FAILED
};

struct tide_stalled;

struct tide_message_tag {
  struct tide_timepoint called;
  struct tide_message *message;
};

struct tide_message {
  struct tide_message_tag tags[TIDE_REQUEST_TAGS];
  struct tide_node due;
  struct tide_link link; /* free, or ready to be mapped, or perhaps ahead */
  struct tide_medium *medium;
  const void *source;
  size_t bytes;
  uint64_t generation;
  uint32_t page, pages, run;  /* run: the first place of its batch */
  uint32_t tag_count, untold; /* tags; those that have not called */
  uint32_t holds;
  uint32_t state, status;
  bool faulted, blank, finished;
  bool mapping; /* the monitor maps it, though nobody has faulted that it knows of */
  uint64_t stalled_at, resumed_at; /* a fault came before the data did, and then that */
  /* stall.c's: */
  struct tide_stalled *stalled;
  bool threads;  /* plain ones sleep until `turn` changes */
  uint32_t turn; /* atomic, waited on; changes under the lock */
};

/* Pages of one call lie in one run, which is free once the last of them was given back. */
struct tide_batch {
  uint32_t pages, left;
  uint32_t next; /* place that rests */
};

struct tide_medium {
  struct tide_context *context;
  struct tide_owned owned;
  const struct tide_platform *platform;
  const struct tide_allocator *allocator;
  enum tide_medium_engine engine;
  void (*stray)(void *user, const void *address);
  void *user;
  char label[32];
  struct tide_region region;

  pthread_mutex_t giving;
  uint32_t side; /* of which runs are given out now; changed under both locks */

  struct tide_lock lock;
  struct tide_pages *runs;    /* of places */
  uint32_t half;              /* places; twice as many pages */
  uint64_t *used[2];          /* a bit a place */
  struct tide_batch *batches; /* at a run's first place */
  /* Runs that are free, but used on the side that is given out now: they rest, oldest first, so
   * that a side is used up as a whole and can be taken back as a whole. */
  uint32_t rest_first, rest_last; /* places, or TIDE_PAGES_NONE */
  uint32_t given[2];              /* pages of each side that are given out */
  uint32_t *owner;                /* a page's message, or TIDE_NO_MESSAGE… */
  struct tide_message *messages;
  uint32_t message_count;
  struct tide_link free;
  struct tide_link ready; /* faulted, and available: the monitor's pending faults that are over */
  struct tide_link
      ahead; /* available, and not faulted yet: mapped when the monitor is awake anyway */
  struct tide_counter due; /* deadlines */
  uint32_t closed;         /* with this status */
  uint32_t blanks;         /* failed messages whose zeros are no pages of the region */
  struct tide_medium_info info;
  struct tide_tags tags;

  pthread_t monitor;
  int bell;
  bool stopping, rung;
  uint64_t asleep_until;
  bool pinned;
  uint32_t cpu;
  uint64_t linger; /* ns */
  /* Only the monitor's. */
  bool lingers;
  uint64_t looks_from; /* until then faults are left alone */
};

/* Takes the medium's lock, which the caller gives back. */
struct tide_lock *tide_medium_enter(struct tide_medium *medium);
static inline size_t tide_message_at(const struct tide_medium *medium,
                                     const struct tide_message *message) {
  return (size_t)message->page * medium->region.page;
}
static inline size_t tide_message_size(const struct tide_medium *medium,
                                       const struct tide_message *message) {
  return (size_t)message->pages * medium->region.page;
}

/* Under the lock: no more is awaited. */
static inline void tide_message_note_end(struct tide_message *message) {
  const struct tide_platform *platform = message->medium->platform;
  if (message->stalled_at) message->resumed_at = platform->now(platform->self);
}

/* ---- interrupter.c ---- */
/* One holder less: the last one gives all back. Holds no lock. */
void tide_message_done_with(struct tide_message *message);
/* When the medium goes: no tag is waited for any more. */
void tide_message_forget(struct tide_message *message);
/* Under the lock: pages are mapped that nobody has. */
void tide_medium_note_used(struct tide_medium *medium, uint32_t page, uint32_t count);
/* Under the lock: no run rests any more. */
void tide_medium_wake_rested(struct tide_medium *medium);

/* ---- activator.c ---- */
/* A tag has called. */
void tide_message_tag_called(struct tide_timepoint *tag, enum tide_status status);
/* Maps pages of messages that are ready, several at once. Holds nothing. */
void tide_medium_activate(struct tide_medium *medium);
/* What is overdue fails. Holds nothing. */
void tide_medium_expire(struct tide_medium *medium);
/* False: it was not waiting any more. Holds nothing. */
bool tide_message_fail(struct tide_message *message, uint64_t generation, enum tide_status status);

/* It was finished before its pages were there: who is stalled there still is astray, and loads
 * again. By one who holds it. */
void tide_message_wake(struct tide_message *message);

/* ---- monitor.c ---- */
/* False: it is to end. Until when it may sleep, unless the bell rings or a fault comes. */
bool tide_monitor_plan(struct tide_medium *medium, uint64_t *out_until);
/* What there is to do now. */
void tide_monitor_work(struct tide_medium *medium);

/* ---- host.c ---- */
void tide_giving_take(struct tide_medium *medium);
void tide_giving_give(struct tide_medium *medium);
enum tide_status tide_monitor_start(struct tide_medium *medium);
void tide_monitor_stop(struct tide_medium *medium);
void tide_monitor_ring(struct tide_medium *medium);

/* ---- monitor.c ---- */
enum tide_fault_answer {
  TIDE_FAULT_WAITS,   /* whoever makes the data appear ends it */
  TIDE_FAULT_OLD,     /* it is over */
  TIDE_FAULT_MAP,     /* the page is to be mapped; the message is held for that */
  TIDE_FAULT_DOUBTED, /* no request has the page, if it is not an old fault */
  TIDE_FAULT_STRAY    /* no request has it */
};
/* Under the lock: what a fault on this page means. */
enum tide_fault_answer tide_medium_judge(struct tide_medium *medium, size_t page,
                                         struct tide_message **out_message);
/* Without it: what follows, but for TIDE_FAULT_WAITS. */
void tide_medium_answer(struct tide_medium *medium, size_t page, struct tide_message *message,
                        enum tide_fault_answer answer);
/* Somebody touched what is nobody's: the program's own call, or a message and the end. */
void tide_medium_say_stray(struct tide_medium *medium, const char *what, size_t page,
                           const void *address, const char *why);
/* Under the lock: the monitor is to look; true: ring the bell without it. */
bool tide_monitor_call(struct tide_medium *medium);

#endif
