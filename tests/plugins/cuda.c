/* A GPU driver that is none, for the tests of what talks to one: the same entry points, whose
 * device is the host's memory, whose streams are threads, and whose launches call C functions. It
 * keeps to the driver's rules, and counts who breaks them. */
#include "cuda.h"

#include "cuda_kernels.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SET(field, value) __atomic_store_n(&fake.field, (value), __ATOMIC_SEQ_CST)
#define GET(field) __atomic_load_n(&fake.field, __ATOMIC_SEQ_CST)
#define ADD(field, value) __atomic_add_fetch(&fake.field, (value), __ATOMIC_SEQ_CST)

enum { SHARED_BYTES = 232448 }; /* of a block, at most */

enum {
  INVALID = 1,
  NO_MEMORY = 2,
  NO_DEVICE = 100,
  NO_ORDINAL = 101,
  NO_CONTEXT = 201,
  BAD_PTX = 218,
  NOT_FOUND = 500,
  NOT_READY = 600,
  PINNED = 712,
  NOT_PINNED = 713,
  FAILED = 719
};

static struct fake_cuda fake = {.devices = 1, .version = 13000, .abilities = 7};

EXPORT struct fake_cuda *tide_fake_cuda(void);
struct fake_cuda *tide_fake_cuda(void) {
  return &fake;
}

/* ---- rules ------------------------------------------------------------------------------- */

static __thread uint32_t contexts; /* that this thread has pushed */
static __thread bool calling_back;

static int broken_rule(int answer) {
  ADD(wrong, 1u);
  return answer;
}

/* What any call may answer before it has done anything. */
static int begin_call(bool needs_context) {
  uint32_t call = ADD(calls, 1u);
  if (calling_back) return broken_rule(NO_CONTEXT);
  if (needs_context && !contexts) return broken_rule(NO_CONTEXT);
  if (call == GET(fail_at)) return (int)GET(fail_with);
  return (int)GET(broken);
}

#define BEGIN(needs_context)                                                                       \
  do {                                                                                             \
    int answer_ = begin_call(needs_context);                                                       \
    if (answer_) return answer_;                                                                   \
  } while (0)

/* ---- the driver and its device --------------------------------------------------------------- */

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  BEGIN(false);
  if (flags) return broken_rule(INVALID);
  return GET(devices) ? 0 : NO_DEVICE;
}

EXPORT int cuDriverGetVersion(int *out_version);
int cuDriverGetVersion(int *out_version) {
  BEGIN(false);
  *out_version = (int)GET(version);
  return 0;
}

EXPORT int cuDeviceGetCount(int *out_count);
int cuDeviceGetCount(int *out_count) {
  BEGIN(false);
  *out_count = (int)GET(devices);
  return 0;
}

EXPORT int cuDeviceGet(int *out_device, int ordinal);
int cuDeviceGet(int *out_device, int ordinal) {
  BEGIN(false);
  *out_device = ordinal;
  return ordinal < (int)GET(devices) ? 0 : NO_ORDINAL;
}

EXPORT int cuDeviceGetName(char *out_name, int size, int device);
int cuDeviceGetName(char *out_name, int size, int device) {
  BEGIN(false);
  (void)device;
  strncpy(out_name, "a GPU that is none", (size_t)size);
  return 0;
}

EXPORT int cuDeviceGetAttribute(int *out_value, int attribute, int device);
int cuDeviceGetAttribute(int *out_value, int attribute, int device) {
  BEGIN(false);
  (void)device;
  switch (attribute) {
    case 16: *out_value = 64; return 0;
    case 41: *out_value = GET(abilities) & 1 ? 1 : 0; return 0;
    case 75: *out_value = 9; return 0;
    case 76: *out_value = 0; return 0;
    case 97: *out_value = SHARED_BYTES; return 0;
    case 120: *out_value = GET(abilities) & 2 ? 1 : 0; return 0;
    case 122: *out_value = GET(abilities) & 4 ? 1 : 0; return 0;
    default: return broken_rule(INVALID);
  }
}

static char the_context;

EXPORT int cuDevicePrimaryCtxRetain(void **out_context, int device);
int cuDevicePrimaryCtxRetain(void **out_context, int device) {
  BEGIN(false);
  (void)device;
  ADD(live, 1u);
  *out_context = &the_context;
  return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  ADD(live, (uint32_t)-1);
  BEGIN(false);
  return 0;
}

EXPORT int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context) {
  uint32_t broken = GET(broken);
  int answer = begin_call(false);
  if (answer && answer != (int)broken) return answer; /* a context that failed can be current */
  if (context != &the_context) return broken_rule(INVALID);
  contexts++;
  return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **out_context);
int cuCtxPopCurrent_v2(void **out_context) {
  uint32_t broken = GET(broken);
  if (!contexts) return broken_rule(NO_CONTEXT);
  int answer = begin_call(true);
  contexts--;
  *out_context = &the_context;
  return answer == (int)broken ? 0 : answer;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static int make(void **out, size_t size) {
  *out = size ? aligned_alloc(256, (size + 255) / 256 * 256) : NULL;
  if (!size) return broken_rule(INVALID);
  if (!*out) return NO_MEMORY;
  memset(*out, 0xA5, size);
  ADD(live, 1u);
  return 0;
}

static int unmake(void *memory) {
  free(memory);
  ADD(live, (uint32_t)-1);
  BEGIN(true);
  return 0;
}

EXPORT int cuMemAlloc_v2(uint64_t *out_address, size_t size);
int cuMemAlloc_v2(uint64_t *out_address, size_t size) {
  BEGIN(true);
  void *memory = NULL;
  int answer = make(&memory, size);
  *out_address = (uint64_t)(uintptr_t)memory;
  return answer;
}

EXPORT int cuMemFree_v2(uint64_t address);
int cuMemFree_v2(uint64_t address) { return unmake((void *)(uintptr_t)address); }

EXPORT int cuMemHostAlloc(void **out_memory, size_t size, unsigned flags);
int cuMemHostAlloc(void **out_memory, size_t size, unsigned flags) {
  BEGIN(true);
  if (flags != 3) return broken_rule(INVALID);
  return make(out_memory, size);
}

EXPORT int cuMemFreeHost(void *memory);
int cuMemFreeHost(void *memory) { return unmake(memory); }

#define PINS 1024
static struct { uintptr_t from, to; } pins[PINS];
static pthread_mutex_t pin_lock = PTHREAD_MUTEX_INITIALIZER;

static int change_pins(uintptr_t from, uintptr_t to) {
  int place = -1, answer = 0;
  pthread_mutex_lock(&pin_lock);
  for (int i = 0; i < PINS; i++) {
    if (!pins[i].to) place = i;
    else if (to ? pins[i].from < to && from < pins[i].to : pins[i].from == from) answer = i + 1;
  }
  if (to && !answer && place >= 0) pins[place].from = from, pins[place].to = to;
  if (!to && answer) pins[answer - 1].to = 0;
  pthread_mutex_unlock(&pin_lock);
  if (to) return answer ? PINNED : place < 0 ? NO_MEMORY : 0;
  return answer ? 0 : broken_rule(NOT_PINNED);
}

EXPORT int cuMemHostRegister_v2(void *memory, size_t size, unsigned flags);
int cuMemHostRegister_v2(void *memory, size_t size, unsigned flags) {
  BEGIN(true);
  if (flags != 3 || !size) return broken_rule(INVALID);
  int answer = change_pins((uintptr_t)memory, (uintptr_t)memory + size);
  if (!answer) ADD(live, 1u);
  return answer;
}

EXPORT int cuMemHostUnregister(void *memory);
int cuMemHostUnregister(void *memory) {
  int answer = change_pins((uintptr_t)memory, 0);
  if (!answer) ADD(live, (uint32_t)-1);
  BEGIN(true);
  return answer;
}

/* ---- kernels
 * -------------------------------------------------------------------------------------- */

EXPORT int cuModuleLoadDataEx(void **out_module, const void *image, unsigned count, int *options,
                              void **values);
int cuModuleLoadDataEx(void **out_module, const void *image, unsigned count, int *options,
                       void **values) {
  BEGIN(true);
  const char *text = image;
  if (!strstr(text, ".version") || !strstr(text, ".target sm_")) {
    for (unsigned i = 0; i < count; i++)
      if (options[i] == 5) strcpy(values[i], "ptxas fatal: no .version\nmore\n");
    return BAD_PTX;
  }
  *out_module = strdup(text);
  ADD(live, 1u);
  return 0;
}

EXPORT int cuModuleUnload(void *module);
int cuModuleUnload(void *module) { return unmake(module); }

/* In the table, and in the text as an entry. */
EXPORT int cuModuleGetFunction(void **out_function, void *module, const char *name);
int cuModuleGetFunction(void **out_function, void *module, const char *name) {
  BEGIN(true);
  size_t length = strlen(name);
  bool entry = false;
  for (const char *at = module; (at = strstr(at, ".entry ")) && !entry;) {
    at += 7;
    entry = strncmp(at, name, length) == 0 && (at[length] == '(' || at[length] == ' ');
  }
  for (size_t i = 0; entry && i < fake_kernel_count; i++)
    if (strcmp(fake_kernels[i].name, name) == 0) {
      *out_function = (void *)(uintptr_t)&fake_kernels[i];
      return 0;
    }
  return NOT_FOUND;
}

EXPORT int cuFuncGetAttribute(int *out_value, int attribute, void *function);
int cuFuncGetAttribute(int *out_value, int attribute, void *function) {
  BEGIN(true);
  if (attribute != 1 || !function) return broken_rule(INVALID);
  *out_value = (int)((const struct fake_kernel *)function)->shared_bytes;
  return 0;
}

/* A block has SHARED_BYTES for both: the kernel's own, and what a launch adds. */
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value);
int cuFuncSetAttribute(void *function, int attribute, int value) {
  BEGIN(true);
  if (attribute != 8 || value < 0 || !function) return broken_rule(INVALID);
  if ((uint32_t)value + ((const struct fake_kernel *)function)->shared_bytes > SHARED_BYTES)
    return broken_rule(INVALID);
  return 0;
}

/* ---- streams: what is on one, and the thread that does it
 * --------------------------------------------- */

enum kind { COPY, FILL, CALL, LAUNCH, WAIT, WRITE };

struct item {
  enum kind kind;
  uint64_t to, from;
  size_t size;
  uint32_t value;
  void (*function)(void *);
  void *user;
  const struct fake_kernel *kernel;
  struct fake_launch launch;
  struct item *next;
  _Alignas(16) char arguments[512];
};

struct stream {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct item *first, **last;
  bool busy, over;
};

static void set_word(uint64_t address, uint32_t value) {
  __atomic_store_n((uint32_t *)(uintptr_t)address, value, __ATOMIC_RELEASE);
}

static void wait_for_word(uint64_t address, uint32_t value) {
  const uint32_t *word = (const uint32_t *)(uintptr_t)address;
  while ((int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - value) < 0) usleep(50);
}

static void run(struct item *item) {
  switch (item->kind) {
    case COPY:
      memmove((void *)(uintptr_t)item->to, (const void *)(uintptr_t)item->from, item->size);
      break;
    case FILL: memset((void *)(uintptr_t)item->to, (int)item->value, item->size); break;
    case CALL:
      calling_back = true;
      item->function(item->user);
      calling_back = false;
      break;
    case LAUNCH:
      ADD(launched, 1u);
      if (!item->kernel->run(item->arguments, &item->launch)) SET(broken, FAILED);
      break;
    case WAIT: wait_for_word(item->to, item->value); break;
    case WRITE: set_word(item->to, item->value); break;
  }
}

static void *serve(void *argument) {
  struct stream *stream = argument;
  pthread_mutex_lock(&stream->lock);
  for (;;) {
    while (!stream->first && !stream->over) pthread_cond_wait(&stream->changed, &stream->lock);
    struct item *item = stream->first;
    if (!item) break;
    stream->busy = true;
    pthread_mutex_unlock(&stream->lock);
    while (GET(held)) usleep(100);
    if (!GET(broken)) run(item);
    pthread_mutex_lock(&stream->lock);
    stream->first = item->next;
    if (!stream->first) stream->last = &stream->first;
    stream->busy = false;
    free(item);
  }
  pthread_mutex_unlock(&stream->lock);
  return NULL;
}

EXPORT int cuStreamCreate(void **out_stream, unsigned flags);
int cuStreamCreate(void **out_stream, unsigned flags) {
  BEGIN(true);
  if (flags != 1) return broken_rule(INVALID);
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NO_MEMORY;
  pthread_mutex_init(&stream->lock, NULL);
  pthread_cond_init(&stream->changed, NULL);
  stream->last = &stream->first;
  if (pthread_create(&stream->thread, NULL, serve, stream) != 0) return free(stream), NO_MEMORY;
  ADD(live, 1u);
  *out_stream = stream;
  return 0;
}

/* The driver's own would return at once; nobody here destroys one that is busy. */
EXPORT int cuStreamDestroy_v2(void *handle);
int cuStreamDestroy_v2(void *handle) {
  struct stream *stream = handle;
  pthread_mutex_lock(&stream->lock);
  const struct item *left = stream->first; /* a call of ours may be on its way back */
  if (left && (left->next || left->kind != CALL) && !GET(broken)) ADD(wrong, 1u);
  stream->over = true;
  pthread_cond_broadcast(&stream->changed);
  pthread_mutex_unlock(&stream->lock);
  pthread_join(stream->thread, NULL);
  pthread_mutex_destroy(&stream->lock);
  pthread_cond_destroy(&stream->changed);
  free(stream);
  ADD(live, (uint32_t)-1);
  BEGIN(true);
  return 0;
}

EXPORT int cuStreamQuery(void *handle);
int cuStreamQuery(void *handle) {
  struct stream *stream = handle;
  BEGIN(true);
  pthread_mutex_lock(&stream->lock);
  bool busy = stream->first != NULL;
  pthread_mutex_unlock(&stream->lock);
  return busy ? NOT_READY : (int)GET(broken);
}

static int put(void *handle, const struct item *what) {
  struct stream *stream = handle;
  struct item *item = aligned_alloc(_Alignof(struct item), sizeof *item);
  if (!item) return NO_MEMORY;
  *item = *what;
  item->next = NULL;
  pthread_mutex_lock(&stream->lock);
  *stream->last = item;
  stream->last = &item->next;
  pthread_cond_signal(&stream->changed);
  pthread_mutex_unlock(&stream->lock);
  return 0;
}

EXPORT int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user) {
  BEGIN(true);
  return put(stream, &(struct item){.kind = CALL, .function = function, .user = user});
}

EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream);
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream) {
  BEGIN(true);
  return put(stream, &(struct item){.kind = COPY, .to = to, .from = from, .size = size});
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t size, void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t size, void *stream) {
  BEGIN(true);
  return put(stream, &(struct item){.kind = FILL, .to = to, .value = byte, .size = size});
}

EXPORT int cuStreamWaitValue32_v2(void *stream, uint64_t address, uint32_t value, unsigned flags);
int cuStreamWaitValue32_v2(void *stream, uint64_t address, uint32_t value, unsigned flags) {
  BEGIN(true);
  if (flags || address % 4) return broken_rule(INVALID);
  return put(stream, &(struct item){.kind = WAIT, .to = address, .value = value});
}

EXPORT int cuStreamWriteValue32_v2(void *stream, uint64_t address, uint32_t value, unsigned flags);
int cuStreamWriteValue32_v2(void *stream, uint64_t address, uint32_t value, unsigned flags) {
  BEGIN(true);
  if (flags || address % 4) return broken_rule(INVALID);
  return put(stream, &(struct item){.kind = WRITE, .to = address, .value = value});
}

/* ---- launches
 * --------------------------------------------------------------------------------------------- */

struct attribute {
  int id, unused;
  uint32_t value[16];
};

struct config {
  uint32_t grid[3], block[3], shared_bytes;
  void *stream;
  const struct attribute *attributes;
  uint32_t attribute_count;
};

static bool is_possible(const struct config *config, const struct fake_kernel *kernel) {
  uint32_t threads = config->block[0] * config->block[1] * config->block[2];
  uint32_t shared = config->shared_bytes + kernel->shared_bytes;
  bool good = threads && threads <= 1024 && shared <= SHARED_BYTES;
  for (int i = 0; i < 3; i++) good = good && config->grid[i];
  for (uint32_t i = 0; i < config->attribute_count; i++) {
    const uint32_t *cluster = config->attributes[i].value;
    good = good && config->attributes[i].id == 4;
    for (int k = 0; k < 3; k++)
      good = good && cluster[k] && cluster[k] <= 8 && config->grid[k] % cluster[k] == 0;
    if (good && cluster[0] == 2) ADD(clustered, 1u);
  }
  return good;
}

EXPORT int cuLaunchKernelEx(const struct config *config, void *function, void **parameters,
                            void **extra);
int cuLaunchKernelEx(const struct config *config, void *function, void **parameters, void **extra) {
  struct item item = {.kind = LAUNCH, .kernel = function};
  BEGIN(true);
  if (!is_possible(config, function)) return INVALID;
  if (parameters || (uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || extra[4])
    return broken_rule(INVALID);
  size_t size = *(size_t *)extra[3];
  if (size != item.kernel->size || size > sizeof item.arguments) return INVALID;
  if (size) memcpy(item.arguments, extra[1], size);
  memcpy(item.launch.grid, config->grid, sizeof config->grid);
  memcpy(item.launch.block, config->block, sizeof config->block);
  item.launch.shared_bytes = config->shared_bytes;
  return put(config->stream, &item);
}
