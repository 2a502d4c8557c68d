#include "device/uring.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/alloc.h"
#include "device/lend.h"
#include "device/transfer.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A write into the page cache blocks for a copy. A ring hands it to a kernel thread, and two
 * wakes cost ten times as much as a small copy. So small writes are done on the ring's thread,
 * until one takes long: then the system is writing back, and the next ones go through the ring
 * again.
 *
 * Files in memory cannot hang, and the kernel hands their reads to a thread, too. So this thread
 * also does their small reads; and of larger transfers the last of an exchange, which would be the
 * last to wake a thread. It does that one in pieces: when there is something else to do, the rest
 * goes to the kernel. */
#define COPY_SMALL 65536u   /* bytes */
#define COPY_PIECE 1048576u /* bytes */
#define COPY_SLOW 500000u   /* ns */
#define COPY_PAUSE 256u     /* small writes */
#define HAND_BACK 8u        /* works at a time */

enum park { RUNNING, PARKED, KICKED };

/* A transfer under way. */
struct slot {
  struct tide_work *work; /* NULL: free */
  struct tide_io io;
  uint64_t moved;
  enum tide_io_verb verb;
  uint32_t repeats;   /* refusals in a row */
  bool is_cancelled;  /* the work is */
  bool is_cancelling; /* a cancellation is in the kernel */
  struct slot *next;  /* entry in the list of free or of refused slots */
};

/* The low bits of an entry's user data; a transfer's are 0, and the event's data is NULL. */
enum tag { TAG_CANCEL = 1, TAG_TIMER = 2, TAG_MASK = 3 };

struct tide_ring {
  struct tide_context *context;
  struct tide_streams *streams;
  struct io_uring uring;
  uint32_t depth;
  struct tide_device *device;
  struct tide_thread *thread;
  uint32_t park;       /* atomic: enum park */
  uint32_t stop;       /* atomic */
  uint32_t cancel_due; /* atomic */
  uint32_t broken;     /* atomic: the error number */
  struct tide_lender lender;
  int event; /* eventfd */
  uint64_t event_value;
  /* The ring's thread alone uses the rest. */
  bool event_armed, timer_armed;
  struct __kernel_timespec timer;
  uint32_t under_way;
  uint32_t cancelled; /* slots with a cancelled work */
  uint32_t refusals;  /* successive refusals of io_uring_enter */
  uint32_t pause;     /* small writes still to go through the ring */
  struct slot *own;   /* the copy that this thread is to do; NULL: none */
  size_t done_count;
  struct slot *slots, *free_slots;
  struct slot *again; /* refused transfers: repeated when the timer ends */
  struct tide_work **done, **fresh;
};

/* ---- making ---------------------------------------------------------------------- */

/* Wakes the ring's thread, or makes it look again. Any thread. */
static void wake(void *self) {
  struct tide_ring *ring = self;
  if (tide_exchange(&ring->park, (uint32_t)KICKED) != PARKED) return;
  uint64_t one = 1;
  ssize_t wrote;
  do wrote = write(ring->event, &one, sizeof one);
  while (wrote < 0 && errno == EINTR);
}

static enum tide_status make_storage(struct tide_ring *ring) {
  const struct tide_allocator *a = ring->context->allocator;
  ring->slots = tide_alloc(a, ring->depth, sizeof *ring->slots);
  ring->done = tide_alloc(a, ring->depth, sizeof *ring->done);
  ring->fresh = tide_alloc(a, ring->depth, sizeof *ring->fresh);
  enum tide_status status = tide_lender_init(&ring->lender, ring->context, ring->depth, wake, ring);
  if (!ring->slots || !ring->done || !ring->fresh || status != TIDE_OK) return TIDE_NOMEM;
  for (uint32_t i = ring->depth; i-- > 0;) {
    ring->slots[i].next = ring->free_slots;
    ring->free_slots = &ring->slots[i];
  }
  return TIDE_OK;
}

static void free_storage(struct tide_ring *ring) {
  const struct tide_allocator *a = ring->context->allocator;
  tide_lender_fini(&ring->lender);
  tide_free(a, ring->slots, ring->depth, sizeof *ring->slots);
  tide_free(a, ring->done, ring->depth, sizeof *ring->done);
  tide_free(a, ring->fresh, ring->depth, sizeof *ring->fresh);
  tide_free(a, ring, 1, sizeof *ring);
}

static enum tide_status open_ring(struct tide_ring *ring, int *out_error) {
  /* A transfer and a cancellation for each slot; the event; the timer. */
  int answer = io_uring_queue_init(2 * ring->depth + 4, &ring->uring, 0);
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

enum tide_status tide_ring_create(struct tide_context *context, uint32_t depth,
                                  struct tide_streams *streams, struct tide_ring **out_ring,
                                  int *out_error) {
  struct tide_ring *ring = tide_alloc(context->allocator, 1, sizeof *ring);
  if (!ring) return TIDE_NOMEM;
  ring->context = context;
  ring->streams = streams;
  ring->depth = depth;
  ring->timer.tv_nsec = TIDE_REPEAT_PAUSE;
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
  if (!tide_lend(&ring->lender)) wake(ring);
}

void tide_ring_cancel(struct tide_ring *ring) {
  tide_store_release(&ring->cancel_due, 1u);
  wake(ring);
}

int tide_ring_error(const struct tide_ring *ring) { return (int)tide_load_acquire(&ring->broken); }

/* ---- one transfer ------------------------------------------------------------------ */

/* Appends a work, with its status set, to those that the next exchange hands back. */
static void append_done(struct tide_ring *ring, struct tide_work *work) {
  TIDE_ASSERT(ring->done_count < ring->depth);
  ring->done[ring->done_count++] = work;
}

static void end_slot(struct tide_ring *ring, struct slot *slot, enum tide_status status) {
  slot->work->status = status;
  append_done(ring, slot->work);
  ring->cancelled -= slot->is_cancelled;
  slot->work = NULL;
  slot->next = ring->free_slots;
  ring->free_slots = slot;
  ring->under_way--;
}

/* Fails the transfer. error 0: the file ends, or takes nothing more. */
static void fail_slot(struct tide_ring *ring, struct slot *slot, int error) {
  enum tide_status status = error ? tide_status_of_errno(error) : TIDE_IO;
  tide_transfer_fail(slot->work, slot->verb, &slot->io, status, error);
  end_slot(ring, slot, status);
}

/* Returns a submission entry. The ring has one for each slot's transfer, the event and the timer:
 * see open_ring. */
static struct io_uring_sqe *next_entry(struct tide_ring *ring) {
  struct io_uring_sqe *entry = io_uring_get_sqe(&ring->uring);
  TIDE_ASSERT(entry != NULL);
  return entry;
}

static void set_owner(struct io_uring_sqe *entry, const void *owner, unsigned tag) {
  entry->user_data = (uintptr_t)owner | tag;
}

/* Queues the rest of the transfer. */
static void queue_transfer(struct tide_ring *ring, struct slot *slot) {
  struct io_uring_sqe *entry = next_entry(ring);
  const struct tide_io *io = &slot->io;
  uint64_t left = io->size - slot->moved;
  unsigned size = left < TIDE_TRANSFER_MOST ? (unsigned)left : TIDE_TRANSFER_MOST;
  char *at = (char *)io->data + slot->moved;
  if (slot->verb == TIDE_IO_SYNC) io_uring_prep_fsync(entry, io->descriptor, 0);
  else if (slot->verb == TIDE_IO_READ)
    io_uring_prep_read(entry, io->descriptor, at, size, io->offset + slot->moved);
  else io_uring_prep_write(entry, io->descriptor, at, size, io->offset + slot->moved);
  set_owner(entry, slot, 0);
}

/* True for a transfer that is a copy, and that this thread may do. */
static bool is_copy(struct tide_ring *ring, enum tide_io_verb verb, const struct tide_io *io,
                    const struct stat *info) {
  if (!tide_lender_is_in_memory(&ring->lender, io->descriptor, info->st_dev)) {
    if (verb != TIDE_IO_WRITE || io->size > COPY_SMALL) return false;
    if (ring->pause) {
      ring->pause--;
      return false;
    }
  }
  return tide_lender_is_plain(io->descriptor, info);
}

static void copy_small(struct tide_ring *ring, struct tide_work *work, enum tide_io_verb verb,
                       const struct tide_io *io) {
  const struct tide_platform *platform = ring->context->platform;
  uint64_t start = platform->now(platform->self);
  int error;
  enum tide_status status = tide_transfer(verb, io, &error);
  if (platform->now(platform->self) - start > COPY_SLOW) ring->pause = COPY_PAUSE;
  work->status = status;
  if (status != TIDE_OK) tide_transfer_fail(work, verb, io, status, error);
  append_done(ring, work);
}

static struct slot *take_slot(struct tide_ring *ring) {
  struct slot *slot = ring->free_slots;
  ring->free_slots = slot->next;
  ring->under_way++;
  return slot;
}

static void begin_work(struct tide_ring *ring, struct tide_work *work) {
  struct tide_io io = {0};
  struct stat info;
  bool copy = false;
  enum tide_io_verb verb = tide_transfer_verb(work);
  if (!work->body || !tide_transfer_prepare(work, &io) || (verb != TIDE_IO_SYNC && io.size == 0)) {
    append_done(ring, work);
    return;
  }
  if (verb != TIDE_IO_SYNC && fstat(io.descriptor, &info) == 0) {
    if (tide_streams_want(ring->streams, verb, &io, &info)) {
      tide_streams_take(ring->streams, work, verb, &io, &info);
      return;
    }
    copy = is_copy(ring, verb, &io, &info);
    if (copy && io.size <= COPY_SMALL) {
      copy_small(ring, work, verb, &io);
      return;
    }
  }
  struct slot *slot = take_slot(ring);
  *slot = (struct slot){.work = work, .io = io, .verb = verb};
  struct slot *queued = copy ? ring->own : slot;
  if (queued) queue_transfer(ring, queued);
  if (copy) ring->own = slot;
}

static void arm_timer(struct tide_ring *ring) {
  if (ring->timer_armed) return;
  struct io_uring_sqe *entry = next_entry(ring);
  io_uring_prep_timeout(entry, &ring->timer, 0, 0);
  set_owner(entry, ring, TAG_TIMER);
  ring->timer_armed = true;
}

/* Repeats a transfer that the kernel refuses for now: at once, on the timer, or not any more. */
static void repeat_transfer(struct tide_ring *ring, struct slot *slot, int error) {
  slot->repeats++;
  if (slot->is_cancelled) {
    end_slot(ring, slot, TIDE_CANCELLED);
  } else if (slot->repeats > TIDE_REPEATS_MOST && error != EINTR) {
    fail_slot(ring, slot, error);
  } else if (slot->repeats > TIDE_REPEATS_AT_ONCE) {
    slot->next = ring->again;
    ring->again = slot;
    arm_timer(ring);
  } else {
    queue_transfer(ring, slot);
  }
}

/* Continues a transfer after a completion. `result`: bytes moved, or minus an error number. */
static void continue_transfer(struct tide_ring *ring, struct slot *slot, int result) {
  bool moves = slot->verb != TIDE_IO_SYNC;
  int broken = tide_ring_error(ring);
  if (result > 0 && moves) {
    slot->moved += (uint64_t)result;
    slot->repeats = 0;
    if (slot->moved == slot->io.size) end_slot(ring, slot, TIDE_OK);
    else if (broken) fail_slot(ring, slot, broken);
    else if (slot->is_cancelled) end_slot(ring, slot, TIDE_CANCELLED);
    else queue_transfer(ring, slot);
  } else if (result >= 0) {
    if (moves) fail_slot(ring, slot, 0);
    else end_slot(ring, slot, TIDE_OK);
  } else if ((result == -EINTR || result == -EAGAIN) && !broken) {
    repeat_transfer(ring, slot, -result);
  } else {
    fail_slot(ring, slot, -result);
  }
}

/* ---- cancelling ---------------------------------------------------------------------- */

/* Cancels transfers in the kernel. The kernel misses a transfer that is between two states, so each
 * end of the timer repeats this until the completion has come. */
static void cancel_slots(struct tide_ring *ring) {
  for (uint32_t i = 0; ring->cancelled && i < ring->depth; i++) {
    struct slot *slot = &ring->slots[i];
    if (!slot->work || !slot->is_cancelled || slot->is_cancelling) continue;
    if (io_uring_sq_space_left(&ring->uring) <= ring->depth + 2)
      break; /* the rest is for transfers */
    struct io_uring_sqe *entry = next_entry(ring);
    io_uring_prep_cancel(entry, slot, 0);
    set_owner(entry, slot, TAG_CANCEL);
    slot->is_cancelling = true;
  }
  if (ring->cancelled) arm_timer(ring);
}

static void end_cancelled(struct tide_ring *ring) {
  if (!tide_load_relaxed(&ring->cancel_due) || !tide_exchange(&ring->cancel_due, 0u)) return;
  for (uint32_t i = 0; i < ring->depth; i++) {
    struct slot *slot = &ring->slots[i];
    if (!slot->work || slot->is_cancelled || !tide_work_is_cancelled(slot->work)) continue;
    slot->is_cancelled = true;
    ring->cancelled++;
  }
  cancel_slots(ring);
}

static void end_timer(struct tide_ring *ring) {
  struct slot *slot = ring->again;
  ring->timer_armed = false;
  if (tide_ring_error(ring)) return;
  ring->again = NULL;
  while (slot) {
    struct slot *next = slot->next;
    if (slot->is_cancelled) end_slot(ring, slot, TIDE_CANCELLED);
    else queue_transfer(ring, slot);
    slot = next;
  }
  cancel_slots(ring);
}

/* ---- the thread --------------------------------------------------------------------- */

static void arm_event(struct tide_ring *ring) {
  if (ring->event_armed) return;
  struct io_uring_sqe *entry = next_entry(ring);
  io_uring_prep_read(entry, ring->event, &ring->event_value, sizeof ring->event_value, 0);
  set_owner(entry, NULL, 0);
  ring->event_armed = true;
}

static void take_completion(struct tide_ring *ring, uint64_t whose, int result) {
  struct slot *slot = (struct slot *)(uintptr_t)(whose & ~(uint64_t)TAG_MASK);
  if (!whose) ring->event_armed = false;
  else if (whose & TAG_TIMER) end_timer(ring);
  else if (whose & TAG_CANCEL) slot->is_cancelling = false;
  else continue_transfer(ring, slot, result);
}

static void reap_completions(struct tide_ring *ring) {
  struct io_uring_cqe *entry;
  unsigned head, seen = 0;
  io_uring_for_each_cqe(&ring->uring, head, entry) {
    take_completion(ring, entry->user_data, entry->res);
    seen++;
  }
  io_uring_cq_advance(&ring->uring, seen);
  if (seen) ring->refusals = 0;
}

/* Submits, and waits for `wait` completions. Returns 0, or the error number that breaks the ring.
 */
static int enter_ring(struct tide_ring *ring, unsigned wait) {
  int answer = wait ? io_uring_submit_and_wait(&ring->uring, wait) : io_uring_submit(&ring->uring);
  bool interrupted =
      answer == -EINTR && !io_uring_sq_ready(&ring->uring); /* everything was submitted */
  if (answer >= 0 || interrupted) {
    ring->refusals = 0;
    return 0;
  }
  bool may_pass = answer == -EINTR || answer == -EAGAIN || answer == -EBUSY || answer == -ENOMEM;
  return may_pass && tide_transfer_repeats(&ring->refusals, EAGAIN) ? 0 : -answer;
}

/* Blocks until a completion, a kick or a cancellation. Returns as enter_ring does. */
static int park_until_completion(struct tide_ring *ring) {
  uint32_t expected = RUNNING;
  if (!tide_compare_exchange(&ring->park, &expected, (uint32_t)PARKED)) {
    tide_store_release(&ring->park, (uint32_t)RUNNING);
    return enter_ring(ring, 0); /* kicked meanwhile: look again */
  }
  arm_event(ring);
  int error = enter_ring(ring, 1);
  (void)tide_exchange(&ring->park, (uint32_t)RUNNING);
  return error;
}

static void hand_back(struct tide_ring *ring) {
  (void)tide_device_exchange(ring->device, ring->done, ring->done_count, NULL, 0, NULL);
  ring->done_count = 0;
}

/* Starts new work. Small copies end at once and are handed back in small batches. True if some work
 * ended or went to the streams, so that an exchange brings more. */
static bool begin_all(struct tide_ring *ring, size_t count) {
  bool over = false;
  uint32_t before = ring->under_way;
  for (size_t i = 0; i < count; i++) {
    begin_work(ring, ring->fresh[i]);
    over = over || ring->done_count;
    if (ring->done_count >= HAND_BACK) hand_back(ring);
  }
  return over || ring->under_way - before < count;
}

/* True if a kick or a completion is there. */
static bool is_wanted(struct tide_ring *ring) {
  return tide_load_relaxed(&ring->park) == KICKED || io_uring_cq_ready(&ring->uring);
}

/* Does a copy piece by piece. Queues the rest if this thread is wanted. */
static void copy_pieces(struct tide_ring *ring, struct slot *slot) {
  do {
    struct tide_io piece = slot->io;
    piece.data = (char *)piece.data + slot->moved;
    piece.offset += slot->moved;
    piece.size -= slot->moved;
    if (piece.size > COPY_PIECE) piece.size = COPY_PIECE;
    int error;
    if (tide_transfer(slot->verb, &piece, &error) != TIDE_OK) {
      fail_slot(ring, slot, error);
      return;
    }
    slot->moved += piece.size;
    if (slot->moved == slot->io.size) {
      end_slot(ring, slot, TIDE_OK);
      return;
    }
  } while (!is_wanted(ring));
  queue_transfer(ring, slot);
}

/* Does the copy that was kept, while the kernel does the queued ones. Returns as enter_ring does.
 */
static int copy_own(struct tide_ring *ring) {
  struct slot *slot = ring->own;
  if (!slot) return 0;
  ring->own = NULL;
  if (ring->done_count) hand_back(ring);
  int error = io_uring_sq_ready(&ring->uring) ? enter_ring(ring, 0) : 0;
  if (error) queue_transfer(ring, slot); /* fails with the others */
  else copy_pieces(ring, slot);
  return error;
}

/* ---- a ring that breaks ---------------------------------------------------------------- */

/* Fails the transfers that were queued and that the kernel has not taken. */
static void fail_unsubmitted(struct tide_ring *ring, int error) {
  const struct io_uring_sq *queue = &ring->uring.sq;
  unsigned count = io_uring_sq_ready(&ring->uring);
  for (unsigned at = queue->sqe_tail - count; at != queue->sqe_tail; at++) {
    uint64_t whose = queue->sqes[at & queue->ring_mask].user_data;
    if (whose && !(whose & TAG_MASK)) fail_slot(ring, (struct slot *)(uintptr_t)whose, error);
  }
  while (ring->again) {
    struct slot *slot = ring->again;
    ring->again = slot->next;
    fail_slot(ring, slot, error);
  }
  hand_back(ring);
}

static void give_up(struct tide_ring *ring, int error) {
  struct timespec pause = {.tv_nsec = TIDE_REPEAT_PAUSE};
  tide_store_release(&ring->broken, (uint32_t)error);
  hand_back(ring);
  struct tide_failure why = {.status = tide_status_of_errno(error), .code = error};
  snprintf(why.text, sizeof why.text, "io_uring_enter: %s", strerror(error));
  tide_device_lose_for(
      ring->device,
      &why); /* first, so that the slots' failures do not look like those of their files */
  fail_unsubmitted(ring, error);
  tide_streams_cancel(ring->streams);
  for (;;) {
    reap_completions(ring);
    ring->done_count = 0; /* the device is lost: none is handed back */
    (void)tide_lender_take_back(&ring->lender, ring->fresh, ring->depth);
    if (!ring->under_way && !tide_streams_live(ring->streams) &&
        !tide_lender_is_used(&ring->lender))
      break;
    nanosleep(&pause, NULL);
  }
  tide_device_certify(ring->device);
}

static void ring_main(void *argument) {
  struct tide_ring *ring = argument;
  int error = 0;
  tide_transfer_block_signals();
  while (!error) {
    bool stop = tide_load_acquire(&ring->stop);
    size_t done_count = ring->done_count;
    ring->done_count = 0;
    size_t room = ring->depth - ring->under_way;
    size_t count = tide_lender_take_back(&ring->lender, ring->fresh, room);
    count += tide_device_exchange(ring->device, ring->done, done_count, ring->fresh + count,
                                  room - count, NULL);
    bool over = begin_all(ring, count);
    error = copy_own(ring);
    end_cancelled(ring);
    if (stop && !count && !ring->under_way) return;
    if (!error)
      error = over || ring->done_count ? enter_ring(ring, 0) : park_until_completion(ring);
    reap_completions(ring);
  }
  give_up(ring, error);
}

enum tide_status tide_ring_start(struct tide_ring *ring, struct tide_device *device) {
  const struct tide_platform *platform = ring->context->platform;
  if (tide_ring_error(ring)) return TIDE_LOST; /* unsubmitted entries are still queued */
  ring->device = device;
  tide_store_release(&ring->stop, 0u);
  enum tide_status status =
      platform->spawn(platform->self, "tide-ring", ring_main, ring, &ring->thread);
  if (status == TIDE_OK) tide_lender_start(&ring->lender, device);
  return status;
}

void tide_ring_stop(struct tide_ring *ring) {
  const struct tide_platform *platform = ring->context->platform;
  tide_lender_stop(&ring->lender);
  tide_store_release(&ring->stop, 1u);
  wake(ring);
  platform->join(platform->self, ring->thread);
}
