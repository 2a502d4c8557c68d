/* Serves the page on the loopback. Any process of this machine, of any user, can connect, and so
 * can any page in the user's browser. Three rules keep them out.
 *
 * The address holds 128 random bits, new each time; every other path is 404. The address is
 * printed, and reaches the browser in a file of mode 0600, since every user can read a process's
 * arguments.
 *
 * The Host must be 127.0.0.1 or localhost with this port. A foreign name that resolves to this
 * machine (DNS rebinding) is refused.
 *
 * A stranger is a connection that has not named the address yet. At most STRANGERS_MAX are open,
 * and at most half of the descriptors; one more ends the oldest, so strangers cannot keep the user
 * out. */
#include "tool/tool.h"
#include "tool/view_page.h"

#if defined(TIDE_HAS_PAGE)

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGERS_MAX 128
#define CONNECTIONS_MAX (2 * STRANGERS_MAX)
#define IDLE_S 30

struct stranger {
  struct stranger *older, *newer;
  int descriptor;
};

struct server {
  const char *program;       /* NULL: the examples */
  char path[1 + 32 + 1 + 1]; /* "/", 128 random bits in hexadecimal, "/" */
  uint16_t port;
  struct stranger *oldest, *newest; /* used by the server's thread only */
  uint32_t strangers, strangers_max;
};

/* ---- the library ------------------------------------------------------------------------ */

/* microhttpd brings ten more libraries. So it is loaded when a page is served, and not whenever the
 * tool starts. */
#define HTTP_CALLS(X)                                                                              \
  X(start_daemon)                                                                                  \
  X(stop_daemon)                                                                                   \
  X(get_connection_info)                                                                           \
  X(get_connection_values)                                                                         \
  X(create_response_from_buffer)                                                                   \
  X(add_response_header)                                                                           \
  X(queue_response)                                                                                \
  X(destroy_response)

#define HTTP_CALL(name) __typeof__(MHD_##name) *name;
static struct { HTTP_CALLS(HTTP_CALL) } http;

static bool load_call(void *library, const char *name, void *out_call) {
  void *call = dlsym(library, name);
  memcpy(out_call, &call, sizeof call);
  return call != NULL;
}

/* False: the reason has been printed. */
static bool load_http(void) {
  void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW);
  bool good = library != NULL;
#define LOAD_CALL(name) good = good && load_call(library, "MHD_" #name, &http.name);
  HTTP_CALLS(LOAD_CALL)
  if (!good) tide_tool_error("cannot serve a page: %s", dlerror());
  return good;
}

/* ---- connections ---------------------------------------------------------------------- */

static void unlink_stranger(struct server *server, struct stranger *stranger) {
  if (stranger->descriptor < 0) return;
  *(stranger->older ? &stranger->older->newer : &server->oldest) = stranger->newer;
  *(stranger->newer ? &stranger->newer->older : &server->newest) = stranger->older;
  stranger->descriptor = -1;
  server->strangers--;
}

/* Ends the connection as if its other side had closed it: microhttpd closes the descriptor. */
static void turn_away(struct server *server, struct stranger *stranger) {
  shutdown(stranger->descriptor, SHUT_RDWR);
  unlink_stranger(server, stranger);
}

static int descriptor_of(struct MHD_Connection *connection) {
  return http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static uint32_t get_strangers_max(void) {
  struct rlimit descriptors;
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0 || descriptors.rlim_cur >= 2 * STRANGERS_MAX)
    return STRANGERS_MAX;
  return descriptors.rlim_cur < 2 ? 1 : (uint32_t)descriptors.rlim_cur / 2;
}

static struct stranger *admit_stranger(struct server *server, int descriptor) {
  struct stranger *stranger = malloc(sizeof *stranger);
  if (!stranger) {
    shutdown(descriptor, SHUT_RDWR);
    return NULL;
  }
  if (server->strangers == server->strangers_max) turn_away(server, server->oldest);
  *stranger = (struct stranger){.older = server->newest, .descriptor = descriptor};
  *(server->newest ? &server->newest->newer : &server->oldest) = stranger;
  server->newest = stranger;
  server->strangers++;
  return stranger;
}

static void note_connection(void *self, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode what) {
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    *context = admit_stranger(self, descriptor_of(connection));
  } else if (*context) {
    unlink_stranger(self, *context);
    free(*context);
    *context = NULL;
  }
}

/* ---- requests ------------------------------------------------------------------------------ */

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     struct tide_view_bytes *body) {
  struct MHD_Response *response =
      body ? http.create_response_from_buffer(body->size, body->data, MHD_RESPMEM_MUST_FREE)
           : http.create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
  if (!response) {
    if (body) free(body->data);
    return MHD_NO;
  }
  http.add_response_header(response, "Content-Type",
                           body ? "text/html; charset=utf-8" : "text/plain");
  http.add_response_header(response, "Cache-Control", "no-store");
  http.add_response_header(response, "X-Content-Type-Options", "nosniff");
  http.add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  http.add_response_header(response, "Referrer-Policy", "no-referrer");
  if (!body) http.add_response_header(response, "Connection", "close");
  enum MHD_Result result = http.queue_response(connection, status, response);
  http.destroy_response(response);
  return result;
}

struct hosts {
  uint32_t count;
  const char *last;
};

static enum MHD_Result count_host(void *self, enum MHD_ValueKind kind, const char *key,
                                  const char *value) {
  struct hosts *hosts = self;
  (void)kind;
  if (strcasecmp(key, "Host") == 0) {
    hosts->count++;
    hosts->last = value;
  }
  return MHD_YES;
}

/* True if the request has one Host, with a name of this machine and the server's port. */
static bool is_host_here(const struct server *server, struct MHD_Connection *connection) {
  static const char *const names[] = {"127.0.0.1", "localhost"};
  struct hosts hosts = {0, NULL};
  http.get_connection_values(connection, MHD_HEADER_KIND, count_host, &hosts);
  if (hosts.count != 1 || !hosts.last) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char here[32];
    snprintf(here, sizeof here, "%s:%u", names[i], server->port);
    if (strcasecmp(hosts.last, here) == 0) return true;
    if (server->port == 80 && strcasecmp(hosts.last, names[i]) == 0) return true;
  }
  return false;
}

/* Takes the same time for every location of the first wrong byte. */
static bool is_path_right(const struct server *server, const char *path) {
  size_t length = strlen(server->path);
  volatile unsigned char differs = 0;
  if (strlen(path) != length) return false;
  for (size_t i = 0; i < length; i++) differs |= (unsigned char)(path[i] ^ server->path[i]);
  return !differs;
}

static enum MHD_Result serve_request(void *self, struct MHD_Connection *connection,
                                     const char *path, const char *method, const char *version,
                                     const char *upload, size_t *upload_size, void **state) {
  struct server *server = self;
  struct tide_view_bytes page = {.data = NULL};
  (void)version, (void)upload;
  if (!*state) { /* headers only: a body comes in further calls */
    *state = connection;
    if (!is_host_here(server, connection))
      return send_response(connection, MHD_HTTP_FORBIDDEN, NULL);
    if (!is_path_right(server, path)) return send_response(connection, MHD_HTTP_NOT_FOUND, NULL);
    struct stranger *known =
        http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (known) unlink_stranger(server, known);
    return MHD_YES;
  }
  if (*upload_size) {
    *upload_size = 0;
    return MHD_YES;
  }
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
    return send_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, NULL);
  if (!tide_view_make_page(&page, server->program)) {
    free(page.data);
    return send_response(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL);
  }
  return send_response(connection, MHD_HTTP_OK, &page);
}

/* ---- the browser --------------------------------------------------------------------------- */

/* Writes a file, for its owner alone, that leads a browser to the address. The caller frees the
 * name and removes the file. NULL: the file could not be written. */
static char *write_redirect(const char *address) {
  const char *folder = getenv("XDG_RUNTIME_DIR");
  if (!folder || !*folder) folder = getenv("TMPDIR");
  if (!folder || !*folder) folder = "/tmp";
  char *name;
  if (asprintf(&name, "%s/tidemark-view-XXXXXX.html", folder) < 0) return NULL;
  int descriptor = mkostemps(name, 5, O_CLOEXEC);
  bool good = descriptor >= 0 &&
              dprintf(descriptor,
                      "<!DOCTYPE html><meta charset=\"utf-8\"><title>tidemark view</title>"
                      "<meta http-equiv=\"refresh\" content=\"0; url=%s\"><a href=\"%s\">%s</a>\n",
                      address, address, address) > 0;
  if (descriptor >= 0) close(descriptor);
  if (descriptor >= 0 && !good) unlink(name);
  if (good) return name;
  free(name);
  return NULL;
}

/* Opens a browser, if one can be started. */
static void open_browser(char *file) {
  extern char **environ;
  char *const arguments[] = {"xdg-open", file, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  if (posix_spawn_file_actions_init(&actions) != 0) return;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  signal(SIGCHLD, SIG_IGN); /* the child is not waited for */
  (void)posix_spawnp(&child, "xdg-open", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool draw_path(struct server *server) {
  unsigned char bits[16];
  if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
    tide_tool_error("cannot draw an address: getrandom: %s", strerror(errno));
    return false;
  }
  char *at = server->path;
  *at++ = '/';
  for (size_t i = 0; i < sizeof bits; i++) at += sprintf(at, "%02x", bits[i]);
  memcpy(at, "/", 2);
  return true;
}

/* Returns a listening socket. -1: the reason has been printed. */
static int listen_here(struct server *server, uint16_t port) {
  struct sockaddr_in here = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof here;
  int one = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor >= 0 && setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
      bind(descriptor, (struct sockaddr *)&here, sizeof here) == 0 &&
      listen(descriptor, SOMAXCONN) == 0 &&
      getsockname(descriptor, (struct sockaddr *)&here, &size) == 0) {
    server->port = ntohs(here.sin_port);
    return descriptor;
  }
  tide_tool_error("cannot listen on 127.0.0.1:%u: %s", port, strerror(errno));
  if (descriptor >= 0) close(descriptor);
  return -1;
}

static void show_until_signal(const struct server *server, bool open, const sigset_t *ending) {
  char address[96], *redirect = NULL;
  int which;
  snprintf(address, sizeof address, "http://127.0.0.1:%u%s", server->port, server->path);
  printf("%s\n", address);
  fflush(stdout);
  if (open && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))) redirect = write_redirect(address);
  if (redirect) open_browser(redirect);
  sigwait(ending, &which);
  if (redirect) unlink(redirect);
  free(redirect);
}

bool tide_view_serve(uint16_t port, bool open, const char *path) {
  struct server server = {.program = path, .strangers_max = get_strangers_max()};
  struct tide_view_bytes first = {.data = NULL};
  bool good = tide_view_make_page(&first, path); /* prints errors before the server listens */
  free(first.data);
  if (!good || !load_http() || !draw_path(&server)) return false;
  int listening = listen_here(&server, port);
  if (listening < 0) return false;
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, NULL);
  /* Without MHD_USE_ITC a thread that is out of descriptors would miss the end. */
  struct MHD_Daemon *daemon = http.start_daemon(
      MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, serve_request, &server,
      MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_NOTIFY_CONNECTION, note_connection, &server,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)IDLE_S, MHD_OPTION_END);
  if (!daemon) {
    tide_tool_error("cannot serve on 127.0.0.1:%u: %s", server.port, strerror(errno));
    close(listening);
    return false;
  }
  show_until_signal(&server, open, &ending);
  http.stop_daemon(daemon); /* closes the listening socket, too */
  return true;
}

#endif
