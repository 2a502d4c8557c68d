/* A plugin as it should be: one body that doubles bytes. */
#include "tidemark/kernel.h"

static enum tide_status twice(void *arguments) {
  const struct tide_argument *a = arguments;
  unsigned char *bytes = a[0].data;
  for (uint64_t i = 0; i < a[0].size; i++) bytes[i] = (unsigned char)(bytes[i] * a[1].integer);
  return TIDE_OK;
}

TIDE_API const struct tide_plugin *tide_plugin_bodies(void);

const struct tide_plugin *tide_plugin_bodies(void) {
  static const struct tide_param params[] = {{"data", TIDE_PARAM_INOUT, false, 0},
                                             {"times", TIDE_PARAM_INTEGER, true, 2}};
  static const struct tide_body bodies[] = {
      {{.name = "twice", .host = twice}, params, 2, "every byte times `times`"}};
  static const struct tide_plugin plugin = {TIDE_PLUGIN_ABI, 1, bodies};
  return &plugin;
}
