/* Loads the driver, and translates its results. */
#include "device/cuda_driver.h"

#include "base/text.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"
#define OLDEST 12000 /* launches with attributes; waits for values */

struct answer {
  tide_cu number;
  enum tide_status status;
  const char *name;
};

/* Numbers as in the driver's documentation (CUresult). */
static const struct answer answers[] = {
    {0, TIDE_OK, "SUCCESS"},
    {1, TIDE_INVALID, "INVALID_VALUE"},
    {2, TIDE_NOMEM, "OUT_OF_MEMORY"},
    {3, TIDE_LOST, "NOT_INITIALIZED"},
    {4, TIDE_LOST, "DEINITIALIZED"},
    {34, TIDE_UNSUPPORTED, "STUB_LIBRARY"},
    {46, TIDE_BUSY, "DEVICE_UNAVAILABLE"},
    {100, TIDE_UNSUPPORTED, "NO_DEVICE"},
    {101, TIDE_NOT_FOUND, "INVALID_DEVICE"},
    {200, TIDE_CORRUPT, "INVALID_IMAGE"},
    {201, TIDE_LOST, "INVALID_CONTEXT"},
    {209, TIDE_UNSUPPORTED, "NO_BINARY_FOR_GPU"},
    {214, TIDE_LOST, "ECC_UNCORRECTABLE"},
    {218, TIDE_CORRUPT, "INVALID_PTX"},
    {220, TIDE_LOST, "NVLINK_UNCORRECTABLE"},
    {222, TIDE_UNSUPPORTED, "UNSUPPORTED_PTX_VERSION"},
    {226, TIDE_LOST, "CONTAINED"},
    {400, TIDE_INVALID, "INVALID_HANDLE"},
    {500, TIDE_NOT_FOUND, "NOT_FOUND"},
    {600, TIDE_BUSY, "NOT_READY"},
    {700, TIDE_LOST, "ILLEGAL_ADDRESS"},
    {701, TIDE_INVALID, "LAUNCH_OUT_OF_RESOURCES"},
    {702, TIDE_LOST, "LAUNCH_TIMEOUT"},
    {709, TIDE_LOST, "CONTEXT_IS_DESTROYED"},
    {710, TIDE_LOST, "ASSERT"},
    {712, TIDE_INVALID, "HOST_MEMORY_ALREADY_REGISTERED"},
    {713, TIDE_INVALID, "HOST_MEMORY_NOT_REGISTERED"},
    {714, TIDE_LOST, "HARDWARE_STACK_ERROR"},
    {715, TIDE_LOST, "ILLEGAL_INSTRUCTION"},
    {716, TIDE_LOST, "MISALIGNED_ADDRESS"},
    {717, TIDE_LOST, "INVALID_ADDRESS_SPACE"},
    {718, TIDE_LOST, "INVALID_PC"},
    {719, TIDE_LOST, "LAUNCH_FAILED"},
    {800, TIDE_DENIED, "NOT_PERMITTED"},
    {801, TIDE_UNSUPPORTED, "NOT_SUPPORTED"},
    {803, TIDE_UNSUPPORTED, "SYSTEM_DRIVER_MISMATCH"},
};

static const struct answer *find_answer(tide_cu answer) {
  static const struct answer unknown = {0, TIDE_FAILED, "unknown"};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
    if (answers[i].number == answer) return &answers[i];
  return &unknown;
}

enum tide_status tide_status_of_cuda(tide_cu answer) {
  const struct answer *found = find_answer(answer);
  if (found->status == TIDE_BUSY) return TIDE_BUSY;
  return tide_body_report(found->status, answer, "the GPU driver answers %d (%s)", answer,
                          found->name);
}

enum tide_status tide_cuda_explain(struct tide_diag *diag, tide_cu answer, const char *what) {
  const struct answer *found = find_answer(answer);
  if (answer == TIDE_CU_OK) return TIDE_OK;
  return tide_diag_set(diag, found->status, "%s: the GPU driver answers %d (%s)", what, answer,
                       found->name);
}

/* ---- the context --------------------------------------------------------------------- */

tide_cu tide_cuda_enter(const struct tide_cuda_driver *driver) {
  return driver->call.push(driver->context);
}

/* Ignores an error: the enclosed call has taken effect anyway. */
void tide_cuda_leave(const struct tide_cuda_driver *driver) {
  void *ours;
  (void)driver->call.pop(&ours);
}

/* ---- loading --------------------------------------------------------------------------- */

static enum tide_status find_calls(struct tide_cuda_driver *driver, const char *path,
                                   struct tide_diag *diag) {
  static const struct {
    const char *symbol;
    size_t offset;
  } calls[] = {
#define ROW(name, symbol, parameters) {#symbol, offsetof(struct tide_cuda_calls, name)},
      TIDE_CUDA_CALLS(ROW)
#undef ROW
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    void *found = dlsym(driver->library, calls[i].symbol);
    if (!found)
      return tide_diag_set(diag, TIDE_UNSUPPORTED, "the GPU driver %s is too old: it has no %s",
                           path, calls[i].symbol);
    memcpy((char *)&driver->call + calls[i].offset, &found, sizeof found);
  }
  return TIDE_OK;
}

/* Loads the library for good (RTLD_NODELETE): it has threads and handlers of its own. */
static enum tide_status load_library(struct tide_cuda_driver *driver, const char *path,
                                     struct tide_diag *diag) {
  driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!driver->library)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "there is no GPU driver: %s", dlerror());
  enum tide_status status = find_calls(driver, path, diag);
  if (status != TIDE_OK) dlclose(driver->library);
  return status;
}

static enum tide_status start_driver(struct tide_cuda_driver *driver, uint32_t ordinal,
                                     struct tide_diag *diag) {
  int count = 0;
  tide_cu answer = driver->call.init(0);
  if (answer == TIDE_CU_NO_DEVICE)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "there is no GPU: the driver finds none");
  enum tide_status status = tide_cuda_explain(diag, answer, "starting the driver");
  if (status == TIDE_OK)
    status = tide_cuda_explain(diag, driver->call.version(&driver->version), "its version");
  if (status == TIDE_OK && driver->version < OLDEST)
    return tide_diag_set(diag, TIDE_UNSUPPORTED, "the GPU driver has version %d, and %d is needed",
                         driver->version, OLDEST);
  if (status == TIDE_OK)
    status = tide_cuda_explain(diag, driver->call.device_count(&count), "counting GPUs");
  if (status != TIDE_OK) return status;
  if (count == 0) return tide_diag_set(diag, TIDE_UNSUPPORTED, "there is no GPU");
  if (ordinal >= (uint32_t)count)
    return tide_diag_set(diag, TIDE_NOT_FOUND, "there is no GPU %u: there are %d", ordinal, count);
  status = tide_cuda_explain(diag, driver->call.device(&driver->device, (int)ordinal),
                             "finding the GPU");
  if (status != TIDE_OK) return status;
  return tide_cuda_explain(diag, driver->call.context_retain(&driver->context, driver->device),
                           "opening the GPU");
}

enum tide_status tide_cuda_driver_open(struct tide_cuda_driver *driver, const char *path,
                                       uint32_t ordinal, struct tide_diag *diag) {
  *driver = (struct tide_cuda_driver){0};
  enum tide_status status = load_library(driver, path ? path : LIBRARY, diag);
  if (status != TIDE_OK) return status;
  status = start_driver(driver, ordinal, diag);
  if (status != TIDE_OK) dlclose(driver->library);
  return status;
}

void tide_cuda_driver_close(struct tide_cuda_driver *driver) {
  (void)driver->call.context_release(driver->device);
  dlclose(driver->library);
}
