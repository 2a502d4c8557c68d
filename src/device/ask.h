/* device/ask.h: a worker that asks whoever submits next to do its exchange (see
 * sched/delegation.h).
 *
 * It pays as long as somebody submits. So the worker waits about as long as answers take, and asks
 * the more rarely the more often there was none; and not at all while a thread blocks until
 * something is reached. */
#ifndef TIDE_DEVICE_ASK_H
#define TIDE_DEVICE_ASK_H

#include "sched/delegation.h"

struct tide_asker {
  const struct tide_context *context;
  struct tide_sched *sched;
  uint64_t patience; /* ns: so long it waits for an answer */
  uint32_t silent;   /* how often there was none, about */
  uint32_t skip;     /* exchanges before it asks again */
  uint32_t heard;    /* answers */
  struct tide_delegation request;
};

void tide_asker_init(struct tide_asker *asker, const struct tide_context *context,
                     struct tide_device *device, size_t most);
/* What is out is over, all of it well. True: the request has an answer. False: it has none, and
 * nothing has changed. */
bool tide_ask(struct tide_asker *asker);

#endif
