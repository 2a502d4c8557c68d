/* Programs that take, on threads: what stalls, what is told of it, and what goes wrong. Random ones
 * are in run_random.c; what may be known when, is the oracle's (tests/oracle/takes.c). */
#include "harness.h"

#include "tidemark/cpu.h"
#include "tidemark/file.h"
#include "tidemark/kernel.h"
#include "tidemark/run.h"
#include "tidemark/wic.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a program, and how it is run --------------------------------------------------- */

static enum tide_status open_cpu(void *self, const struct tide_device_request *request,
                                 struct tide_device **out_device, struct tide_diag *diag) {
  struct tide_cpu_params params = {.struct_size = sizeof params,
                                   .label = request->device->label,
                                   .workers = 1 + request->device->takers};
  (void)self, (void)diag;
  return tide_cpu_open(request->context, &params, out_device);
}

static const struct tide_device_kind kinds[] = {
    {"cpu", "threads", true, open_cpu, NULL, NULL, NULL, NULL},
    {"loose", "out of order", false, open_cpu, NULL, NULL, NULL, NULL}};

/* Bodies that meet: the writer goes on only when the taker's body has begun. */
static uint32_t has_begun;

static enum tide_status begin_and_sum(void *arguments) {
  const struct tide_argument *a = arguments;
  const volatile uint64_t *words = a[0].data;
  uint64_t sum = 0;
  __atomic_store_n(&has_begun, 1u, __ATOMIC_RELEASE);
  for (size_t i = 0; i < a[0].size / sizeof *words; i++) sum += words[i];
  memcpy(a[1].data, &sum, sizeof sum);
  return TIDE_OK;
}
static enum tide_status wait_for_it(void *arguments) {
  (void)arguments;
  while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE)) usleep(100);
  usleep(1000);
  return TIDE_OK;
}

static const struct tide_param sum_params[] = {{.name = "from", .kind = TIDE_PARAM_IN},
                                               {.name = "out", .kind = TIDE_PARAM_OUT}};
static const struct tide_body own_bodies[] = {
    {.class_ = {.name = "begin_and_sum", .host = begin_and_sum},
     .params = sum_params,
     .param_count = 2,
     .summary = "tells that it has begun"},
    {.class_ = {.name = "meet", .host = wait_for_it}, .summary = "waits for that"}};

struct job {
  struct tide_program *program;
  struct tide_plan *plan;
  struct tide_run *run;
  struct tide_run_result result;
  struct tide_diag diag;
};

static void plan(struct job *job, const char *text) {
  struct tide_report report = {&job->diag, 1, 0};
  struct tide_program_params params = {.struct_size = sizeof params,
                                       .allocator = tide_allocator_system(),
                                       .text = text,
                                       .length = strlen(text)};
  struct tide_body_set sets[2] = {{own_bodies, 2}};
  sets[1].bodies = tide_kernel_bodies(&sets[1].count);
  struct tide_plan_params how = {.struct_size = sizeof how, .bodies = sets, .body_set_count = 2};
  *job = (struct job){.run = NULL};
  if (tide_program_parse(&params, &report, &job->program) != TIDE_OK) FAIL("%s", job->diag.text);
  if (tide_plan_create(job->program, &how, &report, &job->plan) != TIDE_OK)
    FAIL("%s", job->diag.text);
}

static enum tide_status run_with(struct job *job, const struct tide_take_source *takes,
                                 const struct tide_sink *sink) {
  struct tide_run_params params = {.struct_size = sizeof params,
                                   .plan = job->plan,
                                   .kinds = kinds,
                                   .kind_count = 2,
                                   .takes = takes,
                                   .sink = sink};
  enum tide_status status = tide_run_create(&params, &job->diag, &job->run);
  if (status == TIDE_DENIED || strstr(job->diag.text, "userfaultfd")) {
    tide_plan_destroy(job->plan);
    tide_program_destroy(job->program);
    SKIP("%s", job->diag.text);
  }
  return status == TIDE_OK ? tide_run_execute(job->run, &job->result, &job->diag) : status;
}

static void drop(struct job *job) {
  tide_run_destroy(job->run);
  tide_plan_destroy(job->plan);
  tide_program_destroy(job->program);
}

#define HEAD "device c cpu\nqueue q, r on c\ntimeline a, b\nbuffer x 64K\nbuffer y 8\n"

/* ---- cases ------------------------------------------------------------------------------- */

struct seen {
  uint64_t stalls, resumes, bad;
  uint64_t stall_time;
};

static void note(void *self, const struct tide_event *event) {
  struct seen *seen = self;
  if (event->kind == TIDE_EVENT_STALL) {
    seen->stalls++;
    seen->stall_time = event->time;
  }
  if (event->kind != TIDE_EVENT_RESUME) return;
  seen->resumes++;
  bool good = event->time >= seen->stall_time && event->epoch == 1 && event->axis &&
              strcmp(event->object_label, "a") == 0 && strcmp(event->label, "x") == 0;
  seen->bad += !good;
}

/* The taker starts at once: it gets the only hand that there is beside its own, and the writer,
 * which comes later, must not wait for that. That it stalls is likely each time. */
TEST(a_taker_stalls_alone) {
  struct seen seen = {0};
  for (int i = 0; i < 200 && !seen.stalls; i++) {
    struct job job;
    struct tide_sink sink = {.event = note, .wants_time = true, .self = &seen};
    has_begun = 0;
    plan(&job, HEAD "q: meet\nq: iota x, 5  signal a = 1\nr: begin_and_sum x, y  take x\n"
                    "r: nop  signal b = 1\n");
    CHECK_OK(run_with(&job, tide_medium_takes(), &sink));
    uint64_t sum;
    memcpy(&sum, tide_run_buffer(job.run, 1), sizeof sum);
    CHECK_EQ_U64(sum, 8192u * 5 + 8192u * 8191 / 2);
    drop(&job);
  }
  CHECK_EQ_U64(seen.stalls, 1);
  CHECK_EQ_U64(seen.resumes, 1);
  CHECK_EQ_U64(seen.bad, 0);
}

/* Nine slices in one page have nine tags: more than a request has. */
TEST(many_writers_of_one_page) {
  struct job job;
  plan(&job, "device c cpu\nqueue q[9], r on c\ntimeline a[9]\nbuffer x 9*64\nbuffer y 8\n"
             "for i in 0..9 { q[i]: spin 300*i\nq[i]: iota x[64*i, 64], 8*i  signal a[i] = 1 }\n"
             "r: reduce x, y  take x\n");
  CHECK_OK(run_with(&job, tide_medium_takes(), NULL));
  uint64_t sum;
  memcpy(&sum, tide_run_buffer(job.run, 1), sizeof sum);
  CHECK_EQ_U64(sum, 72u * 71 / 2);
  drop(&job);
}

/* Sixty slices are more runs of pages than a call takes. */
TEST(many_runs_of_pages) {
  struct job job;
  plan(&job, "device c cpu\nqueue q[3], r on c\ntimeline a[3]\nbuffer x 60*12K\nbuffer y 8\n"
             "for i in 0..60 { q[i%3]: iota x[12K*i, 12K], 1536*i  signal a[i%3] = i/3+1 }\n"
             "r: reduce x, y  take x\n");
  CHECK_OK(run_with(&job, tide_medium_takes(), NULL));
  uint64_t sum, count = 60 * 1536;
  memcpy(&sum, tide_run_buffer(job.run, 1), sizeof sum);
  CHECK_EQ_U64(sum, count * (count - 1) / 2);
  drop(&job);
}

/* The writer fails while the taker is stalled: that fails, and what waits for it. */
TEST(a_writer_that_fails) {
  for (int i = 0; i < 20; i++) {
    struct job job;
    plan(&job, HEAD "q: spin 2000\nq: fail signal a = 1\nq: iota x wait a >= 1 signal a = 2\n"
                    "r: reduce x, y  take x  signal b = 1\nq: hash y, y  wait b >= 1\n");
    CHECK_STATUS(run_with(&job, tide_medium_takes(), NULL), TIDE_FAILED);
    CHECK_EQ_U64(job.diag.line, 7);
    CHECK_EQ_U64(job.result.failed, 5); /* all but `spin` */
    drop(&job);
  }
}

/* The tag of the writer that fails is beyond those of a request. */
TEST(the_last_of_many_writers_fails) {
  struct job job;
  plan(&job, "device c cpu\nqueue q[9], r on c\ntimeline a[9], b\nbuffer x 9*64\nbuffer y 8\n"
             "for i in 0..8 { q[i]: spin 300*i\nq[i]: iota x[64*i, 64], 8*i  signal a[i] = 1 }\n"
             "q[8]: fail  signal a[8] = 1\nq[8]: iota x[512, 64]  wait a[8] >= 1  signal a[8] = 2\n"
             "r: reduce x, y  take x  signal b = 1\n");
  CHECK_STATUS(run_with(&job, tide_medium_takes(), NULL), TIDE_FAILED);
  CHECK_EQ_U64(job.result.failed, 4); /* both of q[8], and both steps of r */
  drop(&job);
}

/* The taker itself fails: its signals do, and the writer does not. */
TEST(a_taker_that_fails) {
  struct job job;
  plan(&job, HEAD "q: iota x  signal a = 1\nr: downsample x, y, width=7, factor=3  take x  "
                  "signal b = 1\nq: hash y, y  wait b >= 1\nq: iota x\n");
  CHECK(run_with(&job, tide_medium_takes(), NULL) != TIDE_OK);
  CHECK_EQ_U64(job.diag.line, 7);
  CHECK_EQ_U64(job.result.failed, 3);
  drop(&job);
}

/* What has not looked at all need not wait, but what comes behind it does. */
TEST(a_taker_that_does_not_look) {
  struct job job;
  plan(&job, "device c cpu\nqueue q, r on c\ntimeline a, b\nbuffer x, y, z 64K\n"
             "q: spin 3000\nq: iota x, 1  signal a = 1\n"
             "r: copy x[0, 8], y[0, 8]  take x  signal b = 1\nq: copy x, z  wait b >= 1\n");
  CHECK_OK(run_with(&job, tide_medium_takes(), NULL));
  CHECK(memcmp(tide_run_buffer(job.run, 0), tide_run_buffer(job.run, 2), 65536) == 0);
  drop(&job);
}

TEST(nothing_to_take_with) {
  struct job job;
  plan(&job, HEAD "q: iota x  signal a = 1\nr: reduce x, y  take x\n");
  CHECK_STATUS(run_with(&job, NULL, NULL), TIDE_UNSUPPORTED);
  CHECK(strcmp(job.diag.text, "queue 'r' cannot take: there is nothing here to take with") == 0);
  CHECK_EQ_U64(job.diag.line, 7);
  drop(&job);
  plan(&job, "device c cpu\ndevice d loose\nqueue q on c\nqueue r on d\ntimeline a\nbuffer x 8\n"
             "buffer y 8\nq: iota x  signal a = 1\nr: reduce x, y  take x\n");
  CHECK_STATUS(run_with(&job, tide_medium_takes(), NULL), TIDE_UNSUPPORTED);
  CHECK(strstr(job.diag.text, "its device works out of order"));
  CHECK_EQ_U64(job.diag.line, 9);
  drop(&job);
}

static bool forbid(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1), /* the device that stands in for it */
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {5, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a process of its own, which then has no right to. */
TEST(no_right_to_take) {
  static const char want[] = "queue 'r' cannot take: no right to use userfaultfd; it takes root, "
                             "CAP_SYS_PTRACE, vm.unprivileged_userfaultfd = 1 or access to "
                             "/dev/userfaultfd";
  struct job job;
  plan(&job, HEAD "q: iota x  signal a = 1\nr: reduce x, y  take x\n");
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    struct tide_run_params params = {.struct_size = sizeof params,
                                     .plan = job.plan,
                                     .kinds = kinds,
                                     .kind_count = 2,
                                     .takes = tide_medium_takes()};
    if (!forbid()) _exit(2);
    enum tide_status status = tide_run_create(&params, &job.diag, &job.run);
    bool good = status == TIDE_DENIED && job.diag.line == 7 && strcmp(job.diag.text, want) == 0;
    if (!good) fprintf(stderr, "%s: %s\n", tide_status_name(status), job.diag.text);
    _exit(good ? 0 : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  drop(&job);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) SKIP("no filters of system calls here");
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_MAIN(CASE(a_taker_stalls_alone), CASE(many_writers_of_one_page), CASE(many_runs_of_pages),
          CASE(a_writer_that_fails), CASE(the_last_of_many_writers_fails), CASE(a_taker_that_fails),
          CASE(a_taker_that_does_not_look), CASE(nothing_to_take_with), CASE(no_right_to_take))
