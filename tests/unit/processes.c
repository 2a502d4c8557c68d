/* Sessions between real processes: pipelines over a memfd, members that leave, members that are
 * killed. Each member is a process that this test forks, with a context of its own. */
#include "harness.h"
#include "tidemark/tidemark.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMBERS 4
#define BLOCKS 64
#define BLOCK 4096

/* What all processes of a case see; written by one process each, and read after it has said so. */
struct common {
  char why[MEMBERS][400]; /* what a member found wrong */
  char text[MEMBERS][400];
  uint32_t said[MEMBERS]; /* atomic: how far a member is */
  uint32_t ran;           /* atomic: bodies of the producer */
  uint64_t sums[BLOCKS];
  uint64_t stages[BLOCKS];
  uint32_t cells[MEMBERS]; /* atomic */
};
static struct common *common;
static unsigned char *blocks; /* the memfd */
static int memory;
static char folder[64], path[96];
static uint32_t rank;
static uint64_t silence; /* ns */

/* ---- members ----------------------------------------------------------------------------- */

_Noreturn static void give_up(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn static void give_up(const char *file, int line, const char *format, ...) {
  char *why = common->why[rank];
  int length = snprintf(why, sizeof common->why[rank], "%s:%d: ", file, line);
  va_list list;
  va_start(list, format);
  vsnprintf(why + length, sizeof common->why[rank] - (size_t)length, format, list);
  va_end(list);
  _exit(1);
}
#define NEED(what)                                                                                 \
  do {                                                                                             \
    if (!(what)) give_up(__FILE__, __LINE__, "not true: %s", #what);                               \
  } while (0)
#define NEED_STATUS(call, wanted)                                                                  \
  do {                                                                                             \
    enum tide_status got_ = (call);                                                                \
    if (got_ != (wanted))                                                                          \
      give_up(__FILE__, __LINE__, "%s is %s, not %s", #call, tide_status_name(got_),               \
              tide_status_name(wanted));                                                           \
  } while (0)
#define NEED_OK(call) NEED_STATUS(call, TIDE_OK)

struct member {
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_cluster *cluster;
};

static uint64_t soon(const struct member *m) { return tide_after_ms(m->context, 50000); }

static void join(struct member *m, uint32_t count) {
  static const char *const labels[MEMBERS] = {"producer", "consumer", "third", "fourth"};
  struct tide_diag diag = {.text = ""};
  NEED_OK(tide_context_create(NULL, &m->context));
  struct tide_cluster_params params = {.struct_size = sizeof params,
                                       .path = path,
                                       .rank = rank,
                                       .count = count,
                                       .label = labels[rank],
                                       .deadline = soon(m),
                                       .silence = silence};
  enum tide_status status = tide_cluster_join(m->context, &params, &m->cluster, &diag);
  if (status != TIDE_OK) give_up(__FILE__, __LINE__, "join: %s", diag.text);
  NEED_OK(tide_cpu_open(m->context, NULL, &m->cpu));
}

static void leave(struct member *m) {
  struct tide_failure why = {.text = "no loss"};
  enum tide_status status = tide_cluster_leave(m->cluster, soon(m));
  (void)tide_cluster_lost(m->cluster, &why);
  if (status != TIDE_OK)
    give_up(__FILE__, __LINE__, "leave: %s (%s)", tide_status_name(status), why.text);
  tide_cluster_destroy(m->cluster);
  tide_context_destroy(m->context);
}

static struct tide_timeline *publish(struct member *m, const char *name) {
  struct tide_timeline *timeline;
  NEED_OK(tide_timeline_create(
      m->context,
      TIDE_PARAMS(tide_timeline_params, .label = name, .scope = TIDE_SCOPE_SYSTEM, .history = 128),
      &timeline));
  NEED_OK(tide_cluster_publish(m->cluster, name, timeline));
  return timeline;
}

static struct tide_timeline *follow(struct member *m, uint32_t home, const char *name) {
  struct tide_timeline *timeline;
  NEED_OK(tide_cluster_follow(m->cluster, home, name, &timeline));
  return timeline;
}

static void say(uint32_t what) { __atomic_store_n(&common->said[rank], what, __ATOMIC_RELEASE); }
/* A member that gives up says nothing more: the case then ends by its own limit. */
static void await_said(uint32_t who, uint32_t what) {
  while (__atomic_load_n(&common->said[who], __ATOMIC_ACQUIRE) < what) usleep(200);
}

static void submit(struct tide_queue *queue, const struct tide_operation *operation) {
  struct tide_diag diag = {.text = ""};
  enum tide_status status = tide_queue_submit(queue, operation, NULL, &diag);
  if (status != TIDE_OK) give_up(__FILE__, __LINE__, "submit: %s", diag.text);
}

/* ---- the processes of a case --------------------------------------------------------------- */

static pid_t begin(uint32_t who, void (*run)(void)) {
  fflush(NULL);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rank = who;
  run();
  _exit(0);
}

static void end_well(uint32_t who, pid_t pid) {
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (!WIFEXITED(status) || WEXITSTATUS(status))
    FAIL("member %u ended with %x: %s; others: %s; %s; %s", who, (unsigned)status, common->why[who],
         common->why[0], common->why[1], common->why[2]);
}

static void kill_one(pid_t pid) {
  CHECK(kill(pid, SIGKILL) == 0);
  CHECK(waitpid(pid, NULL, 0) == pid);
}

static void *map(int descriptor, size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

static void open_case(void) {
  int shared = memfd_create("common", MFD_CLOEXEC);
  memory = memfd_create("blocks", MFD_CLOEXEC);
  CHECK(shared >= 0 && memory >= 0);
  CHECK(ftruncate(shared, sizeof *common) == 0 && ftruncate(memory, BLOCKS * BLOCK) == 0);
  common = map(shared, sizeof *common);
  close(shared);
  snprintf(folder, sizeof folder, "/tmp/tide-processes-XXXXXX");
  CHECK(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/session", folder);
}

static void close_case(void) {
  CHECK(access(path, F_OK) != 0); /* the path is gone once all have met */
  CHECK(rmdir(folder) == 0);
  close(memory);
}

/* ---- a pipeline over two processes ------------------------------------------------------------
 */

static uint64_t mix(uint64_t sum, unsigned char byte) { return (sum ^ byte) * 0x100000001b3u; }
static unsigned char byte_of(uint32_t block, uint32_t at) {
  return (unsigned char)(block * 31 + at * 7);
}

static enum tide_status write_block(void *arguments) {
  uint32_t block = *(const uint32_t *)arguments;
  unsigned char *data = blocks + (size_t)block * BLOCK;
  for (uint32_t i = 0; i < BLOCK; i++) {
    if (data[i]) return TIDE_CORRUPT; /* written before */
    data[i] = byte_of(block, i);
  }
  __atomic_fetch_add(&common->ran, 1u, __ATOMIC_RELAXED);
  return TIDE_OK;
}
static const struct tide_body_class writes = {.name = "write", .host = write_block};

static enum tide_status sum_block(void *arguments) {
  uint32_t block = *(const uint32_t *)arguments;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < BLOCK; i++) sum = mix(sum, blocks[(size_t)block * BLOCK + i]);
  common->sums[block] = sum;
  return TIDE_OK;
}
static const struct tide_body_class sums = {.name = "sum", .host = sum_block};

/* A value can be promised only by an operation that knows what it waits for. So the first one is
 * out, and holds up the others. */
static enum tide_status hold_up(void *arguments) {
  (void)arguments;
  await_said(1, 1);
  return TIDE_OK;
}
static const struct tide_body_class gate = {.name = "gate", .host = hold_up};

/* Writes all blocks once the consumer has queued its work; checks each in another queue. */
static void produce(void) {
  struct member m;
  struct tide_queue *first, *writer, *checker;
  blocks = map(memory, BLOCKS * BLOCK);
  join(&m, 2);
  struct tide_timeline *written = publish(&m, "written"), *checked = publish(&m, "checked"), *go;
  struct tide_timeline *summed = follow(&m, 1, "summed"), *asked = follow(&m, 1, "asked");
  NEED_OK(tide_timeline_create(m.context, NULL, &go));
  NEED_OK(tide_queue_create(m.cpu, NULL, &first));
  NEED_OK(tide_queue_create(m.cpu, NULL, &writer));
  NEED_OK(tide_queue_create(m.cpu, NULL, &checker));
  NEED_OK(tide_timeline_wait(asked, 1, soon(&m)));
  submit(first, &(struct tide_operation){.body = &gate, TIDE_SIGNALS(TIDE_SIGNAL(go, 1))});
  for (uint32_t i = 0; i < BLOCKS; i++) {
    submit(writer, &(struct tide_operation){.body = &writes,
                                            TIDE_ARGUMENTS(i),
                                            TIDE_WAITS({go, 1}),
                                            TIDE_SIGNALS(TIDE_SIGNAL(written, i + 1))});
    submit(checker, &(struct tide_operation){TIDE_WAITS({written, i + 1}),
                                             TIDE_SIGNALS(TIDE_SIGNAL(checked, i + 1))});
  }
  /* A timeline that has a change untold keeps its place among them: so `ready` has none before. */
  NEED_OK(tide_timeline_signal_external(publish(&m, "ready"), 1));
  NEED_OK(tide_timeline_wait(summed, BLOCKS, soon(&m)));
  NEED_STATUS(tide_timeline_signal_external(summed, BLOCKS + 1), TIDE_DENIED);
  leave(&m);
}

/* Queues its work before any block is written; a wait for what `checked` implies is elided. */
static void consume(void) {
  struct member m;
  struct tide_queue *queue;
  struct tide_context_stats before, after;
  blocks = map(memory, BLOCKS * BLOCK);
  join(&m, 2);
  struct tide_timeline *written = follow(&m, 0, "written"), *checked = follow(&m, 0, "checked"),
                       *ready = follow(&m, 0, "ready");
  struct tide_timeline *summed = publish(&m, "summed");
  NEED_OK(tide_timeline_signal_external(publish(&m, "asked"), 1)); /* comes behind the requests */
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  NEED_OK(tide_timeline_wait(ready, 1, soon(&m)));
  tide_context_stats(m.context, &before);
  for (uint32_t i = 0; i < BLOCKS; i++)
    submit(queue, &(struct tide_operation){.body = &sums,
                                           TIDE_ARGUMENTS(i),
                                           TIDE_WAITS({checked, i + 1}, {written, i + 1}),
                                           TIDE_SIGNALS(TIDE_SIGNAL(summed, i + 1))});
  tide_context_stats(m.context, &after);
  uint64_t entered = after.entered - before.entered;
  uint64_t elided = after.waits_elided - before.waits_elided;
  if (entered != BLOCKS || elided != BLOCKS)
    give_up(__FILE__, __LINE__, "%d operations: %lu have entered, %lu waits were elided", BLOCKS,
            (unsigned long)entered, (unsigned long)elided);
  NEED(__atomic_load_n(&common->ran, __ATOMIC_RELAXED) == 0);
  say(1);
  NEED_OK(tide_timeline_wait(summed, BLOCKS, soon(&m)));
  leave(&m);
}

static void expect_sums(void) {
  for (uint32_t block = 0; block < BLOCKS; block++) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < BLOCK; i++) sum = mix(sum, byte_of(block, i));
    CHECK_EQ_U64(common->sums[block], sum);
  }
}

TEST(a_consumer_is_queued_before_its_producer_runs) {
  open_case();
  pid_t first = begin(0, produce), second = begin(1, consume);
  end_well(0, first);
  end_well(1, second);
  expect_sums();
  close_case();
}

/* Neither signals: the consumer waits for the producer's queue, and the producer for the
 * consumer's.
 */
static void produce_without_signals(void) {
  struct member m;
  struct tide_queue *writer;
  blocks = map(memory, BLOCKS * BLOCK);
  join(&m, 2);
  NEED_OK(tide_queue_create(m.cpu, NULL, &writer));
  NEED_OK(tide_cluster_publish(m.cluster, "writer", tide_queue_progress(writer)));
  struct tide_timeline *summer = follow(&m, 1, "summer");
  for (uint32_t i = 0; i < BLOCKS; i++)
    submit(writer, &(struct tide_operation){.body = &writes, TIDE_ARGUMENTS(i)});
  NEED_OK(tide_timeline_wait(summer, BLOCKS, soon(&m)));
  leave(&m);
}

static void consume_without_signals(void) {
  struct member m;
  struct tide_queue *summer;
  blocks = map(memory, BLOCKS * BLOCK);
  join(&m, 2);
  NEED_OK(tide_queue_create(m.cpu, NULL, &summer));
  NEED_OK(tide_cluster_publish(m.cluster, "summer", tide_queue_progress(summer)));
  struct tide_timeline *writer = follow(&m, 0, "writer");
  for (uint32_t i = 0; i < BLOCKS; i++)
    submit(summer,
           &(struct tide_operation){.body = &sums, TIDE_ARGUMENTS(i), TIDE_WAITS({writer, i + 1})});
  leave(&m); /* not before its queue is over */
}

TEST(a_queue_is_followed) {
  open_case();
  pid_t first = begin(0, produce_without_signals), second = begin(1, consume_without_signals);
  end_well(0, first);
  end_well(1, second);
  expect_sums();
  close_case();
}

/* ---- stages over three processes ---------------------------------------------------------------
 */

static enum tide_status run_stage(void *arguments) {
  uint32_t stage = *(const uint32_t *)arguments;
  uint64_t before = stage ? common->stages[stage - 1] : 1;
  if (!before) return TIDE_CORRUPT;
  common->stages[stage] = before * 3 + stage;
  return TIDE_OK;
}
static const struct tide_body_class stages = {.name = "stage", .host = run_stage};

/* Stage s waits for stage s - 1, on the member before. Stages 0 to 59 go round; the last four are
 * between members 1 and 2 while member 0 is stopped. */
static uint32_t member_of(uint32_t stage) { return stage < 60 ? stage % 3 : 1 + stage % 2; }

static void work_in_stages(void) {
  static const char *const names[3] = {"line 0", "line 1", "line 2"};
  struct member m;
  struct tide_queue *queue;
  struct tide_timeline *lines[3], *go, *rest;
  join(&m, 3);
  for (uint32_t i = 0; i < 3; i++)
    lines[i] = i == rank ? publish(&m, names[i]) : follow(&m, i, names[i]);
  go = rank == 0 ? publish(&m, "go") : follow(&m, 0, "go");
  rest = rank == 1 ? publish(&m, "rest") : follow(&m, 1, "rest");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  for (uint32_t stage = 0; stage < BLOCKS; stage++) {
    if (member_of(stage) != rank) continue;
    struct tide_wait first = stage == 60 ? (struct tide_wait){rest, 1} : (struct tide_wait){go, 1};
    submit(queue,
           &(struct tide_operation){
               .body = &stages,
               TIDE_ARGUMENTS(stage),
               TIDE_WAITS(stage ? (struct tide_wait){lines[member_of(stage - 1)], stage} : first,
                          first),
               TIDE_SIGNALS(TIDE_SIGNAL(lines[rank], stage + 1))});
  }
  say(1);
  for (uint32_t i = 0; i < 3; i++) await_said(i, 1);
  if (rank == 0) NEED_OK(tide_timeline_signal_external(go, 1));
  NEED_OK(tide_timeline_wait(lines[member_of(59)], 60, soon(&m)));
  say(2);
  await_said(3, 1); /* the test has stopped member 0 */
  if (rank == 1) NEED_OK(tide_timeline_signal_external(rest, 1));
  NEED_OK(tide_timeline_wait(lines[member_of(63)], 64, soon(&m)));
  say(3);
  leave(&m);
}

TEST(no_message_goes_through_a_third) {
  pid_t pids[3];
  open_case();
  for (uint32_t i = 0; i < 3; i++) pids[i] = begin(i, work_in_stages);
  for (uint32_t i = 0; i < 3; i++) await_said(i, 2);
  CHECK(kill(pids[0], SIGSTOP) == 0);
  int status;
  CHECK(waitpid(pids[0], &status, WUNTRACED) == pids[0] && WIFSTOPPED(status));
  rank = 3;
  say(1);
  await_said(1, 3);
  await_said(2, 3);
  CHECK(common->said[0] == 2);
  CHECK(kill(pids[0], SIGCONT) == 0);
  for (uint32_t i = 0; i < 3; i++) end_well(i, pids[i]);
  uint64_t value = 1;
  for (uint32_t stage = 0; stage < BLOCKS; stage++) {
    value = value * 3 + stage;
    CHECK_EQ_U64(common->stages[stage], value);
  }
  close_case();
}

/* ---- losses ------------------------------------------------------------------------------------
 */

/* Promises a value that never comes, and is killed. */
static enum tide_status hang(void *arguments) {
  (void)arguments;
  while (getpid()) pause(); /* for ever */
  return TIDE_OK;
}
static const struct tide_body_class hangs = {.name = "hang", .host = hang};

static void promise_and_hang(void) {
  struct member m;
  struct tide_queue *queue;
  join(&m, 3);
  struct tide_timeline *line = publish(&m, "line");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  submit(queue, &(struct tide_operation){TIDE_SIGNALS(TIDE_SIGNAL(line, 1))});
  submit(queue, &(struct tide_operation){.body = &hangs, TIDE_SIGNALS(TIDE_SIGNAL(line, 2))});
  NEED_OK(tide_timeline_wait(line, 1, soon(&m)));
  say(1);
  for (;;) pause();
}

/* True once all operations have entered: each value that they wait for is promised. */
static bool have_entered(const struct member *m) {
  struct tide_context_stats stats;
  tide_context_stats(m->context, &stats);
  return stats.entered == stats.submitted;
}

/* Waits as an operation, and as a host; both learn who is lost. */
static void survive(bool is_promised) {
  struct member m;
  struct tide_queue *queue;
  struct tide_timeline *after;
  struct tide_failure why;
  join(&m, 3);
  struct tide_timeline *line = follow(&m, 0, "line"), *unmade = follow(&m, 0, "unmade");
  NEED_OK(tide_timeline_create(m.context, NULL, &after));
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  NEED_OK(tide_timeline_wait(line, 1, soon(&m)));
  submit(queue,
         &(struct tide_operation){TIDE_WAITS({line, 2}), TIDE_SIGNALS(TIDE_SIGNAL(after, 1))});
  while (is_promised && !have_entered(&m)) usleep(200);
  say(1);
  NEED_STATUS(tide_timeline_wait(after, 1, soon(&m)), TIDE_LOST);
  NEED_STATUS(tide_timeline_wait(unmade, 1, soon(&m)), TIDE_LOST);
  NEED(tide_timeline_failure(line, 2, &why));
  snprintf(common->text[rank], sizeof common->text[rank], "%s", why.text);
  NEED_OK(tide_timeline_wait(line, 1, TIDE_NOW)); /* what was reached stays so */
  NEED(tide_cluster_lost(m.cluster, &why) && !strcmp(why.text, common->text[rank]));
  NEED_STATUS(tide_cluster_follow(m.cluster, 0, "another", &unmade), TIDE_LOST);
  NEED_STATUS(tide_cluster_leave(m.cluster, soon(&m)), TIDE_LOST);
  submit(queue,
         &(struct tide_operation){TIDE_SIGNALS(TIDE_SIGNAL(after, 2))}); /* not of what was lost */
  tide_context_destroy(m.context);                                       /* and the session */
}

static void survive_promise(void) { survive(true); }
static void survive_silence(void) { survive(false); }

static void expect_text(uint32_t who, const char *format, int pid) {
  char text[160];
  snprintf(text, sizeof text, format, pid); /* NOLINT: the callers' own */
  CHECK_EQ_STR(common->text[who], text);
}

TEST(a_killed_member_is_named) {
  open_case();
  pid_t lost = begin(0, promise_and_hang), second = begin(1, survive_promise),
        third = begin(2, survive_promise);
  for (uint32_t i = 0; i < 3; i++) await_said(i, 1);
  CHECK(kill(lost, SIGKILL) == 0);
  end_well(1, second);
  end_well(2, third);
  CHECK(waitpid(lost, NULL, 0) == lost);
  expect_text(1, "machine 0 (producer, pid %d): its process has ended", lost);
  expect_text(2, "machine 0 (producer, pid %d): its process has ended", lost);
  close_case();
}

/* Its connections stay, and its process does. */
TEST(a_stopped_member_is_named) {
  char text[96];
  open_case();
  silence = 3000000000u; /* longer than a loaded computer keeps the others' threads waiting */
  pid_t lost = begin(0, promise_and_hang), second = begin(1, survive_promise),
        third = begin(2, survive_silence);
  for (uint32_t i = 0; i < 3; i++) await_said(i, 1);
  CHECK(kill(lost, SIGSTOP) == 0);
  end_well(1, second);
  end_well(2, third);
  kill_one(lost);
  snprintf(text, sizeof text, "machine 0 (producer, pid %d): silent for ", lost);
  for (uint32_t i = 1; i < 3; i++)
    if (strncmp(common->text[i], text, strlen(text)) != 0)
      FAIL("member %u says '%s', not '%s'", i, common->text[i], text);
  silence = 0;
  close_case();
}

static void destroy_early(void) {
  struct member m;
  join(&m, 3);
  struct tide_timeline *line = publish(&m, "line");
  NEED_OK(tide_timeline_signal_external(line, 1));
  say(1);
  await_said(1, 1);
  await_said(2, 1);
  tide_context_destroy(m.context);
}

TEST(a_member_that_does_not_leave_is_named) {
  open_case();
  pid_t lost = begin(0, destroy_early), second = begin(1, survive_silence),
        third = begin(2, survive_silence);
  end_well(0, lost);
  end_well(1, second);
  end_well(2, third);
  expect_text(1, "machine 0 (producer, pid %d): it has destroyed the session", lost);
  expect_text(2, "machine 0 (producer, pid %d): it has destroyed the session", lost);
  close_case();
}

/* ---- leaving ------------------------------------------------------------------------------------
 */

/* Leaves while an operation that others follow still runs; its value arrives all the same. */
static enum tide_status take_time(void *arguments) {
  (void)arguments;
  usleep(20000);
  return TIDE_OK;
}
static const struct tide_body_class slow = {.name = "slow", .host = take_time};

static void leave_early(void) {
  struct member m;
  struct tide_queue *queue;
  join(&m, 2);
  struct tide_timeline *line = publish(&m, "line");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  submit(queue, &(struct tide_operation){.body = &slow, TIDE_SIGNALS(TIDE_SIGNAL(line, 1))});
  await_said(1, 1);
  leave(&m);
}

static void hear_all(void) {
  struct member m;
  struct tide_failure why;
  struct tide_timeline *other;
  join(&m, 2);
  struct tide_timeline *line = follow(&m, 0, "line"), *unmade = follow(&m, 0, "unmade");
  say(1);
  NEED_OK(tide_timeline_wait(line, 1, soon(&m)));
  NEED_STATUS(tide_timeline_wait(line, 2, soon(&m)), TIDE_CANCELLED);
  NEED_STATUS(tide_timeline_wait(unmade, 1, soon(&m)), TIDE_CANCELLED);
  NEED(tide_timeline_failure(line, 2, &why));
  snprintf(common->text[rank], sizeof common->text[rank], "%s", why.text);
  other = follow(&m, 0, "another"); /* it still answers */
  NEED_STATUS(tide_timeline_wait(other, 1, soon(&m)), TIDE_CANCELLED);
  leave(&m);
}

TEST(a_member_that_leaves_is_no_loss) {
  open_case();
  pid_t first = begin(0, leave_early), second = begin(1, hear_all);
  end_well(0, first);
  end_well(1, second);
  expect_text(1, "machine 0 (producer, pid %d) has left the session", first);
  close_case();
}

static void stay(void) {
  struct member m;
  join(&m, 2);
  say(1);
  for (;;) pause();
}

static void tire(void) {
  struct member m;
  struct tide_failure why;
  join(&m, 2);
  await_said(0, 1);
  NEED_STATUS(tide_cluster_leave(m.cluster, tide_after_ms(m.context, 20)), TIDE_TIMEOUT);
  NEED(tide_cluster_lost(m.cluster, &why));
  snprintf(common->text[rank], sizeof common->text[rank], "%s", why.text);
  tide_context_destroy(m.context);
}

TEST(leaving_has_a_deadline) {
  open_case();
  pid_t first = begin(0, stay), second = begin(1, tire);
  end_well(1, second);
  expect_text(1, "machine 0 (producer, pid %d): it had not left when others did", first);
  CHECK(kill(first, SIGKILL) == 0 && waitpid(first, NULL, 0) == first);
  close_case();
}

/* ---- meeting ------------------------------------------------------------------------------------
 */

static uint32_t meeting_count, meeting_rank, meeting_ms;
static enum tide_status meeting_status;

static void meet(void) {
  struct tide_context *context;
  struct tide_cluster *cluster;
  struct tide_diag diag = {.text = ""};
  NEED_OK(tide_context_create(NULL, &context));
  struct tide_cluster_params params = {.struct_size = sizeof params,
                                       .path = path,
                                       .rank = meeting_rank,
                                       .count = meeting_count,
                                       .silence = silence,
                                       .deadline = tide_after_ms(context, meeting_ms)};
  NEED_STATUS(tide_cluster_join(context, &params, &cluster, &diag), meeting_status);
  snprintf(common->text[rank], sizeof common->text[rank], "%s", diag.text);
  tide_context_destroy(context);
}

/* Joins as this rank of this count; the member's number in the case is `who`. */
static pid_t begin_meeting(uint32_t who, uint32_t as, uint32_t count, uint32_t ms,
                           enum tide_status status) {
  meeting_rank = as;
  meeting_ms = ms;
  meeting_count = count;
  meeting_status = status;
  return begin(who, meet);
}

static bool ends_with(uint32_t who, const char *end) {
  size_t length = strlen(common->text[who]), size = strlen(end);
  return length >= size && strcmp(common->text[who] + length - size, end) == 0;
}

static void await_listener(void) {
  while (access(path, F_OK) != 0) usleep(200);
}

/* Rank 0 waits for so long; the other one is told by it. */
static bool two_of_four_meet(uint32_t ms) {
  pid_t first = begin_meeting(0, 0, 4, ms, TIDE_TIMEOUT);
  await_listener();
  pid_t second = begin_meeting(1, 1, 4, 50000, TIDE_TIMEOUT);
  end_well(0, first);
  if (ends_with(0, ": not all of 4 members have come; missing: rank 2, 3")) {
    end_well(1, second);
    CHECK_EQ_STR(common->text[1], common->text[0]);
    return true;
  }
  /* It was too late for that. */
  CHECK(ends_with(0, ": not all of 4 members have come; missing: rank 1, 2, 3"));
  CHECK(kill(second, SIGKILL) == 0 && waitpid(second, NULL, 0) == second);
  return false;
}

TEST(who_is_missing_is_said) {
  open_case();
  for (uint32_t ms = 100; !two_of_four_meet(ms); ms *= 2) continue;
  close_case();
}

TEST(who_does_not_fit_is_refused) {
  open_case();
  pid_t pid = begin_meeting(2, 1, 3, 20, TIDE_TIMEOUT);
  end_well(2, pid);
  CHECK(ends_with(2, ": rank 0 is not there: No such file or directory"));
  pid = begin_meeting(0, 0, 2, 50000, TIDE_OK);
  await_listener();
  pid_t other = begin_meeting(1, 1, 3, 50000, TIDE_DENIED);
  end_well(1, other);
  CHECK(ends_with(1, ": rank 1 of 3 was expected to be one of 1 to 1 of 2"));
  silence = 5000000000u; /* it would take the other one, which never beats, for silent */
  other = begin_meeting(1, 1, 2, 50000, TIDE_DENIED);
  silence = 0;
  end_well(1, other);
  CHECK(ends_with(1, ": a silence of 0 ms was expected, and not of 5000 ms"));
  other = begin_meeting(1, 1, 2, 50000, TIDE_OK);
  end_well(1, other);
  end_well(0, pid);
  close_case();
}

static int connect_as_stranger(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int stranger = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  CHECK(stranger >= 0);
  /* The path is there a little earlier than somebody listens. */
  while (connect(stranger, (const struct sockaddr *)&address, sizeof address) != 0) {
    CHECK(errno == ECONNREFUSED);
    usleep(200);
  }
  return stranger;
}

/* What says nothing, something else, or only half of it holds up nobody. */
TEST(strangers_hold_up_nobody) {
  static const char odd[4096] = "GET / HTTP/1.0\r\n\r\n";
  char answer[4096];
  int strangers[3];
  open_case();
  pid_t first = begin_meeting(0, 0, 2, 50000, TIDE_OK);
  await_listener();
  for (int i = 0; i < 3; i++) strangers[i] = connect_as_stranger();
  CHECK(send(strangers[1], odd, sizeof odd, 0) == sizeof odd);
  CHECK(send(strangers[2], odd, 24, 0) == 24);
  /* A refusal, then the end. */
  for (int i = 1; i < 3; i++) {
    CHECK(recv(strangers[i], answer, sizeof answer, 0) > 0);
    CHECK(recv(strangers[i], answer, sizeof answer, 0) == 0);
  }
  pid_t second = begin_meeting(1, 1, 2, 50000, TIDE_OK);
  end_well(1, second);
  end_well(0, first);
  CHECK(recv(strangers[0], answer, sizeof answer, 0) > 0); /* the session has begun */
  for (int i = 0; i < 3; i++) close(strangers[i]);
  close_case();
}

/* Listens at the path, and answers a visitor's hello: with odd bytes, another version, a member
 * without a name, or what a visitor sends. */
static void answer_hello(int listener, int how) {
  char bytes[512];
  int visitor = accept(listener, NULL, NULL);
  CHECK(visitor >= 0);
  ssize_t size = recv(visitor, bytes, sizeof bytes, 0);
  CHECK(size > 11);
  if (how == 0) size = 11;
  if (how == 1) bytes[8]++;                                  /* the version */
  if (how == 2) bytes[12] = 2, bytes[16] = 0, bytes[48] = 0; /* MEMBER 0 */
  CHECK(send(visitor, bytes, (size_t)size, 0) == size);
  close(visitor);
}

TEST(what_is_no_rank_0_is_named) {
  static const char *const why[] = {
      ": no session meets there: 11 bytes that are no message of a meeting",
      ": no session meets there: another version of the library: messages of version 2 were "
      "expected, one of version 3 has come",
      ": no session meets there: rank 0 tells of rank 0 without its name",
      ": no session meets there: rank 0 sends a message that is not its to send"};
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  open_case();
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  CHECK(listener >= 0 && bind(listener, (const struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(listener, 4) == 0);
  for (int how = 0; how < 4; how++) {
    pid_t visitor = begin_meeting(1, 1, 2, 50000, TIDE_DENIED);
    answer_hello(listener, how);
    end_well(1, visitor);
    if (!ends_with(1, why[how])) FAIL("%d: %s", how, common->text[1]);
  }
  close(listener);
  CHECK(unlink(path) == 0);
  close_case();
}

TEST(a_session_comes_first) {
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_cluster *cluster;
  struct tide_diag diag;
  struct tide_cluster_params params = {.struct_size = sizeof params, .path = "/tmp/x", .count = 1};
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_cpu_open(context, NULL, &cpu));
  CHECK_OK(tide_queue_create(cpu, NULL, &queue));
  CHECK_STATUS(tide_cluster_join(context, &params, &cluster, &diag), TIDE_BUSY);
  params.count = 0;
  CHECK_STATUS(tide_cluster_join(context, &params, &cluster, &diag), TIDE_INVALID);
  params.count = TIDE_CLUSTER_MEMBERS_MAX + 1;
  CHECK_STATUS(tide_cluster_join(context, &params, &cluster, &diag), TIDE_INVALID);
  params = (struct tide_cluster_params){.struct_size = sizeof params, .count = 1};
  CHECK_STATUS(tide_cluster_join(context, &params, &cluster, &diag), TIDE_INVALID);
  CHECK_STATUS(tide_cluster_join(context, NULL, &cluster, &diag), TIDE_INVALID);
  tide_context_destroy(context);
}

TEST(one_member_alone) {
  struct member m;
  open_case();
  join(&m, 1);
  struct tide_timeline *line = publish(&m, "line");
  CHECK_OK(tide_timeline_signal_external(line, 1));
  leave(&m);
  close_case();
}

/* ---- buffers that another process reads -------------------------------------------------------
 */

#define FRAMES 200
#define FRAME 4096
#define IN_MEMORY 4 /* frames that a pool has memory for */

struct frame {
  unsigned char *data;
  uint32_t number;
};

static enum tide_status fill_frame(void *arguments) {
  const struct frame *frame = arguments;
  for (uint32_t i = 0; i < FRAME; i++) frame->data[i] = byte_of(frame->number, i);
  return TIDE_OK;
}
static const struct tide_body_class fills = {.name = "fill", .host = fill_frame};

static struct tide_pool *open_pool(struct member *m) {
  struct tide_pool *pool;
  struct tide_pool_params params = {.struct_size = sizeof params,
                                    .label = "frames",
                                    .source = tide_cluster_memory(m->cluster),
                                    .limit = IN_MEMORY * FRAME,
                                    .chunk = 2 * FRAME};
  NEED_OK(tide_pool_create(m->context, &params, &pool));
  return pool;
}

/* Sends frame 1, 2 … of a queue that fills them. Waits while all memory is being read. */
static void send_frame(struct member *m, struct tide_queue *queue, struct tide_pool *pool,
                       struct tide_timeline *filled, struct tide_timeline *read, uint32_t number) {
  struct tide_buffer *buffer;
  enum tide_status status;
  uint64_t seen; /* before it is tried: what is read meanwhile wakes the wait */
  while (seen = tide_timeline_query(read),
         (status = tide_queue_alloc(queue, pool, FRAME, "frame", &buffer)) == TIDE_NOMEM)
    NEED_OK(tide_timeline_wait(read, seen + 1, soon(m)));
  NEED_OK(status);
  struct frame frame = {tide_buffer_data(buffer), number};
  NEED_OK(tide_cluster_export(m->cluster, buffer, filled, number, read, number));
  submit(queue, &(struct tide_operation){.body = &fills,
                                         TIDE_ARGUMENTS(frame),
                                         TIDE_USES({.buffer = buffer, .access = TIDE_WRITE}),
                                         TIDE_SIGNALS(TIDE_SIGNAL(filled, number))});
  tide_queue_free(queue, buffer);
}

static void send_frames(void) {
  struct member m;
  struct tide_queue *queue;
  struct tide_pool_stats stats;
  join(&m, 2);
  struct tide_pool *pool = open_pool(&m);
  struct tide_timeline *filled = publish(&m, "filled"), *read = follow(&m, 1, "read");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  for (uint32_t i = 1; i <= FRAMES; i++) send_frame(&m, queue, pool, filled, read, i);
  NEED_OK(tide_timeline_wait(read, FRAMES, soon(&m)));
  tide_pool_stats(pool, &stats);
  NEED(stats.source_peak <= IN_MEMORY * FRAME && stats.fresh <= IN_MEMORY);
  NEED(stats.allocs == FRAMES && stats.deferred_buffers == 0);
  NEED(tide_pool_trim(pool) == stats.source_bytes); /* the reader unmaps it */
  leave(&m);
}

static struct tide_cluster *reading;
static struct tide_timeline *frames;

static enum tide_status read_frame(void *arguments) {
  uint32_t number = *(const uint32_t *)arguments;
  unsigned char data[FRAME];
  /* In two parts: the frame must not change in between. */
  for (uint32_t half = 0; half < 2; half++) {
    enum tide_status status = tide_cluster_read(reading, frames, number, half * FRAME / 2,
                                                data + half * FRAME / 2, FRAME / 2);
    if (status != TIDE_OK) return status;
  }
  for (uint32_t i = 0; i < FRAME; i++)
    if (data[i] != byte_of(number, i)) return TIDE_CORRUPT;
  return TIDE_OK;
}
static const struct tide_body_class reads = {.name = "read", .host = read_frame};

static bool maps_frames(void) {
  char line[512];
  bool any = false;
  FILE *file = fopen("/proc/self/maps", "r");
  NEED(file);
  while (fgets(line, sizeof line, file)) any |= strstr(line, "tide-pool") != NULL;
  fclose(file);
  return any;
}

static void read_frames(void) {
  struct member m;
  struct tide_queue *queues[2];
  join(&m, 2);
  reading = m.cluster;
  frames = follow(&m, 0, "filled");
  struct tide_timeline *read = publish(&m, "read");
  for (uint32_t i = 0; i < 2; i++) NEED_OK(tide_queue_create(m.cpu, NULL, &queues[i]));
  for (uint32_t i = 1; i <= FRAMES; i++) /* all ahead */
    submit(queues[0], &(struct tide_operation){.body = &reads,
                                               TIDE_ARGUMENTS(i),
                                               TIDE_WAITS({frames, i}),
                                               TIDE_SIGNALS(TIDE_SIGNAL(read, i))});
  NEED_OK(tide_timeline_wait(read, FRAMES, soon(&m)));
  while (maps_frames()) usleep(200);
  uint32_t last = FRAMES;
  NEED_STATUS(read_frame(&last), TIDE_INVALID); /* it has been read */
  leave(&m);
}

TEST(frames_go_through_a_small_pool) {
  open_case();
  pid_t first = begin(0, send_frames), second = begin(1, read_frames);
  end_well(0, first);
  end_well(1, second);
  close_case();
}

/* The second chunk of the pool is exported first. */
static void send_backwards(void) {
  struct member m;
  struct tide_queue *queue;
  struct tide_buffer *buffers[IN_MEMORY];
  join(&m, 2);
  struct tide_pool *pool = open_pool(&m);
  struct tide_timeline *filled = publish(&m, "filled"), *read = follow(&m, 1, "read");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  for (uint32_t i = 0; i < IN_MEMORY; i++)
    NEED_OK(tide_queue_alloc(queue, pool, FRAME, "frame", &buffers[i]));
  for (uint32_t number = 1; number <= IN_MEMORY; number++) {
    struct tide_buffer *buffer = buffers[IN_MEMORY - number];
    struct frame frame = {tide_buffer_data(buffer), number};
    NEED_OK(tide_cluster_export(m.cluster, buffer, filled, number, read, number));
    submit(queue, &(struct tide_operation){.body = &fills,
                                           TIDE_ARGUMENTS(frame),
                                           TIDE_USES({.buffer = buffer, .access = TIDE_WRITE}),
                                           TIDE_SIGNALS(TIDE_SIGNAL(filled, number))});
    tide_queue_free(queue, buffer);
  }
  NEED_OK(tide_timeline_wait(read, IN_MEMORY, soon(&m)));
  leave(&m);
}

static void read_backwards(void) {
  struct member m;
  struct tide_queue *queue;
  join(&m, 2);
  reading = m.cluster;
  frames = follow(&m, 0, "filled");
  struct tide_timeline *read = publish(&m, "read");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  for (uint32_t i = 1; i <= IN_MEMORY; i++)
    submit(queue, &(struct tide_operation){.body = &reads,
                                           TIDE_ARGUMENTS(i),
                                           TIDE_WAITS({frames, i}),
                                           TIDE_SIGNALS(TIDE_SIGNAL(read, i))});
  NEED_OK(tide_timeline_wait(read, IN_MEMORY, soon(&m)));
  leave(&m);
}

TEST(chunks_come_in_the_order_of_their_exports) {
  open_case();
  pid_t first = begin(0, send_backwards), second = begin(1, read_backwards);
  end_well(0, first);
  end_well(1, second);
  close_case();
}

/* Frame 1 is being read when its reader is killed: its memory is out of use for good. */
static void lose_reader(void) {
  struct member m;
  struct tide_queue *queue;
  struct tide_buffer *buffer;
  struct tide_pool_stats stats;
  join(&m, 2);
  struct tide_pool *pool = open_pool(&m);
  struct tide_timeline *filled = publish(&m, "filled"), *read = follow(&m, 1, "read");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  send_frame(&m, queue, pool, filled, read, 1);
  NEED_STATUS(tide_timeline_wait(read, 1, soon(&m)), TIDE_LOST);
  for (uint32_t i = 0; i < IN_MEMORY - 1; i++)
    NEED_OK(tide_queue_alloc(queue, pool, FRAME, "frame", &buffer));
  NEED_STATUS(tide_queue_alloc(queue, pool, FRAME, "frame", &buffer), TIDE_NOMEM);
  tide_pool_stats(pool, &stats);
  NEED(stats.deferred_buffers == 1 && stats.live_buffers == IN_MEMORY);
  NEED_STATUS(tide_pool_destroy(pool), TIDE_BUSY);
  tide_context_destroy(m.context);
}

/* Reads the frame again and again, and says so. */
static enum tide_status read_for_ever(void *arguments) {
  enum tide_status status;
  while ((status = read_frame(arguments)) == TIDE_OK) say(1);
  return status;
}
static const struct tide_body_class for_ever = {.name = "for ever", .host = read_for_ever};

static void read_one_frame(void) {
  struct member m;
  struct tide_queue *queue;
  uint32_t number = 1;
  join(&m, 2);
  reading = m.cluster;
  frames = follow(&m, 0, "filled");
  struct tide_timeline *read = publish(&m, "read");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  submit(queue, &(struct tide_operation){.body = &for_ever,
                                         TIDE_ARGUMENTS(number),
                                         TIDE_WAITS({frames, 1}),
                                         TIDE_SIGNALS(TIDE_SIGNAL(read, 1))});
  NEED_STATUS(tide_timeline_wait(read, 1, soon(&m)), TIDE_LOST);
  say(2);
  tide_context_destroy(m.context);
}

static void fill_one_frame(void) {
  struct member m;
  struct tide_queue *queue;
  join(&m, 2);
  struct tide_pool *pool = open_pool(&m);
  struct tide_timeline *filled = publish(&m, "filled"), *read = follow(&m, 1, "read");
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  send_frame(&m, queue, pool, filled, read, 1);
  NEED_STATUS(tide_timeline_wait(read, 1, soon(&m)), TIDE_OK); /* it is killed meanwhile */
}

TEST(a_killed_reader_keeps_the_memory) {
  open_case();
  pid_t first = begin(0, lose_reader), second = begin(1, read_one_frame);
  await_said(1, 1);
  kill_one(second);
  end_well(0, first);
  close_case();
}

/* The reader copies memory of a process that has gone. */
TEST(a_killed_writer_fails_its_reader) {
  open_case();
  pid_t first = begin(0, fill_one_frame), second = begin(1, read_one_frame);
  await_said(1, 1);
  kill_one(first);
  end_well(1, second);
  CHECK_EQ_U64(common->said[1], 2);
  close_case();
}

/* ---- a collective of four processes -----------------------------------------------------------
 */

#define INSTANCES 100

static enum tide_status add_up(void *arguments) {
  uint32_t instance = *(const uint32_t *)arguments;
  /* All have written their cell of the instance before, and none of the next one. */
  for (uint32_t i = 0; i < MEMBERS; i++)
    if (__atomic_load_n(&common->cells[i], __ATOMIC_ACQUIRE) != instance) return TIDE_CORRUPT;
  return TIDE_OK;
}
static const struct tide_body_class adds = {.name = "add", .host = add_up};

static enum tide_status write_cell(void *arguments) {
  __atomic_store_n(&common->cells[rank], *(const uint32_t *)arguments, __ATOMIC_RELEASE);
  return TIDE_OK;
}
static const struct tide_body_class cells = {.name = "cell", .host = write_cell};

/* Everything is submitted ahead. */
static void work_together(void) {
  struct member m;
  struct tide_queue *queue;
  struct tide_cluster_collective *all;
  join(&m, MEMBERS);
  NEED_OK(tide_queue_create(m.cpu, TIDE_PARAMS(tide_queue_params, .operations = 4 * INSTANCES),
                            &queue));
  struct tide_cluster_collective_params params = {
      .struct_size = sizeof params, .name = "step", .queue = queue, .depth = INSTANCES, .radix = 2};
  NEED_OK(tide_cluster_collective_create(m.cluster, &params, &all));
  struct tide_timeline *ended = tide_cluster_collective_progress(all);
  for (uint32_t i = 1; i <= INSTANCES; i++) {
    /* A cell is written when all have read the ones before. */
    submit(queue,
           &(struct tide_operation){.body = &cells, TIDE_ARGUMENTS(i), TIDE_WAITS({ended, i - 1})});
    NEED_OK(tide_cluster_collective_submit(
        all, 1, &(struct tide_operation){.body = &adds, TIDE_ARGUMENTS(i)}, NULL, NULL));
  }
  NEED_OK(tide_timeline_wait(ended, INSTANCES, soon(&m)));
  leave(&m);
}

TEST(four_processes_do_one_thing_together) {
  pid_t pids[MEMBERS];
  open_case();
  for (uint32_t i = 0; i < MEMBERS; i++) pids[i] = begin(i, work_together);
  for (uint32_t i = 0; i < MEMBERS; i++) end_well(i, pids[i]);
  close_case();
}

/* The first instance has parts of two kinds. */
static void work_apart(void) {
  struct member m;
  struct tide_queue *queue;
  struct tide_cluster_collective *all;
  join(&m, 2);
  NEED_OK(tide_queue_create(m.cpu, NULL, &queue));
  struct tide_cluster_collective_params params = {
      .struct_size = sizeof params, .name = "step", .queue = queue};
  NEED_OK(tide_cluster_collective_create(m.cluster, &params, &all));
  usleep(100000 * rank);
  NEED_OK(tide_cluster_collective_submit(all, rank, &(struct tide_operation){.label = "part"}, NULL,
                                         NULL));
  NEED_STATUS(tide_timeline_wait(tide_cluster_collective_progress(all), 1, soon(&m)),
              TIDE_MISMATCH);
  leave(&m);
}

TEST(two_processes_do_two_things) {
  pid_t pids[2];
  open_case();
  for (uint32_t i = 0; i < 2; i++) pids[i] = begin(i, work_apart);
  for (uint32_t i = 0; i < 2; i++) end_well(i, pids[i]);
  close_case();
}

TEST_MAIN(CASE(a_consumer_is_queued_before_its_producer_runs), CASE(a_queue_is_followed),
          CASE(four_processes_do_one_thing_together), CASE(two_processes_do_two_things),
          CASE(frames_go_through_a_small_pool), CASE(chunks_come_in_the_order_of_their_exports),
          CASE(a_killed_reader_keeps_the_memory), CASE(a_killed_writer_fails_its_reader),
          CASE(no_message_goes_through_a_third), CASE(a_killed_member_is_named),
          CASE(a_stopped_member_is_named), CASE(a_member_that_does_not_leave_is_named),
          CASE(a_member_that_leaves_is_no_loss), CASE(leaving_has_a_deadline),
          CASE(who_is_missing_is_said), CASE(who_does_not_fit_is_refused),
          CASE(strangers_hold_up_nobody), CASE(what_is_no_rank_0_is_named),
          CASE(a_session_comes_first), CASE(one_member_alone))
