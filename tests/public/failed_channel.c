/* The calling pattern of the sync point document, by a client of `tidemark serve`: SyncPointWait,
 * draw, InsertSyncPoint. When the wait fails the draw does not run, and the point behind it breaks.
 * Public headers only; the tool is $TIDEMARK, or beside this program. */
#include "tidemark/tidemark.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
  struct tide_session *session;
  struct tide_point channel, own, hosts, buffer;
  const volatile unsigned char *bytes;
} c;

static const char *tool_path(char *path, size_t size) {
  const char *tool = getenv("TIDEMARK");
  ssize_t length = readlink("/proc/self/exe", path, size - 16);
  if (tool) return tool;
  if (length < 0) return "tidemark";
  path[length] = 0;
  char *name = strrchr(path, '/');
  memcpy(name ? name + 1 : path, "tidemark", sizeof "tidemark");
  return path;
}

static pid_t serve(const char *socket) {
  char path[4096];
  const char *tool = tool_path(path, sizeof path);
  if (access(tool, X_OK) != 0) return -1;
  fflush(NULL);
  pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM); /* however this test ends */
  execl(tool, "tidemark", "serve", "--socket", socket, (char *)NULL);
  _exit(127);
}

static uint64_t seconds_from_now(unsigned seconds) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)now.tv_sec + seconds) * 1000000000u + (uint64_t)now.tv_nsec;
}

static void must(enum tide_status status, const char *what) {
  if (status == TIDE_OK) return;
  printf("FAIL %s: %s\n", what, tide_status_text(status));
  exit(1);
}

static void connect_to(const char *socket) {
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = socket, .label = "client"};
  struct tide_future_params large = {.struct_size = sizeof large, .capacity = 64};
  enum tide_status status = TIDE_LOST;
  for (int i = 0; i < 1000 && status != TIDE_OK; i++) { /* it may not listen yet */
    status = tide_session_connect(&params, &c.session, NULL);
    if (status != TIDE_OK) usleep(10000);
  }
  must(status, "connecting");
  must(tide_session_create_channel(c.session, NULL, &c.channel), "a channel");
  must(tide_session_create_channel_future(c.session, c.channel, &large, &c.own), "a timeline");
  must(tide_session_create_future(c.session, NULL, &c.hosts), "a timeline");
  must(tide_session_create_buffer(c.session, 64, &c.buffer), "a buffer");
  c.bytes = tide_session_buffer_data(c.session, c.buffer, NULL);
}

static struct tide_point promise(struct tide_point timeline) {
  struct tide_point point;
  must(tide_session_promise(c.session, timeline, 0, &point), "a promise");
  return point;
}

static void submit(const struct tide_session_operation *operation) {
  must(tide_session_submit(c.session, c.channel, operation), "a command");
}

static void sync_point_wait(struct tide_point point) {
  submit(&(struct tide_session_operation){.waits = &point, .wait_count = 1});
}
static void draw(unsigned at) {
  struct tide_session_argument fill[] = {{.buffer = c.buffer, .offset = at, .size = 1},
                                         {.offset = 1}};
  submit(&(struct tide_session_operation){
      .body = TIDE_SESSION_FILL, .arguments = fill, .argument_count = 2});
}
static struct tide_point insert_sync_point(void) {
  struct tide_point point = promise(c.own);
  submit(&(struct tide_session_operation){.retires = &point, .retire_count = 1});
  return point;
}

static enum tide_status await(struct tide_point point) {
  return tide_session_wait(c.session, point, seconds_from_now(120));
}

static int check(bool good, const char *name) {
  printf("%s %s%s\n", good ? "PASS" : "FAIL", name, good ? "" : ": see the source");
  return !good;
}

static int run(void) {
  struct tide_point p = promise(c.hosts);
  sync_point_wait(p);
  draw(0);
  struct tide_point behind = insert_sync_point();
  must(tide_session_break(c.session, p, TIDE_FAILED), "breaking");
  int bad = check(await(behind) == TIDE_FAILED && c.bytes[0] == 0,
                  "a_point_behind_a_failed_wait_breaks_with_it");
  draw(1);
  struct tide_point later = insert_sync_point();
  bad |= check(await(later) == TIDE_FAILED && c.bytes[1] == 0, "so_does_one_that_is_queued_later");
  must(tide_session_recover(c.session, c.channel), "recovering");
  draw(2);
  struct tide_point fresh = insert_sync_point();
  bad |= check(await(fresh) == TIDE_OK && c.bytes[2] == 1, "behind_a_recovery_all_goes_on");
  submit(&(struct tide_session_operation){.body = TIDE_SESSION_FAIL});
  draw(3);
  behind = insert_sync_point();
  return bad | check(await(behind) == TIDE_FAILED && c.bytes[3] == 0,
                     "a_point_behind_a_failed_body_breaks_with_it");
}

int main(void) {
  char folder[] = "/tmp/tidemark-test-XXXXXX", socket[64];
  int status;
  if (!mkdtemp(folder)) return 1;
  snprintf(socket, sizeof socket, "%s/socket", folder);
  pid_t server = serve(socket);
  if (server < 0) {
    printf("SKIP failed_channel: no tool is built: $TIDEMARK names none\n");
    rmdir(folder);
    return 0;
  }
  connect_to(socket);
  int bad = run();
  tide_session_close(c.session);
  kill(server, SIGTERM);
  bad |= check(waitpid(server, &status, 0) == server && status == 0, "the_service_ends_well");
  rmdir(folder);
  return bad;
}
