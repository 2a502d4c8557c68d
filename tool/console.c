/* Messages on the terminal, and the signals that the user sends. */
#include "tool/tool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A blocked stderr blocks the holder of this lock without end. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards stderr and the next two */
static bool progress_shown;
static struct tide_run *watched;

/* Never held during output, so that a signal always ends the program. */
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static struct remembered {
  struct remembered *next;
  char path[];
} * remembered;

static sem_t diagnoses; /* posted once for each SIGQUIT */

/* ---- lines --------------------------------------------------------------------- */

static void clear_progress(void) {
  if (progress_shown) fputs("\r\033[K", stderr);
  progress_shown = false;
}

void tide_tool_error(const char *format, ...) {
  va_list list;
  va_start(list, format);
  pthread_mutex_lock(&lock);
  clear_progress();
  fputs("tidemark: ", stderr);
  vfprintf(stderr, format, list);
  fputs("\n", stderr);
  pthread_mutex_unlock(&lock);
  va_end(list);
}

void tide_tool_error_at(const char *file, const struct tide_diag *diag) {
  char text[1024];
  tide_program_diag_print(file, diag, text, sizeof text);
  pthread_mutex_lock(&lock);
  clear_progress();
  fprintf(stderr, "%s\n", text);
  pthread_mutex_unlock(&lock);
}

void tide_tool_finding_at(const char *file, const struct tide_finding *finding) {
  bool apart = finding->diag.line && finding->advice[0]; /* else the text has it */
  char text[1024];
  tide_program_diag_print(file, &finding->diag, text, sizeof text);
  pthread_mutex_lock(&lock);
  clear_progress();
  fprintf(stderr, "%s%s%s\n", text, apart ? ": " : "", apart ? finding->advice : "");
  pthread_mutex_unlock(&lock);
}

static bool shows_progress(void) {
  int error = errno;
  bool terminal = isatty(STDERR_FILENO) != 0;
  errno = error; /* else a caller's failure would read "Inappropriate ioctl for device" */
  return terminal;
}

void tide_tool_progress(const char *format, ...) {
  if (!shows_progress()) return;
  va_list list;
  va_start(list, format);
  pthread_mutex_lock(&lock);
  clear_progress();
  vfprintf(stderr, format, list);
  fflush(stderr);
  progress_shown = true;
  pthread_mutex_unlock(&lock);
  va_end(list);
}

void tide_tool_progress_over(void) {
  pthread_mutex_lock(&lock);
  clear_progress();
  fflush(stderr);
  pthread_mutex_unlock(&lock);
}

/* ---- signals --------------------------------------------------------------------- */

bool tide_tool_remember_file(const char *path) {
  size_t size = strlen(path) + 1;
  struct remembered *file = malloc(sizeof *file + size);
  if (!file) return false;
  memcpy(file->path, path, size);
  pthread_mutex_lock(&files_lock);
  file->next = remembered;
  remembered = file;
  pthread_mutex_unlock(&files_lock);
  return true;
}

void tide_tool_forget_file(const char *path) {
  pthread_mutex_lock(&files_lock);
  for (struct remembered **at = &remembered; *at; at = &(*at)->next) {
    struct remembered *file = *at;
    if (strcmp(file->path, path) != 0) continue;
    *at = file->next;
    free(file);
    break;
  }
  pthread_mutex_unlock(&files_lock);
}

void tide_tool_watch_run(struct tide_run *run) {
  pthread_mutex_lock(&lock);
  watched = run;
  pthread_mutex_unlock(&lock);
}

/* Prints without stderr's lock: a write that stalls must not hold up an exit that flushes stderr.
 */
static void print_diagnosis(void) {
  enum { CAPACITY = 1 << 16 };
  struct tide_context *context = watched ? tide_run_context(watched) : NULL;
  clear_progress();
  if (!context) {
    dprintf(STDERR_FILENO, "tidemark: nothing runs on queues just now\n");
    return;
  }
  char *text = malloc(CAPACITY);
  if (!text) return;
  size_t length = tide_context_diagnose(context, text, CAPACITY);
  dprintf(STDERR_FILENO, "%s%s", length ? text : "tidemark: nothing waits\n",
          length >= CAPACITY ? "\n… and more\n" : "");
  free(text);
}

static void *print_diagnoses(void *argument) {
  (void)argument;
  for (;;) {
    while (sem_wait(&diagnoses) != 0) {}
    pthread_mutex_lock(&lock);
    print_diagnosis();
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

void tide_tool_remove_files(void) {
  pthread_mutex_lock(&files_lock);
  for (struct remembered *file = remembered; file; file = file->next) unlink(file->path);
  pthread_mutex_unlock(&files_lock);
}

/* Clears the progress line unless that would block. */
static void clear_if_possible(void) {
  struct pollfd now = {.fd = STDERR_FILENO, .events = POLLOUT};
  if (pthread_mutex_trylock(&lock) == 0 && poll(&now, 1, 0) > 0 && now.revents == POLLOUT)
    clear_progress();
}

/* Waits for signals on a thread of its own, so that no handler has to be async-signal-safe. Prints
 * nothing that could block. */
static void *handle_signals(void *argument) {
  sigset_t *set = argument;
  for (;;) {
    int number;
    if (sigwait(set, &number) != 0) continue;
    if (number == SIGQUIT) {
      sem_post(&diagnoses);
      continue;
    }
    clear_if_possible();
    tide_tool_remove_files();
    _exit(128 + number);
  }
  return NULL;
}

static bool start_thread(void *(*main)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, main, argument) != 0) return false;
  pthread_detach(thread);
  return true;
}

void tide_tool_watch_signals(void) {
  static sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGQUIT);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup;
  if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* nohup ignores it */
    sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (sem_init(&diagnoses, 0, 0) != 0 || !start_thread(print_diagnoses, NULL) ||
      !start_thread(handle_signals, &set))
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
