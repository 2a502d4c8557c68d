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
  enum tide_status status;
  struct tide_cause *cause;
};

struct tide_member {
  tide_axis axis;
  size_t member;
};

struct tide_collective {
  struct tide_collective *next_gone; /* in sched->gone_collectives, once it is over */
  struct tide_sched *sched;
  struct tide_link in_sched; /* sched->collectives */
  bool closing;              /* destroyed: it goes when instance `last` has finished */
  bool released;             /* lost, and over: its members don't belong to it any more */
  enum tide_status lost;     /* a member is: how */
  size_t lost_member;
  char lost_label[TIDE_LABEL_SIZE];
  uint64_t doomed;                   /* lost: from this instance on all fail */
  uint64_t last;                     /* closing or lost: no instance comes after this one */
  struct tide_position position;     /* its frontier is unused: records are made of the parts' */
  struct tide_tracker_axis *tracked; /* NULL: closed */
  struct tide_timeline *progress;
  size_t count;
  struct tide_queue **members;
  struct tide_member *by_axis; /* the members, sorted */
  uint64_t *next;              /* by member: the instance that it submits next */
  uint64_t entered, finished;  /* instances, in order */
  uint32_t mask;
  struct tide_instance *ring; /* by number & mask */
  struct tide_op **parts;
  unsigned char *records;
  size_t record_size;
};

/* Of the progress timeline. */
extern const struct tide_record_source tide_collective_source;
/* The members do not belong to the collective any more. */
void tide_collective_release_members(struct tide_collective *collective);

#endif
