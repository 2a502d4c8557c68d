/* A medium in a program that has threads, signals, handlers and limits of its own. */
#include "wic_rig.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define PAGE 4096u
#define GET(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)

static const struct tide_medium_params small[] = {
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "direct",
     .engine = TIDE_MEDIUM_DIRECT,
     .pages = 64},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "monitor",
     .engine = TIDE_MEDIUM_MONITOR,
     .pages = 64},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "fibers",
     .engine = TIDE_MEDIUM_FIBERS,
     .pages = 64},
};
#define ENGINES (sizeof small / sizeof small[0])

/* ---- SIGBUS ------------------------------------------------------------------------------------
 */

/* A handler that comes after the medium's hands on what is not its own, and outlives the medium. */
static struct sigaction theirs;
static uint32_t sent;
static void own_handler(int number, siginfo_t *info, void *context) {
  if (info->si_code <= 0) __atomic_fetch_add(&sent, 1, __ATOMIC_ACQ_REL);
  else theirs.sa_sigaction(number, info, context);
}
static void check_handler_of_its_own(struct rig *rig, uint32_t so_far) {
  struct tide_request request = rig_wants(rig, so_far, PAGE);
  struct reader reader;
  CHECK_OK(tide_medium_request(rig->medium, &request, 1));
  reader_start(&reader, rig, request, so_far);
  rig_until_stalled(rig, 1);
  fill(request.room, PAGE, so_far);
  CHECK_OK(tide_timeline_signal_external(rig->line, so_far));
  reader_join(&reader, TIDE_OK);
  CHECK(raise(SIGBUS) == 0);
  CHECK_EQ_U64(GET(sent), so_far);
}
TEST(a_handler_of_the_programs_own) {
  struct rig rig;
  struct sigaction action = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
  struct sigaction before, now;
  CHECK(sigaction(SIGBUS, NULL, &before) == 0);
  rig_open(&rig, &small[2]);
  CHECK(sigaction(SIGBUS, &action, &theirs) == 0);
  check_handler_of_its_own(&rig, 1);
  tide_medium_destroy(rig.medium);
  CHECK(raise(SIGBUS) == 0);
  CHECK_EQ_U64(GET(sent), 2);
  /* And the next medium is below it still. */
  CHECK_OK(tide_medium_create(rig.context, &small[2], &rig.medium));
  check_handler_of_its_own(&rig, 3);
  /* Once it is gone all is as it was. */
  CHECK(sigaction(SIGBUS, &theirs, NULL) == 0);
  rig_close(&rig);
  CHECK(sigaction(SIGBUS, NULL, &now) == 0);
  CHECK(now.sa_handler == before.sa_handler);
  /* And who put another one in the place of ours has that, and a medium that works. */
  rig_open(&rig, &small[2]);
  CHECK(sigaction(SIGBUS, &action, &theirs) == 0);
  tide_medium_destroy(rig.medium);
  CHECK(sigaction(SIGBUS, &before, NULL) == 0);
  CHECK_OK(tide_medium_create(rig.context, &small[2], &rig.medium));
  struct tide_request request = rig_wants(&rig, 1, PAGE);
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  struct reader reader;
  reader_start(&reader, &rig, request, 5);
  rig_until_stalled(&rig, 1);
  fill(request.room, PAGE, 5);
  CHECK_OK(tide_timeline_signal_external(rig.line, 1));
  reader_join(&reader, TIDE_OK);
  rig_close(&rig);
}

/* ---- threads that end, and signals for others --------------------------------------------------
 */

static void *load_and_be_cancelled(void *argument) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  (void)*(const volatile char *)argument;
  return NULL;
}
/* A thread that only loads may be cancelled at any moment: nothing of it is touched any more, not
 * even its stack. The others that are stalled have their data. */
TEST(a_reader_is_cancelled) {
#ifdef __SANITIZE_THREAD__
  SKIP("ThreadSanitizer's handler of signals holds its own locks");
#endif
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    rig_open(&rig, &small[e]);
    struct tide_request request = rig_wants(&rig, 1, PAGE);
    struct reader reader;
    const size_t size = 256 * 1024;
    pthread_t thread;
    pthread_attr_t attributes;
    void *result,
        *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, stack, size) == 0);
    CHECK(pthread_create(&thread, &attributes, load_and_be_cancelled,
                         (void *)(uintptr_t)request.data) == 0);
    pthread_attr_destroy(&attributes);
    rig_until_stalled(&rig, 1);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(munmap(stack, size) == 0);
    reader_start(&reader, &rig, request, 7);
    while (rig_info(&rig).duplicates + (e == 0) < 1) usleep(100);
    fill(request.room, PAGE, 7);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    reader_join(&reader, TIDE_OK);
    rig_close(&rig);
  }
}

/* A program waits for a signal in a place of its own choice: no thread of a medium is to have it.
 */
TEST(signals_are_for_others) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    sigset_t terminate, old;
    int number = 0;
    rig_open(&rig, &small[e]);
    /* Once a fault was served, its thread is surely past its beginning. */
    struct tide_request request = rig_wants(&rig, 1, PAGE);
    request.deadline = rig_now(&rig) + 1000000;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK(zeros(request.data, PAGE));
    CHECK_STATUS(tide_request_finish(rig.medium, &request, NULL), TIDE_TIMEOUT);
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    CHECK(pthread_sigmask(SIG_BLOCK, &terminate, &old) == 0);
    CHECK(kill(getpid(), SIGTERM) == 0);
    CHECK(sigwait(&terminate, &number) == 0);
    CHECK(number == SIGTERM);
    CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
    rig_close(&rig);
  }
}

/* ---- limits ---- */

static size_t mappings(void) {
  FILE *file = fopen("/proc/self/maps", "r");
  size_t count = 0;
  CHECK(file != NULL);
  for (int c; (c = getc(file)) != EOF;) count += c == '\n';
  fclose(file);
  return count;
}
/* Each failure's zeros are a mapping of their own, and may cut another one in two; a process may
 * have 65530. So only so many, or the program could not so much as start a thread, and pages
 * could not be given back. */
TEST(thousands_fail_at_once) {
  enum { MANY = 12000 };
  static struct tide_request requests[MANY];
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    struct tide_medium_params params = small[e];
    params.pages = 2 * MANY;
    params.requests = MANY;
    rig_open(&rig, &params);
    size_t before = mappings(), bad = 0;
    for (uint64_t round = 1; round <= 2; round++) {
      for (uint64_t i = 0; i < MANY; i++) {
        requests[i] = rig_wants(&rig, round, PAGE);
        CHECK_OK(tide_medium_request(rig.medium, &requests[i], 1));
        fill(requests[i].room, 64, i + round);
      }
      for (uint64_t i = 0; i < MANY; i += 2)
        CHECK_OK(tide_request_fail(rig.medium, &requests[i], TIDE_IO));
      CHECK(mappings() < before + 9000);
      for (uint64_t i = 0; i < MANY; i += 2) bad += !zeros(requests[i].data, PAGE);
      CHECK_OK(tide_timeline_signal_external(rig.line, round));
      for (uint64_t i = 0; i < MANY; i++) {
        bad += i % 2 && !holds(requests[i].data, 64, i + round);
        CHECK_STATUS(tide_request_finish(rig.medium, &requests[i], NULL),
                     i % 2 ? TIDE_OK : TIDE_IO);
      }
      rig_until_idle(&rig);
      CHECK_EQ_U64(rig_info(&rig).free_pages, MANY);
    }
    CHECK_EQ_U64(bad, 0);
    CHECK(mappings() < before + 100);
    rig_close(&rig);
  }
}

/* A limit for files is one for this memory, too: and the kernel's way to say so is a signal. */
static void make_in_small_files(const struct tide_medium_params *params) {
  struct tide_context *context;
  struct tide_medium *medium;
  struct rlimit limit = {PAGE, PAGE};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  CHECK_OK(tide_context_create(NULL, &context));
  enum tide_status status = tide_medium_create(context, params, &medium);
  _exit(status == TIDE_NOMEM ? 4 : 5);
}
TEST(files_are_to_be_small) {
  struct rig rig;
  rig_open(&rig, NULL); /* or there is no right to it */
  rig_close(&rig);
  for (size_t e = 0; e < ENGINES; e++) {
    int status = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) make_in_small_files(&small[e]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 4);
  }
}

TEST_MAIN(CASE_SECONDS(a_handler_of_the_programs_own, 20), CASE_SECONDS(a_reader_is_cancelled, 20),
          CASE_SECONDS(signals_are_for_others, 20), CASE(thousands_fail_at_once),
          CASE_SECONDS(files_are_to_be_small, 20))
