#include "base/params.h"
#include "base/alloc.h"
#include "base/text.h"

enum tide_status tide_params_copy(void *own, size_t size, const void *given) {
  const unsigned char *bytes = given;
  size_t known = 0;
  memset(own, 0, size);
  if (given) memcpy(&known, given, sizeof known);
  if (given && known < sizeof known) return TIDE_INVALID;
  for (size_t i = size; i < known; i++)
    if (bytes[i]) return TIDE_UNSUPPORTED;
  if (known) memcpy(own, given, known < size ? known : size);
  memcpy(own, &size, sizeof size);
  return TIDE_OK;
}

enum tide_status tide_params_copy_named(void *own, size_t size, const void *given, const char *name,
                                        struct tide_diag *diag) {
  enum tide_status status = tide_params_copy(own, size, given);
  size_t known;
  if (status == TIDE_OK) return status;
  memcpy(&known, given, sizeof known);
  if (status == TIDE_INVALID)
    return tide_diag_set(diag, status,
                         "struct_size of struct %s is missing: it is %zu, expected "
                         "sizeof(struct %s)",
                         name, known, name);
  return tide_diag_set(diag, status,
                       "struct %s has %zu bytes, and sets a field that this library does not know: "
                       "there it has %zu",
                       name, known, size);
}
