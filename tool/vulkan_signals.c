/* Signals to `tidemark vulkan`.
 *
 * A thread waits for the signals, so that blocked output cannot keep the tool from ending. While a
 * run is in progress, the thread passes each signal to the main thread by a pipe. */
#include "tool/vulkan_session.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define PASSED_ON_MOST 2 /* signals to end for the main thread; the next one ends the tool */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_in_run;     /* guarded by lock */
static unsigned passed_on; /* signals passed to the run in progress; guarded by lock */
static int pipe_ends[2] = {-1, -1};
static sigset_t watched, mask_before;
static struct tide_vulkan_directory *removed_at_end;

static void pass_on(int number) {
  unsigned char byte = (unsigned char)number;
  (void)!write(pipe_ends[1], &byte, 1); /* a full pipe has enough to wake the reader */
}

/* True if the main thread handles the signal. */
static bool is_for_run(int number) {
  bool ends = number != SIGCHLD && number != SIGQUIT;
  pthread_mutex_lock(&lock);
  bool answer = !ends || (is_in_run && passed_on++ < PASSED_ON_MOST);
  pthread_mutex_unlock(&lock);
  return answer;
}

static void *wait_for_signals(void *argument) {
  (void)argument;
  for (;;) {
    int number;
    if (sigwait(&watched, &number) != 0) continue;
    if (is_for_run(number)) {
      pass_on(number);
      continue;
    }
    tide_tool_remove_files();
    tide_vulkan_directory_remove(removed_at_end);
    _exit(128 + number);
  }
  return NULL;
}

void tide_vulkan_watch_signals(struct tide_vulkan_directory *directory) {
  pthread_t thread;
  struct sigaction hangup;
  removed_at_end = directory;
  signal(SIGCHLD, SIG_DFL); /* with SIGCHLD ignored, children would leave no exit status */
  signal(SIGPIPE, SIG_IGN); /* a closed reader must not prevent the directory's removal */
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, SIGQUIT);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* nohup ignores it */
    sigaddset(&watched, SIGHUP);
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  pthread_sigmask(SIG_BLOCK, &watched, &mask_before);
  if (pthread_create(&thread, NULL, wait_for_signals, NULL) == 0) pthread_detach(thread);
  else pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

void tide_vulkan_set_running(bool is_running) {
  pthread_mutex_lock(&lock);
  is_in_run = is_running;
  passed_on = 0;
  pthread_mutex_unlock(&lock);
}

int tide_vulkan_next_signal(uint64_t timeout_ns) {
  struct pollfd readable = {.fd = pipe_ends[0], .events = POLLIN};
  struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                             .tv_nsec = (long)(timeout_ns % 1000000000)};
  unsigned char number;
  if (ppoll(&readable, 1, &timeout, NULL) <= 0) return 0;
  return read(pipe_ends[0], &number, 1) == 1 ? number : 0;
}

void tide_vulkan_reset_signals(void) {
  signal(SIGXFSZ, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}
