/* Runs a program once: starts it in a group of its own, watches it, and ends all its processes.
 *
 *   start --> watch --+--> the program ends -----------> processes that it left are ended
 *                     +--> limit, SIGINT, SIGTERM, SIGHUP
 *                            ask: reports (2 s) --> SIGTERM (0.5 s) --> SIGKILL */
#include "tool/vulkan_session.h"

#include "layer/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull
#define REPORTS_WAIT (2000 * MS) /* the wait for requested reports */
#define TERM_WAIT (500 * MS)     /* the wait for processes to end by themselves */
#define KILL_WAIT (5000 * MS)    /* only a process inside a driver takes so long */
#define STEP (20 * MS)           /* between two checks */
#define LONG_STEP (1000 * MS)

struct watch {
  const struct tide_vulkan_run *run;
  pid_t main;
  bool is_over; /* the main process ended, with this status */
  int status;
  int interrupt;   /* the first signal to end the run; 0: none */
  bool is_hurried; /* a second signal came */
  bool gave_terminal;
  struct tide_vulkan_processes strangers, found;
};

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- start ----------------------------------------------------------------------- */

/* Opens a file as that descriptor. For the child. */
static bool redirect_descriptor(const char *path, int flags, int descriptor) {
  int opened = open(path, flags | O_CLOEXEC, 0600);
  return opened >= 0 && dup2(opened, descriptor) == descriptor;
}

static bool redirect_all(const char *output) {
  char path[TIDE_VULKAN_PATH_MOST + 8];
  if (!output) return true;
  snprintf(path, sizeof path, "%s.stdout", output);
  if (!redirect_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO)) return false;
  snprintf(path, sizeof path, "%s.stderr", output);
  return redirect_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO) &&
         redirect_descriptor("/dev/null", O_RDONLY, STDIN_FILENO);
}

/* The child's side of the fork. Writes errno to `failure` if the program cannot be started. */
static _Noreturn void execute_program(const struct tide_vulkan_run *run, pid_t tool, int failure) {
  setpgid(0, 0);
  /* The program dies with the tool, even if the tool is killed. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != tool) _exit(127);
  tide_vulkan_reset_signals();
  if (redirect_all(run->output)) execvpe(run->program[0], run->program, run->environment);
  int error = errno;
  (void)!write(failure, &error, sizeof error);
  _exit(127);
}

/* Starts the program. Returns 0, or errno. */
static int start_program(struct watch *watch) {
  const struct tide_vulkan_run *run = watch->run;
  int failure[2], error = 0;
  pid_t tool = getpid();
  if (pipe2(failure, O_CLOEXEC) != 0) return errno;
  fflush(NULL);
  watch->main = fork();
  if (watch->main == 0) execute_program(run, tool, failure[1]);
  error = watch->main < 0 ? errno : 0;
  close(failure[1]);
  if (!error) {
    setpgid(watch->main, watch->main); /* the child does so, too: no side waits */
    ssize_t got = read(failure[0], &error, sizeof error);
    if (got != sizeof error) error = 0;
    else waitpid(watch->main, NULL, 0);
  }
  close(failure[0]);
  return error;
}

/* ---- the terminal ---------------------------------------------------------------- */

/* Gives the terminal to the program: while the tool's group has it, reads from it stop the
 * program. */
static void give_terminal(struct watch *watch) {
  if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return;
  if (tcsetpgrp(STDIN_FILENO, watch->main) != 0) return;
  watch->gave_terminal = true;
  kill(-watch->main, SIGCONT);
}

static void take_terminal(struct watch *watch) {
  if (!watch->gave_terminal) return;
  void (*before)(int) = signal(SIGTTOU, SIG_IGN);
  tcsetpgrp(STDIN_FILENO, getpgrp());
  signal(SIGTTOU, before);
  watch->gave_terminal = false;
}

static void follow_stop(struct watch *watch, int number) {
  if (number == SIGTTIN || number == SIGTTOU) {
    give_terminal(watch);
  } else if (watch->gave_terminal) { /* Ctrl-Z, which the tool's group did not get */
    take_terminal(watch);
    raise(SIGSTOP);
    give_terminal(watch);
  }
}

/* ---- signals and processes ------------------------------------------------------- */

static void reap_children(struct watch *watch) {
  int status;
  pid_t process;
  while ((process = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (process != watch->main) continue;
    if (WIFSTOPPED(status)) {
      follow_stop(watch, WSTOPSIG(status));
      continue;
    }
    watch->is_over = true;
    watch->status = status;
  }
}

/* Waits for a signal, and reaps children. True if the user requests reports. */
static bool wait_step(struct watch *watch, uint64_t timeout_ns) {
  int number = tide_vulkan_next_signal(timeout_ns);
  bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP;
  if (ends && watch->interrupt) watch->is_hurried = true;
  if (ends && !watch->interrupt) watch->interrupt = number;
  reap_children(watch);
  return number == SIGQUIT;
}

/* Finds the processes of the run that are still alive. */
static size_t find_processes(struct watch *watch) {
  if (!tide_vulkan_descendants(&watch->found, &watch->strangers)) {
    watch->found.count = 0;
    return watch->is_over ? 0 : 1;
  }
  return watch->found.count;
}

static void signal_all(struct watch *watch, int number) {
  if (!watch->is_over) kill(-watch->main, number);
  for (size_t i = 0; i < watch->found.count; i++) {
    kill(watch->found.list[i], number);
    if (number != SIGKILL) kill(watch->found.list[i], SIGCONT); /* to handle it when stopped */
  }
}

/* Waits until no process of the run is left. False: the time is over. */
static bool wait_for_all(struct watch *watch, uint64_t timeout_ns, bool kills) {
  uint64_t deadline = now_ns() + timeout_ns;
  for (;;) {
    reap_children(watch);
    if (!find_processes(watch)) return true;
    if (kills) signal_all(watch, SIGKILL);
    if (now_ns() >= deadline || (watch->is_hurried && !kills)) return false;
    wait_step(watch, STEP);
  }
}

static void end_processes(struct watch *watch, int number) {
  find_processes(watch);
  signal_all(watch, number);
  if (wait_for_all(watch, TERM_WAIT, false) || wait_for_all(watch, KILL_WAIT, true)) return;
  tide_tool_error("%zu processes of the program do not end by SIGKILL; the first is %d",
                  watch->found.count, watch->found.count ? (int)watch->found.list[0] : 0);
}

/* ---- reports that are asked for -------------------------------------------------- */

/* Renames run/PID.FROM of each process to run/PID.TO, unless the process has a PID.TO. */
static void rename_reports(const char *run, const char *from, const char *to) {
  uint64_t processes[TIDE_VULKAN_PROCESSES_MOST];
  size_t count = tide_vulkan_list(run, from, processes);
  for (size_t i = 0; i < count; i++) {
    char before[TIDE_VULKAN_PATH_MOST], after[TIDE_VULKAN_PATH_MOST];
    snprintf(before, sizeof before, "%s/%llu.%s", run, (unsigned long long)processes[i], from);
    snprintf(after, sizeof after, "%s/%llu.%s", run, (unsigned long long)processes[i], to);
    if (access(after, F_OK) != 0) (void)rename(before, after);
  }
}

/* Makes the file that requests reports, anew. Returns the number of living processes that will
 * answer. */
static size_t ask_processes(const char *run) {
  uint64_t processes[TIDE_VULKAN_PROCESSES_MOST];
  size_t count = tide_vulkan_list(run, "ready", processes), asked = 0;
  char path[TIDE_VULKAN_PATH_MOST];
  snprintf(path, sizeof path, "%s/%s", run, TIDE_VULKAN_ASK);
  (void)unlink(path);
  int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  close(file);
  for (size_t i = 0; i < count; i++) asked += kill((pid_t)processes[i], 0) == 0;
  return asked;
}

/* Requests a report from all processes, and waits for the reports. */
static void request_reports(struct watch *watch) {
  const char *run = watch->run->directory;
  uint64_t processes[TIDE_VULKAN_PROCESSES_MOST], deadline = now_ns() + REPORTS_WAIT;
  if (!run) return;
  rename_reports(run, "report", "earlier");
  find_processes(watch);
  size_t asked = ask_processes(run);
  while (tide_vulkan_list(run, "report", processes) < asked && now_ns() < deadline &&
         !watch->is_hurried && find_processes(watch))
    wait_step(watch, STEP);
  rename_reports(run, "earlier", "report");
}

/* ---- the run --------------------------------------------------------------------- */

static struct tide_vulkan_ending describe_end(const struct watch *watch) {
  if (WIFSIGNALED(watch->status))
    return (struct tide_vulkan_ending){.end = TIDE_VULKAN_KILLED,
                                       .number = WTERMSIG(watch->status)};
  return (struct tide_vulkan_ending){.end = TIDE_VULKAN_EXITED,
                                     .number = WEXITSTATUS(watch->status)};
}

/* Watches the program until it has to end. */
static struct tide_vulkan_ending watch_program(struct watch *watch) {
  uint64_t limit = watch->run->limit_ns, deadline = limit ? now_ns() + limit : UINT64_MAX;
  for (;;) {
    uint64_t now = now_ns(), rest = deadline > now ? deadline - now : 0;
    bool wants_reports = wait_step(watch, rest < LONG_STEP ? rest : LONG_STEP);
    if (watch->is_over) return describe_end(watch);
    if (watch->interrupt)
      return (struct tide_vulkan_ending){.end = TIDE_VULKAN_INTERRUPTED,
                                         .number = watch->interrupt};
    if (now_ns() >= deadline) return (struct tide_vulkan_ending){.end = TIDE_VULKAN_LIMIT};
    if (!wants_reports) continue;
    request_reports(watch);
    if (watch->run->show_reports) watch->run->show_reports(watch->run->self);
  }
}

/* Ends the processes that still run: all of them at a limit, else those left by the program. */
static void end_rest(struct watch *watch, struct tide_vulkan_ending *ending) {
  bool is_over = watch->is_over;
  size_t left = find_processes(watch);
  if (is_over) ending->left = left;
  if (!left) return;
  request_reports(watch);
  end_processes(watch, ending->end == TIDE_VULKAN_INTERRUPTED ? ending->number : SIGTERM);
}

struct tide_vulkan_ending tide_vulkan_run(const struct tide_vulkan_run *run) {
  struct watch watch = {.run = run};
  struct tide_vulkan_ending ending = {.end = TIDE_VULKAN_NOT_STARTED};
  uint64_t begin = now_ns();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  tide_vulkan_descendants(&watch.strangers, NULL);
  tide_vulkan_set_running(true);
  int error = start_program(&watch);
  if (error) {
    tide_tool_error("cannot start '%s': %s", run->program[0], strerror(error));
  } else {
    ending = watch_program(&watch);
    end_rest(&watch, &ending);
    take_terminal(&watch);
  }
  tide_vulkan_set_running(false);
  free(watch.strangers.list);
  free(watch.found.list);
  ending.took_ns = now_ns() - begin;
  return ending;
}

const char *tide_vulkan_ending_text(const struct tide_vulkan_ending *ending, char *buffer,
                                    size_t size) {
  switch (ending->end) {
    case TIDE_VULKAN_EXITED: snprintf(buffer, size, "exit status %d", ending->number); break;
    case TIDE_VULKAN_KILLED:
      snprintf(buffer, size, "killed by signal %d (%s)", ending->number, strsignal(ending->number));
      break;
    case TIDE_VULKAN_LIMIT: snprintf(buffer, size, "ran until the limit"); break;
    case TIDE_VULKAN_INTERRUPTED:
      snprintf(buffer, size, "ended by signal %d to tidemark", ending->number);
      break;
    case TIDE_VULKAN_NOT_STARTED: snprintf(buffer, size, "not started"); break;
  }
  return buffer;
}

int tide_vulkan_ending_status(const struct tide_vulkan_ending *ending) {
  switch (ending->end) {
    case TIDE_VULKAN_EXITED: return ending->number;
    case TIDE_VULKAN_KILLED:
    case TIDE_VULKAN_INTERRUPTED: return 128 + ending->number;
    case TIDE_VULKAN_LIMIT:
    case TIDE_VULKAN_NOT_STARTED: break;
  }
  return TIDE_EXIT_FAILED;
}
