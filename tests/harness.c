/* The harness: see harness.h. */
#include "harness.h"

#include "tidemark/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum verdict { NONE, PASSED, FAILED, SKIPPED };

/* Shared with the child, which writes its verdict here before it ends. */
struct outcome {
  uint32_t verdict;
  uint32_t taken; /* the first failing thread wins */
  char why[1000];
};

static struct outcome *outcome;
static const struct test_case *current;
static bool forked;

const void *test_given(void) { return current->given; }

unsigned test_slowdown(void) {
  const char *text = getenv("TEST_SLOWDOWN");
  int slowdown = text ? atoi(text) : 1;
  return slowdown < 1 ? 1 : (unsigned)slowdown;
}

void test_thread_begins(uint32_t *out_thread) {
  __atomic_store_n(out_thread, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
}

void test_await_asleep(const uint32_t *thread) {
  char name[64], line[256], state = 0;
  while (!__atomic_load_n(thread, __ATOMIC_ACQUIRE)) usleep(50);
  snprintf(name, sizeof name, "/proc/self/task/%u/stat", *thread);
  while (state != 'S') {
    FILE *file = fopen(name, "re");
    if (!file) return; /* it has ended, and waits no more */
    char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    state = 0;
    if (name_end && name_end[1]) state = name_end[2];
    usleep(50);
  }
}

static void report(void) {
  static const char *const words[] = {"FAIL", "PASS", "FAIL", "SKIP"};
  for (char *c = outcome->why; *c; c++) {
    if (*c == '\n') *c = ' '; /* one case, one line */
  }
  printf("%s %s%s%s\n", words[outcome->verdict], current->name, *outcome->why ? ": " : "",
         outcome->why);
  fflush(stdout);
}

/* Ends the case. _exit: other threads may still run, and atexit handlers would trip over them. */
static _Noreturn void conclude(enum verdict verdict) {
  outcome->verdict = verdict;
  fflush(NULL);
  if (!forked) report();
  _exit(verdict == FAILED ? 1 : 0);
}

static void take(void) {
  if (__atomic_exchange_n(&outcome->taken, 1, __ATOMIC_SEQ_CST)) {
    for (;;) pause(); /* another thread is about to end the process */
  }
}

void test_fail(const char *file, int line, const char *format, ...) {
  take();
  const char *base = strrchr(file, '/');
  size_t used =
      (size_t)snprintf(outcome->why, sizeof outcome->why, "%s:%d: ", base ? base + 1 : file, line);
  va_list list;
  va_start(list, format);
  vsnprintf(outcome->why + used, sizeof outcome->why - used, format, list);
  va_end(list);
  conclude(FAILED);
}

void test_skip(const char *format, ...) {
  take();
  va_list list;
  va_start(list, format);
  vsnprintf(outcome->why, sizeof outcome->why, format, list);
  va_end(list);
  conclude(SKIPPED);
}

void test_eq_u64(const char *file, int line, const char *what, uint64_t got, uint64_t want) {
  if (got == want) return;
  test_fail(file, line, "%s is %llu, not %llu", what, (unsigned long long)got,
            (unsigned long long)want);
}

void test_eq_str(const char *file, int line, const char *what, const char *got, const char *want) {
  if (got && want && strcmp(got, want) == 0) return;
  test_fail(file, line, "%s is \"%s\", not \"%s\"", what, got ? got : "(null)",
            want ? want : "(null)");
}

void test_status(const char *file, int line, const char *what, unsigned got, unsigned want) {
  if (got == want) return;
  test_fail(file, line, "%s is %s, not %s", what, tide_status_name((enum tide_status)got),
            tide_status_name((enum tide_status)want));
}

/* ---- what a case may leave behind: nothing ---- */

enum { DESCRIPTORS = 1024 };

/* Before the case, or when it last began again. */
static bool descriptors_before[DESCRIPTORS];
static unsigned threads_before;

static void open_descriptors(bool open[DESCRIPTORS]) {
  memset(open, 0, DESCRIPTORS * sizeof *open);
  DIR *dir = opendir("/proc/self/fd");
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    int fd = atoi(entry->d_name);
    if (*entry->d_name != '.' && fd != dirfd(dir) && fd < DESCRIPTORS) open[fd] = true;
  }
  closedir(dir);
}

static unsigned count_threads(void) {
  unsigned count = 0;
  DIR *dir = opendir("/proc/self/task");
  if (!dir) return 0;
  for (struct dirent *entry; (entry = readdir(dir));) count += *entry->d_name != '.';
  closedir(dir);
  return count;
}

static void check_descriptors(void) {
  bool after[DESCRIPTORS];
  open_descriptors(after);
  for (int fd = 0; fd < DESCRIPTORS; fd++) {
    if (!after[fd] || descriptors_before[fd]) continue;
    char path[64], target[PATH_MAX] = "?";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length >= 0) target[length] = 0;
    if (strstr(target, "swiftshader_jit")) continue; /* this driver keeps it to the end */
    test_fail("harness", 0, "descriptor %d was left open (%s)", fd, target);
  }
}

/* A joined thread is listed until the kernel has reaped it. Only one that is left running costs the
 * whole time. */
static void check_threads(void) {
  unsigned now = count_threads();
  for (int i = 0; i < 500 && now > threads_before; i++) {
    usleep(10000);
    now = count_threads();
  }
  if (now > threads_before)
    test_fail("harness", 0, "%u threads were left running", now - threads_before);
}

void test_begin_again(void) {
  open_descriptors(descriptors_before);
  threads_before = count_threads();
}

/* ThreadSanitizer starts a thread of its own beside our first one: let it come before we
 * count. */
static void *nothing(void *argument) { return argument; }

static void start_sanitizer(void) {
#ifdef __SANITIZE_THREAD__
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
#else
  (void)nothing;
#endif
}

static void run_case(void) {
  start_sanitizer();
  test_begin_again();
  current->run();
  check_descriptors();
  check_threads();
  outcome->verdict = PASSED;
}

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* True when it ended in time. SIGCHLD is blocked, so it can be waited for. */
static bool await(pid_t child, uint64_t deadline, int *status) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (;;) {
    pid_t got = waitpid(child, status, WNOHANG);
    if (got == child) return true;
    uint64_t now = now_ms();
    if (now >= deadline) return false;
    uint64_t left = deadline - now;
    struct timespec t = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};
    sigtimedwait(&set, NULL, &t);
  }
}

static void explain(const char *format, int number) {
  if (outcome->verdict == FAILED) return; /* it said why itself */
  outcome->verdict = FAILED;
  snprintf(outcome->why, sizeof outcome->why, format, number, strsignal(number));
}

static void fork_case(void) {
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, &old);
  fflush(NULL);
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0) {
    explain("fork failed (%d, %s)", errno);
    return;
  }
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &old, NULL);
    setpgid(0, 0); /* so that a kill reaches what it starts, too */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    run_case();
    exit(0); /* not _exit: the leak checker runs here */
  }
  setpgid(child, child);
  unsigned seconds = (current->seconds ? current->seconds : 60) * test_slowdown();
  int status = 0;
  bool ended = await(child, now_ms() + seconds * 1000ull, &status);
  kill(-child, SIGKILL);
  if (!ended) {
    waitpid(child, &status, 0);
    explain("hung for %d s", (int)seconds);
  } else if (WIFSIGNALED(status)) {
    explain("killed by signal %d (%s)", WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    explain("ended with exit status %d", WEXITSTATUS(status));
  } else if (outcome->verdict == NONE) {
    explain("ended without a verdict (exit status %d)", 0);
  }
  sigprocmask(SIG_SETMASK, &old, NULL);
}

static bool chosen(const char *name, const char *filter, char **names, int count) {
  if (filter && !strstr(name, filter)) return false;
  for (int i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return count == 0;
}

int test_main(int argc, char **argv, const struct test_case *cases, size_t count) {
  const char *filter = NULL;
  bool isolate = true, only_list = false;
  int at = 1;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
    if (strcmp(argv[at], "--no-fork") == 0) isolate = false;
    else if (strcmp(argv[at], "--list") == 0) only_list = true;
    else if (strcmp(argv[at], "--filter") == 0 && at + 1 < argc) filter = argv[++at];
    else {
      fprintf(stderr, "usage: %s [--filter TEXT] [--no-fork] [--list] [NAME...]\n", argv[0]);
      return 2;
    }
  }
  outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED) return 1;
  int failed = 0;
  for (size_t i = 0; i < count; i++) {
    if (!chosen(cases[i].name, filter, argv + at, argc - at)) continue;
    if (only_list) {
      puts(cases[i].name);
      continue;
    }
    current = &cases[i];
    memset(outcome, 0, sizeof *outcome);
    forked = isolate;
    if (isolate) fork_case();
    else run_case();
    report();
    failed += outcome->verdict != PASSED && outcome->verdict != SKIPPED;
  }
  munmap(outcome, sizeof *outcome);
  return failed ? 1 : 0;
}
