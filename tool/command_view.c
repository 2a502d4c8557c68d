/* tidemark view: a program in a browser. The build makes the page, one document; this command
 * serves it on the loopback (view_serve.c), or writes it to a file. */
#include "tool/tool.h"
#include "tool/view_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PORT, NO_OPEN, EXPORT };

static const struct tide_tool_option options[] = {
    [PORT] = {"--port", "N", "where to listen; one that is free"},
    [NO_OPEN] = {"--no-open", NULL, "opens no browser"},
    [EXPORT] = {"--export", "PAGE.html",
                "writes the page to a file that opens by itself, and ends"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "view", "[FILE]", "Shows a program, or one of the examples, in a browser.", options,
    "The page simulates the program with the same code as the library, compiled to WebAssembly. "
    "Only\n"
    "this machine can reach it, and only by the address that is printed, which cannot be guessed;\n"
    "FILE is read each time. The command goes on until it is interrupted."};

#if defined(TIDE_HAS_PAGE)

extern const char view_page[]; /* made by web/assemble */
extern const size_t view_page_size;

/* Marks the program's location in the page. */
static const char placeholder[] = "<!--tidemark:given-->";

static void append_bytes(struct tide_view_bytes *to, const char *data, size_t size) {
  if (to->size + size > to->capacity) {
    size_t capacity = (to->size + size) * 2;
    char *more = realloc(to->data, capacity);
    if (!more) {
      to->failed = true;
      return;
    }
    to->data = more;
    to->capacity = capacity;
  }
  memcpy(to->data + to->size, data, size);
  to->size += size;
}

/* Appends JSON. A '<' is escaped: no text may end the element around the JSON. */
static void append_json(void *self, const char *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (data[i] == '<') append_bytes(self, "\\u003c", 6);
    else append_bytes(self, data + i, 1);
  }
}

/* Appends {"name", "text"} of a program. The page itself shows the errors of the text. */
static bool append_program(struct tide_view_bytes *to, const char *path) {
  struct tide_tool_program program = {.path = NULL};
  if (!tide_tool_read_text(&program, path)) return false;
  char *text = malloc(program.length + 1);
  if (text) {
    /* A zero byte ends the text. */
    memcpy(text, program.text, program.length);
    text[program.length] = 0;
    const char *slash = strrchr(program.path, '/');
    struct tide_json json = {.write = append_json, .self = to, .dense = true};
    tide_json_open(&json, NULL, '{');
    tide_json_text(&json, "name", slash ? slash + 1 : program.path);
    tide_json_text(&json, "text", text);
    tide_json_close(&json, '}');
  }
  to->failed |= !text;
  free(text);
  tide_tool_unload(&program);
  return true;
}

bool tide_view_make_page(struct tide_view_bytes *page, const char *path) {
  const char *at = memmem(view_page, view_page_size, placeholder, sizeof placeholder - 1);
  const char *rest = at + sizeof placeholder - 1;
  append_bytes(page, view_page, (size_t)(at - view_page));
  if (!path) append_bytes(page, "null", 4);
  else if (!append_program(page, path)) return false;
  append_bytes(page, rest, (size_t)(view_page + view_page_size - rest));
  if (page->failed) tide_tool_error("out of memory");
  return !page->failed;
}

/* ---- export to a file ---- */

static bool write_all(int descriptor, const char *data, size_t size) {
  while (size) {
    ssize_t wrote = write(descriptor, data, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    data += wrote;
    size -= (size_t)wrote;
  }
  return true;
}

static bool export_page(const char *to, const char *path) {
  struct tide_view_bytes page = {.data = NULL};
  char *temporary;
  bool good = tide_view_make_page(&page, path);
  int descriptor = good ? tide_tool_begin_file(to, &temporary) : -1;
  if (descriptor >= 0) {
    good = write_all(descriptor, page.data, page.size);
    good = tide_tool_end_file(to, descriptor, temporary, good);
  } else {
    good = false;
  }
  free(page.data);
  if (good) printf("%s\n", to);
  return good;
}

static bool show_page(const char *export_to, uint16_t port, bool open, const char *path) {
  if (export_to) return export_page(export_to, path);
  if (!path || strcmp(path, "-") != 0) return tide_view_serve(port, open, path);
  tide_tool_error("-: a page that is served reads its program again and again: give it a file, or "
                  "--export PAGE.html");
  return false;
}

#else

static bool show_page(const char *export_to, uint16_t port, bool open, const char *path) {
  (void)export_to, (void)port, (void)open, (void)path;
  tide_tool_error(
      "this one was built without the page: './run view' in its sources installs clang, "
      "lld and libmicrohttpd-dev, and builds it again");
  return false;
}

#endif

int tide_tool_view(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  const char *path = NULL, *export_to = NULL;
  uint64_t port = 0;
  bool open = true;
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL && path)
      return tide_tool_wrong_usage(&usage, "one program, not '%s', too", arguments.value);
    if (option == TIDE_ARGUMENT_POSITIONAL) path = arguments.value;
    if (option == NO_OPEN) open = false;
    if (option == EXPORT) export_to = arguments.value;
    if (option == PORT && (!tide_tool_parse_number(arguments.value, 65535, &port) || !port))
      return tide_tool_wrong_usage(&usage, "--port %s: expected 1 to 65535", arguments.value);
  }
  return show_page(export_to, (uint16_t)port, open, path) ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}
