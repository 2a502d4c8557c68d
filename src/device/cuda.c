/* The GPU device: one thread puts operations on streams, and sleeps until the driver calls. */
#include "device/cuda_device.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/alloc.h"
#include "base/params.h"
#include "base/text.h"

#define DEPTH_DEFAULT 16
#define LIMIT_DEFAULT 10000000000u /* ns */

enum parked_state { AWAKE, ASLEEP, KICKED };

/* ---- the thread ------------------------------------------------------------------------- */

static void unpark_thread(struct tide_cuda *cuda) {
  const struct tide_platform *platform = cuda->context->platform;
  if (tide_exchange(&cuda->parked_state, (uint32_t)KICKED) == ASLEEP)
    platform->wake(platform->self, &cuda->parked_state, 1);
}

static void kick(void *self) { unpark_thread(self); }

static uint64_t now(const struct tide_cuda *cuda) {
  const struct tide_platform *platform = cuda->context->platform;
  return platform->now(platform->self);
}

/* Returns the class's ops for CUDA; NULL if it has none. */
static const struct tide_cuda_ops *ops_of(const struct tide_body_class *body) {
  const struct tide_body_ops *ops = body->ops;
  return ops && ops->kind == TIDE_OPS_CUDA ? (const struct tide_cuda_ops *)(const void *)ops : NULL;
}

/* Returns a free slot, if possible the one that ran the queue's last operation. */
static struct tide_cuda_slot *find_slot(struct tide_cuda *cuda, tide_axis axis) {
  struct tide_cuda_slot *free_one = NULL;
  for (uint32_t i = 0; i < cuda->depth; i++) {
    struct tide_cuda_slot *slot = &cuda->slots[i];
    if (slot->work) continue;
    if (slot->axis == axis) return slot;
    if (!free_one) free_one = slot;
  }
  TIDE_ASSERT(free_one != NULL);
  return free_one;
}

/* Puts the operation on a stream. Marks the stream even if enqueue fails: the operation ends only
 * after all that enqueue has put there. */
static void begin_work(struct tide_cuda *cuda, struct tide_work *work) {
  tide_axis axis = tide_work_axis(work);
  struct tide_cuda_slot *slot = find_slot(cuda, axis);
  slot->work = work;
  slot->axis = axis;
  slot->since = now(cuda);
  cuda->under_way++;
  if (!work->body) return; /* ends at once */
  cuda->frame.failure.status = TIDE_OK;
  enum tide_status status = ops_of(work->body)->enqueue(tide_work_arguments(work), &slot->stream);
  if (status != TIDE_OK) tide_work_fail(work, tide_body_failure(&cuda->frame, status));
  tide_cuda_stream_mark(&slot->stream);
}

/* Moves the works that are over to `done`; returns their number. */
static size_t collect_done(struct tide_cuda *cuda, struct tide_work **done) {
  size_t count = 0;
  for (uint32_t i = 0; i < cuda->depth && cuda->under_way; i++) {
    struct tide_cuda_slot *slot = &cuda->slots[i];
    if (!slot->work || !tide_cuda_stream_is_over(&slot->stream)) continue;
    done[count++] = slot->work;
    slot->work = NULL;
    cuda->under_way--;
  }
  return count;
}

static bool anything_over(const struct tide_cuda *cuda) {
  for (uint32_t i = 0; i < cuda->depth && cuda->under_way; i++)
    if (cuda->slots[i].work && tide_cuda_stream_is_over(&cuda->slots[i].stream)) return true;
  return false;
}

/* Queries the streams that have a mark outstanding, or could not send one. TIDE_OK: no error so
 * far. */
static enum tide_status query_streams(struct tide_cuda *cuda) {
  uint64_t time = now(cuda);
  for (uint32_t i = 0; i < cuda->depth; i++) {
    struct tide_cuda_slot *slot = &cuda->slots[i];
    if (!slot->work || tide_cuda_stream_is_over(&slot->stream)) continue;
    cuda->frame.failure.status = TIDE_OK;
    enum tide_status status = tide_cuda_stream_ask(&slot->stream);
    if (status == TIDE_OK) slot->stream.deaf = false;
    else if (status != TIDE_BUSY) return status;
    else if (cuda->limit != TIDE_FOREVER && time - slot->since >= cuda->limit) return TIDE_TIMEOUT;
  }
  return TIDE_OK;
}

/* Returns the time of the next query_streams. */
static uint64_t next_look(const struct tide_cuda *cuda) {
  uint64_t time = now(cuda), next = TIDE_FOREVER;
  for (uint32_t i = 0; i < cuda->depth; i++) {
    const struct tide_cuda_slot *slot = &cuda->slots[i];
    if (!slot->work) continue;
    uint64_t after = slot->stream.deaf ? TIDE_CUDA_LOOK : TIDE_CUDA_WATCH;
    if (after > cuda->limit) after = cuda->limit;
    if (time + after < next) next = time + after;
  }
  return next;
}

static void sleep_until_something(struct tide_cuda *cuda, uint64_t deadline) {
  const struct tide_platform *platform = cuda->context->platform;
  uint32_t expected = AWAKE;
  if (tide_compare_exchange(&cuda->parked_state, &expected, (uint32_t)ASLEEP))
    platform->wait(platform->self, &cuda->parked_state, ASLEEP, deadline);
  (void)tide_exchange(&cuda->parked_state, (uint32_t)AWAKE);
}

/* Blocks until no stream touches memory any more: each has ended, or its context is unusable. */
static void wait_for_the_end(struct tide_cuda *cuda) {
  const struct tide_platform *platform = cuda->context->platform;
  for (uint32_t i = 0; i < cuda->depth; i++) {
    struct tide_cuda_slot *slot = &cuda->slots[i];
    if (!slot->work) continue;
    while (tide_cuda_stream_ask(&slot->stream) == TIDE_BUSY) {
      uint32_t answered = tide_load_acquire(&slot->stream.answered);
      platform->wait(platform->self, &slot->stream.answered, answered,
                     now(cuda) + (slot->stream.deaf ? TIDE_CUDA_LOOK : TIDE_CUDA_WATCH));
    }
    slot->work = NULL;
  }
}

static void lose_device(struct tide_cuda *cuda, enum tide_status status) {
  struct tide_failure why = *tide_body_failure(&cuda->frame, status);
  if (status == TIDE_TIMEOUT) why = (struct tide_failure){.status = status};
  else why.status = TIDE_LOST;
  tide_device_lose_for(cuda->device, &why);
  wait_for_the_end(cuda);
  cuda->under_way = 0;
  tide_device_certify(cuda->device);
}

/* Hands back works that are over and starts new ones; returns the number of new ones. Does nothing
 * while all slots are in use: no new work could start. */
static size_t exchange_works(struct tide_cuda *cuda) {
  struct tide_work *done[TIDE_CUDA_DEPTH_MOST], *fresh[TIDE_CUDA_DEPTH_MOST];
  size_t done_count = collect_done(cuda, done);
  if (cuda->under_way == cuda->depth) return 0;
  size_t count = tide_device_exchange(cuda->device, done, done_count, fresh,
                                      cuda->depth - cuda->under_way, NULL);
  for (size_t i = 0; i < count; i++) begin_work(cuda, fresh[i]);
  return count;
}

static void cuda_main(void *argument) {
  struct tide_cuda *cuda = argument;
  (void)tide_body_frame_set(&cuda->frame);
  uint64_t next = TIDE_FOREVER;
  for (;;) {
    bool stop = tide_load_acquire(&cuda->stop);
    size_t count = exchange_works(cuda);
    if (stop && !cuda->under_way) return;
    bool due = now(cuda) >= next;
    enum tide_status status = due ? query_streams(cuda) : TIDE_OK;
    if (status != TIDE_OK) {
      lose_device(cuda, status);
      return;
    }
    if (count || due || !cuda->under_way) next = next_look(cuda);
    if (!anything_over(cuda)) sleep_until_something(cuda, next);
  }
}

/* ---- life ----------------------------------------------------------------------------------- */

static bool takes(void *self, const struct tide_body_class *body) {
  (void)self;
  const struct tide_cuda_ops *ops = ops_of(body);
  return ops && ops->enqueue;
}

static enum tide_status read_info(struct tide_cuda *cuda, struct tide_diag *diag) {
  const struct tide_cuda_driver *driver = &cuda->driver;
  int unified = 0, clusters = 0, wait_value = 0;
  const struct {
    int attribute, *out;
  } wanted[] = {
      {TIDE_CU_MAJOR, &cuda->info.major},
      {TIDE_CU_MINOR, &cuda->info.minor},
      {TIDE_CU_MULTIPROCESSORS, &cuda->info.multiprocessors},
      {TIDE_CU_SHARED_OPTIN, &cuda->info.shared_bytes},
      {TIDE_CU_UNIFIED_ADDRESSING, &unified},
      {TIDE_CU_CLUSTERS, &clusters},
      {TIDE_CU_WAIT_VALUE, &wait_value},
  };
  tide_cu answer = driver->call.device_name(cuda->info.name, TIDE_CUDA_NAME, driver->device);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted && answer == TIDE_CU_OK; i++)
    answer = driver->call.device_attribute(wanted[i].out, wanted[i].attribute, driver->device);
  if (answer != TIDE_CU_OK)
    return tide_diag_set(diag, tide_status_of_cuda(answer),
                         "the GPU says nothing of itself: the driver answers %d", answer);
  cuda->info.name[TIDE_CUDA_NAME - 1] = 0;
  cuda->info.driver = driver->version;
  cuda->info.clusters = clusters != 0;
  cuda->info.wait_value = wait_value != 0;
  if (!unified)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "%s: its addresses are not the host's",
                         cuda->info.name);
  return TIDE_OK;
}

static void free_slots(struct tide_cuda *cuda, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) tide_cuda_stream_fini(&cuda->slots[i].stream);
  tide_free(cuda->context->allocator, cuda->slots, cuda->depth, sizeof *cuda->slots);
}

static enum tide_status make_slots(struct tide_cuda *cuda, struct tide_diag *diag) {
  cuda->slots = tide_alloc(cuda->context->allocator, cuda->depth, sizeof *cuda->slots);
  if (!cuda->slots) return TIDE_NOMEM;
  for (uint32_t i = 0; i < cuda->depth; i++) {
    enum tide_status status = tide_cuda_stream_init(cuda, &cuda->slots[i].stream);
    if (status != TIDE_OK) {
      free_slots(cuda, i);
      return tide_diag_set(diag, status, "the GPU driver makes no stream");
    }
    cuda->slots[i].stream.kick = unpark_thread;
  }
  return TIDE_OK;
}

static enum tide_status fill_in(struct tide_cuda *cuda, const struct tide_cuda_params *params,
                                struct tide_diag *diag) {
  enum tide_status status =
      tide_cuda_driver_open(&cuda->driver, params->driver, params->ordinal, diag);
  if (status != TIDE_OK) return status;
  status = read_info(cuda, diag);
  if (status == TIDE_OK) status = make_slots(cuda, diag);
  if (status != TIDE_OK) tide_cuda_driver_close(&cuda->driver);
  return status;
}

static enum tide_status start(void *self, struct tide_device *device) {
  struct tide_cuda *cuda = self;
  const struct tide_platform *platform = cuda->context->platform;
  cuda->device = device;
  return platform->spawn(platform->self, "tide-cuda", cuda_main, cuda, &cuda->thread);
}

static void free_cuda(struct tide_cuda *cuda) {
  free_slots(cuda, cuda->depth);
  tide_cuda_driver_close(&cuda->driver);
  tide_free(cuda->context->allocator, cuda, 1, sizeof *cuda);
}

static void stop(void *self) {
  struct tide_cuda *cuda = self;
  const struct tide_platform *platform = cuda->context->platform;
  tide_store_release(&cuda->stop, 1u);
  unpark_thread(cuda);
  platform->join(platform->self, cuda->thread);
  /* The driver thread that reported the last end may still be in the call. */
  while (tide_load_acquire(&cuda->inside)) platform->yield(platform->self);
  free_cuda(cuda);
}

enum tide_status tide_cuda_open(struct tide_context *context, const struct tide_cuda_params *params,
                                struct tide_device **out_device, struct tide_diag *diag) {
  struct tide_cuda_params own;
  enum tide_status status =
      tide_params_copy_named(&own, sizeof own, params, "tide_cuda_params", diag);
  if (status != TIDE_OK) return status;
  if (own.depth > TIDE_CUDA_DEPTH_MOST)
    return tide_diag_set(diag, TIDE_INVALID, "a GPU has at most %u operations under way, not %u",
                         TIDE_CUDA_DEPTH_MOST, own.depth);
  struct tide_cuda *cuda = tide_alloc(context->allocator, 1, sizeof *cuda);
  if (!cuda) return TIDE_NOMEM;
  cuda->context = context;
  cuda->depth = own.depth ? own.depth : DEPTH_DEFAULT;
  cuda->limit = own.limit ? own.limit : LIMIT_DEFAULT;
  status = fill_in(cuda, &own, diag);
  if (status != TIDE_OK) {
    tide_free(context->allocator, cuda, 1, sizeof *cuda);
    return status;
  }
  struct tide_backend backend = {.name = "cuda",
                                 .in_order = true,
                                 .hands = 1,
                                 .domain = TIDE_DOMAIN_QUEUE,
                                 .takes = takes,
                                 .kick = kick,
                                 .start = start,
                                 .stop = stop,
                                 .self = cuda};
  status = tide_device_open(context, &backend, own.label ? own.label : "gpu", out_device);
  if (status != TIDE_OK) free_cuda(cuda);
  return status;
}

struct tide_cuda *tide_cuda_of(const struct tide_device *gpu) {
  TIDE_ASSERT(tide_device_backend(gpu)->start == start);
  return tide_device_backend(gpu)->self;
}

void tide_cuda_info(const struct tide_device *gpu, struct tide_cuda_info *out_info) {
  *out_info = tide_cuda_of(gpu)->info;
}
