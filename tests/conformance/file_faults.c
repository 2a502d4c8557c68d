/* What the system may do to a transfer, and rarely does: the file device goes on, and every byte is
 * there. */
#include "rig.h"

#include "faults.h"
#include "tidemark/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 100000, PIECES = 40 }; /* a piece is more than the ring writes by itself */

struct job {
  struct rig rig;
  struct tide_queue *queue;
  struct tide_timeline *timeline;
  uint64_t value;
  int file;
  unsigned char *out, *in;
};

static void open_job(struct job *job, bool through_ring) {
  *job = (struct job){0};
  rig_open(&job->rig, test_given());
  job->queue = rig_queue(&job->rig, "queue", 4 * PIECES);
  job->timeline = rig_timeline(&job->rig, "timeline");
  job->file = memfd_create("file", MFD_CLOEXEC);
  if (through_ring) job->file = rig_synchronous(job->file);
  job->out = malloc(PIECE * PIECES);
  job->in = calloc(PIECES, PIECE);
  CHECK(job->file >= 0 && job->out && job->in);
  for (size_t i = 0; i < PIECE * PIECES; i++) job->out[i] = (unsigned char)(i * 31 >> 3);
}

static void submit(struct job *job, const char *body, size_t at, void *data, size_t size) {
  struct tide_argument arguments[3] = {
      {.descriptor = job->file}, {.integer = (int64_t)at}, {.data = data, .size = size}};
  struct tide_signal signal = {.timeline = job->timeline, .value = ++job->value};
  struct tide_operation operation = {.body = &tide_kernel_find(body)->class_,
                                     .arguments = arguments,
                                     .arguments_size = sizeof arguments,
                                     .signals = &signal,
                                     .signal_count = 1};
  CHECK_OK(tide_queue_submit(job->queue, &operation, NULL, NULL));
}

static enum tide_status finish(struct job *job) {
  return tide_timeline_wait(job->timeline, job->value, rig_later(20000));
}

/* Writes it all, syncs, and reads it back. */
static void there_and_back(struct job *job) {
  memset(job->in, 0, PIECE * PIECES);
  for (size_t i = 0; i < PIECES; i++) submit(job, "write", i * PIECE, job->out + i * PIECE, PIECE);
  CHECK_OK(finish(job));
  submit(job, "sync", 0, NULL, 0);
  CHECK_OK(finish(job));
  for (size_t i = 0; i < PIECES; i++) submit(job, "read", i * PIECE, job->in + i * PIECE, PIECE);
  CHECK_OK(finish(job));
  CHECK(memcmp(job->in, job->out, PIECE * PIECES) == 0);
}

static void close_job(struct job *job) {
  tide_queue_destroy(job->queue);
  tide_timeline_destroy(job->timeline);
  rig_close(&job->rig);
  free(job->out), free(job->in);
  close(job->file);
}

/* ---- every way ------------------------------------------------------------------------------ */

static void each_survives(enum fault fault, uint32_t times, uint32_t what, bool through_ring) {
  struct job job;
  open_job(&job, through_ring);
  faults_plan(fault, times, what);
  there_and_back(&job);
  CHECK_EQ_U64(faults_left(fault), 0);
  close_job(&job);
}

/* The ring's thread does some of the transfers itself: the file is in memory. */
static void all_survive(enum fault fault, uint32_t times, uint32_t what) {
  each_survives(fault, times, what, false);
}

static void interrupted_transfers_are_repeated(void) { all_survive(FAULT_RESULT, 50, EINTR); }
static void transfers_that_find_nothing_are_repeated(void) {
  all_survive(FAULT_RESULT, PIECES + 5, EAGAIN);
}
static void short_transfers_go_on(void) { all_survive(FAULT_SHORT, 1500, 1001); }

/* The last one of many: it ends in one piece more, of the last byte. */
static void all_but_the_last_byte(void) { all_survive(FAULT_SHORT, 2 * PIECES, PIECE - 1); }

static void an_interrupted_sync_is_repeated(void) {
  struct job job;
  open_job(&job, false);
  faults_plan(FAULT_RESULT, 9, EINTR);
  submit(&job, "sync", 0, NULL, 0);
  CHECK_OK(finish(&job));
  CHECK_EQ_U64(faults_left(FAULT_RESULT), 0);
  close_job(&job);
}

static void other_errors_end_one_transfer(void) {
  struct job job;
  open_job(&job, false);
  there_and_back(&job);
  faults_plan(FAULT_RESULT, 1, EIO);
  struct tide_timeline *first = job.timeline;
  submit(&job, "read", 0, job.in, PIECE);
  CHECK_STATUS(finish(&job), TIDE_IO);
  tide_timeline_destroy(first);
  job.timeline = rig_timeline(&job.rig, "next");
  there_and_back(&job);
  close_job(&job);
}

/* ---- the ring alone -------------------------------------------------------------------------- */

static void refused_submits_are_repeated(void) {
  static const int errors[] = {EINTR, EAGAIN, EBUSY};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    each_survives(FAULT_REFUSE, 20, (uint32_t)errors[i], true);
}

static void interrupted_waits_are_repeated(void) {
  each_survives(FAULT_INTERRUPT, 20, EINTR, true);
}

static void what_overflows_comes_later(void) { each_survives(FAULT_OVERFLOW, 2, 0, true); }

static void all_at_once(void) {
  faults_plan(FAULT_RESULT, 30, EINTR);
  faults_plan(FAULT_REFUSE, 10, EBUSY);
  faults_plan(FAULT_INTERRUPT, 10, EINTR);
  faults_plan(FAULT_OVERFLOW, 1, 0);
  each_survives(FAULT_SHORT, 500, 5000, true);
}

#define ON(kind, name)                                                                             \
  { kind "_" #name, name, NULL, 0 }
#define EVERY(name) ON("ring", name), ON("ring1", name), ON("threads", name)
#define RINGS(name) ON("ring", name), ON("ring1", name)

int main(int argc, char **argv) {
  static struct test_case cases[] = {
      EVERY(interrupted_transfers_are_repeated),
      EVERY(transfers_that_find_nothing_are_repeated),
      EVERY(short_transfers_go_on),
      EVERY(all_but_the_last_byte),
      EVERY(an_interrupted_sync_is_repeated),
      EVERY(other_errors_end_one_transfer),
      RINGS(refused_submits_are_repeated),
      RINGS(interrupted_waits_are_repeated),
      RINGS(what_overflows_comes_later),
      RINGS(all_at_once),
  };
  return rig_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
