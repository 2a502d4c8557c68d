/* Timelines in shared memory, between processes: who reads has mapped the region to read only, and
 * the owner dies at any moment. */
#include "shared_rig.h"

#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int descriptor;
static size_t size;
static struct tide_shared owner; /* who owns, and later the reaper: mapped to write */

static void *map(int protection) {
  void *at = mmap(NULL, size, protection, MAP_SHARED, descriptor, 0);
  CHECK(at != MAP_FAILED);
  return at;
}

static void open_region(uint32_t count, uint32_t records, uint8_t capacity) {
  struct tide_shared_shape shape = {count, records, capacity};
  size = tide_shared_size(&shape);
  descriptor = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  CHECK(descriptor >= 0 && ftruncate(descriptor, (off_t)size) == 0);
  void *memory = map(PROT_READ | PROT_WRITE);
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
  CHECK(fcntl(descriptor, F_ADD_SEALS, seals) == 0);
  CHECK_OK(tide_shared_format(memory, size, &shape));
  attach(&owner, memory, size, true, LEASE);
}
static void close_region(void) {
  munmap(owner.memory, size);
  close(descriptor);
}

/* A process of its own, that has the region to read only, and nothing else of it. */
static pid_t start_reader(void (*look)(struct tide_shared *view)) {
  pid_t process = fork();
  CHECK(process >= 0);
  if (process) return process;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  munmap(owner.memory, size);
  CHECK(mmap(NULL, size, PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED);
  struct tide_shared view;
  attach(&view, map(PROT_READ), size, false, LEASE);
  look(&view);
  _exit(0);
}
static pid_t start_writer(void (*change)(void)) {
  pid_t process = fork();
  CHECK(process >= 0);
  if (process) return process;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  change();
  _exit(0);
}
static void expect_end(pid_t process) {
  int status;
  CHECK(waitpid(process, &status, 0) == process);
  if (!WIFEXITED(status) || WEXITSTATUS(status))
    FAIL("process: wait status 0x%x", (unsigned)status);
}
/* CHECK ends a case's own process by its pipe to the harness; here, a process of ours. */
#define MUST(what)                                                                                 \
  do {                                                                                             \
    if (!(what)) {                                                                                 \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #what);                         \
      _exit(9);                                                                                    \
    }                                                                                              \
  } while (0)

/* ---- waking ---------------------------------------------------------------------------------- */

static void futex_sleeps(struct tide_shared *view) {
  struct tide_shared_slot *slot = tide_shared_slot_of(view, 0);
  struct timespec millisecond = {0, 1000000};
  MUST(syscall(SYS_futex, &slot->word, FUTEX_WAIT, slot->word, &millisecond, NULL, 0) == -1);
  MUST(errno == ETIMEDOUT); /* not EFAULT, though it cannot be written */
}

static void wait_in_turn(struct tide_shared *view) {
  for (uint64_t value = 1; value <= 200; value++) {
    struct tide_record_info info;
    known got;
    tide_frontier_init(&got.frontier, 8);
    MUST(tide_shared_wait(view, 0, 1, value, TIDE_FOREVER) == TIDE_OK);
    MUST(tide_shared_record(view, 0, 1, value, &got.frontier, &info) == TIDE_OK);
    MUST(!info.external && info.epoch == info.value && info.value >= value);
    MUST(tide_frontier_get(&got.frontier, axis_b) == info.epoch * 10);
  }
}

TEST(wakes) {
  open_region(1, 4, 8);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  expect_end(start_reader(futex_sleeps));
  pid_t first = start_reader(wait_in_turn), second = start_reader(wait_in_turn);
  for (uint64_t value = 1; value <= 200; value++) {
    signal_known(&owner, 0, value, value);
    if (value % 8 == 0) usleep(500);
  }
  expect_end(first);
  expect_end(second);
  close_region();
}

static void wait_for_any(struct tide_shared *view, uint32_t count) {
  static struct tide_shared_point points[200];
  for (uint32_t i = 0; i < count; i++) points[i] = (struct tide_shared_point){view, i, 1, 1};
  for (uint32_t left = count; left > 0; left--) {
    size_t index;
    MUST(tide_shared_wait_any(points, left, TIDE_FOREVER, &index) == TIDE_OK);
    MUST(tide_shared_value(view, points[index].slot) == 1);
    points[index] = points[left - 1];
  }
}
static void any_of_few(struct tide_shared *view) { wait_for_any(view, 100); }
static void any_of_many(struct tide_shared *view) { wait_for_any(view, 200); }

/* As on a system that cannot sleep on several words. */
static void any_without_waitv(struct tide_shared *view) {
  static struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 449, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
    MUST(syscall(449, NULL, 0, 0, NULL, 0) == -1 && errno == ENOSYS);
  wait_for_any(view, 100);
}

TEST(wakes_any) {
  open_region(200, 0, 0);
  for (uint32_t i = 0; i < 200; i++) CHECK_OK(tide_shared_open(&owner, i, 1, 0));
  pid_t few = start_reader(any_of_few), many = start_reader(any_of_many);
  pid_t old = start_reader(any_without_waitv);
  for (uint32_t i = 200; i-- > 0;) { /* the furthest first */
    CHECK_OK(signal_plain(&owner, i, 1));
    if (i % 16 == 0) usleep(1000);
  }
  expect_end(few);
  expect_end(many);
  expect_end(old);
  close_region();
}

/* ---- deaths -----------------------------------------------------------------------------------
 */

enum { TRACKED, LATER, REOPENED };

static uint64_t seed;

/* Slot 0 is signalled with records, slot 1 by stores and a wake that comes later, and slot 2 lives
 * and dies. */
static void own(void) {
  struct tide_random random = {.state = seed};
  for (uint64_t value = 1, plain = 1, generation = 1;;) {
    value += 1 + tide_random_below(&random, 2);
    signal_known(&owner, TRACKED, value, value);
    MUST(tide_shared_publish(&owner, LATER, ++plain, UINT64_MAX) == TIDE_OK);
    if (tide_random_below(&random, 4) == 0) MUST(tide_shared_wake(&owner, LATER) == TIDE_OK);
    if (tide_random_below(&random, 4)) continue;
    MUST(tide_shared_close(&owner, REOPENED) == TIDE_OK);
    generation++;
    MUST(tide_shared_open(&owner, REOPENED, (uint32_t)generation, generation) == TIDE_OK);
    signal_known(&owner, REOPENED, generation * 2, generation);
  }
}

/* A good value's record is there, whole, of this value or a later one; or what it was has been
 * pushed out while we looked. */
static void check_record(const struct tide_shared *view, uint64_t value, bool still) {
  struct tide_record_info info;
  known got;
  tide_frontier_init(&got.frontier, 8);
  MUST(tide_shared_record(view, TRACKED, 1, value, &got.frontier, &info) == TIDE_OK);
  if (info.external) {
    MUST(!still && tide_shared_value(view, TRACKED) > value);
    return;
  }
  MUST(info.value >= value && info.epoch == info.value && info.axis == axis_a);
  MUST(got.frontier.count == 2 && !got.frontier.tainted);
  MUST(tide_frontier_get(&got.frontier, axis_a) == info.epoch);
  MUST(tide_frontier_get(&got.frontier, axis_b) == info.epoch * 10);
  if (still) MUST(!info.coarse);
}

static void follow_tracked(struct tide_shared *view) {
  enum tide_status status;
  for (uint64_t value = 2;; value = tide_shared_value(view, TRACKED) + 1) {
    status = tide_shared_wait(view, TRACKED, 1, value, TIDE_FOREVER);
    if (status != TIDE_OK) break;
    check_record(view, value, false);
  }
  MUST(status == TIDE_OWNER_DIED);
  uint64_t last = tide_shared_value(view, TRACKED);
  MUST(tide_shared_look(view, TRACKED, 1, last) == TIDE_OK);
  MUST(tide_shared_look(view, TRACKED, 1, last + 1) == TIDE_OWNER_DIED);
  if (last > 0) check_record(view, last, true);
}

static void follow_either(struct tide_shared *view) {
  struct tide_shared_point points[] = {{view, TRACKED, 1, 1u << 30}, {view, LATER, 1, 1}};
  for (;;) {
    size_t index;
    enum tide_status status = tide_shared_wait_any(points, 2, TIDE_FOREVER, &index);
    if (status == TIDE_OWNER_DIED) break;
    MUST(status == TIDE_OK && index == 1);
    points[1].value = tide_shared_value(view, LATER) + 1;
  }
  MUST(tide_shared_wait(view, TRACKED, 1, 1u << 30, TIDE_FOREVER) == TIDE_OWNER_DIED);
}

/* Each life ends by its close, but for the last, which ends by its owner's death; or that came
 * while the slot was closed, and the next one never begins. */
static void follow_reopened(struct tide_shared *view) {
  for (uint32_t generation = 1;; generation++) {
    enum tide_status status =
        tide_shared_wait(view, REOPENED, generation, UINT64_MAX, TIDE_FOREVER);
    if (status == TIDE_OWNER_DIED) return;
    MUST(status == TIDE_CANCELLED);
  }
}

static void die_once(struct tide_random *random) {
  open_region(3, 4, 8);
  for (uint32_t i = 0; i < 3; i++) CHECK_OK(tide_shared_open(&owner, i, 1, 0));
  seed = tide_random_next(random);
  static void (*const follow[])(struct tide_shared *) = {follow_tracked, follow_either,
                                                         follow_reopened};
  pid_t readers[3], dying = start_writer(own);
  for (int i = 0; i < 3; i++) readers[i] = start_reader(follow[i]);
  usleep((useconds_t)tide_random_below(random, 3000));
  int status;
  CHECK(kill(dying, SIGKILL) == 0 && waitpid(dying, &status, 0) == dying);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  CHECK_OK(tide_shared_reap(&owner, TIDE_OWNER_DIED));
  for (int i = 0; i < 3; i++) expect_end(readers[i]);
  close_region();
}

TEST(deaths) {
  struct tide_random random = {.state = 4};
  for (int i = 0; i < 400; i++) die_once(&random);
}

/* ---- death at each instruction ------------------------------------------------------------------
 */

enum { HIGHEST = 12, FAILED_FROM = 9 };

static void live(void) {
  for (uint64_t value = 1; value <= 4; value++) signal_known(&owner, 0, value, value);
  MUST(tide_shared_publish(&owner, 0, 5, UINT64_MAX) == TIDE_OK);
  MUST(tide_shared_wake(&owner, 0) == TIDE_OK);
  signal_known(&owner, 0, 6, 6);
  MUST(tide_shared_fail(&owner, 0, FAILED_FROM, TIDE_LOST) == TIDE_OK);
  signal_known(&owner, 0, 7, 7);
  MUST(tide_shared_close(&owner, 0) == TIDE_OK);
  MUST(tide_shared_open(&owner, 0, 2, 0) == TIDE_OK);
  signal_known(&owner, 0, 1, 1);
}

static void check_still(const struct tide_shared *view, uint32_t generation, uint64_t value) {
  struct tide_record_info info;
  known got;
  tide_frontier_init(&got.frontier, 8);
  CHECK_OK(tide_shared_record(view, 0, generation, value, &got.frontier, &info));
  if (info.external) {
    CHECK(value == 5 && tide_shared_value(view, 0) == 5); /* it was published without one */
    return;
  }
  CHECK(info.value >= value && info.epoch == info.value && got.frontier.count == 2);
  CHECK_EQ_U64(tide_frontier_get(&got.frontier, axis_b), info.epoch * 10);
}

/* What all see in a region whose owner stands, or fell, here. */
static void check_at(struct tide_shared *view, bool buried) {
  uint64_t generation = tide_shared_slot_of(view, 0)->generation;
  uint64_t reached = tide_shared_value(view, 0);
  if (!(generation & 1)) {
    CHECK_STATUS(tide_shared_look(view, 0, (uint32_t)(generation >> 1), 0), TIDE_CANCELLED);
    return;
  }
  bool lost = false;
  for (uint64_t value = 1; value <= HIGHEST; value++) {
    enum tide_status status = tide_shared_look(view, 0, (uint32_t)(generation >> 1), value);
    if (value <= reached) {
      CHECK_OK(status);
      check_still(view, (uint32_t)(generation >> 1), value);
      continue;
    }
    if (buried) {
      CHECK(status == TIDE_OWNER_DIED || status == TIDE_LOST);
      CHECK(!lost || status == TIDE_LOST);
    } else {
      CHECK(status == TIDE_TIMEOUT || (value >= FAILED_FROM && status == TIDE_LOST));
    }
    lost = lost || status == TIDE_LOST;
  }
}

TEST(death_at_each_instruction) {
  open_region(1, 2, 8);
  CHECK_OK(tide_shared_open(&owner, 0, 1, 0));
  struct tide_platform quiet = *tide_platform_linux();
  quiet.wake_shared = NULL;
  unsigned char *copy = aligned_alloc(64, (size + 63) / 64 * 64);
  struct tide_shared view;
  uint64_t steps = 0, last = 0;
  int status;
  pid_t child = fork();
  if (child == 0) {
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP);
    live();
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) SKIP("processes may not be stepped here");
  for (; ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0; steps++) {
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFSTOPPED(status)) break;
    memcpy(copy, owner.memory, size);
    attach(&view, copy, size, true, LEASE);
    view.platform = &quiet;
    check_at(&view, false);
    CHECK_OK(tide_shared_reap(&view, TIDE_OWNER_DIED));
    check_at(&view, true);
    uint64_t reached = tide_shared_value(&view, 0);
    CHECK(reached == last || reached == last + 1 || reached == 0); /* 0: opened anew */
    last = reached;
  }
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0 && last == 1);
  CHECK(steps > 500);
  free(copy);
  close_region();
}

/* ---- a hostile writer ---------------------------------------------------------------------------
 */

/* Mostly open, so that there is something to look at. */
static void scribble(void) {
  struct tide_random random = {.state = 3};
  uint64_t *words = (uint64_t *)(void *)owner.memory;
  for (;;) {
    uint64_t at = tide_random_below(&random, size / 8);
    uint64_t what = tide_random_next(&random);
    if (what & 1) what = tide_random_below(&random, 10);
    if (tide_random_below(&random, 3) == 0) at = 8 + tide_random_below(&random, 8);
    bool generation = at == 8 + 2 || at == 8 + owner.slot_size / 8 + 2;
    if (generation && tide_random_below(&random, 16)) what = 3;
    __atomic_store_n(&words[at], what, __ATOMIC_RELAXED);
    if (tide_random_below(&random, 64) == 0) (void)!tide_shared_wake(&owner, 0);
  }
}

static int attached[2];

static void believe_nothing(struct tide_shared *view) {
  MUST(write(attached[1], "", 1) == 1);
  const struct tide_platform *p = tide_platform_linux();
  for (uint64_t i = 0; i < 20000 / test_slowdown(); i++) {
    struct tide_shared again;
    struct tide_shared_params params = {.struct_size = sizeof params, p, false, LEASE};
    struct tide_record_info info;
    known got;
    tide_frontier_init(&got.frontier, 8);
    enum tide_status status = tide_shared_record(view, 0, 1, i % 10, &got.frontier, &info);
    MUST(tide_frontier_validate(&got.frontier, NULL) == TIDE_OK);
    MUST(status == TIDE_OK || (got.frontier.count == 0 && got.frontier.tainted));
    struct tide_shared_point points[] = {{view, 0, 1, i % 10}, {view, 1, 1, UINT64_MAX}};
    uint64_t deadline = p->now(NULL) + 20000;
    (void)!tide_shared_wait(view, 0, 1, i % 10, deadline);
    (void)!tide_shared_wait_any(points, 2, deadline, NULL);
    (void)!tide_shared_attach(&again, view->memory, size, &params);
  }
}

TEST(hostile_writer) {
  open_region(2, 4, 8);
  char byte;
  int status;
  CHECK(pipe(attached) == 0);
  pid_t reader = start_reader(believe_nothing);
  CHECK(read(attached[0], &byte, 1) == 1);
  pid_t writer = start_writer(scribble);
  expect_end(reader);
  kill(writer, SIGKILL);
  CHECK(waitpid(writer, &status, 0) == writer && WIFSIGNALED(status));
  close(attached[0]);
  close(attached[1]);
  close_region();
}

/* ---- threads, for ThreadSanitizer
 * ----------------------------------------------------------------- */

enum { ROUNDS = 5000 };

static void *follow_in_thread(void *argument) {
  struct tide_shared *view = argument;
  struct tide_random random = {.state = 8};
  for (uint64_t value = 1; value < ROUNDS; value += 1 + tide_random_below(&random, 3)) {
    CHECK_OK(tide_shared_wait(view, TRACKED, 1, value, TIDE_FOREVER));
    check_record(view, value, false);
  }
  CHECK_STATUS(tide_shared_wait(view, TRACKED, 1, ROUNDS + 1, TIDE_FOREVER), TIDE_LOST);
  return NULL;
}

TEST(threads) {
  open_region(1, 4, 8);
  CHECK_OK(tide_shared_open(&owner, TRACKED, 1, 0));
  struct tide_shared view;
  attach(&view, owner.memory, size, false, LEASE); /* by the same addresses: it shall see us */
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    CHECK(pthread_create(&threads[i], NULL, follow_in_thread, &view) == 0);
  for (uint64_t value = 1; value <= ROUNDS; value++) signal_known(&owner, TRACKED, value, value);
  CHECK_OK(tide_shared_fail(&owner, TRACKED, 0, TIDE_LOST));
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  close_region();
}

TEST_MAIN(CASE(wakes), CASE(wakes_any), CASE(deaths), CASE(death_at_each_instruction),
          CASE(hostile_writer), CASE(threads))
