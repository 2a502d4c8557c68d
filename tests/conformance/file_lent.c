/* Transfers that a worker of a cpu device makes when the end of its operation makes them ready, and
 * those that it must leave to the file device's thread. */
#include "rig.h"

#include "faults.h"
#include "tidemark/body.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGE = 3 * 1048576 + 77, SMALL = 4096, CALLS = 8 };

struct desk {
  struct rig rig;
  struct tide_device *cpu;
  struct tide_queue *work, *files;
  struct tide_timeline *made, *moved;
  int file;
  unsigned char *out, *in;
  size_t size;
};

/* A transfer, and the threads that asked what it is. */
struct transfer {
  struct tide_io io;
  pid_t describers[CALLS];
  uint32_t calls; /* atomic */
};

static enum tide_status describe(const void *arguments, struct tide_io *out_io) {
  struct transfer *transfer = *(struct transfer *const *)arguments;
  uint32_t call = tide_fetch_add(&transfer->calls, 1u);
  CHECK(call < CALLS);
  transfer->describers[call] = gettid();
  *out_io = transfer->io;
  return TIDE_OK;
}

static const struct tide_file_ops read_ops = {{TIDE_OPS_FILE}, TIDE_IO_READ, describe};
static const struct tide_file_ops write_ops = {{TIDE_OPS_FILE}, TIDE_IO_WRITE, describe};
static const struct tide_file_ops sync_ops = {{TIDE_OPS_FILE}, TIDE_IO_SYNC, describe};
static const struct tide_body_class reads = {.name = "read", .ops = &read_ops.ops};
static const struct tide_body_class writes = {.name = "write", .ops = &write_ops.ops};
static const struct tide_body_class syncs = {.name = "sync", .ops = &sync_ops.ops};

/* The worker's mask of signals stays the one of its start. */
static enum tide_status note_thread(void *arguments) {
  sigset_t mask;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, SIGXFSZ));
  **(pid_t **)arguments = gettid();
  return TIDE_OK;
}
static const struct tide_body_class notes = {.name = "note", .host = note_thread};

static uint32_t cores(void) {
  cpu_set_t set;
  CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
  return (uint32_t)CPU_COUNT(&set);
}

static void open_desk(struct desk *desk, size_t size, uint32_t workers) {
  *desk = (struct desk){.size = size};
  if (workers > 256) SKIP("%u cores", workers);
  rig_open(&desk->rig, test_given());
  struct tide_cpu_params params = {.struct_size = sizeof params, .workers = workers};
  CHECK_OK(tide_cpu_open(desk->rig.context, &params, &desk->cpu));
  struct tide_queue_params queue = {.struct_size = sizeof queue, .label = "work"};
  CHECK_OK(tide_queue_create(desk->cpu, &queue, &desk->work));
  desk->files = rig_queue(&desk->rig, "files", 64);
  desk->made = rig_timeline(&desk->rig, "made");
  desk->moved = rig_timeline(&desk->rig, "moved");
  desk->file = memfd_create("file", MFD_CLOEXEC);
  desk->out = malloc(size), desk->in = calloc(1, size);
  CHECK(desk->file >= 0 && desk->out && desk->in);
  for (size_t i = 0; i < size; i++) desk->out[i] = (unsigned char)(i * 31 >> 5);
}

static void close_desk(struct desk *desk) {
  tide_queue_destroy(desk->work);
  tide_queue_destroy(desk->files);
  tide_timeline_destroy(desk->made), tide_timeline_destroy(desk->moved);
  tide_device_close(desk->cpu);
  rig_close(&desk->rig);
  free(desk->out), free(desk->in);
  if (desk->file >= 0) close(desk->file);
}

static void submit_to(struct tide_queue *queue, const struct tide_body_class *class_,
                      struct transfer *transfer, const struct tide_wait *wait,
                      const struct tide_signal *signal) {
  struct tide_operation operation = {.body = class_,
                                     .arguments = &transfer,
                                     .arguments_size = sizeof(transfer),
                                     .waits = wait,
                                     .wait_count = wait != NULL,
                                     .signals = signal,
                                     .signal_count = 1};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
}

/* Submits the transfer, to start when `made` has the value. */
static void submit_transfer(struct desk *desk, const struct tide_body_class *class_,
                            struct transfer *transfer, uint64_t value) {
  struct tide_wait wait = {.timeline = desk->made, .value = value};
  struct tide_signal signal = {.timeline = desk->moved, .value = value};
  submit_to(desk->files, class_, transfer, &wait, &signal);
}

static bool ring_sleeps(void) {
  DIR *folder = opendir("/proc/self/task");
  bool sleeps = false;
  CHECK(folder != NULL);
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[64], line[128] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof line, file) && strstr(line, "(tide-ring) S")) sleeps = true;
    if (file) fclose(file);
  }
  closedir(folder);
  return sleeps;
}

static void submit_note_now(struct desk *desk, pid_t *who, uint64_t value) {
  struct tide_signal signal = {.timeline = desk->made, .value = value};
  struct tide_operation operation = {.body = &notes,
                                     .arguments = &who,
                                     .arguments_size = sizeof(who),
                                     .signals = &signal,
                                     .signal_count = 1};
  CHECK_OK(tide_queue_submit(desk->work, &operation, NULL, NULL));
}

/* The device's thread takes what it finds while it is awake, and that is right, too. So the end of
 * a worker's operation comes once it sleeps. */
static void submit_note(struct desk *desk, pid_t *who, uint64_t value) {
  for (int looks = 0; looks < 3; looks = ring_sleeps() ? looks + 1 : 0) usleep(200);
  submit_note_now(desk, who, value);
}

/* Has the end of a worker's operation make the transfer ready. Returns the transfer's status, and
 * the worker. */
static enum tide_status move(struct desk *desk, const struct tide_body_class *class_,
                             struct transfer *transfer, uint64_t value, pid_t *out_worker) {
  submit_transfer(desk, class_, transfer, value);
  submit_note(desk, out_worker, value);
  return tide_timeline_wait(desk->moved, value, rig_later(20000));
}

static struct transfer whole(struct desk *desk, bool reading) {
  return (struct transfer){
      .io = {.descriptor = desk->file, .data = reading ? desk->in : desk->out, .size = desk->size}};
}

enum by { BY_WORKER, BY_THREAD, BY_BOTH };

/* The worker makes the transfer; or leaves it to the thread, unseen or seen. */
static void check_by(const struct transfer *transfer, pid_t worker, enum by by) {
  CHECK_EQ_U64(transfer->calls, by == BY_BOTH ? 2 : 1);
  if ((transfer->describers[0] == worker) != (by != BY_THREAD))
    FAIL("thread %d, worker %d", transfer->describers[0], worker);
  if (by == BY_BOTH) CHECK(transfer->describers[1] != worker);
}

static void there_and_back(struct desk *desk, enum by write_by, enum by read_by) {
  struct transfer write = whole(desk, false), read = whole(desk, true);
  pid_t worker;
  CHECK_OK(move(desk, &writes, &write, 1, &worker));
  check_by(&write, worker, write_by);
  CHECK_OK(move(desk, &reads, &read, 2, &worker));
  check_by(&read, worker, read_by);
  CHECK(memcmp(desk->in, desk->out, desk->size) == 0);
}

/* ---- the thread that makes a transfer
 * ---------------------------------------------------------------------- */

static void a_file_in_memory(void) {
  for (size_t size = SMALL; size <= LARGE; size += LARGE - SMALL) {
    struct desk desk;
    open_desk(&desk, size, cores());
    there_and_back(&desk, BY_WORKER, BY_WORKER);
    CHECK_EQ_U64(faults_ring_transfers(), 0);
    close_desk(&desk);
  }
}

/* Replaces the desk's file by one that has a page cache. */
static void use_disk(struct desk *desk) {
  close(desk->file);
  desk->file = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  struct iovec byte = {desk->in, 1};
  if (desk->file >= 0 && write(desk->file, desk->out, 1) == 1 &&
      preadv2(desk->file, &byte, 1, 0, RWF_NOWAIT) == 1)
    return;
  int error = errno;
  close_desk(desk);
  SKIP("no unnamed file, or no RWF_NOWAIT: %s", strerror(error));
}

/* What was just written is in the page cache. */
static void a_file_on_the_disk(void) {
  struct desk desk;
  open_desk(&desk, SMALL, cores());
  use_disk(&desk);
  there_and_back(&desk, BY_WORKER, BY_WORKER);
  close_desk(&desk);
}

static void a_read_that_the_cache_has_not(void) {
  struct desk desk;
  pid_t worker;
  open_desk(&desk, 200000, cores());
  use_disk(&desk);
  CHECK(pwrite(desk.file, desk.out, desk.size, 0) == (ssize_t)desk.size);
  faults_plan(FAULT_SHORT, 2, 70000); /* a part of it is there */
  struct transfer first = whole(&desk, true), second = whole(&desk, true);
  submit_transfer(&desk, &reads, &first, 1);
  faults_plan(FAULT_RESULT, 1, EAGAIN);
  submit_note(&desk, &worker, 1);
  CHECK_OK(tide_timeline_wait(desk.moved, 1, rig_later(20000)));
  check_by(&first, worker, BY_BOTH);
  CHECK(memcmp(desk.in, desk.out, desk.size) == 0);
  memset(desk.in, 0, desk.size);
  CHECK_OK(move(&desk, &reads, &second, 2, &worker)); /* the next ones are not tried */
  check_by(&second, worker, BY_BOTH);
  CHECK(memcmp(desk.in, desk.out, desk.size) == 0);
  close_desk(&desk);
}

static void what_is_no_copy(void) {
  struct desk desk;
  pid_t worker;
  open_desk(&desk, SMALL, cores());
  desk.file = rig_synchronous(desk.file);
  there_and_back(&desk, BY_BOTH, BY_BOTH);
  struct transfer sync = {.io = {.descriptor = desk.file}};
  CHECK_OK(move(&desk, &syncs, &sync, 3, &worker));
  CHECK(sync.describers[0] != worker);
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  struct transfer pipe = {.io = {.descriptor = ends[0], .data = desk.in, .size = 3}};
  submit_transfer(&desk, &reads, &pipe, 4);
  submit_note(&desk, &worker, 4);
  CHECK(write(ends[1], "abc", 3) == 3);
  CHECK_OK(tide_timeline_wait(desk.moved, 4, rig_later(20000)));
  check_by(&pipe, worker, BY_BOTH);
  CHECK(memcmp(desk.in, "abc", 3) == 0);
  close(ends[0]), close(ends[1]);
  close_desk(&desk);
}

static void one_that_takes_long(void) {
  struct desk desk;
  open_desk(&desk, 4194305, cores());
  there_and_back(&desk, BY_BOTH, BY_BOTH);
  close_desk(&desk);
}

static void where_a_core_is_free(void) {
  struct desk desk;
  if (cores() < 2) SKIP("one core");
  open_desk(&desk, LARGE, cores() - 1);
  there_and_back(&desk, BY_THREAD, BY_THREAD);
  close_desk(&desk);
}

static void one_that_appends(void) {
  struct desk desk;
  open_desk(&desk, LARGE, cores());
  use_disk(&desk);
  CHECK(fcntl(desk.file, F_SETFL, O_APPEND) == 0 && ftruncate(desk.file, 0) == 0);
  there_and_back(&desk, BY_BOTH, BY_WORKER);
  CHECK(lseek(desk.file, 0, SEEK_END) == (off_t)desk.size);
  close_desk(&desk);
}

/* ---- beside others ----------------------------------------------------------------------- */

struct caller {
  struct tide_timepoint timepoint;
  struct desk *desk;
  struct transfer *transfer;
  enum tide_status status;
};

static void move_and_wait(struct tide_timepoint *timepoint, enum tide_status status) {
  struct caller *caller = (struct caller *)timepoint; /* its first member */
  CHECK_OK(status);
  submit_transfer(caller->desk, &writes, caller->transfer, 2);
  caller->status = tide_timeline_wait(caller->desk->moved, 2, rig_later(20000));
}

/* A callback at the end of a worker's operation waits for transfers that this end, or the callback
 * itself, has made ready. */
static void a_callback_that_waits(void) {
  struct desk desk;
  pid_t worker;
  open_desk(&desk, SMALL, cores());
  struct transfer first = whole(&desk, false), second = whole(&desk, false);
  struct caller caller = {.desk = &desk, .transfer = &second, .status = TIDE_FAILED};
  caller.timepoint = (struct tide_timepoint){.timeline = desk.made, .value = 2};
  caller.timepoint.call = move_and_wait;
  CHECK_OK(tide_timepoint_add(&caller.timepoint));
  submit_transfer(&desk, &writes, &first, 1);
  submit_note(&desk, &worker, 2);
  CHECK_OK(tide_timeline_wait(desk.moved, 2, rig_later(20000)));
  close_desk(&desk);
  CHECK_OK(caller.status);
}

/* On one core, while the host keeps copies ready: the worker goes on with its own operations. */
static void copies_without_end(void) {
  enum { READY = 48 };
  static struct transfer transfers[READY];
  struct desk desk;
  cpu_set_t one;
  pid_t worker;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  open_desk(&desk, LARGE, cores());
  uint64_t deadline = rig_later(20000), next = 1;
  for (; next <= READY; next++) {
    transfers[next % READY] = whole(&desk, false);
    submit_to(desk.files, &writes, &transfers[next % READY],
              &(struct tide_wait){.timeline = desk.made, .value = 1},
              &(struct tide_signal){.timeline = desk.moved, .value = next});
  }
  submit_note(&desk, &worker, 1); /* the worker begins to copy … */
  CHECK_OK(tide_timeline_wait(desk.moved, 1, deadline));
  submit_note_now(&desk, &worker, 2); /* … and has this to do */
  for (; tide_timeline_query(desk.made) < 2; next++) {
    CHECK_OK(tide_timeline_wait(desk.moved, next - READY, deadline));
    if (rig_later(0) > deadline) FAIL("the worker copies, and does nothing else");
    transfers[next % READY].calls = 0;
    submit_to(desk.files, &writes, &transfers[next % READY],
              &(struct tide_wait){.timeline = desk.made, .value = 1},
              &(struct tide_signal){.timeline = desk.moved, .value = next});
  }
  CHECK_OK(tide_timeline_wait(desk.moved, next - 1, rig_later(20000)));
  close_desk(&desk);
}

/* ---- how it ends ------------------------------------------------------------------------- */

static void it_fails_where_the_file_ends(void) {
  struct desk desk;
  pid_t worker;
  open_desk(&desk, LARGE, cores());
  CHECK(ftruncate(desk.file, 4096) == 0);
  struct transfer read = whole(&desk, true);
  CHECK_STATUS(move(&desk, &reads, &read, 1, &worker), TIDE_IO);
  check_by(&read, worker, BY_WORKER);
  struct tide_failure why;
  CHECK(tide_timeline_failure(desk.moved, 1, &why));
  if (!strstr(why.text, "it has 4096 bytes")) FAIL("%s", why.text);
  close_desk(&desk);
}

static void it_fails_beyond_the_limit(void) {
  struct desk desk;
  pid_t worker;
  struct rlimit limit;
  open_desk(&desk, LARGE, cores());
  CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = LARGE / 2;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  struct transfer write = whole(&desk, false);
  CHECK_STATUS(move(&desk, &writes, &write, 1, &worker), TIDE_IO);
  check_by(&write, worker, BY_BOTH);
  struct tide_failure why;
  CHECK(tide_timeline_failure(desk.moved, 1, &why));
  CHECK_EQ_U64(why.code, EFBIG);
  submit_note(&desk, &worker, 2);
  CHECK_OK(tide_timeline_wait(desk.made, 2, rig_later(20000)));
  close_desk(&desk);
}

/* The queue goes while its transfers are made: each ends, or is cancelled, and the device closes.
 */
static void the_queue_goes_meanwhile(void) {
  enum { ROUNDS = 60, MANY = 12 };
  for (int round = 0; round < ROUNDS; round++) {
    struct desk desk;
    struct transfer transfers[MANY];
    pid_t worker;
    open_desk(&desk, LARGE, cores());
    CHECK(pwrite(desk.file, desk.out, desk.size, 0) == (ssize_t)desk.size);
    for (int i = 0; i < MANY; i++) {
      transfers[i] = whole(&desk, i % 2);
      submit_transfer(&desk,
                      i % 4 == 3 ? &syncs
                      : i % 2    ? &reads
                                 : &writes,
                      &transfers[i], (uint64_t)i + 1);
    }
    submit_note(&desk, &worker, MANY);
    CHECK_OK(tide_timeline_wait(desk.made, MANY, rig_later(20000)));
    if (round % 3) usleep((unsigned)round * 40);
    if (round % 2) { /* before the device of the worker */
      tide_device_close(desk.rig.device);
      desk.rig.device = desk.cpu, desk.cpu = NULL;
    } else {
      tide_queue_destroy(desk.files);
    }
    desk.files = NULL;
    close_desk(&desk);
  }
}

/* Operations and transfers that make each other ready, from several workers, at a small depth. */
static void many_make_each_other_ready(void) {
  enum { ROUNDS = 150, SLOT = 20480 };
  struct desk desk;
  open_desk(&desk, LARGE, cores() + 1);
  there_and_back(&desk, BY_WORKER, BY_WORKER);
  static struct transfer transfers[ROUNDS];
  static pid_t workers[ROUNDS];
  for (uint64_t i = 0; i < ROUNDS; i++) {
    size_t size = (i * 7919 % 97 + 1) * (i % 5 ? 8 : 200), at = i * SLOT;
    transfers[i].io = (struct tide_io){.descriptor = desk.file,
                                       .data = (i % 2 ? desk.in : desk.out) + at,
                                       .size = size,
                                       .offset = at};
    if (i % 2) memset(desk.in + at, 0, size);
    submit_transfer(&desk, i % 7 == 6 ? &syncs : i % 2 ? &reads : &writes, &transfers[i], i + 3);
    submit_note_now(&desk, &workers[i], i + 3);
    CHECK_OK(tide_timeline_wait(desk.moved, i < 40 ? 0 : i - 39, rig_later(20000)));
    if (i % 40 == 0) usleep(300);
  }
  CHECK_OK(tide_timeline_wait(desk.moved, ROUNDS + 2, rig_later(20000)));
  for (int i = 0; i < ROUNDS; i++)
    if (i % 2 && i % 7 != 6)
      CHECK(memcmp(transfers[i].io.data, desk.out + transfers[i].io.offset, transfers[i].io.size) ==
            0);
  close_desk(&desk);
}

#define RING(name)                                                                                 \
  { "ring_" #name, name, NULL, 0 }

int main(int argc, char **argv) {
  static struct test_case cases[] = {
      RING(a_file_in_memory),
      RING(a_file_on_the_disk),
      RING(a_read_that_the_cache_has_not),
      RING(what_is_no_copy),
      RING(one_that_takes_long),
      RING(where_a_core_is_free),
      RING(one_that_appends),
      RING(a_callback_that_waits),
      RING(copies_without_end),
      RING(it_fails_where_the_file_ends),
      RING(it_fails_beyond_the_limit),
      RING(the_queue_goes_meanwhile),
      RING(many_make_each_other_ready),
  };
  return rig_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
