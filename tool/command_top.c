/* tidemark top: a service's clients, their objects, and their waits. */
#include "tool/top.h"
#include "tool/tool.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define PATIENCE 5000000000ull /* ns that one answer may take */

enum { SOCKET, TRUST_UID, ONCE, INTERVAL, ROWS, AS_JSON };
static const struct tide_tool_option options[] = {
    [SOCKET] = {"--socket", "PATH", "of the service; as tidemark serve if not given"},
    [TRUST_UID] = {"--trust-uid", "UID", "whose service it may be, besides root's and one's own"},
    [ONCE] = {"--once", NULL, "prints one table and ends"},
    [INTERVAL] = {"--interval", "MS", "between two tables; 1000 if not given"},
    [ROWS] = {"--rows", "N", "channels and timelines of each client; 8 if not given"},
    [AS_JSON] = {"--json", NULL, "one object instead of a table, once"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "top", "", "Shows a service's clients, their channels and timelines, and who waits for whom.",
    options, "On a terminal, q ends it."};

/* ---- the terminal ------------------------------------------------------------------------ */

#define HIDE "\033[?25l"
#define SHOW "\033[?25h"

static struct termios before;
static bool has_keys;

/* Called from a signal handler, too. */
static void leave_terminal(void) {
  if (has_keys) tcsetattr(STDIN_FILENO, TCSANOW, &before);
  (void)!write(STDOUT_FILENO, SHOW, sizeof SHOW - 1);
}

static void on_signal(int number) {
  leave_terminal();
  signal(number, SIG_DFL);
  raise(number);
}

/* Makes keys arrive at once, without echo. */
static void enter_terminal(void) {
  has_keys = tcgetattr(STDIN_FILENO, &before) == 0;
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  if (has_keys) {
    struct termios now = before;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  fputs(HIDE "\033[2J", stdout);
}

/* Draws over the previous text, with each line cut to the width. Lines below the last row are only
 * counted. */
static void draw_text(const char *text) {
  struct winsize size = {.ws_row = 24, .ws_col = 80};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col < 2)
    size = (struct winsize){.ws_row = 24, .ws_col = 80};
  unsigned row = 0, left = 0;
  fputs("\033[H", stdout);
  while (*text) {
    size_t length = strcspn(text, "\n");
    size_t shown = length < size.ws_col ? length : size.ws_col;
    if (row + 1 < size.ws_row) {
      fwrite(text, 1, shown, stdout);
      fputs("\033[K\n", stdout);
      row++;
    } else {
      left++;
    }
    text += length + (text[length] == '\n');
  }
  fputs("\033[J", stdout);
  if (left) printf("%u more lines", left);
  fflush(stdout);
}

/* Sleeps. True if q was typed. */
static bool wait_for_quit(bool keys, uint64_t milliseconds) {
  struct pollfd one = {.fd = STDIN_FILENO, .events = POLLIN};
  char key = 0;
  if (poll(&one, keys, (int)milliseconds) <= 0) return false;
  return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Makes the whole text first: a table appears at once, or not at all. */
static enum tide_status print_table(const struct tide_top_view *view, bool terminal) {
  char *text = NULL;
  size_t length = 0;
  FILE *to = open_memstream(&text, &length);
  if (!to) return TIDE_NOMEM;
  enum tide_status status = tide_top_print(view, to);
  if (fclose(to) != 0 && status == TIDE_OK) status = TIDE_NOMEM;
  if (status == TIDE_OK && terminal) draw_text(text);
  else if (status == TIDE_OK) fwrite(text, 1, length, stdout);
  free(text);
  fflush(stdout);
  return status;
}

static int watch_service(const struct tide_top_view *view, bool once, uint64_t interval) {
  bool terminal = !once && isatty(STDOUT_FILENO);
  enum tide_status status;
  if (terminal) enter_terminal();
  for (;;) {
    status = print_table(view, terminal);
    if (status != TIDE_OK || once || ferror(stdout)) break;
    if (wait_for_quit(terminal && has_keys, interval)) break;
    if (!terminal) fputc('\n', stdout);
  }
  if (terminal) leave_terminal();
  if (status != TIDE_OK)
    tide_tool_error("%s%s", status == TIDE_TIMEOUT ? "the service does not answer: " : "",
                    tide_status_text(status));
  return status == TIDE_OK && !ferror(stdout) ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}

int tide_tool_top(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  struct tide_session_params params = {
      .struct_size = sizeof params, .label = "top", .patience = PATIENCE};
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_top_view view = {.rows = 8};
  uint64_t interval = 1000, rows = 8, trust_uid = 0;
  bool once = false;
  char path[200];
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL)
      return tide_tool_wrong_usage(&usage, "unexpected '%s'", arguments.value);
    if (option == SOCKET) params.socket = arguments.value;
    if (option == TRUST_UID && !tide_tool_parse_number(arguments.value, UINT32_MAX - 1, &trust_uid))
      return tide_tool_wrong_usage(&usage, "--trust-uid %s: expected a uid", arguments.value);
    if (option == ONCE) once = true;
    if (option == AS_JSON) once = view.json = true;
    if (option == INTERVAL &&
        (!tide_tool_parse_number(arguments.value, 1000000, &interval) || !interval))
      return tide_tool_wrong_usage(&usage, "--interval %s: expected milliseconds", arguments.value);
    if (option == ROWS && !tide_tool_parse_number(arguments.value, 1u << 16, &rows))
      return tide_tool_wrong_usage(&usage, "--rows %s: expected 0 to 65536", arguments.value);
  }
  view.rows = (uint32_t)rows;
  params.trust_uid = (uint32_t)trust_uid;
  if (!params.socket && !tide_tool_socket(path, sizeof path, false)) return TIDE_EXIT_FAILED;
  if (!params.socket) params.socket = path;
  if (tide_session_connect(&params, &view.session, &diag) != TIDE_OK) {
    tide_tool_error("%s", diag.text);
    return TIDE_EXIT_FAILED;
  }
  int result = watch_service(&view, once, interval);
  tide_session_close(view.session);
  return result;
}
