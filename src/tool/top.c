/* tidemark top: who is connected to a service, what they have, and who waits for whom. */
#include "tidemark/service.h"
#include "tool/tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct tide_tool_option options[] = {
    {"--socket", "PATH", "of the service; as tidemark serve if not given"},
    {"--once", NULL, "prints one table and ends"},
    {"--interval", "MS", "between two tables; 1000 if not given"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "top", "", "Shows a service's clients, their channels, and who waits for whom.", options, NULL};

#define WAITS_ROOM (1 << 14)

static void print_channels(struct tide_session *session, uint32_t client) {
  struct tide_session_channel_stats channel;
  for (uint32_t i = 0; tide_session_channel_stats(session, client, i, &channel) == TIDE_OK; i++)
    printf("       %-20s  priority %2u  %8llu taken  %8llu over  %4llu of %u under way\n",
           channel.label[0] ? channel.label : "(channel)", channel.priority,
           (unsigned long long)channel.submitted, (unsigned long long)channel.over,
           (unsigned long long)(channel.submitted - channel.over), channel.capacity);
}

static enum tide_status print_table(struct tide_session *session) {
  struct tide_session_client_stats c;
  enum tide_status status;
  printf("%6s %-20s %6s %7s %9s %6s %6s %6s %5s %5s %9s %8s %8s\n", "client", "label", "uid", "pid",
         "promised", "kept", "broken", "missed", "lines", "waits", "bytes", "commands", "refused");
  for (uint32_t i = 0; (status = tide_session_client_stats(session, i, &c)) == TIDE_OK; i++) {
    printf("%6llu %-20s %6u %7u %9llu %6llu %6llu %6llu %5u %5u %9llu %8llu %8llu\n",
           (unsigned long long)c.client, c.label, c.uid, c.pid, (unsigned long long)c.promised,
           (unsigned long long)c.kept, (unsigned long long)c.broken, (unsigned long long)c.missed,
           c.timelines, c.waits, (unsigned long long)c.bytes, (unsigned long long)c.commands,
           (unsigned long long)c.refused);
    print_channels(session, i);
  }
  if (status != TIDE_NOT_FOUND) return status;
  char *waits = malloc(WAITS_ROOM);
  size_t length = 0;
  status = waits ? tide_session_diagnose(session, waits, WAITS_ROOM, &length) : TIDE_NOMEM;
  if (status == TIDE_OK && length) printf("\n%s", waits);
  free(waits);
  fflush(stdout);
  return status;
}

static int watch(struct tide_session *session, bool once, uint64_t interval) {
  for (;;) {
    if (!once && isatty(STDOUT_FILENO)) fputs("\033[H\033[2J", stdout);
    enum tide_status status = print_table(session);
    if (status != TIDE_OK) {
      tide_tool_error("%s", tide_status_text(status));
      return TIDE_EXIT_FAILED;
    }
    if (once || ferror(stdout)) return TIDE_EXIT_OK;
    struct timespec nap = {(time_t)(interval / 1000), (long)(interval % 1000 * 1000000)};
    nanosleep(&nap, NULL);
  }
}

int tide_tool_top(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  struct tide_session_params params = {.label = "top"};
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_session *session;
  uint64_t interval = 1000;
  bool once = false;
  char path[200];
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL)
      return tide_tool_wrong_usage(&usage, "unexpected '%s'", arguments.value);
    if (option == 0) params.socket = arguments.value;
    if (option == 1) once = true;
    if (option == 2 && (!tide_tool_parse_number(arguments.value, 1000000, &interval) || !interval))
      return tide_tool_wrong_usage(&usage, "--interval %s: expected milliseconds", arguments.value);
  }
  if (!params.socket) params.socket = tide_tool_socket(path, sizeof path);
  if (tide_session_connect(&params, &session, &diag) != TIDE_OK) {
    tide_tool_error("%s", diag.text);
    return TIDE_EXIT_FAILED;
  }
  int result = watch(session, once, interval);
  tide_session_close(session);
  return result;
}
