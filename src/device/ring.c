#include "device/ring.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/memory.h"
#include "device/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* A write into the page cache blocks for a copy; a ring hands it to a kernel thread, which costs
 * ten times as much for a small one. Those are done right here, until one takes long: then the
 * system is writing back, and the next ones go through the ring again. */
#define DIRECT_WRITE_MOST 65536u  /* bytes */
#define DIRECT_WRITE_SLOW 500000u /* ns */
#define DIRECT_WRITE_PAUSE 256u   /* writes */
#define HAND_BACK 8u              /* so many at a time */

enum doze { AWAKE, ASLEEP, KICKED };

/* One transfer under way. */
struct slot {
  struct tide_work *work; /* NULL: free */
  struct tide_io io;
  uint64_t moved;
  enum tide_io_verb verb;
  bool polling; /* a non-blocking descriptor had nothing: the ring waits until it has */
  struct slot *next_free;
};

struct tide_ring {
  const struct tide_context *context;
  struct io_uring uring;
  uint32_t depth;
  struct tide_device *device;
  struct tide_thread *thread;
  uint32_t doze; /* atomic: enum doze */
  uint32_t stop; /* atomic */
  int event;     /* eventfd */
  uint64_t event_value;
  /* The rest is the thread's own. */
  bool event_armed;
  uint32_t under_way;
  uint32_t pause; /* small writes still to go through the ring */
  size_t done_count;
  struct slot *slots, *free_slots;
  struct tide_work **done, **fresh;
};

/* ---- making ---------------------------------------------------------------------- */

static enum tide_status make_storage(struct tide_ring *ring) {
  const struct tide_allocator *a = ring->context->allocator;
  ring->slots = tide_alloc(a, ring->depth, sizeof *ring->slots);
  ring->done = tide_alloc(a, ring->depth, sizeof *ring->done);
  ring->fresh = tide_alloc(a, ring->depth, sizeof *ring->fresh);
  if (!ring->slots || !ring->done || !ring->fresh) return TIDE_NOMEM;
  for (uint32_t i = ring->depth; i-- > 0;) {
    ring->slots[i].next_free = ring->free_slots;
    ring->free_slots = &ring->slots[i];
  }
  return TIDE_OK;
}

static void free_storage(struct tide_ring *ring) {
  const struct tide_allocator *a = ring->context->allocator;
  tide_free(a, ring->slots, ring->depth, sizeof *ring->slots);
  tide_free(a, ring->done, ring->depth, sizeof *ring->done);
  tide_free(a, ring->fresh, ring->depth, sizeof *ring->fresh);
  tide_free(a, ring, 1, sizeof *ring);
}

static enum tide_status open_ring(struct tide_ring *ring, int *out_error) {
  int answer = io_uring_queue_init(ring->depth + 1, &ring->uring, 0);
  if (answer == -EMFILE || answer == -ENFILE) return TIDE_FULL;
  if (answer < 0) { /* none, forbidden, or no locked memory for it on an old kernel */
    *out_error = -answer;
    return TIDE_UNSUPPORTED;
  }
  /* Too old to read without vectors (5.6). */
  if (!(ring->uring.features & IORING_FEAT_RW_CUR_POS) ||
      !(ring->uring.features & IORING_FEAT_NODROP)) {
    io_uring_queue_exit(&ring->uring);
    *out_error = ENOSYS;
    return TIDE_UNSUPPORTED;
  }
  return TIDE_OK;
}

enum tide_status tide_ring_create(const struct tide_context *context, uint32_t depth,
                                  struct tide_ring **out_ring, int *out_error) {
  struct tide_ring *ring = tide_alloc(context->allocator, 1, sizeof *ring);
  if (!ring) return TIDE_NOMEM;
  ring->context = context;
  ring->depth = depth;
  enum tide_status status = make_storage(ring);
  if (status == TIDE_OK) {
    ring->event = eventfd(0, EFD_CLOEXEC);
    if (ring->event < 0) status = TIDE_FULL;
  }
  if (status == TIDE_OK) {
    status = open_ring(ring, out_error);
    if (status != TIDE_OK) close(ring->event);
  }
  if (status != TIDE_OK) {
    free_storage(ring);
    return status;
  }
  *out_ring = ring;
  return TIDE_OK;
}

void tide_ring_destroy(struct tide_ring *ring) {
  io_uring_queue_exit(&ring->uring);
  close(ring->event);
  free_storage(ring);
}

void tide_ring_kick(struct tide_ring *ring) {
  if (tide_exchange(&ring->doze, (uint32_t)KICKED) != ASLEEP) return;
  uint64_t one = 1;
  ssize_t wrote;
  do wrote = write(ring->event, &one, sizeof one);
  while (wrote < 0 && errno == EINTR);
}

/* ---- one transfer ------------------------------------------------------------------ */

static void finish(struct tide_ring *ring, struct tide_work *work, enum tide_status status) {
  work->status = status;
  TIDE_ASSERT(ring->done_count < ring->depth);
  ring->done[ring->done_count++] = work;
}

static void end_slot(struct tide_ring *ring, struct slot *slot, enum tide_status status) {
  finish(ring, slot->work, status);
  slot->work = NULL;
  slot->next_free = ring->free_slots;
  ring->free_slots = slot;
  ring->under_way--;
}

/* There are as many entries as slots, and one more for the event. */
static struct io_uring_sqe *next_entry(struct tide_ring *ring) {
  struct io_uring_sqe *entry = io_uring_get_sqe(&ring->uring);
  TIDE_ASSERT(entry != NULL);
  return entry;
}

/* What is left of the transfer. */
static void push(struct tide_ring *ring, struct slot *slot) {
  struct io_uring_sqe *entry = next_entry(ring);
  const struct tide_io *io = &slot->io;
  uint64_t left = io->size - slot->moved;
  unsigned size = left < TIDE_TRANSFER_MOST ? (unsigned)left : TIDE_TRANSFER_MOST;
  char *at = (char *)io->data + slot->moved;
  if (slot->polling)
    io_uring_prep_poll_add(entry, io->descriptor, slot->verb == TIDE_IO_READ ? POLLIN : POLLOUT);
  else if (slot->verb == TIDE_IO_SYNC) io_uring_prep_fsync(entry, io->descriptor, 0);
  else if (slot->verb == TIDE_IO_READ)
    io_uring_prep_read(entry, io->descriptor, at, size, io->offset + slot->moved);
  else io_uring_prep_write(entry, io->descriptor, at, size, io->offset + slot->moved);
  io_uring_sqe_set_data(entry, slot);
}

/* A small write to a regular file that goes through the page cache. */
static bool writes_directly(struct tide_ring *ring, enum tide_io_verb verb,
                            const struct tide_io *io) {
  if (verb != TIDE_IO_WRITE || io->size > DIRECT_WRITE_MOST) return false;
  if (ring->pause) {
    ring->pause--;
    return false;
  }
  struct stat info;
  int flags = fcntl(io->descriptor, F_GETFL);
  return flags >= 0 && !(flags & (O_DIRECT | O_SYNC | O_DSYNC | O_NONBLOCK)) &&
         fstat(io->descriptor, &info) == 0 && S_ISREG(info.st_mode);
}

static enum tide_status write_directly(struct tide_ring *ring, const struct tide_io *io) {
  const struct tide_platform *platform = ring->context->platform;
  uint64_t start = platform->now(platform->self);
  enum tide_status status = tide_transfer(TIDE_IO_WRITE, io);
  if (platform->now(platform->self) - start > DIRECT_WRITE_SLOW) ring->pause = DIRECT_WRITE_PAUSE;
  return status;
}

static void begin(struct tide_ring *ring, struct tide_work *work) {
  struct tide_io io = {0};
  enum tide_io_verb verb = work->body ? work->body->verb : TIDE_IO_NONE;
  enum tide_status status = work->body ? work->body->io(tide_work_arguments(work), &io) : TIDE_OK;
  if (status != TIDE_OK || !work->body || (verb != TIDE_IO_SYNC && io.size == 0)) {
    finish(ring, work, status);
    return;
  }
  if (writes_directly(ring, verb, &io)) {
    finish(ring, work, write_directly(ring, &io));
    return;
  }
  struct slot *slot = ring->free_slots;
  ring->free_slots = slot->next_free;
  ring->under_way++;
  *slot = (struct slot){.work = work, .io = io, .verb = verb};
  push(ring, slot);
}

/* result: bytes moved, or minus an error number. */
static void proceed(struct tide_ring *ring, struct slot *slot, int result) {
  bool moves = slot->verb != TIDE_IO_SYNC;
  if (slot->polling && result >= 0) {
    slot->polling = false;
    push(ring, slot);
  } else if (result > 0 && moves) {
    slot->moved += (uint64_t)result;
    if (slot->moved < slot->io.size) push(ring, slot);
    else end_slot(ring, slot, TIDE_OK);
  } else if (result == 0) {
    end_slot(ring, slot, moves ? TIDE_IO : TIDE_OK); /* the file ends here, or takes no more */
  } else if (result == -EINTR || result == -EAGAIN) {
    slot->polling = result == -EAGAIN && moves;
    push(ring, slot);
  } else {
    end_slot(ring, slot, tide_status_of_errno(-result));
  }
}

/* ---- the thread --------------------------------------------------------------------- */

static void arm_event(struct tide_ring *ring) {
  if (ring->event_armed) return;
  struct io_uring_sqe *entry = next_entry(ring);
  io_uring_prep_read(entry, ring->event, &ring->event_value, sizeof ring->event_value, 0);
  io_uring_sqe_set_data(entry, NULL);
  ring->event_armed = true;
}

static void reap(struct tide_ring *ring) {
  struct io_uring_cqe *entry;
  unsigned head, seen = 0;
  io_uring_for_each_cqe(&ring->uring, head, entry) {
    struct slot *slot = io_uring_cqe_get_data(entry);
    if (slot) proceed(ring, slot, entry->res);
    else ring->event_armed = false;
    seen++;
  }
  io_uring_cq_advance(&ring->uring, seen);
}

/* Submits, and waits for `wait` completions. False: the ring is broken. */
static bool enter(struct tide_ring *ring, unsigned wait) {
  int answer = wait ? io_uring_submit_and_wait(&ring->uring, wait) : io_uring_submit(&ring->uring);
  return answer >= 0 || answer == -EINTR || answer == -EAGAIN || answer == -EBUSY;
}

/* Sleeps until something completes or somebody kicks. With no room for more work a kick need not
 * wake us. False: the ring is broken. */
static bool sleep_until_something(struct tide_ring *ring) {
  uint32_t expected = AWAKE;
  if (ring->under_way < ring->depth &&
      !tide_compare_exchange(&ring->doze, &expected, (uint32_t)ASLEEP)) {
    tide_store_release(&ring->doze, (uint32_t)AWAKE);
    return enter(ring, 0); /* kicked meanwhile: look again */
  }
  arm_event(ring);
  bool fine = enter(ring, 1);
  (void)tide_exchange(&ring->doze, (uint32_t)AWAKE);
  return fine;
}

/* Starts what came; small writes are over at once, and don't keep each other waiting. True: some
 * are over, so there is something to hand back or room for more. */
static bool begin_all(struct tide_ring *ring, size_t count) {
  bool over = false;
  for (size_t i = 0; i < count; i++) {
    begin(ring, ring->fresh[i]);
    over = over || ring->done_count;
    if (ring->done_count < HAND_BACK) continue;
    (void)tide_device_exchange(ring->device, ring->done, ring->done_count, NULL, 0, NULL);
    ring->done_count = 0;
  }
  return over;
}

static void ring_main(void *argument) {
  struct tide_ring *ring = argument;
  bool fine = true;
  while (fine) {
    bool stop = tide_load_acquire(&ring->stop);
    size_t done_count = ring->done_count;
    ring->done_count = 0;
    size_t count = tide_device_exchange(ring->device, ring->done, done_count, ring->fresh,
                                        ring->depth - ring->under_way, NULL);
    bool over = begin_all(ring, count);
    if (stop && !count && !ring->under_way) return;
    fine = over ? enter(ring, 0) : sleep_until_something(ring);
    reap(ring);
  }
  tide_device_lose(ring->device, TIDE_LOST);
}

enum tide_status tide_ring_start(struct tide_ring *ring, struct tide_device *device) {
  const struct tide_platform *platform = ring->context->platform;
  ring->device = device;
  tide_store_release(&ring->stop, 0u);
  return platform->spawn(platform->self, "tide-ring", ring_main, ring, &ring->thread);
}

void tide_ring_stop(struct tide_ring *ring) {
  const struct tide_platform *platform = ring->context->platform;
  tide_store_release(&ring->stop, 1u);
  tide_ring_kick(ring);
  platform->join(platform->self, ring->thread);
}
