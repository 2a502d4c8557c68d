/* tidemark generate: images for programs to run on. */
#include "tool/tool.h"

#include <stdlib.h>
#include <string.h>

static const struct tide_tool_option options[] = {
    {"--size", "WIDTHxHEIGHT", "in pixels, each a byte; 16384x16384 if not given: 256 MiB"},
    {"--seed", "N", "another landscape"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "generate", "image PATH",
    "Makes a landscape: raw rows of 8-bit pixels, the same for the same seed.", options, NULL};

static bool parse_sides(const char *text, uint64_t *out_width, uint64_t *out_height) {
  char copy[64];
  if (strlen(text) >= sizeof copy) return false;
  strcpy(copy, text);
  char *x = strchr(copy, 'x');
  if (!x) return false;
  *x = 0;
  return tide_tool_parse_number(copy, 1000000, out_width) &&
         tide_tool_parse_number(x + 1, 1000000, out_height) && *out_width && *out_height;
}

int tide_tool_generate(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  uint64_t width = 16384, height = 16384, seed = 1;
  const char *what = NULL, *path = NULL;
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == 0 && !parse_sides(arguments.value, &width, &height))
      return tide_tool_wrong_usage(&usage, "--size %s: expected WIDTHxHEIGHT, each 1 to 1000000",
                                   arguments.value);
    if (option == 1 && !tide_tool_parse_number(arguments.value, UINT64_MAX, &seed))
      return tide_tool_wrong_usage(&usage, "--seed %s: expected a number", arguments.value);
    if (option != TIDE_ARGUMENT_POSITIONAL) continue;
    if (!what) what = arguments.value;
    else if (!path) path = arguments.value;
    else return tide_tool_wrong_usage(&usage, "one path, not '%s', too", arguments.value);
  }
  if (!what || strcmp(what, "image") != 0)
    return tide_tool_wrong_usage(&usage, "%s%s%s",
                                 what ? "it cannot make '" : "what? expected 'image'",
                                 what ? what : "", what ? "'; expected 'image'" : "");
  if (!path) return tide_tool_wrong_usage(&usage, "where to? a path is expected");
  tide_tool_watch_signals();
  return tide_tool_make_terrain(path, width, height, seed) ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}
