/* tidemark serve: a service in the foreground. */
#include "tidemark/service.h"
#include "tool/tool.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct tide_tool_option options[] = {
    {"--socket", "PATH", "where clients connect; " TIDE_TOOL_SOCKET_HELP},
    {"--config", "FILE", "who may connect, and how much each may have: docs/service.md"},
    {"--json-events", "FILE", "one JSON object a line for each client that comes, goes or errs"},
    {"--workers", "N", "threads that run commands"},
    {"--domain", "N", "the number of this service's points; 1 if not given"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "serve", "", "Orders the work of other processes that don't trust each other.", options,
    "It runs until SIGTERM or SIGINT."};

static struct tide_service *serving;

static void stop(int number) {
  (void)number;
  tide_service_stop(serving);
}

static const char *const kinds[] = {"?", "connected", "turned away", "gone", "refused", "paced"};

/* One object a line, written as a whole. */
static void write_event(void *user, const struct tide_service_event *event) {
  FILE *to = user;
  char label[2 * 32 + 1];
  size_t length = 0;
  for (const char *at = event->label; at && *at && length + 2 < sizeof label; at++) {
    if (*at == '"' || *at == '\\') label[length++] = '\\';
    label[length++] = *at;
  }
  label[length] = 0;
  fprintf(to,
          "{\"time\": %llu, \"event\": \"%s\", \"client\": %llu, \"uid\": %u, \"pid\": %u, "
          "\"label\": \"%s\", \"status\": \"%s\"",
          (unsigned long long)event->time, kinds[event->kind], (unsigned long long)event->client,
          event->uid, event->pid, label, tide_status_name(event->status));
  if (event->what)
    fprintf(to, ", \"command\": \"%s\", \"sequence\": %llu", event->what,
            (unsigned long long)event->sequence);
  fputs("}\n", to);
  fflush(to);
}

static char *read_config(const char *path, size_t *out_length) {
  FILE *file = fopen(path, "re");
  char *text = malloc(1 << 20);
  *out_length = file && text ? fread(text, 1, 1 << 20, file) : 0;
  bool good = file && text && !ferror(file) && feof(file);
  if (!good) tide_tool_error("%s: %s", path, file && errno == 0 ? "too large" : strerror(errno));
  if (file) fclose(file);
  if (good) return text;
  free(text);
  return NULL;
}

/* One warning for each limit that is less than what the policy promises. */
static void warn_of_shortages(void) {
  char text[1024];
  size_t length = tide_service_shortages(serving, text, sizeof text);
  if (length >= sizeof text) length = sizeof text - 1;
  for (char *line = text, *end; line < text + length; line = end + 1) {
    end = memchr(line, '\n', (size_t)(text + length - line));
    if (!end) end = text + length;
    tide_tool_error("warning: %.*s", (int)(end - line), line);
  }
}

static int serve(struct tide_service_params *params, const char *config) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct rlimit descriptors; /* clients' quotas are made of them */
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    descriptors.rlim_cur = descriptors.rlim_max;
    (void)!setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  enum tide_status status = tide_service_create(params, &serving, &diag);
  if (status != TIDE_OK) {
    if (diag.line) tide_tool_error_at(config, &diag);
    else tide_tool_error("%s", diag.text);
    return TIDE_EXIT_FAILED;
  }
  warn_of_shortages();
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  printf("tidemark serves at %s\n", params->socket);
  fflush(stdout);
  status = tide_service_run(serving);
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  tide_service_destroy(serving);
  if (status != TIDE_OK) tide_tool_error("%s", tide_status_text(status));
  return status == TIDE_OK ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}

int tide_tool_serve(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  struct tide_service_params params = {.socket = NULL};
  const char *config = NULL, *events = NULL;
  uint64_t workers = 0, domain = 1;
  char path[200];
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL)
      return tide_tool_wrong_usage(&usage, "unexpected '%s'", arguments.value);
    if (option == 0) params.socket = arguments.value;
    if (option == 1) config = arguments.value;
    if (option == 2) events = arguments.value;
    if (option == 3 && !tide_tool_parse_number(arguments.value, 256, &workers))
      return tide_tool_wrong_usage(&usage, "--workers %s: expected 0 to 256", arguments.value);
    if (option == 4 && (!tide_tool_parse_number(arguments.value, UINT32_MAX, &domain) || !domain))
      return tide_tool_wrong_usage(&usage, "--domain %s: expected a number from 1 on",
                                   arguments.value);
  }
  if (!params.socket && !tide_tool_socket(path, sizeof path, true)) return TIDE_EXIT_FAILED;
  if (!params.socket) params.socket = path;
  params.workers = (uint32_t)workers;
  params.domain = (uint32_t)domain;
  char *text = NULL;
  if (config && !(text = read_config(config, &params.policy_length))) return TIDE_EXIT_FAILED;
  params.policy = text;
  FILE *to = events ? fopen(events, "ae") : NULL;
  int result = TIDE_EXIT_FAILED;
  if (events && !to) {
    tide_tool_error("%s: %s", events, strerror(errno));
  } else {
    params.event = to ? write_event : NULL;
    params.user = to;
    result = serve(&params, config);
  }
  if (to && fclose(to) != 0) {
    tide_tool_error("%s: %s", events, strerror(errno));
    result = TIDE_EXIT_FAILED;
  }
  free(text);
  return result;
}
