/* A look into a queue, from a sink: its priority as the arbiter takes it at this moment. */
#include "sched/sched.h"
#include "state.h"

uint32_t view_priority(const void *queue) { return ((const struct tide_queue *)queue)->effective; }
