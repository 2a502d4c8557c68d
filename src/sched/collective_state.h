/* sched/collective_state.h: the structs of collectives. */
#ifndef TIDE_SCHED_COLLECTIVE_STATE_H
#define TIDE_SCHED_COLLECTIVE_STATE_H

#include "sched/sched.h"

struct tide_instance {
  struct tide_collective *collective;
  uint64_t number; /* 0: free */
  uint64_t kind;
  size_t submitted, entered, arrived, finished;
  struct tide_op **parts; /* by member; NULL once finished */
  struct tide_frontier *record;
  bool recorded;
  bool unnoticed; /* a walk found a failing part, and the submit is not accepted yet */
  enum tide_status status;
  struct tide_cause *cause;
};

struct tide_member {
  tide_axis axis;
  size_t member;
};

/* By member, until the members are released. */
struct tide_membership {
  struct tide_link in_queue; /* queue->memberships */
  struct tide_collective *collective;
};

struct tide_collective {
  struct tide_collective *next_gone; /* next in sched->gone_collectives, once over */
  struct tide_sched *sched;
  struct tide_link in_sched; /* sched->collectives */
  bool closing;              /* destroyed: freed when instance `last` has finished */
  bool released;             /* the members are released: at the end, or before it after a loss */
  enum tide_status lost;     /* how a member was lost; TIDE_OK: none was */
  size_t lost_member;
  char lost_label[TIDE_LABEL_SIZE];
  uint64_t doomed;                   /* lost: the progress fails from this instance on */
  uint64_t last;                     /* closing or lost: the last instance */
  struct tide_position position;     /* without a frontier: records merge the parts' records */
  struct tide_tracker_axis *tracked; /* NULL: closed */
  struct tide_timeline *progress;
  size_t count;
  struct tide_queue **members;
  struct tide_membership *memberships;
  struct tide_member *by_axis; /* the members, sorted */
  uint64_t *next;              /* by member: the instance that it submits next */
  uint64_t opened;             /* the newest instance with a submitted part */
  uint64_t entered, finished;  /* instances, in order */
  uint32_t mask;
  struct tide_instance *ring; /* by number & mask */
  struct tide_op **parts;
  unsigned char *records;
  size_t record_size;
};

/* The backing of the progress timeline. */
extern const struct tide_value_ops tide_collective_backing;
/* Releases the members: they no longer belong to the collective. */
void tide_collective_release_members(struct tide_collective *collective);

#endif
