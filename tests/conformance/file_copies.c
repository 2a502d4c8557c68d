/* Transfers that the ring's thread does itself, and those that it gives to the kernel. */
#include "rig.h"

#include "faults.h"
#include "tidemark/kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LARGE = 1 << 20, MANY = 8, SMALL = 4096 };

struct job {
  struct rig rig;
  struct tide_queue *queue;
  struct tide_timeline *go, *done;
  uint64_t value;
  int file;
  unsigned char *out, *in;
  size_t size;
};

static void open_job(struct job *job, size_t size, bool in_memory) {
  *job = (struct job){.size = size};
  rig_open(&job->rig, test_given());
  job->queue = rig_queue(&job->rig, "queue", 4 * MANY);
  job->go = rig_timeline(&job->rig, "go");
  job->done = rig_timeline(&job->rig, "done");
  job->file = memfd_create("file", MFD_CLOEXEC);
  if (!in_memory) job->file = rig_synchronous(job->file);
  job->out = malloc(size), job->in = calloc(1, size);
  CHECK(job->file >= 0 && job->out && job->in);
  for (size_t i = 0; i < size; i++) job->out[i] = (unsigned char)(i * 31 >> 5);
}

static void close_job(struct job *job) {
  tide_queue_destroy(job->queue);
  tide_timeline_destroy(job->go), tide_timeline_destroy(job->done);
  rig_close(&job->rig);
  free(job->out), free(job->in);
  close(job->file);
}

/* One part of each buffer, once `go` has come. */
static void submit(struct job *job, bool reads, size_t part, size_t parts) {
  size_t size = job->size / parts, at = part * size;
  unsigned char *data = (reads ? job->in : job->out) + at;
  struct tide_argument arguments[3] = {
      {.descriptor = job->file}, {.integer = (int64_t)at}, {.data = data, .size = size}};
  struct tide_signal signal = {.timeline = job->done, .value = ++job->value};
  struct tide_wait wait = {.timeline = job->go, .value = reads ? 2 : 1};
  struct tide_operation operation = {.body = &tide_kernel_find(reads ? "read" : "write")->class_,
                                     .arguments = arguments,
                                     .arguments_size = sizeof arguments,
                                     .waits = &wait,
                                     .wait_count = 1,
                                     .signals = &signal,
                                     .signal_count = 1};
  CHECK_OK(tide_queue_submit(job->queue, &operation, NULL, NULL));
}

/* Starts all parts together. Returns how many the kernel was given. */
static uint32_t move_parts(struct job *job, bool reads, size_t parts) {
  uint32_t before = faults_ring_transfers();
  for (size_t i = 0; i < parts; i++) submit(job, reads, i, parts);
  CHECK_OK(tide_timeline_signal(job->go, reads ? 2 : 1, NULL));
  CHECK_OK(tide_timeline_wait(job->done, job->value, rig_later(20000)));
  return faults_ring_transfers() - before;
}

static void there_and_back(size_t size, size_t parts, bool in_memory, uint32_t by_kernel) {
  struct job job;
  open_job(&job, size, in_memory);
  CHECK_EQ_U64(move_parts(&job, false, parts), by_kernel);
  CHECK_EQ_U64(move_parts(&job, true, parts), by_kernel);
  CHECK(memcmp(job.in, job.out, size) == 0);
  close_job(&job);
}

static void one_alone_needs_no_other_thread(void) { there_and_back(LARGE, 1, true, 0); }
static void of_several_the_thread_does_one(void) {
  there_and_back((size_t)MANY * LARGE, MANY, true, MANY - 1);
}
static void small_ones_need_no_other_thread(void) { there_and_back(MANY * SMALL, MANY, true, 0); }
static void other_files_are_the_kernels(void) {
  there_and_back((size_t)MANY * LARGE, MANY, false, MANY);
}
/* In pieces. The kick of the signal may come late, and end the copy: not each time. */
static void a_large_one_goes_piece_by_piece(void) {
  enum { TRIES = 50 };
  uint32_t by_kernel = 1;
  for (int i = 0; i < TRIES && by_kernel; i++) {
    struct job job;
    open_job(&job, 5 * LARGE + 77, true);
    by_kernel = move_parts(&job, false, 1);
    by_kernel += move_parts(&job, true, 1);
    CHECK(memcmp(job.in, job.out, job.size) == 0);
    close_job(&job);
  }
  CHECK_EQ_U64(by_kernel, 0);
}

/* While copies are made, kicks come: the rest of a copy is the kernel's then. */
static void a_kick_ends_a_copy(void) {
  enum { TIMES = 40 };
  struct job job;
  open_job(&job, 6 * LARGE + 6, true);
  move_parts(&job, false, 1);
  CHECK_OK(tide_timeline_signal(job.go, 2, NULL));
  for (int i = 0; i < TIMES; i++) {
    memset(job.in, 0, job.size);
    for (size_t part = 0; part < 2; part++) {
      submit(&job, true, part, 2);
      submit(&job, false, part, 2); /* the same bytes again */
      usleep(100);
    }
    CHECK_OK(tide_timeline_wait(job.done, job.value, rig_later(20000)));
    CHECK(memcmp(job.in, job.out, job.size) == 0);
  }
  close_job(&job);
}

static void a_copy_fails_where_the_file_ends(void) {
  struct job job;
  open_job(&job, 2 * LARGE, true);
  CHECK(ftruncate(job.file, LARGE + 4096) == 0);
  CHECK_OK(tide_timeline_signal(job.go, 2, NULL));
  submit(&job, true, 0, 1);
  CHECK_STATUS(tide_timeline_wait(job.done, 1, rig_later(20000)), TIDE_IO);
  struct tide_failure why;
  CHECK(tide_timeline_failure(job.done, 1, &why));
  if (!strstr(why.text, "it has 1052672 bytes")) FAIL("%s", why.text);
  close_job(&job);
}

/* As one that the kernel makes: no signal ends the program. */
static void a_copy_beyond_the_limit_fails(size_t size) {
  struct job job;
  struct rlimit limit;
  open_job(&job, size, true);
  CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = size / 2;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  CHECK_OK(tide_timeline_signal(job.go, 1, NULL));
  submit(&job, false, 0, 1);
  CHECK_STATUS(tide_timeline_wait(job.done, 1, rig_later(20000)), TIDE_IO);
  close_job(&job);
}
static void a_small_copy_beyond_the_limit(void) { a_copy_beyond_the_limit_fails(SMALL); }
static void a_large_copy_beyond_the_limit(void) { a_copy_beyond_the_limit_fails(2 * LARGE); }

#define RING(name)                                                                                 \
  { "ring_" #name, name, NULL, 0 }
#define THREADS(name)                                                                              \
  { "threads_" #name, name, NULL, 0 }

int main(int argc, char **argv) {
  static struct test_case cases[] = {
      RING(one_alone_needs_no_other_thread),  RING(of_several_the_thread_does_one),
      RING(small_ones_need_no_other_thread),  RING(other_files_are_the_kernels),
      RING(a_large_one_goes_piece_by_piece),  RING(a_kick_ends_a_copy),
      RING(a_copy_fails_where_the_file_ends), RING(a_small_copy_beyond_the_limit),
      RING(a_large_copy_beyond_the_limit),    THREADS(a_small_copy_beyond_the_limit),
      THREADS(a_large_copy_beyond_the_limit),
  };
  return rig_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
