#include "base/params.h"
#include "base/alloc.h"

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
