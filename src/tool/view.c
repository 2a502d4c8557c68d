/* tidemark view: a program in a browser. The page is one document, made when the tool is built; it
 * is handed out on the loopback, or written to a file. */
#include "tool/tool.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
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
    "The page simulates the program with the same code as the library, compiled to WebAssembly. It "
    "is\n"
    "handed out to this machine only, until the command is interrupted; FILE is read each time.\n"};

#if defined(TIDE_HAS_PAGE)

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

extern const char view_page[]; /* made by web/assemble */
extern const size_t view_page_size;

/* Where the program goes. */
static const char mark[] = "<!--tidemark:given-->";

struct bytes {
  char *data;
  size_t size, room;
  bool failed;
};

static void append(struct bytes *to, const char *data, size_t size) {
  if (to->size + size > to->room) {
    size_t room = (to->size + size) * 2;
    char *more = realloc(to->data, room);
    if (!more) {
      to->failed = true;
      return;
    }
    to->data = more;
    to->room = room;
  }
  memcpy(to->data + to->size, data, size);
  to->size += size;
}

/* JSON within a page: nothing in it may end the element around it. */
static void append_json(void *self, const char *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (data[i] == '<') append(self, "\\u003c", 6);
    else append(self, data + i, 1);
  }
}

/* {"name", "text"} of a program; a text that is no program is shown with its errors. */
static bool append_program(struct bytes *to, const char *path) {
  struct tide_tool_program program = {.path = NULL};
  if (!tide_tool_read_text(&program, path)) return false;
  char *text = malloc(program.length + 1);
  if (text) {
    /* The page shows text: a byte that is none ends it. */
    memcpy(text, program.text, program.length);
    text[program.length] = 0;
    const char *slash = strrchr(path, '/');
    struct tide_json json = {.write = append_json, .self = to, .dense = true};
    tide_json_open(&json, NULL, '{');
    tide_json_text(&json, "name", slash ? slash + 1 : path);
    tide_json_text(&json, "text", text);
    tide_json_close(&json, '}');
  }
  to->failed |= !text;
  free(text);
  tide_tool_unload(&program);
  return true;
}

static bool make_page(struct bytes *page, const char *path) {
  const char *at = memmem(view_page, view_page_size, mark, sizeof mark - 1);
  const char *rest = at + sizeof mark - 1;
  append(page, view_page, (size_t)(at - view_page));
  if (!path) append(page, "null", 4);
  else if (!append_program(page, path)) return false;
  append(page, rest, (size_t)(view_page + view_page_size - rest));
  if (page->failed) tide_tool_error("out of memory");
  return !page->failed;
}

/* ---- to a file ---------------------------------------------------------------------------- */

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

static bool export(const char *to, const char *path) {
  struct bytes page = {.data = NULL};
  char *temporary;
  bool good = make_page(&page, path);
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

/* ---- on the loopback --------------------------------------------------------------------------
 */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status,
                              struct bytes *body, const char *type) {
  struct MHD_Response *response =
      body ? MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_MUST_FREE)
           : MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
  if (!response) {
    if (body) free(body->data);
    return MHD_NO;
  }
  MHD_add_response_header(response, "Content-Type", type);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

/* A page of somebody else whose name was made to mean this address must not read ours. */
static bool is_ours(struct MHD_Connection *connection) {
  const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
  size_t length = host ? strcspn(host, ":") : 0;
  return (length == 9 && memcmp(host, "127.0.0.1", 9) == 0) ||
         (length == 9 && memcmp(host, "localhost", 9) == 0);
}

/* There is one document. */
static enum MHD_Result serve(void *path, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **state) {
  (void)version, (void)upload;
  struct bytes page = {.data = NULL};
  if (!*state) { /* the headers: the body, if there is one, comes in further calls */
    *state = connection;
    return MHD_YES;
  }
  if (*upload_size) {
    *upload_size = 0;
    return MHD_YES;
  }
  if (!is_ours(connection)) return answer(connection, MHD_HTTP_FORBIDDEN, NULL, "text/plain");
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
    return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, "text/plain");
  if (strcmp(url, "/") != 0) return answer(connection, MHD_HTTP_NOT_FOUND, NULL, "text/plain");
  if (!make_page(&page, path)) {
    free(page.data);
    return answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL, "text/plain");
  }
  return answer(connection, MHD_HTTP_OK, &page, "text/html; charset=utf-8");
}

/* Where there is a screen, and a browser. */
static void open_browser(const char *address) {
  extern char **environ;
  char *const arguments[] = {"xdg-open", (char *)(uintptr_t)address, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) return;
  if (posix_spawn_file_actions_init(&actions) != 0) return;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
  (void)posix_spawnp(&child, "xdg-open", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
}

static bool listen_on(uint16_t port, bool open, const char *path) {
  struct bytes first = {.data = NULL};
  sigset_t ending;
  int which;
  if (!make_page(&first, path)) return false; /* what is wrong is told before it listens */
  free(first.data);
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, NULL);
  struct sockaddr_in here = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct MHD_Daemon *daemon = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, serve, (void *)(uintptr_t)path,
      MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&here, MHD_OPTION_CONNECTION_LIMIT, 32u,
      MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_END);
  if (!daemon) {
    tide_tool_error("cannot listen on 127.0.0.1:%u: %s", port, strerror(errno));
    return false;
  }
  char address[64];
  snprintf(address, sizeof address, "http://127.0.0.1:%u/",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  printf("%s\n", address);
  fflush(stdout);
  if (open) open_browser(address);
  sigwait(&ending, &which);
  MHD_stop_daemon(daemon);
  return true;
}

static bool view(const char *export_to, uint16_t port, bool open, const char *path) {
  return export_to ? export(export_to, path) : listen_on(port, open, path);
}

#else

static bool view(const char *export_to, uint16_t port, bool open, const char *path) {
  (void)export_to, (void)port, (void)open, (void)path;
  tide_tool_error("this one was built without the page: install clang, lld and libmicrohttpd-dev, "
                  "and build again");
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
  return view(export_to, (uint16_t)port, open, path) ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}
