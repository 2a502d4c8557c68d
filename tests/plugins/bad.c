/* Plugins that break one rule each: the environment variable TIDE_BAD_PLUGIN says which. */
#include "tidemark/kernel.h"

#include <stdlib.h>

static const struct tide_file_ops half = {{TIDE_OPS_FILE}, TIDE_IO_READ, NULL};

static enum tide_status nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}

TIDE_API const struct tide_plugin *tide_plugin_bodies(void);

const struct tide_plugin *tide_plugin_bodies(void) {
  static struct tide_param params[] = {{"a", TIDE_PARAM_INTEGER, true, 0},
                                       {"b", TIDE_PARAM_INTEGER, true, 0}};
  static struct tide_body bodies[] = {{{.name = "one", .host = nothing}, params, 2, "one"},
                                      {{.name = "two", .host = nothing}, NULL, 0, "two"}};
  static struct tide_plugin plugin = {TIDE_PLUGIN_ABI, 2, bodies};
  const char *which = getenv("TIDE_BAD_PLUGIN");
  switch (which ? which[0] : '-') {
    case 'a': plugin.abi = TIDE_PLUGIN_ABI + 1; break;
    case 'e': plugin.body_count = 0; break;
    case 'n': bodies[1].class_.name = "2nd"; break;
    case 'd': bodies[1].class_.name = "one"; break;
    case 'f': bodies[1].class_.host = NULL; break;
    case 'v': bodies[1].class_.ops = &half.ops; break;
    case 'm': bodies[0].param_count = 1000; break;
    case 'k': params[1].kind = (enum tide_param_kind)77; break;
    case 'o': params[1].optional = false; break;
    case 'p': params[1].name = "a"; break;
    case 'z': return NULL;
    default: break;
  }
  return &plugin;
}
