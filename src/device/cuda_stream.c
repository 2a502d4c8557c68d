/* Streams and the operations on them; memory and kernels. */
#include "base/atomic.h"
#include "base/check.h"
#include "base/alloc.h"
#include "base/text.h"
#include "device/cuda_device.h"

/* ---- memory ---------------------------------------------------------------------------- */

enum tide_status tide_cuda_alloc(struct tide_device *gpu, size_t size, uint64_t *out_address) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  return tide_status_of_cuda(TIDE_CUDA_IN(&cuda->driver, call.alloc(out_address, size)));
}

void tide_cuda_free(struct tide_device *gpu, uint64_t address) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  if (address) TIDE_CUDA_BACK(&cuda->driver, call.free(address));
}

enum tide_status tide_cuda_alloc_host(struct tide_device *gpu, size_t size, void **out_memory) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  return tide_status_of_cuda(
      TIDE_CUDA_IN(&cuda->driver,
                   call.alloc_host(out_memory, size, TIDE_CU_HOST_PORTABLE | TIDE_CU_HOST_MAPPED)));
}

void tide_cuda_free_host(struct tide_device *gpu, void *memory) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  if (memory) TIDE_CUDA_BACK(&cuda->driver, call.free_host(memory));
}

enum tide_status tide_cuda_pin(struct tide_device *gpu, void *memory, size_t size) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  return tide_status_of_cuda(TIDE_CUDA_IN(
      &cuda->driver, call.pin(memory, size, TIDE_CU_HOST_PORTABLE | TIDE_CU_HOST_MAPPED)));
}

void tide_cuda_unpin(struct tide_device *gpu, void *memory) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  TIDE_CUDA_BACK(&cuda->driver, call.unpin(memory));
}

/* ---- kernels ---------------------------------------------------------------------------- */

struct tide_cuda_module {
  struct tide_cuda *cuda;
  void *handle;
};

/* Cuts the log after its first line, which names the error. */
static void keep_first_line(char *log) {
  while (*log && *log != '\n') log++;
  *log = 0;
}

enum tide_status tide_cuda_load(struct tide_device *gpu, const char *ptx,
                                struct tide_cuda_module **out_module, struct tide_diag *diag) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  char log[200] = "";
  int options[] = {TIDE_CU_JIT_ERROR_LOG, TIDE_CU_JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  struct tide_cuda_module *module = tide_alloc(cuda->context->allocator, 1, sizeof *module);
  if (!module) return TIDE_NOMEM;
  module->cuda = cuda;
  tide_cu answer = TIDE_CUDA_IN(&cuda->driver, call.load(&module->handle, ptx, 2, options, values));
  if (answer != TIDE_CU_OK) {
    tide_free(cuda->context->allocator, module, 1, sizeof *module);
    log[sizeof log - 1] = 0;
    keep_first_line(log);
    return tide_diag_set(diag, tide_status_of_cuda(answer),
                         "the GPU driver does not load this: it answers %d%s%s", answer,
                         *log ? ": " : "", log);
  }
  *out_module = module;
  return TIDE_OK;
}

void tide_cuda_unload(struct tide_cuda_module *module) {
  if (!module) return;
  TIDE_CUDA_BACK(&module->cuda->driver, call.unload(module->handle));
  tide_free(module->cuda->context->allocator, module, 1, sizeof *module);
}

enum tide_status tide_cuda_find(struct tide_cuda_module *module, const char *name,
                                struct tide_cuda_kernel **out_kernel, struct tide_diag *diag) {
  struct tide_cuda *cuda = module->cuda;
  void *function = NULL;
  int fixed = 0; /* bytes of shared memory that the kernel has anyway */
  tide_cu answer = TIDE_CUDA_IN(&cuda->driver, call.find(&function, module->handle, name));
  if (answer == TIDE_CU_OK)
    answer = TIDE_CUDA_IN(&cuda->driver, call.function(&fixed, TIDE_CU_STATIC_SHARED, function));
  /* Allows the kernel the rest of a block's: each launch says how much it uses. */
  if (answer == TIDE_CU_OK)
    answer = TIDE_CUDA_IN(&cuda->driver, call.set_function(function, TIDE_CU_DYNAMIC_SHARED,
                                                           cuda->info.shared_bytes - fixed));
  if (answer == TIDE_CU_OK) *out_kernel = function;
  else if (tide_status_of_cuda(answer) == TIDE_NOT_FOUND)
    return tide_diag_set(diag, TIDE_NOT_FOUND, "there is no kernel '%s'", name);
  return tide_cuda_explain(diag, answer, "finding a kernel");
}

/* ---- operations on a stream ---------------------------------------------------------------- */

static uint32_t at_least_one(uint32_t number) { return number ? number : 1; }

enum tide_status tide_cuda_launch(struct tide_cuda_stream *stream,
                                  const struct tide_cuda_launch *launch) {
  struct tide_cuda *cuda = stream->cuda;
  struct tide_cu_attribute cluster = {.id = TIDE_CU_ATTRIBUTE_CLUSTER};
  struct tide_cu_launch config = {.shared_bytes = launch->shared_bytes, .stream = stream->handle};
  size_t size = launch->size;
  /* The driver only reads the arguments, so the cast is safe. */
  void *extra[] = {(void *)(uintptr_t)TIDE_CU_PARAM_BUFFER, (void *)(uintptr_t)launch->arguments,
                   (void *)(uintptr_t)TIDE_CU_PARAM_SIZE, &size,
                   (void *)(uintptr_t)TIDE_CU_PARAM_END};
  for (int i = 0; i < 3; i++) {
    config.grid[i] = at_least_one(launch->grid[i]);
    config.block[i] = at_least_one(launch->block[i]);
    cluster.value.cluster[i] = at_least_one(launch->cluster[i]);
  }
  if (launch->cluster[0] | launch->cluster[1] | launch->cluster[2]) {
    if (!cuda->info.clusters) return TIDE_UNSUPPORTED;
    config.attributes = &cluster;
    config.attribute_count = 1;
  }
  return tide_status_of_cuda(
      TIDE_CUDA_IN(&cuda->driver, call.launch(&config, launch->kernel, NULL, extra)));
}

enum tide_status tide_cuda_copy(struct tide_cuda_stream *stream, uint64_t to, uint64_t from,
                                size_t size) {
  if (!size) return TIDE_OK;
  return tide_status_of_cuda(
      TIDE_CUDA_IN(&stream->cuda->driver, call.copy(to, from, size, stream->handle)));
}

enum tide_status tide_cuda_fill(struct tide_cuda_stream *stream, uint64_t to, uint8_t byte,
                                size_t size) {
  if (!size) return TIDE_OK;
  return tide_status_of_cuda(
      TIDE_CUDA_IN(&stream->cuda->driver, call.fill(to, byte, size, stream->handle)));
}

enum tide_status tide_cuda_wait_value(struct tide_cuda_stream *stream, uint64_t address,
                                      uint32_t value) {
  if (!stream->cuda->info.wait_value) return TIDE_UNSUPPORTED;
  return tide_status_of_cuda(TIDE_CUDA_IN(
      &stream->cuda->driver, call.wait_value(stream->handle, address, value, TIDE_CU_WAIT_GEQ)));
}

enum tide_status tide_cuda_write_value(struct tide_cuda_stream *stream, uint64_t address,
                                       uint32_t value) {
  if (!stream->cuda->info.wait_value) return TIDE_UNSUPPORTED;
  return tide_status_of_cuda(
      TIDE_CUDA_IN(&stream->cuda->driver, call.write_value(stream->handle, address, value, 0)));
}

/* ---- the end of a stream's work ------------------------------------------------------------ */

/* Counts a mark. Runs on the driver's thread, and must not call the driver. The stream may be freed
 * once `answered` has changed. */
static void count_mark(void *user) {
  struct tide_cuda_stream *stream = user;
  struct tide_cuda *cuda = stream->cuda;
  const struct tide_platform *platform = cuda->context->platform;
  void (*kick)(struct tide_cuda *) = stream->kick;
  if (kick) tide_fetch_add(&cuda->inside, 1u);
  tide_fetch_add(&stream->answered, 1u);
  platform->wake(platform->self, &stream->answered, UINT32_MAX);
  if (!kick) return;
  kick(cuda);
  tide_fetch_sub(&cuda->inside, 1u);
}

void tide_cuda_stream_mark(struct tide_cuda_stream *stream) {
  tide_cu answer =
      TIDE_CUDA_IN(&stream->cuda->driver, call.host_call(stream->handle, count_mark, stream));
  if (answer == TIDE_CU_OK) stream->sent++;
  else stream->deaf = true;
}

bool tide_cuda_stream_is_over(const struct tide_cuda_stream *stream) {
  return !stream->deaf && tide_load_acquire(&stream->answered) == stream->sent;
}

enum tide_status tide_cuda_stream_ask(const struct tide_cuda_stream *stream) {
  return tide_status_of_cuda(
      TIDE_CUDA_IN(&stream->cuda->driver, call.stream_query(stream->handle)));
}

/* ---- streams of the caller ----------------------------------------------------------------- */

enum tide_status tide_cuda_stream_init(struct tide_cuda *cuda, struct tide_cuda_stream *stream) {
  *stream = (struct tide_cuda_stream){.cuda = cuda};
  return tide_status_of_cuda(TIDE_CUDA_IN(
      &cuda->driver, call.stream_create(&stream->handle, TIDE_CU_STREAM_NON_BLOCKING)));
}

void tide_cuda_stream_fini(struct tide_cuda_stream *stream) {
  TIDE_CUDA_BACK(&stream->cuda->driver, call.stream_destroy(stream->handle));
}

enum tide_status tide_cuda_stream_create(struct tide_device *gpu,
                                         struct tide_cuda_stream **out_stream) {
  struct tide_cuda *cuda = tide_cuda_of(gpu);
  const struct tide_allocator *allocator = cuda->context->allocator;
  struct tide_cuda_stream *stream = tide_alloc(allocator, 1, sizeof *stream);
  if (!stream) return TIDE_NOMEM;
  enum tide_status status = tide_cuda_stream_init(cuda, stream);
  if (status == TIDE_OK) *out_stream = stream;
  else tide_free(allocator, stream, 1, sizeof *stream);
  return status;
}

enum tide_status tide_cuda_stream_wait(struct tide_cuda_stream *stream, uint64_t deadline) {
  const struct tide_platform *platform = stream->cuda->context->platform;
  tide_cuda_stream_mark(stream);
  while (!tide_cuda_stream_is_over(stream)) {
    uint64_t now = platform->now(platform->self);
    uint64_t look = now + (stream->deaf ? TIDE_CUDA_LOOK : TIDE_CUDA_WATCH);
    uint32_t answered = tide_load_acquire(&stream->answered);
    if (stream->deaf || answered != stream->sent)
      platform->wait(platform->self, &stream->answered, answered,
                     look < deadline ? look : deadline);
    if (tide_cuda_stream_is_over(stream)) break;
    now = platform->now(platform->self);
    if (now < look && now < deadline) continue;
    enum tide_status status = tide_cuda_stream_ask(stream);
    if (status == TIDE_OK && stream->deaf) {
      /* All work is over; marks that could be sent must have come, too. */
      stream->deaf = tide_load_acquire(&stream->answered) != stream->sent;
    } else if (status != TIDE_OK && status != TIDE_BUSY) {
      return status;
    }
    if (now >= deadline && !tide_cuda_stream_is_over(stream)) return TIDE_TIMEOUT;
  }
  return TIDE_OK; /* after an error the driver does not call */
}

void tide_cuda_stream_destroy(struct tide_cuda_stream *stream) {
  if (!stream) return;
  /* A failed stream is over as well. */
  enum tide_status status = tide_cuda_stream_wait(stream, TIDE_FOREVER);
  TIDE_ASSERT(status != TIDE_TIMEOUT);
  tide_cuda_stream_fini(stream);
  tide_free(stream->cuda->context->allocator, stream, 1, sizeof *stream);
}
