/* What the two halves of the oracle of channels share: what was submitted, what the scheduler said
 * of it, and the checks. Points, compounds and what is scheduled are the model's (points_model.h);
 * what must have finished before what is computed here, as sets of operations. */
#ifndef TESTS_CHANNELS_WORLD_H
#define TESTS_CHANNELS_WORLD_H

#include "points_world.h"
#include "sched/channel_state.h"

#define OPS 256
#define DEVICES 2
#define QUEUES CHANNELS
#define OP_WAITS 4
#define OUT 8

struct set {
  uint64_t word[OPS / 64];
};

enum phase { AWAY, HELD, ENTERED, STARTED, OVER, PUBLISHED, LEFT };

struct task {
  int queue, command, outside; /* in the model; -1: none */
  uint64_t sequence, epoch;
  enum phase phase;
  enum tide_status status;
  bool body, despite, passable, recovers, started, cancelled;
  int points[OP_WAITS], point_count, retires[2], retire_count;
  int progress_of;         /* a plain wait for a queue's progress; -1: none */
  uint64_t progress, host; /* host: a value of the hosts' timeline; 0: none */
  int cancel, choose;
  bool choice, choice_sure, choice_seen, ran, ran_other;
  /* As it was classified. */
  int classified;
  struct {
    int class_, by;
  } waits[OP_WAITS + 2];  /* by: the operation that it imported; -1 */
  struct set finished;    /* when it entered */
  struct set knows, upto; /* what it must come after; what is over once it is */
  bool judged;
  struct {
    uint64_t axis, epoch;
  } frontier[64];
  int entries;
  /* What it changes: 0: nothing, 1: increase, 2: decrease, 3: scope */
  int change, target;
  uint32_t amount;
  uint8_t level;
  bool stopped, begun;
};

struct channel_queue {
  struct tide_queue *queue; /* NULL: destroyed */
  struct tide_timeline *progress;
  tide_axis axis;
  int client, device, inserted,
      last; /* the future of inserted points; the newest operation in it */
  uint64_t sequence, published;
  bool destroyed, lost;
  enum tide_status
      down;    /* of the first command that failed since the last recovery, as published */
  bool unsure; /* whether the last one failed, or was cancelled: both may be */
  struct set base;
  uint8_t priority;
};

struct channels {
  struct tide_sink sink;
  struct tide_device *devices[DEVICES];
  struct tide_backend backends[DEVICES];
  struct tide_work *out[DEVICES][OUT];
  size_t out_count[DEVICES];
  bool lost, certified; /* the second one */
  struct tide_client *clients[CLIENTS];
  struct tide_future *futures[FUTURES];
  struct channel_queue queues[QUEUES];
  struct task ops[OPS];
  int op_count;
  struct set published;
  struct tide_timeline *host;
  uint64_t host_value;
  struct tide_point stops[OPS];     /* of decreases */
  struct tide_queue *reals[QUEUES]; /* also while a destroyed one is not over yet */
};

extern struct channels w;
extern const struct tide_body_class channels_body, channels_other;

void channels_event(void *self, const struct tide_event *event);
/* Everything, after each step. */
void channels_check(void);
/* The operation goes out of the model's channel, and what it was to retire ends with it. */
void channels_command_over(struct task *op, enum tide_status status);
void channels_retire(int future, uint64_t value);

static inline bool set_has(const struct set *set, int i) { return set->word[i / 64] >> i % 64 & 1; }
static inline void set_add(struct set *set, int i) { set->word[i / 64] |= 1ull << i % 64; }
static inline void set_join(struct set *set, const struct set *more) {
  for (int i = 0; i < OPS / 64; i++) set->word[i] |= more->word[i];
}
/* One that is in `set` and in neither of the others; -1: none. */
static inline int set_first_beyond(const struct set *set, const struct set *a,
                                   const struct set *b) {
  for (int i = 0; i < OPS; i++)
    if (set_has(set, i) && !set_has(a, i) && !set_has(b, i)) return i;
  return -1;
}

#endif
