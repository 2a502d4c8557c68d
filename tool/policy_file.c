/* The policy of `tidemark serve`. */
#include "tool/policy_file.h"
#include "tool/event_log.h"
#include "tool/tool.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MOST (1u << 20) /* bytes */

static const char *file;
static struct tide_service *follower; /* NULL: there is none, or it is about to end */
static pthread_mutex_t follower_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t asked;

char *tide_policy_file_read(const char *path, size_t *out_length, const char **out_why) {
  int from = tide_tool_open_input(path, out_why);
  char *text = from < 0 ? NULL : tide_tool_read_input(from, FILE_MOST, out_length);
  if (from >= 0 && !text) *out_why = errno == EFBIG ? "too large" : strerror(errno);
  if (from >= 0) close(from);
  return text;
}

/* Gives the policy to the service, unless there is none: `why` then has the reason. With the
 * lock. */
static void follow(char *text, size_t length, const char *why) {
  struct tide_diag diag = {.status = TIDE_OK};
  enum tide_status status = TIDE_IO;
  if (text) {
    status = tide_service_set_policy(follower, text, length, &diag);
    why = diag.text;
  }
  free(text);
  if (status == TIDE_OK) tide_tool_print_now(STDOUT_FILENO, "tidemark follows %s\n", file);
  else if (diag.line)
    tide_tool_print_now(STDERR_FILENO, "%s:%u:%u: %s; the policy before it stays\n", file,
                        (unsigned)diag.line, (unsigned)diag.column, why);
  else
    tide_tool_print_now(STDERR_FILENO, "tidemark: %s: %s; the policy before it stays\n", file, why);
}

/* The thread may wait for the bytes of a FIFO when the service ends: it ends with the process. */
static void *read_when_asked(void *unused) {
  (void)unused;
  for (;;) {
    const char *why = NULL;
    size_t length = 0;
    while (sem_wait(&asked) != 0) {} /* a signal's handler has run */
    char *text = tide_policy_file_read(file, &length, &why);
    pthread_mutex_lock(&follower_lock);
    if (follower) follow(text, length, why);
    else free(text);
    pthread_mutex_unlock(&follower_lock);
  }
  return NULL;
}

void tide_policy_file_prepare(const char *path) {
  file = path;
  sem_init(&asked, 0, 0);
}

bool tide_policy_file_follow(struct tide_service *service) {
  pthread_t thread;
  sigset_t all, before;
  follower = service;
  sigfillset(&all);
  /* The signals' handlers use the service: they must not run on a thread that outlives it. */
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int error = pthread_create(&thread, NULL, read_when_asked, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error == 0) {
    pthread_detach(thread);
    return true;
  }
  follower = NULL;
  tide_tool_error("no thread to read %s again: %s", file, strerror(error));
  return false;
}

void tide_policy_file_ask(void) {
  int error = errno;
  (void)sem_post(&asked);
  errno = error;
}

void tide_policy_file_leave(void) {
  pthread_mutex_lock(&follower_lock);
  follower = NULL;
  pthread_mutex_unlock(&follower_lock);
}
