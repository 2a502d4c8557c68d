#include "faults.h"

#include "harness.h"

#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

static struct { uint32_t left, what; } planned[FAULT_COUNT];

void faults_plan(enum fault fault, uint32_t times, uint32_t what) {
  tide_store_release(&planned[fault].what, what);
  tide_store_release(&planned[fault].left, times);
}

uint32_t faults_left(enum fault fault) { return tide_load_acquire(&planned[fault].left); }

/* Is one due? Then it is used up. */
static bool strikes(enum fault fault, uint32_t *out_what) {
  uint32_t left = faults_left(fault);
  while (left && !tide_compare_exchange(&planned[fault].left, &left, left - 1)) {}
  *out_what = tide_load_acquire(&planned[fault].what);
  return left != 0;
}

/* A read of this pipe ends when faults_release says so: a real one, that the kernel has. */
static int hanging[2] = {-1, -1};
static pthread_once_t hanging_once = PTHREAD_ONCE_INIT;

static void make_hanging(void) { CHECK(pipe2(hanging, O_CLOEXEC) == 0); }

void faults_release(void) {
  static const char bytes[64];
  pthread_once(&hanging_once, make_hanging);
  CHECK(write(hanging[1], bytes, sizeof bytes) == (ssize_t)sizeof bytes);
}

void faults_end(void) {
  pthread_once(&hanging_once, make_hanging);
  close(hanging[0]), close(hanging[1]);
}

/* ---- through the ring ------------------------------------------------------------------ */

int __wrap_io_uring_submit(struct io_uring *ring);
int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait);
int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait);

static void shorten_entries(struct io_uring *ring) {
  uint32_t most;
  for (unsigned at = ring->sq.sqe_head; at != ring->sq.sqe_tail; at++) {
    struct io_uring_sqe *entry = &ring->sq.sqes[at & ring->sq.ring_mask];
    bool moves = entry->opcode == IORING_OP_READ || entry->opcode == IORING_OP_WRITE;
    if (entry->user_data && moves && entry->len > 1 && strikes(FAULT_SHORT, &most) &&
        entry->len > most)
      entry->len = most;
  }
}

static void hang_entries(struct io_uring *ring) {
  uint32_t what;
  for (unsigned at = ring->sq.sqe_head; at != ring->sq.sqe_tail; at++) {
    struct io_uring_sqe *entry = &ring->sq.sqes[at & ring->sq.ring_mask];
    if (!entry->user_data || entry->opcode != IORING_OP_READ || !strikes(FAULT_HANG, &what))
      continue;
    pthread_once(&hanging_once, make_hanging);
    entry->fd = hanging[0];
    entry->off = 0;
    entry->len = 1;
  }
}

static void spoil_results(struct io_uring *ring) {
  struct io_uring_cqe *entry;
  unsigned head;
  uint32_t error;
  io_uring_for_each_cqe(ring, head, entry) {
    if (entry->user_data && entry->res >= 0 && strikes(FAULT_RESULT, &error))
      entry->res = -(int)error;
  }
}

static char filler; /* its address tells what was put in to fill the queue */

/* Submits as many no-operations as the completion queue has room for. What waits to be submitted
 * stands back meanwhile. */
static void fill_completions(struct io_uring *ring) {
  enum { MOST = 8192 };
  static struct io_uring_sqe aside[MOST];
  unsigned count = ring->sq.sqe_tail - ring->sq.sqe_head;
  CHECK(count <= MOST);
  for (unsigned i = 0; i < count; i++)
    aside[i] = ring->sq.sqes[(ring->sq.sqe_head + i) & ring->sq.ring_mask];
  ring->sq.sqe_tail = ring->sq.sqe_head;
  while (io_uring_cq_ready(ring) < ring->cq.ring_entries) {
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);
    CHECK(entry != NULL);
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data(entry, &filler);
    CHECK(__real_io_uring_submit(ring) == 1);
  }
  for (unsigned i = 0; i < count; i++) *io_uring_get_sqe(ring) = aside[i];
}

/* Takes them out again: what else is there moves up to the end. */
static void empty_completions(struct io_uring *ring) {
  unsigned head = *ring->cq.khead, ready = io_uring_cq_ready(ring), kept = 0;
  for (unsigned i = ready; i-- > 0;) {
    struct io_uring_cqe *entry = &ring->cq.cqes[(head + i) & ring->cq.ring_mask];
    if (io_uring_cqe_get_data(entry) == &filler) continue;
    kept++;
    ring->cq.cqes[(head + ready - kept) & ring->cq.ring_mask] = *entry;
  }
  io_uring_cq_advance(ring, ready - kept);
}

static int submit(struct io_uring *ring, unsigned wait) {
  return wait ? __real_io_uring_submit_and_wait(ring, wait) : __real_io_uring_submit(ring);
}

/* Are there transfers to submit, which will complete whatever others do? */
static bool submits_transfers(const struct io_uring *ring) {
  for (unsigned at = ring->sq.sqe_head; at != ring->sq.sqe_tail; at++)
    if (ring->sq.sqes[at & ring->sq.ring_mask].user_data) return true;
  return false;
}

/* Answers once something had no room. */
static int overflow(struct io_uring *ring) {
  fill_completions(ring);
  int answer = submit(ring, 0);
  while (!io_uring_cq_has_overflow(ring)) usleep(100);
  return answer;
}

static uint32_t ring_transfers; /* atomic */

uint32_t faults_ring_transfers(void) { return tide_load_acquire(&ring_transfers); }

static void count_transfers(const struct io_uring *ring) {
  for (unsigned at = ring->sq.sqe_head; at != ring->sq.sqe_tail; at++) {
    const struct io_uring_sqe *entry = &ring->sq.sqes[at & ring->sq.ring_mask];
    bool moves = entry->opcode == IORING_OP_READ || entry->opcode == IORING_OP_WRITE;
    if (entry->user_data && moves) tide_fetch_add(&ring_transfers, 1u);
  }
}

static int spoilt(struct io_uring *ring, unsigned wait) {
  uint32_t what;
  if (strikes(FAULT_REFUSE, &what)) return -(int)what;
  count_transfers(ring);
  shorten_entries(ring);
  hang_entries(ring);
  bool overflows = submits_transfers(ring) && strikes(FAULT_OVERFLOW, &what);
  bool interrupted = !overflows && strikes(FAULT_INTERRUPT, &what);
  int answer = overflows ? overflow(ring) : submit(ring, interrupted ? 0 : wait);
  empty_completions(ring); /* some may have found no room themselves, and come now */
  spoil_results(ring);
  return interrupted ? -(int)what : answer;
}

int __wrap_io_uring_submit(struct io_uring *ring) { return spoilt(ring, 0); }
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned wait) {
  return spoilt(ring, wait);
}

/* ---- through threads ------------------------------------------------------------------- */

ssize_t __wrap_pread64(int file, void *data, size_t size, off_t offset);
ssize_t __real_pread64(int file, void *data, size_t size, off_t offset);
ssize_t __wrap_pwrite64(int file, const void *data, size_t size, off_t offset);
ssize_t __real_pwrite64(int file, const void *data, size_t size, off_t offset);
ssize_t __wrap_preadv64v2(int file, const struct iovec *parts, int count, off_t offset, int flags);
ssize_t __real_preadv64v2(int file, const struct iovec *parts, int count, off_t offset, int flags);
int __wrap_fsync(int file);
int __real_fsync(int file);

/* True: the call fails. Else it moves at most *size. */
static bool fails(size_t *size) {
  uint32_t what;
  if (strikes(FAULT_RESULT, &what)) {
    errno = (int)what;
    return true;
  }
  if (size && strikes(FAULT_SHORT, &what) && *size > what) *size = what;
  return false;
}

ssize_t __wrap_pread64(int file, void *data, size_t size, off_t offset) {
  uint32_t what;
  char byte;
  if (strikes(FAULT_HANG, &what)) {
    pthread_once(&hanging_once, make_hanging);
    CHECK(read(hanging[0], &byte, 1) == 1);
  }
  return fails(&size) ? -1 : __real_pread64(file, data, size, offset);
}
ssize_t __wrap_pwrite64(int file, const void *data, size_t size, off_t offset) {
  return fails(&size) ? -1 : __real_pwrite64(file, data, size, offset);
}
ssize_t __wrap_preadv64v2(int file, const struct iovec *parts, int count, off_t offset, int flags) {
  struct iovec part = *parts;
  CHECK(count == 1);
  return fails(&part.iov_len) ? -1 : __real_preadv64v2(file, &part, 1, offset, flags);
}
int __wrap_fsync(int file) { return fails(NULL) ? -1 : __real_fsync(file); }
