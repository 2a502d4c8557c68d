/* device/cuda_driver.h: NVIDIA's driver, loaded at run time.
 *
 * No header of CUDA is needed: this one declares the used part of the driver's interface, as the
 * driver's documentation specifies it. Every call to a GPU goes through `call`, so a test can load
 * its own shared object and run the same code.
 *
 * The GPU's *primary context* is held from open to close, and made current around each call. So
 * other code of the process keeps its own current context. */
#ifndef TIDE_DEVICE_CUDA_DRIVER_H
#define TIDE_DEVICE_CUDA_DRIVER_H

#include "tidemark/base.h"

typedef int tide_cu; /* CUresult */

enum {
  TIDE_CU_OK = 0,
  TIDE_CU_NO_DEVICE = 100,
  TIDE_CU_NOT_READY = 600,
  /* CUdevice_attribute */
  TIDE_CU_SHARED_OPTIN = 97,
  TIDE_CU_MULTIPROCESSORS = 16,
  TIDE_CU_UNIFIED_ADDRESSING = 41,
  TIDE_CU_MAJOR = 75,
  TIDE_CU_MINOR = 76,
  TIDE_CU_CLUSTERS = 120,
  TIDE_CU_WAIT_VALUE = 122, /* 64-bit waits, which imply 32-bit ones */
  /* CUfunction_attribute */
  TIDE_CU_STATIC_SHARED = 1,
  TIDE_CU_DYNAMIC_SHARED = 8,
  /* CUjit_option */
  TIDE_CU_JIT_ERROR_LOG = 5,
  TIDE_CU_JIT_ERROR_LOG_SIZE = 6,
  /* CUlaunchAttributeID */
  TIDE_CU_ATTRIBUTE_CLUSTER = 4,
  /* flags */
  TIDE_CU_STREAM_NON_BLOCKING = 1,
  TIDE_CU_HOST_PORTABLE = 1,
  TIDE_CU_HOST_MAPPED = 2,
  TIDE_CU_WAIT_GEQ = 0,
  /* entries of cuLaunchKernel's `extra`, as pointers */
  TIDE_CU_PARAM_END = 0,
  TIDE_CU_PARAM_BUFFER = 1,
  TIDE_CU_PARAM_SIZE = 2,
};

struct tide_cu_attribute { /* CUlaunchAttribute */
  int id;
  char unused[4];
  union {
    uint32_t cluster[3];
    char size[64];
  } value;
};

struct tide_cu_launch { /* CUlaunchConfig */
  uint32_t grid[3], block[3], shared_bytes;
  void *stream;
  struct tide_cu_attribute *attributes;
  uint32_t attribute_count;
};

_Static_assert(sizeof(struct tide_cu_attribute) == 72, "as the driver has it");
_Static_assert(sizeof(struct tide_cu_launch) == 56, "as the driver has it");
_Static_assert(offsetof(struct tide_cu_launch, stream) == 32, "as the driver has it");
_Static_assert(sizeof(void *) == 8, "addresses of a device are pointers' size");

/* The name here, the driver's symbol, its parameters. Device addresses are uint64_t. */
#define TIDE_CUDA_CALLS(X)                                                                         \
  X(init, cuInit, (unsigned flags))                                                                \
  X(version, cuDriverGetVersion, (int *out_version))                                               \
  X(device_count, cuDeviceGetCount, (int *out_count))                                              \
  X(device, cuDeviceGet, (int *out_device, int ordinal))                                           \
  X(device_name, cuDeviceGetName, (char *out_name, int size, int device))                          \
  X(device_attribute, cuDeviceGetAttribute, (int *out_value, int attribute, int device))           \
  X(context_retain, cuDevicePrimaryCtxRetain, (void **out_context, int device))                    \
  X(context_release, cuDevicePrimaryCtxRelease_v2, (int device))                                   \
  X(push, cuCtxPushCurrent_v2, (void *context))                                                    \
  X(pop, cuCtxPopCurrent_v2, (void **out_context))                                                 \
  X(alloc, cuMemAlloc_v2, (uint64_t * out_address, size_t size))                                   \
  X(free, cuMemFree_v2, (uint64_t address))                                                        \
  X(alloc_host, cuMemHostAlloc, (void **out_memory, size_t size, unsigned flags))                  \
  X(free_host, cuMemFreeHost, (void *memory))                                                      \
  X(pin, cuMemHostRegister_v2, (void *memory, size_t size, unsigned flags))                        \
  X(unpin, cuMemHostUnregister, (void *memory))                                                    \
  X(load, cuModuleLoadDataEx,                                                                      \
    (void **out_module, const void *image, unsigned count, int *options, void **values))           \
  X(unload, cuModuleUnload, (void *module))                                                        \
  X(find, cuModuleGetFunction, (void **out_function, void *module, const char *name))              \
  X(function, cuFuncGetAttribute, (int *out_value, int attribute, void *function))                 \
  X(set_function, cuFuncSetAttribute, (void *function, int attribute, int value))                  \
  X(stream_create, cuStreamCreate, (void **out_stream, unsigned flags))                            \
  X(stream_destroy, cuStreamDestroy_v2, (void *stream))                                            \
  X(stream_query, cuStreamQuery, (void *stream))                                                   \
  X(host_call, cuLaunchHostFunc, (void *stream, void (*function)(void *), void *user))             \
  X(launch, cuLaunchKernelEx,                                                                      \
    (const struct tide_cu_launch *launch, void *function, void **parameters, void **extra))        \
  X(copy, cuMemcpyAsync, (uint64_t to, uint64_t from, size_t size, void *stream))                  \
  X(fill, cuMemsetD8Async, (uint64_t to, unsigned char byte, size_t size, void *stream))           \
  X(wait_value, cuStreamWaitValue32_v2,                                                            \
    (void *stream, uint64_t address, uint32_t value, unsigned flags))                              \
  X(write_value, cuStreamWriteValue32_v2,                                                          \
    (void *stream, uint64_t address, uint32_t value, unsigned flags))

struct tide_cuda_calls {
#define TIDE_CUDA_MEMBER(name, symbol, parameters) tide_cu(*name) parameters;
  TIDE_CUDA_CALLS(TIDE_CUDA_MEMBER)
#undef TIDE_CUDA_MEMBER
};

struct tide_cuda_driver {
  void *library;
  struct tide_cuda_calls call;
  int version;
  int device;
  void *context;
};

/* Loads the shared object `path` (NULL: libcuda.so.1), starts it, and holds the primary context of
 * GPU `ordinal`. On an error nothing is held. */
enum tide_status tide_cuda_driver_open(struct tide_cuda_driver *driver, const char *path,
                                       uint32_t ordinal, struct tide_diag *diag);
/* Releases the context and the library, after all objects of the context are destroyed. */
void tide_cuda_driver_close(struct tide_cuda_driver *driver);

/* Returns the status for a result of the driver. Reports each failure but TIDE_BUSY to the running
 * body. */
enum tide_status tide_status_of_cuda(tide_cu answer);
/* The same, with a sentence that names the call: "kernel 'add': the GPU driver answers …". */
enum tide_status tide_cuda_explain(struct tide_diag *diag, tide_cu answer, const char *what);

/* Make the context current, and restore the previous one. Both enclose calls that need the
 * context. */
tide_cu tide_cuda_enter(const struct tide_cuda_driver *driver);
void tide_cuda_leave(const struct tide_cuda_driver *driver);

/* Makes one call with the context current: TIDE_CUDA_IN(driver, call.alloc(&address, size)). */
#define TIDE_CUDA_IN(driver, what)                                                                 \
  __extension__({                                                                                  \
    tide_cu answer_ = tide_cuda_enter(driver);                                                     \
    if (answer_ == TIDE_CU_OK) {                                                                   \
      answer_ = (driver)->what;                                                                    \
      tide_cuda_leave(driver);                                                                     \
    }                                                                                              \
    answer_;                                                                                       \
  })

/* Makes one call that releases something, with the context current. Tries twice to make it current,
 * so that the release does not fail for that. */
#define TIDE_CUDA_BACK(driver, what)                                                               \
  do {                                                                                             \
    tide_cu entered_ = tide_cuda_enter(driver);                                                    \
    if (entered_ != TIDE_CU_OK) entered_ = tide_cuda_enter(driver);                                \
    if (entered_ != TIDE_CU_OK) break;                                                             \
    (void)(driver)->what;                                                                          \
    tide_cuda_leave(driver);                                                                       \
  } while (0)

#endif
