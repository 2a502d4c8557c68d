/* A writer of program/json.h to a file. */
#include "tool/tool.h"

static void to_file(void *self, const char *bytes, size_t size) { fwrite(bytes, 1, size, self); }

struct tide_json tide_tool_json(FILE *to) {
  return (struct tide_json){.write = to_file, .self = to};
}
