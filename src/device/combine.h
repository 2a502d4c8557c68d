/* device/combine.h: a worker posts its exchange for a combiner (see sched/delegation.h).
 *
 * This pays while operations are submitted. So the worker waits about as long as answers take, and
 * posts less often after requests without an answer. The worker posts none while a thread blocks
 * until a value is reached. */
#ifndef TIDE_DEVICE_COMBINE_H
#define TIDE_DEVICE_COMBINE_H

#include "sched/delegation.h"

struct tide_combiner_client {
  struct tide_context *context;
  struct tide_sched *sched;
  uint64_t patience; /* ns: limit of the wait for a combiner */
  uint32_t silent;   /* recent requests without a combiner, approximately */
  uint32_t skip;     /* exchanges until the next request */
  uint32_t answered; /* answers received */
  struct tide_delegation request;
};

void tide_combiner_client_init(struct tide_combiner_client *client, struct tide_context *context,
                               struct tide_device *device, size_t most);
/* Posts the request and waits for a combiner. All works at hand must have succeeded. False if none
 * came: the request is unchanged. */
bool tide_combine_request(struct tide_combiner_client *client);

#endif
