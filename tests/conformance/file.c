/* What the file device does beyond being a device: whole transfers, ends of files, pipes, errors;
 * the same through a ring and through threads. */
#include "rig.h"

#include "base/random.h"
#include "tidemark/kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void submit(struct tide_queue *queue, const char *body, int file, uint64_t offset,
                   void *data, uint64_t size, struct tide_timeline *timeline, uint64_t value) {
  struct tide_argument arguments[3] = {
      {.descriptor = file}, {.integer = (int64_t)offset}, {.data = data, .size = size}};
  struct tide_signal signal = {.timeline = timeline, .value = value};
  struct tide_operation operation = {.body = &tide_kernel_find(body)->class_,
                                     .arguments = arguments,
                                     .arguments_size = sizeof arguments,
                                     .signals = &signal,
                                     .signal_count = timeline != NULL};
  struct tide_diag diag = {0};
  if (tide_queue_submit(queue, &operation, NULL, &diag) != TIDE_OK) FAIL("%s", diag.text);
}

/* One operation alone: what it ends with. */
static enum tide_status alone(struct rig *rig, const char *body, int file, uint64_t offset,
                              void *data, uint64_t size) {
  struct tide_queue *queue = rig_queue(rig, "alone", 4);
  struct tide_timeline *timeline = rig_timeline(rig, "alone");
  submit(queue, body, file, offset, data, size, timeline, 1);
  enum tide_status status = tide_timeline_wait(timeline, 1, rig_later(30000));
  tide_queue_destroy(queue);
  tide_timeline_destroy(timeline);
  return status;
}

static int scratch_file(int flags) {
  char name[] = "/var/tmp/tidemark-file-XXXXXX";
  int file = mkostemp(name, O_CLOEXEC | flags);
  CHECK(file >= 0 && unlink(name) == 0);
  return file;
}

/* Pieces of all sizes, written in any order on one queue, synced, read back on another. */
static void what_is_written_is_read(void) {
  struct rig rig;
  struct tide_random random = {3};
  enum { PIECES = 400, MOST = 200000 };
  rig_open(&rig, test_given());
  int file = scratch_file(0);
  unsigned char *out = malloc(MOST * 8), *in = malloc(MOST * 8);
  CHECK(out && in);
  for (size_t i = 0; i < MOST * 8; i++) out[i] = (unsigned char)tide_random_next(&random);
  struct tide_queue *writes = rig_queue(&rig, "writes", PIECES + 8);
  struct tide_queue *reads = rig_queue(&rig, "reads", PIECES + 8);
  size_t at = 0, piece = 0;
  for (; at < MOST * 8; piece++) {
    size_t size = piece % 3 ? tide_random_below(&random, 3000) : tide_random_below(&random, 70000);
    if (size > MOST * 8 - at || piece == PIECES - 1) size = MOST * 8 - at;
    submit(writes, "write", file, at, out + at, size, NULL, 0);
    at += size;
  }
  CHECK_OK(tide_queue_drain(writes, rig_later(30000)));
  CHECK_OK(alone(&rig, "sync", file, 0, NULL, 0));
  for (at = 0; at < MOST * 8; at += 100000)
    submit(reads, "read", file, at, in + at, 100000, NULL, 0);
  CHECK_OK(tide_queue_drain(reads, rig_later(30000)));
  CHECK(memcmp(in, out, MOST * 8) == 0);
  tide_queue_destroy(writes), tide_queue_destroy(reads);
  free(out), free(in);
  rig_close(&rig);
  close(file);
}

static void a_transfer_has_all_its_bytes(void) {
  struct rig rig;
  char bytes[100] = {1};
  rig_open(&rig, test_given());
  int file = scratch_file(0);
  CHECK_OK(alone(&rig, "write", file, 0, bytes, 100));
  CHECK_OK(alone(&rig, "read", file, 0, bytes, 100));
  CHECK_STATUS(alone(&rig, "read", file, 1, bytes, 100), TIDE_IO);
  CHECK_STATUS(alone(&rig, "read", file, 1000, bytes, 100), TIDE_IO);
  CHECK_OK(alone(&rig, "read", file, 1000, bytes, 0));
  CHECK_OK(alone(&rig, "write", file, 0, NULL, 0));
  rig_close(&rig);
  close(file);
}

/* More than one system call moves: 5 GB of nothing into nowhere. */
static void a_transfer_may_be_larger_than_a_call(void) {
  struct rig rig;
  size_t size = 5ull << 30;
  rig_open(&rig, test_given());
  void *zeros = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (zeros == MAP_FAILED) SKIP("no 5 GB of address space");
  CHECK_OK(alone(&rig, "write", nowhere, 0, zeros, size));
  CHECK(munmap(zeros, size) == 0);
  rig_close(&rig);
  close(nowhere);
}

static void errors_say_what_kind(void) {
  struct rig rig;
  char bytes[10] = {0};
  rig_open(&rig, test_given());
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC),
      zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  int folder = open("/", O_RDONLY | O_CLOEXEC);
  CHECK(full >= 0 && zero >= 0 && folder >= 0);
  CHECK_STATUS(alone(&rig, "write", full, 0, bytes, 10), TIDE_IO);
  CHECK_STATUS(alone(&rig, "write", zero, 0, bytes, 10), TIDE_INVALID);
  CHECK_STATUS(alone(&rig, "read", -1, 0, bytes, 10), TIDE_INVALID);
  CHECK_STATUS(alone(&rig, "write", -1, 0, bytes, 10), TIDE_INVALID);
  CHECK_STATUS(alone(&rig, "sync", -1, 0, NULL, 0), TIDE_INVALID);
  CHECK_STATUS(alone(&rig, "read", zero, (uint64_t)-1, bytes, 10), TIDE_INVALID);
  CHECK_STATUS(alone(&rig, "read", folder, 0, bytes, 10), TIDE_IO);
  CHECK_OK(alone(&rig, "read", zero, 0, bytes, 10));
  rig_close(&rig);
  close(full), close(zero), close(folder);
}

/* A read that waits for a pipe, and behind it on the same queue a write to another one. The write
 * is over first; its value appears behind the read's. */
static void ends_in_any_order_appears_in_order(void) {
  struct rig rig;
  int in[2], out[2];
  char late[4] = "...", early = '!', got = 0;
  rig_open(&rig, test_given());
  CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  struct tide_queue *queue = rig_queue(&rig, "queue", 4);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
  submit(queue, "read", in[0], 0, late, 3, timeline, 1);
  submit(queue, "write", out[1], 0, &early, 1, timeline, 2);
  if (rig.kind->number > 1) CHECK(read(out[0], &got, 1) == 1 && got == '!');
  CHECK_STATUS(tide_timeline_wait(timeline, 1, rig_later(20)), TIDE_TIMEOUT);
  CHECK(write(in[1], "ab", 2) == 2); /* a short read: the rest is waited for */
  CHECK_STATUS(tide_timeline_wait(timeline, 1, rig_later(20)), TIDE_TIMEOUT);
  CHECK_EQ_U64(tide_timeline_query(timeline), 0);
  CHECK(write(in[1], "c", 1) == 1);
  CHECK_OK(tide_timeline_wait(timeline, 2, rig_later(30000)));
  CHECK(memcmp(late, "abc", 3) == 0);
  tide_queue_destroy(queue);
  tide_timeline_destroy(timeline);
  rig_close(&rig);
  close(in[0]), close(in[1]), close(out[0]), close(out[1]);
}

/* A descriptor in non-blocking mode is waited for, not failed and not spun on. */
static void an_empty_pipe_is_waited_for(void) {
  struct rig rig;
  int ends[2];
  char bytes[2] = {0};
  rig_open(&rig, test_given());
  CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  struct tide_queue *queue = rig_queue(&rig, "queue", 4);
  struct tide_timeline *timeline = rig_timeline(&rig, "timeline");
  submit(queue, "read", ends[0], 0, bytes, 2, timeline, 1);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  CHECK_STATUS(tide_timeline_wait(timeline, 1, rig_later(50)), TIDE_TIMEOUT);
  getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_nvcsw - before.ru_nvcsw < 1000);
  CHECK(write(ends[1], "xy", 2) == 2);
  CHECK_OK(tide_timeline_wait(timeline, 1, rig_later(30000)));
  CHECK(bytes[0] == 'x' && bytes[1] == 'y');
  close(ends[1]);
  CHECK_STATUS(alone(&rig, "read", ends[0], 0, bytes, 2), TIDE_IO); /* it ended */
  tide_queue_destroy(queue);
  tide_timeline_destroy(timeline);
  rig_close(&rig);
  close(ends[0]);
}

static void on_signal(int number) { (void)number; }

/* A signal for each thread of this process but the calling one. */
static void interrupt_all(void) {
  DIR *tasks = opendir("/proc/self/task");
  struct dirent *entry;
  CHECK(tasks != NULL);
  while ((entry = readdir(tasks))) {
    long thread = strtol(entry->d_name, NULL, 10);
    if (thread > 0 && thread != getpid()) (void)syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
  }
  closedir(tasks);
}

/* Bytes that come one after the other, and signals that interrupt whoever waits for them: still one
 * read, and still one write into a pipe that takes less at a time. */
static void short_and_interrupted_transfers_go_on(void) {
  struct rig rig;
  struct sigaction action = {.sa_handler = on_signal}, before;
  enum { PIECES = 40, LARGE = 1 << 20 };
  int in[2], out[2];
  char got[PIECES];
  CHECK(sigaction(SIGUSR1, &action, &before) == 0); /* calls are not restarted */
  rig_open(&rig, test_given());
  CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  unsigned char *large = malloc(LARGE), *back = malloc(LARGE);
  CHECK(large && back);
  for (size_t i = 0; i < LARGE; i++) large[i] = (unsigned char)(i * 31 >> 3);
  struct tide_queue *queue = rig_queue(&rig, "queue", 4);
  submit(queue, "read", in[0], 0, got, PIECES, NULL, 0);
  submit(queue, "write", out[1], 0, (char *)large, LARGE, NULL, 0);
  size_t came = 0;
  for (int i = 0; i < PIECES; i++) {
    char byte = (char)('0' + i);
    interrupt_all();
    ssize_t some = read(out[0], back + came, LARGE / (2 * PIECES));
    if (some > 0) came += (size_t)some;
    interrupt_all();
    CHECK(write(in[1], &byte, 1) == 1);
    usleep(200); /* so that most signals find somebody who sleeps */
  }
  while (came < LARGE) {
    ssize_t some = read(out[0], back + came, LARGE - came);
    CHECK(some > 0);
    came += (size_t)some;
  }
  CHECK_OK(tide_queue_drain(queue, rig_later(30000)));
  for (int i = 0; i < PIECES; i++) CHECK(got[i] == (char)('0' + i));
  CHECK(memcmp(large, back, LARGE) == 0);
  tide_queue_destroy(queue);
  free(large), free(back);
  rig_close(&rig);
  CHECK(sigaction(SIGUSR1, &before, NULL) == 0);
  close(in[0]), close(in[1]), close(out[0]), close(out[1]);
}

/* Far more than the depth, all submitted before the first can run. */
static void many_more_than_the_depth(void) {
  struct rig rig;
  enum { COUNT = 6000 };
  static uint64_t words[COUNT];
  rig_open(&rig, test_given());
  struct tide_queue *queue = rig_queue(&rig, "queue", COUNT);
  tide_context_pause(rig.context);
  for (uint64_t i = 0; i < COUNT; i++)
    submit(queue, "read", rig.words, 8 * i, &words[i], 8, NULL, 0);
  tide_context_resume(rig.context);
  CHECK_OK(tide_queue_drain(queue, rig_later(30000)));
  for (uint64_t i = 0; i < COUNT; i++) CHECK_EQ_U64(words[i], i);
  tide_queue_destroy(queue);
  rig_close(&rig);
}

static void direct_io_works_where_the_file_allows_it(void) {
  struct rig rig;
  rig_open(&rig, test_given());
  int file = scratch_file(0);
  int flags = fcntl(file, F_GETFL);
  if (fcntl(file, F_SETFL, flags | O_DIRECT) != 0) SKIP("this file system has no O_DIRECT");
  char *bytes = aligned_alloc(4096, 65536), *again = aligned_alloc(4096, 65536);
  CHECK(bytes && again);
  for (size_t i = 0; i < 65536; i++) bytes[i] = (char)(i * 7);
  CHECK_OK(alone(&rig, "write", file, 0, bytes, 65536));
  CHECK_OK(alone(&rig, "read", file, 0, again, 65536));
  CHECK(memcmp(bytes, again, 65536) == 0);
  CHECK_STATUS(alone(&rig, "read", file, 0, again + 1, 4096), TIDE_INVALID); /* not aligned */
  free(bytes), free(again);
  rig_close(&rig);
  close(file);
}

/* ---- falling back --------------------------------------------------------------------------- */

/* From here on the kernel answers io_uring_setup with EPERM, as in many containers. */
static void forbid_io_uring(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    SKIP("no seccomp filters here");
}

static void without_io_uring_threads_do_it(void) {
  struct tide_context *context;
  struct tide_device *file;
  forbid_io_uring();
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK_OK(tide_file_open(context, NULL, &file));
  CHECK_EQ_STR(tide_file_kind(file), "threads (io_uring: Operation not permitted)");
  tide_device_close(file);
  tide_context_destroy(context);
}

#define ON(kind, name)                                                                             \
  { kind "_" #name, name, NULL, 0 }
#define EVERY(name) ON("ring", name), ON("threads", name)

int main(int argc, char **argv) {
  static struct test_case cases[] = {
      EVERY(what_is_written_is_read),
      EVERY(a_transfer_has_all_its_bytes),
      EVERY(a_transfer_may_be_larger_than_a_call),
      EVERY(errors_say_what_kind),
      EVERY(ends_in_any_order_appears_in_order),
      EVERY(an_empty_pipe_is_waited_for),
      EVERY(short_and_interrupted_transfers_go_on),
      EVERY(many_more_than_the_depth),
      EVERY(direct_io_works_where_the_file_allows_it),
      {"without_io_uring_threads_do_it", without_io_uring_threads_do_it, NULL, 0},
  };
  return rig_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
