/* tidemark serve: a service in the foreground. */
#include "base/atomic.h"
#include "tidemark/kernel.h"
#include "tool/event_log.h"
#include "tool/policy_file.h"
#include "tool/tool.h"

#include <signal.h>
#include <sys/resource.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_MOST 86400u /* seconds */

static const struct tide_tool_option options[] = {
    {"--socket", "PATH", "where clients connect; " TIDE_TOOL_SOCKET_HELP},
    {"--config", "FILE", "who may connect, and how much each may have: docs/service.md"},
    {"--json-events", "FILE", "one JSON object a line for each client that comes, goes or errs"},
    {"--workers", "N", "threads that run commands"},
    {"--drain", "SECONDS",
     "at SIGTERM, lets promises and commands end for so long; 0 if not given"},
    {"--domain", "N", "the number of this service's points; 1 if not given"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "serve", "", "Orders the work of other processes that don't trust each other.", options,
    "It runs until SIGTERM or SIGINT; a second SIGTERM ends --drain. SIGHUP reads --config again\n"
    "and opens --json-events anew; without both it ends the service."};

static struct tide_service *serving; /* atomic, for the handlers; NULL: none yet */
static struct tide_event_log *events;
static const char *config;        /* NULL: none */
static uint32_t is_asked_to_stop; /* atomic; the signal may precede the service */
static uint64_t drain_time;       /* ns; 0: SIGTERM ends the service at once */
static uint32_t is_draining;      /* atomic */

static void handle_stop(int number) {
  struct tide_service *service = tide_load_ordered(&serving);
  (void)number;
  tide_store_ordered(&is_asked_to_stop, 1u);
  if (service) tide_service_stop(service);
}

static void handle_term(int number) {
  struct tide_service *service = tide_load_ordered(&serving);
  if (service && drain_time && !tide_exchange(&is_draining, 1u))
    tide_service_drain(service, drain_time);
  else handle_stop(number);
}

static void handle_hangup(int number) {
  (void)number;
  if (events) tide_event_log_reopen(events);
  if (config) tide_policy_file_ask();
}

/* SIGHUP: the log's file was moved away, or the policy's was changed; without either, the terminal
 * has gone. */
static void watch_signals(void) {
  struct sigaction ends = {.sa_handler = handle_stop}, drains = {.sa_handler = handle_term},
                   reopens = {.sa_handler = handle_hangup}, before;
  sigaction(SIGTERM, &drains, NULL);
  sigaction(SIGINT, &ends, NULL);
  signal(SIGPIPE, SIG_IGN); /* writes to a pipe without a reader fail instead */
  if (events || config) sigaction(SIGHUP, &reopens, NULL);
  else if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &ends, NULL); /* nohup ignores it */
}

/* After this call no handler uses the service or the event log: both may be freed. */
static void ignore_signals(void) {
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

/* Prints one warning for each limit below the sum of the policy's quotas. */
static void warn_of_shortages(const struct tide_service *service) {
  char text[1024];
  size_t length = tide_service_shortages(service, text, sizeof text);
  if (length >= sizeof text) length = sizeof text - 1;
  for (char *line = text, *end; line < text + length; line = end + 1) {
    end = memchr(line, '\n', (size_t)(text + length - line));
    if (!end) end = text + length;
    tide_tool_print_now(STDERR_FILENO, "tidemark: warning: %.*s\n", (int)(end - line), line);
  }
}

static int run_service(struct tide_service_params *params) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct rlimit descriptors; /* the clients' quotas need them */
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    descriptors.rlim_cur = descriptors.rlim_max;
    (void)!setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  struct tide_service *service;
  if (config) tide_policy_file_prepare(config);
  watch_signals();
  enum tide_status status = tide_service_create(params, &service, &diag);
  if (status != TIDE_OK) {
    ignore_signals();
    if (diag.line) tide_tool_error_at(config, &diag);
    else tide_tool_error("%s", diag.text);
    return TIDE_EXIT_FAILED;
  }
  warn_of_shortages(service);
  tide_store_ordered(&serving, service);
  if (tide_load_ordered(&is_asked_to_stop)) tide_service_stop(service);
  bool is_ready = !config || tide_policy_file_follow(service);
  if (is_ready) tide_tool_print_now(STDOUT_FILENO, "tidemark serves at %s\n", params->socket);
  status = is_ready ? tide_service_run(service) : TIDE_NOMEM;
  ignore_signals();
  tide_policy_file_leave();
  tide_service_destroy(service);
  if (status == TIDE_TIMEOUT)
    tide_tool_print_now(STDERR_FILENO,
                        "tidemark: promises or commands were left at the end of --drain %llu\n",
                        (unsigned long long)(drain_time / 1000000000u));
  else if (status != TIDE_OK)
    tide_tool_print_now(STDERR_FILENO, "tidemark: %s\n", tide_status_text(status));
  return status == TIDE_OK ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}

int tide_tool_serve(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  struct tide_service_params params = {.struct_size = sizeof params,
                                       .bodies = tide_kernel_session_bodies()};
  const char *log = NULL, *why = NULL;
  uint64_t workers = 0, domain = 1, drain = 0;
  char path[200];
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL)
      return tide_tool_wrong_usage(&usage, "unexpected '%s'", arguments.value);
    if (option == 0) params.socket = arguments.value;
    if (option == 1) config = arguments.value;
    if (option == 2) log = arguments.value;
    if (option == 3 && !tide_tool_parse_number(arguments.value, 256, &workers))
      return tide_tool_wrong_usage(&usage, "--workers %s: expected 0 to 256", arguments.value);
    if (option == 4 && !tide_tool_parse_number(arguments.value, DRAIN_MOST, &drain))
      return tide_tool_wrong_usage(&usage, "--drain %s: expected 0 to %u seconds", arguments.value,
                                   DRAIN_MOST);
    if (option == 5 && (!tide_tool_parse_number(arguments.value, UINT32_MAX, &domain) || !domain))
      return tide_tool_wrong_usage(&usage, "--domain %s: expected a number from 1 on",
                                   arguments.value);
  }
  if (!params.socket && !tide_tool_socket(path, sizeof path, true)) return TIDE_EXIT_FAILED;
  if (!params.socket) params.socket = path;
  params.workers = (uint32_t)workers;
  params.domain = (uint32_t)domain;
  drain_time = drain * 1000000000u;
  char *text = NULL;
  if (config && !(text = tide_policy_file_read(config, &params.policy_length, &why))) {
    tide_tool_error("%s: %s", config, why);
    return TIDE_EXIT_FAILED;
  }
  params.policy = text;
  int result = TIDE_EXIT_FAILED;
  if (log) events = tide_event_log_open(log);
  if (events) {
    params.event = tide_event_log_add;
    params.user = events;
  }
  if (events || !log) result = run_service(&params);
  if (events && !tide_event_log_close(events)) result = TIDE_EXIT_FAILED;
  free(text);
  return result;
}
