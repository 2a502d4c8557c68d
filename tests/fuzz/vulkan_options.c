/* The environment that the Vulkan layer reads: refused with a place inside of it, or within bounds.
 */
#include "base/check.h"
#include "layer/options.h"
#include "layer/protocol.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct layer_options options;
  char why[256] = "";
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = 0;
  if (layer_options_parse(&options, text, why, sizeof why)) {
    TIDE_ASSERT(options.queues >= 1 && options.queues <= TIDE_VULKAN_QUEUES_MOST);
    TIDE_ASSERT(options.dropped_classes < 1u << 5);
    TIDE_ASSERT((options.after_first == 0) == (options.after_second == 0));
  } else {
    TIDE_ASSERT(why[0] && strlen(why) < sizeof why);
  }
  free(text);
  return 0;
}
