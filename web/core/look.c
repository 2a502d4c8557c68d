/* Reads the objects of events, from within a sink. */
#include "memory/pool.h"
#include "sched/sched.h"
#include "view_state.h"

/* Returns the effective priority that the arbiter uses now. */
uint32_t view_priority(const void *queue) { return ((const struct tide_queue *)queue)->effective; }

const struct tide_frontier *view_position(const void *queue) {
  return ((const struct tide_queue *)queue)->position.frontier;
}

/* True if an operation of the queue knows all earlier ones that have entered. */
bool view_is_in_order(const void *queue) { return ((const struct tide_queue *)queue)->in_order; }

const struct tide_frontier *view_death(const void *buffer, tide_axis *out_axis,
                                       uint64_t *out_epoch) {
  return tide_buffer_death(buffer, out_axis, out_epoch);
}
