/* timeline/value_ops.h: what a backing of a timeline implements.
 *
 * The model. A timeline has one set of calls, wherever its value lives. A *backing* brings the
 * values: it raises the timeline, and finds the records of values. Waits, wait-sets, timepoints,
 * descriptors and operations know the timeline alone. The host ring is the default, and in line: it
 * has no ops.
 *
 * Foreign values are *mirrored*: a state from elsewhere is checked without a lock, then taken in
 * under the guard (timeline/mirror.h). So the scheduler reads this process' memory alone.
 *
 * On every backing, a wait for a value that is not promised blocks, and a failure fails all higher
 * values. The backings differ in the rest:
 *
 * |                        | host ring         | progress              | mirror                |
 * |------------------------|-------------------|-----------------------|-----------------------|
 * | signals and fails it   | hosts, operations | its queue, collective | its home alone        |
 * | the last release fails | unreached values  | nothing               | unreached values here |
 * | scope                  | as created        | process               | system                |
 * | operations only        | as created        | yes                   | no: others may signal |
 *
 * Values that end one by one (timeline/pending_value.h) and watched timelines (struct
 * tide_timeline_watch) are host rings still.
 *
 * Locks and wakes. `find` is called under the guard, `free` after the last reference has gone. A
 * backing raises or fails its timeline under the guard, appends the due nodes to a struct
 * tide_fired, and runs them later, on a thread that holds no lock. */
#ifndef TIDE_TIMELINE_VALUE_OPS_H
#define TIDE_TIMELINE_VALUE_OPS_H

#include "tidemark/causal.h"

/* A record as a reader sees it. */
struct tide_record_view {
  uint64_t value;
  tide_axis axis; /* 0: external */
  uint64_t epoch;
  const struct tide_frontier *frontier; /* NULL: external; valid under the guard */
  bool reached, coarse;
};

struct tide_value_ops {
  const char *kind; /* names a progress timeline without a label */
  /* Finds the record that stands for `value`, reached or pending: the lowest that is known at or
   * above it. False: none. */
  bool (*find)(void *backing, uint64_t value, struct tide_record_view *out_view);
  /* Frees the backing, with the timeline; NULL: the owner of the backing does. */
  void (*free)(void *backing);
  /* The values come from outside of this context. Their signallers may have finished before the
   * values arrive here, and no search among this context's operations tells whether they come. */
  bool is_foreign;
};

#endif
