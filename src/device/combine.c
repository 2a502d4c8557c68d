#include "device/combine.h"

#define PATIENCE_FIRST 2000 /* ns */
#define PATIENCE_MOST 8000  /* ns */
#define SILENT_MOST 6       /* then every 64th exchange is posted */

void tide_combiner_client_init(struct tide_combiner_client *client, struct tide_context *context,
                               struct tide_device *device, size_t most) {
  *client = (struct tide_combiner_client){
      .context = context, .sched = device->sched, .patience = PATIENCE_FIRST};
  client->request.device = device;
  client->request.most = (uint32_t)most;
}

/* Waits for the combiner. False if none came in time; the request is withdrawn then. */
static bool await_combiner(struct tide_combiner_client *client, uint64_t *out_waited) {
  const struct tide_platform *platform = client->context->platform;
  struct tide_delegation *request = &client->request;
  uint64_t start = platform->now(platform->self);
  for (;;) {
    for (int i = 0; i < 4; i++) {
      if (tide_load_acquire(&request->answered) != client->answered) return true;
      tide_pause();
    }
    *out_waited = platform->now(platform->self) - start;
    bool over = *out_waited >= client->patience || tide_load_relaxed(&client->context->waiting);
    if (over && tide_delegation_take_back(client->sched, request)) return false;
    if (over) platform->yield(platform->self); /* lets the combiner run, which has the request */
  }
}

/* Adapts the patience. Submits differ in length: an answer may take four times the average. */
static void adapt_patience(struct tide_combiner_client *client, bool answered, uint64_t waited) {
  if (!answered) {
    if (client->silent < SILENT_MOST) client->silent++;
    client->skip = 1u << client->silent;
    return;
  }
  uint64_t enough = 4 * waited + 400;
  if (enough > PATIENCE_MOST) enough = PATIENCE_MOST;
  client->patience -= client->patience / 8;
  client->patience += enough / 8;
  client->silent /= 2;
}

bool tide_combine_request(struct tide_combiner_client *client) {
  uint64_t waited = 0;
  if (client->skip > 0) {
    client->skip--;
    return false;
  }
  if (tide_load_relaxed(&client->context->waiting) ||
      !tide_delegation_post(client->sched, &client->request))
    return false;
  bool answered = await_combiner(client, &waited);
  client->answered += answered;
  adapt_patience(client, answered, waited);
  return answered;
}
