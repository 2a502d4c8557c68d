/* The way out: transfers that never end hold back no others, are cancelled, and a device that fails
 * for good tells its waiters and keeps what the kernel still has. The same through a ring and
 * through threads. */
#include "rig.h"

#include "faults.h"
#include "tidemark/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STUCK = 100 }; /* more than any depth, and than threads */

static enum tide_status try_submit(struct tide_queue *queue, const char *body, int file, void *data,
                                   uint64_t size, struct tide_timeline *timeline, uint64_t value,
                                   uint64_t *out_sequence) {
  struct tide_argument arguments[3] = {
      {.descriptor = file}, {.integer = 0}, {.data = data, .size = size}};
  struct tide_signal signal = {.timeline = timeline, .value = value};
  struct tide_operation operation = {.body = &tide_kernel_find(body)->class_,
                                     .arguments = arguments,
                                     .arguments_size = sizeof arguments,
                                     .signals = &signal,
                                     .signal_count = timeline != NULL};
  return tide_queue_submit(queue, &operation, out_sequence, NULL);
}

static void submit(struct tide_queue *queue, const char *body, int file, void *data, uint64_t size,
                   struct tide_timeline *timeline, uint64_t value, uint64_t *out_sequence) {
  CHECK_OK(try_submit(queue, body, file, data, size, timeline, value, out_sequence));
}

/* One that meets a ring that may have broken already: then it is refused with the same status. */
static void submit_late(struct tide_queue *queue, int file, void *data, uint64_t size,
                        struct tide_timeline *timeline, enum tide_status refusal) {
  enum tide_status status = try_submit(queue, "read", file, data, size, timeline, 1, NULL);
  if (status == TIDE_OK) return;
  CHECK_STATUS(status, refusal);
  tide_timeline_fail(timeline, refusal);
}

/* A read of a regular file, on a queue of its own. */
static enum tide_status read_file(struct rig *rig) {
  struct tide_queue *queue = rig_queue(rig, "file", 4);
  struct tide_timeline *timeline = rig_timeline(rig, "file");
  uint64_t word = 7;
  submit(queue, "read", rig->words, &word, 8, timeline, 1, NULL);
  enum tide_status status = tide_timeline_wait(timeline, 1, rig_later(20000));
  if (status == TIDE_OK) CHECK_EQ_U64(word, 0);
  tide_queue_destroy(queue);
  tide_timeline_destroy(timeline);
  return status;
}

/* ---- transfers that never end -------------------------------------------------------------- */

/* Reads of pipes that no process writes, and writes to one that no process reads. */
static void stuck_transfers_hold_back_nothing(void) {
  struct rig rig;
  int in[2], out[2];
  static char bytes[STUCK], large[1 << 20];
  rig_open(&rig, test_given());
  CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  struct tide_queue *queue = rig_queue(&rig, "stuck", 2 * STUCK);
  struct tide_timeline *timeline = rig_timeline(&rig, "stuck");
  for (uint32_t i = 0; i < STUCK; i++)
    submit(queue, "read", in[0], &bytes[i], 1, timeline, i + 1, NULL);
  for (uint32_t i = 0; i < STUCK; i++)
    submit(queue, "write", out[1], large, sizeof large, NULL, 0, NULL);
  CHECK_OK(read_file(&rig));
  CHECK_OK(read_file(&rig));
  CHECK_STATUS(tide_timeline_wait(timeline, 1, TIDE_NOW), TIDE_TIMEOUT);
  tide_queue_destroy(queue);
  CHECK_STATUS(tide_timeline_wait(timeline, STUCK, TIDE_FOREVER), TIDE_CANCELLED);
  CHECK_OK(tide_device_settle(rig.device, rig_later(20000)));
  CHECK_OK(read_file(&rig));
  tide_timeline_destroy(timeline);
  rig_close(&rig);
  close(in[0]), close(in[1]), close(out[0]), close(out[1]);
}

static void one_of_them_can_be_cancelled(void) {
  struct rig rig;
  int ends[2];
  char bytes[3] = "...";
  uint64_t sequence;
  rig_open(&rig, test_given());
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  struct tide_queue *queue = rig_queue(&rig, "queue", 8), *other = rig_queue(&rig, "other", 8);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline"), *t = rig_timeline(&rig, "t");
  submit(queue, "read", ends[0], &bytes[0], 1, timeline, 1, &sequence);
  submit(other, "read", ends[0], &bytes[1], 1, t, 1, NULL);
  CHECK_OK(read_file(&rig)); /* whatever was submitted before has started */
  CHECK_OK(tide_queue_cancel(queue, sequence));
  CHECK_STATUS(tide_timeline_wait(timeline, 1, rig_later(20000)), TIDE_CANCELLED);
  CHECK_OK(tide_timeline_wait(tide_queue_progress(queue), 1, rig_later(20000))); /* it has ended */
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK_OK(tide_timeline_wait(t, 1, rig_later(20000)));
  CHECK(bytes[0] == '.' && bytes[1] == 'x'); /* the cancelled one took nothing */
  tide_queue_destroy(queue), tide_queue_destroy(other);
  tide_timeline_destroy(timeline), tide_timeline_destroy(t);
  rig_close(&rig);
  close(ends[0]), close(ends[1]);
}

static void the_oldest_read_gets_the_bytes(void) {
  struct rig rig;
  int ends[2];
  char got[STUCK];
  rig_open(&rig, test_given());
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  struct tide_queue *queue = rig_queue(&rig, "queue", STUCK);
  for (uint32_t i = 0; i < STUCK; i++) submit(queue, "read", ends[0], &got[i], 1, NULL, 0, NULL);
  for (int i = 0; i < STUCK; i++) {
    char byte = (char)i;
    CHECK(write(ends[1], &byte, 1) == 1);
  }
  CHECK_OK(tide_queue_drain(queue, rig_later(20000)));
  for (int i = 0; i < STUCK; i++) CHECK(got[i] == (char)i);
  tide_queue_destroy(queue);
  rig_close(&rig);
  close(ends[0]), close(ends[1]);
}

/* A terminal knows no call that does not block. */
static void a_terminal_is_waited_for(void) {
  struct rig rig;
  char bytes[6] = "";
  rig_open(&rig, test_given());
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) || unlockpt(master)) SKIP("no terminals here");
  int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  CHECK(slave >= 0);
  struct tide_queue *queue = rig_queue(&rig, "queue", 8);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
  submit(queue, "read", slave, bytes, 6, timeline, 1, NULL);
  CHECK_OK(read_file(&rig));
  CHECK(write(master, "one\n", 4) == 4 && write(master, "2\n", 2) == 2);
  CHECK_OK(tide_timeline_wait(timeline, 1, rig_later(20000)));
  CHECK(memcmp(bytes, "one\n2\n", 6) == 0);
  submit(queue, "read", slave, bytes, 6, timeline, 2, NULL);
  CHECK_OK(read_file(&rig));
  tide_queue_destroy(queue);
  CHECK_STATUS(tide_timeline_wait(timeline, 2, rig_later(20000)), TIDE_CANCELLED);
  tide_timeline_destroy(timeline);
  rig_close(&rig);
  close(master), close(slave);
}

/* The transfer fails; the process does not get a signal. */
static void a_pipe_without_a_reader_fails(void) {
  struct rig rig;
  int ends[2], sockets[2];
  rig_open(&rig, test_given());
  signal(SIGPIPE, SIG_DFL);
  CHECK(pipe2(ends, O_CLOEXEC) == 0 && close(ends[0]) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0 && close(sockets[0]) == 0);
  struct tide_queue *queue = rig_queue(&rig, "queue", 8), *other = rig_queue(&rig, "other", 8);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline"), *t = rig_timeline(&rig, "t");
  submit(queue, "write", ends[1], "x", 1, timeline, 1, NULL);
  submit(other, "write", sockets[1], "x", 1, t, 1, NULL);
  CHECK_STATUS(tide_timeline_wait(timeline, 1, rig_later(20000)), TIDE_IO);
  CHECK_STATUS(tide_timeline_wait(t, 1, rig_later(20000)), TIDE_IO);
  tide_queue_destroy(queue), tide_queue_destroy(other);
  tide_timeline_destroy(timeline), tide_timeline_destroy(t);
  rig_close(&rig);
  close(ends[1]), close(sockets[1]);
}

/* poll takes no more entries than the process may have descriptors. */
static void few_descriptors_are_enough(void) {
  struct rig rig;
  int in[8][2], file;
  static char bytes[8][STUCK];
  rig_open(&rig, test_given());
  for (int i = 0; i < 8; i++) CHECK(pipe2(in[i], O_CLOEXEC) == 0);
  struct tide_queue *queue = rig_queue(&rig, "queue", 8 * STUCK);
  for (uint32_t i = 0; i < 8 * STUCK; i++)
    submit(queue, "read", in[i % 8][0], &bytes[i % 8][i / 8], 1, NULL, 0, NULL);
  CHECK_OK(read_file(&rig));
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  limit = (struct rlimit){3, before.rlim_max};
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (int i = 0; i < 8; i++) CHECK(write(in[i][1], bytes, STUCK) == STUCK);
  CHECK_OK(tide_queue_drain(queue, rig_later(20000)));
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK((file = dup(0)) >= 0 && close(file) == 0);
  tide_queue_destroy(queue);
  rig_close(&rig);
  for (int i = 0; i < 8; i++) close(in[i][0]), close(in[i][1]);
}

/* ---- a file system that hangs ---------------------------------------------------------------- */

/* Through the ring the kernel gives the transfer back. */
static void a_hanging_file_is_cancelled(void) {
  struct rig rig;
  uint64_t word;
  rig_open(&rig, test_given());
  struct tide_queue *queue = rig_queue(&rig, "queue", 8);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
  faults_plan(FAULT_HANG, 1, 0);
  submit(queue, "read", rig.words, &word, 8, timeline, 1, NULL);
  while (faults_left(FAULT_HANG)) usleep(100);
  tide_queue_destroy(queue);
  CHECK_STATUS(tide_timeline_wait(timeline, 1, TIDE_FOREVER), TIDE_CANCELLED);
  CHECK_OK(tide_device_settle(rig.device, rig_later(20000)));
  CHECK_OK(read_file(&rig));
  tide_timeline_destroy(timeline);
  rig_close(&rig);
  faults_end();
}

/* What has not been given back is kept, and close says so; later it can be closed after all. */
static void a_close_has_a_deadline(bool threads, bool broken) {
  struct tide_context *context;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
  struct tide_file_params params = {
      .struct_size = sizeof params, .depth = 2, .force_threads = threads};
  char *word = malloc(8);
  int words = rig_synchronous(memfd_create("words", MFD_CLOEXEC));
  CHECK(word && words >= 0 && write(words, "12345678", 8) == 8);
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_file_open(context, &params, &device));
  if (!threads && strcmp(tide_file_kind(device), "io_uring") != 0)
    SKIP("this system gives %s", tide_file_kind(device));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  faults_plan(FAULT_HANG, 1, 0);
  submit(queue, "read", words, word, 8, timeline, 1, NULL);
  while (faults_left(FAULT_HANG)) usleep(100);
  if (broken) { /* the next transfer finds out */
    faults_plan(FAULT_REFUSE, UINT32_MAX, EPERM);
    struct tide_timeline *later;
    CHECK_OK(tide_timeline_create(context, NULL, &later));
    submit_late(queue, words, word, 8, later, TIDE_DENIED);
    CHECK_STATUS(tide_timeline_wait(later, 1, rig_later(20000)), TIDE_DENIED);
    tide_timeline_destroy(later);
    CHECK_STATUS(tide_timeline_wait(timeline, 1, rig_later(20000)), TIDE_DENIED);
    CHECK_STATUS(tide_device_status(device), TIDE_DENIED);
    struct tide_failure why;
    CHECK(tide_device_failure(device, &why) && why.code == EPERM);
    CHECK(strstr(why.text, "was lost: io_uring_enter: Operation not permitted") != NULL);
  }
  tide_queue_destroy(queue);
  CHECK(tide_timeline_wait(timeline, 1, TIDE_FOREVER) == (broken ? TIDE_DENIED : TIDE_CANCELLED));
  CHECK_STATUS(tide_device_close_until(device, rig_later(50)), TIDE_TIMEOUT);
  CHECK_STATUS(tide_device_close_until(device, TIDE_NOW), TIDE_TIMEOUT);
  faults_release();
  CHECK_OK(tide_device_close_until(device, rig_later(20000)));
  free(word);
  tide_timeline_destroy(timeline);
  tide_context_destroy(context);
  close(words);
  faults_end();
}

static void threads_keep_what_hangs(void) { a_close_has_a_deadline(true, false); }
static void a_broken_ring_keeps_what_hangs(void) { a_close_has_a_deadline(false, true); }

/* ---- a ring that breaks ---------------------------------------------------------------------- */

static struct tide_failure failed;
static void note_failure(void *self, const struct tide_event *event) {
  (void)self;
  if (event->kind == TIDE_EVENT_FINISH && event->failure && !failed.status)
    failed = *event->failure;
}
static const struct tide_sink failures = {.event = note_failure, .failures_only = true};

/* Refused for good: told with the number, certified by itself, and no core spins meanwhile. */
static void refused_for_good(int error, enum tide_status status) {
  struct tide_context *context;
  struct tide_context_params with_sink = {.struct_size = sizeof with_sink, .sink = &failures};
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
  int words = memfd_create("words", MFD_CLOEXEC), ends[2];
  char word[8], byte;
  CHECK(words >= 0 && write(words, "12345678", 8) == 8 && pipe2(ends, O_CLOEXEC) == 0);
  CHECK_OK(tide_context_create(&with_sink, &context));
  CHECK_OK(tide_file_open(context, NULL, &device));
  if (strcmp(tide_file_kind(device), "io_uring") != 0)
    SKIP("this system gives %s", tide_file_kind(device));
  CHECK(!tide_device_failure(device, NULL));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  CHECK_OK(tide_timeline_create(context, NULL, &timeline));
  submit(queue, "read", words, word, 8, timeline, 1, NULL);
  submit(queue, "read", ends[0], &byte, 1, timeline, 2, NULL); /* this one is elsewhere */
  CHECK_OK(tide_timeline_wait(timeline, 1, rig_later(20000)));
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  faults_plan(FAULT_REFUSE, UINT32_MAX, (uint32_t)error);
  struct tide_timeline *later;
  CHECK_OK(tide_timeline_create(context, NULL, &later));
  submit_late(queue, words, word, 8, later, status);
  CHECK_STATUS(tide_timeline_wait(later, 1, rig_later(30000)), status);
  CHECK_STATUS(tide_timeline_wait(timeline, 2, rig_later(20000)), status);
  getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_utime.tv_sec - before.ru_utime.tv_sec < 2);
  CHECK_STATUS(tide_device_status(device), status);
  struct tide_failure why;
  CHECK(tide_device_failure(device, &why));
  CHECK(strstr(why.text, strerror(error)) != NULL && why.code == error);
  struct tide_queue *another;
  CHECK_STATUS(tide_queue_create(device, NULL, &another), status);
  tide_queue_destroy(queue);
  CHECK_OK(tide_device_close_until(device, rig_later(20000)));
  /* EPERM may have come while nothing was to be submitted: then no transfer has the number. */
  CHECK(failed.code == error || (error == EPERM && !failed.code));
  CHECK_STATUS(failed.status, status);
  tide_timeline_destroy(timeline), tide_timeline_destroy(later);
  tide_context_destroy(context);
  close(words), close(ends[0]), close(ends[1]);
}

static void a_ring_that_is_forbidden_fails(void) { refused_for_good(EPERM, TIDE_DENIED); }
static void a_ring_without_memory_fails(void) { refused_for_good(EAGAIN, TIDE_BUSY); }
static void a_busy_ring_fails(void) { refused_for_good(EBUSY, TIDE_BUSY); }

/* EAGAIN of one transfer, for ever: that one fails, with its number. */
static void a_file_that_refuses_for_good_fails(void) {
  struct rig rig;
  uint64_t word;
  rig_open(&rig, test_given());
  struct tide_queue *queue = rig_queue(&rig, "queue", 8);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
  faults_plan(FAULT_RESULT, UINT32_MAX, EAGAIN);
  submit(queue, "read", rig.words, &word, 8, timeline, 1, NULL);
  CHECK_STATUS(tide_timeline_wait(timeline, 1, rig_later(30000)), TIDE_BUSY);
  faults_plan(FAULT_RESULT, 0, 0);
  CHECK_OK(read_file(&rig));
  tide_queue_destroy(queue);
  tide_timeline_destroy(timeline);
  rig_close(&rig);
}

/* Many are under way when it breaks: each ends one way or the other, and all of them. */
static void under_load_all_end(void) {
  struct rig rig;
  enum { COUNT = 64, SIZE = 1 << 20 };
  rig_open(&rig, test_given());
  char name[] = "/var/tmp/tidemark-file-XXXXXX", *data = aligned_alloc(4096, COUNT * (size_t)SIZE);
  int file = mkostemp(name, O_CLOEXEC);
  CHECK(data && file >= 0 && unlink(name) == 0);
  memset(data, 'a', COUNT * (size_t)SIZE);
  CHECK(write(file, data, SIZE) == SIZE && fsync(file) == 0);
  (void)!fcntl(file, F_SETFL, O_DIRECT); /* where it can: then the kernel takes its time */
  struct tide_queue *queue = rig_queue(&rig, "queue", COUNT);
  struct tide_timeline *lines[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    lines[i] = rig_timeline(&rig, "line");
    if (i == COUNT / 2) faults_plan(FAULT_REFUSE, UINT32_MAX, EPERM);
    memset(data + i * SIZE, 'b', SIZE);
    submit_late(queue, file, data + i * SIZE, SIZE, lines[i], TIDE_DENIED);
  }
  for (size_t i = 0; i < COUNT; i++) {
    enum tide_status status = tide_timeline_wait(lines[i], 1, rig_later(20000));
    CHECK(status == TIDE_OK || status == TIDE_DENIED);
    if (status == TIDE_OK) CHECK(data[i * SIZE] == 'a' && data[i * SIZE + SIZE - 1] == 'a');
    tide_timeline_destroy(lines[i]);
  }
  tide_queue_destroy(queue);
  CHECK_OK(tide_device_settle(rig.device, rig_later(20000)));
  free(data); /* nothing writes to it any more */
  rig_close(&rig);
  close(file);
}

#define ON(kind, name)                                                                             \
  { kind "_" #name, name, NULL, 0 }
#define EVERY(name) ON("ring", name), ON("ring1", name), ON("threads", name), ON("threads1", name)
#define RINGS(name) ON("ring", name), ON("ring1", name)

int main(int argc, char **argv) {
  static struct test_case cases[] = {
      EVERY(stuck_transfers_hold_back_nothing),
      EVERY(one_of_them_can_be_cancelled),
      RINGS(the_oldest_read_gets_the_bytes),
      ON("threads1", the_oldest_read_gets_the_bytes), /* several threads take in any order */
      EVERY(a_terminal_is_waited_for),
      EVERY(a_pipe_without_a_reader_fails),
      EVERY(few_descriptors_are_enough),
      EVERY(a_file_that_refuses_for_good_fails),
      RINGS(a_hanging_file_is_cancelled),
      RINGS(under_load_all_end),
      {"threads_keep_what_hangs", threads_keep_what_hangs, NULL, 0},
      {"a_broken_ring_keeps_what_hangs", a_broken_ring_keeps_what_hangs, NULL, 0},
      {"a_ring_that_is_forbidden_fails", a_ring_that_is_forbidden_fails, NULL, 0},
      {"a_ring_without_memory_fails", a_ring_without_memory_fails, NULL, 0},
      {"a_busy_ring_fails", a_busy_ring_fails, NULL, 0},
  };
  return rig_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
