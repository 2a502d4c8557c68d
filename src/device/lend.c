#include "device/lend.h"

#include "base/alloc.h"
#include "causal/context_state.h"
#include "device/transfer.h"
#include "device/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/uio.h>

#define COPY_MOST 4194304u    /* bytes: the worker has its own work to do, too */
#define PIECE_MEMORY 1048576u /* bytes */
#define PIECE_CACHED 262144u  /* bytes */
#define PIECE_SLOW 5000000u   /* ns: not preempted, but held up since the system writes back */
#define PAUSE 64u             /* cached transfers */
#define HELP_MOST 4000000u    /* ns: then the device's thread goes on, while there is more */

enum tide_status tide_lender_init(struct tide_lender *lender, struct tide_context *context,
                                  uint32_t most, void (*wake)(void *self), void *self) {
  *lender = (struct tide_lender){.context = context, .most = most, .wake = wake, .self = self};
  tide_lock_init(&lender->lock);
  lender->returned = tide_alloc(context->allocator, most, sizeof *lender->returned);
  return lender->returned ? TIDE_OK : TIDE_NOMEM;
}

void tide_lender_fini(struct tide_lender *lender) {
  tide_free(lender->context->allocator, lender->returned, lender->most, sizeof *lender->returned);
}

void tide_lender_start(struct tide_lender *lender, struct tide_device *device) {
  lender->device = device;
  tide_fetch_add(&lender->context->lenders, 1u);
}

void tide_lender_stop(struct tide_lender *lender) {
  const struct tide_platform *platform = lender->context->platform;
  while (tide_lender_is_used(lender)) platform->yield(platform->self);
  tide_fetch_sub(&lender->context->lenders, 1u);
}

/* ---- kinds ----------------------------------------------------------------------- */

/* A new file system may get the device number of one that is gone, so only the other answer is
 * kept: if that is old, the kernel makes a copy. */
bool tide_lender_is_in_memory(struct tide_lender *lender, int descriptor, dev_t device) {
  struct statfs system;
  if (tide_load_relaxed(&lender->elsewhere) == device) return false;
  if (fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC) return true;
  tide_store_relaxed(&lender->elsewhere, (uint64_t)device);
  return false;
}

bool tide_lender_is_plain(int descriptor, const struct stat *info) {
  if (!S_ISREG(info->st_mode)) return false;
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && !(flags & (O_DIRECT | O_SYNC | O_DSYNC | O_NONBLOCK));
}

/* ---- a worker's copies ----------------------------------------------------------- */

enum outcome { COPIED, FAILED, LEFT_TO_THREAD };

struct copy {
  struct tide_lender *lender;
  struct tide_work *work;
  enum tide_io_verb verb;
  struct tide_io io;
  bool in_memory;
};

/* The number of transfers of this kind that are left to the device's thread. */
static uint32_t *pause_of(const struct copy *copy) {
  return &copy->lender->pauses[copy->verb == TIDE_IO_WRITE];
}

/* Reads what the page cache has. */
static enum outcome read_cached(const struct copy *copy, const struct tide_io *piece) {
  for (uint64_t moved = 0; moved < piece->size;) {
    struct iovec rest = {(char *)piece->data + moved, piece->size - moved};
    ssize_t now = preadv2(piece->descriptor, &rest, 1, (off_t)(piece->offset + moved), RWF_NOWAIT);
    if (now <= 0) { /* the end of the file, too: the device's thread reports it */
      tide_store_relaxed(pause_of(copy), PAUSE);
      return LEFT_TO_THREAD;
    }
    moved += (uint64_t)now;
  }
  return COPIED;
}

static enum outcome copy_piece(const struct copy *copy, const struct tide_io *piece) {
  const struct tide_platform *platform = copy->lender->context->platform;
  bool cached = !copy->in_memory;
  if (cached && copy->verb == TIDE_IO_READ) return read_cached(copy, piece);
  uint64_t start = cached ? platform->now(platform->self) : 0;
  int error;
  enum tide_status status = tide_transfer(copy->verb, piece, &error);
  if (status != TIDE_OK) {
    copy->work->status = status;
    tide_transfer_fail(copy->work, copy->verb, &copy->io, status, error);
    return FAILED;
  }
  if (cached && platform->now(platform->self) - start > PIECE_SLOW)
    tide_store_relaxed(pause_of(copy), PAUSE);
  return COPIED;
}

/* Copies all pieces, and sets the work's status. LEFT_TO_THREAD: the device's thread must make the
 * whole transfer. */
static enum outcome copy_pieces(const struct copy *copy) {
  const struct tide_io *io = &copy->io;
  uint64_t most = copy->in_memory ? PIECE_MEMORY : PIECE_CACHED;
  for (uint64_t moved = 0; moved < io->size; moved += most) {
    uint64_t left = io->size - moved;
    struct tide_io piece = *io;
    piece.data = (char *)io->data + moved;
    piece.offset += moved;
    piece.size = left < most ? left : most;
    if (!copy->in_memory && tide_load_relaxed(pause_of(copy))) return LEFT_TO_THREAD;
    if (moved && tide_work_is_cancelled(copy->work)) {
      copy->work->status = TIDE_CANCELLED;
      return FAILED;
    }
    enum outcome outcome = copy_piece(copy, &piece);
    if (outcome != COPIED) return outcome;
  }
  return COPIED;
}

/* True while the device's thread is to make this transfer. Counts it. */
static bool pauses(const struct copy *copy) {
  uint32_t left = tide_load_relaxed(pause_of(copy));
  if (left) tide_store_relaxed(pause_of(copy), left - 1); /* a lost count: one transfer more */
  return left != 0;
}

/* True for a write that may raise SIGXFSZ, which only the device's thread blocks; and for one that
 * appends, which that thread could not make anew. */
static bool is_for_thread(const struct copy *copy) {
  struct rlimit limit;
  if (copy->verb != TIDE_IO_WRITE) return false;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return true;
  return (fcntl(copy->io.descriptor, F_GETFL) & O_APPEND) != 0;
}

/* Does the work, if it is a copy. False: another thread must. */
static bool try_copy(struct tide_lender *lender, struct tide_work *work) {
  struct copy copy = {.lender = lender, .work = work, .verb = tide_transfer_verb(work)};
  struct stat info;
  if (!work->body) return true;
  if (copy.verb == TIDE_IO_SYNC) return false;
  if (!tide_transfer_prepare(work, &copy.io) || copy.io.size == 0) return true;
  if (copy.io.size > COPY_MOST || fstat(copy.io.descriptor, &info) != 0 ||
      !tide_lender_is_plain(copy.io.descriptor, &info) || is_for_thread(&copy))
    return false;
  copy.in_memory = tide_lender_is_in_memory(lender, copy.io.descriptor, info.st_dev);
  if (!copy.in_memory && pauses(&copy)) return false;
  return copy_pieces(&copy) != LEFT_TO_THREAD;
}

/* ---- lending --------------------------------------------------------------------- */

static bool reserve(struct tide_lender *lender) {
  tide_lock_take(&lender->lock, lender->context->platform);
  bool has_room = lender->lent + lender->count < lender->most;
  lender->lent += has_room;
  tide_lock_give(&lender->lock);
  return has_room;
}

static void release(struct tide_lender *lender) {
  tide_lock_take(&lender->lock, lender->context->platform);
  lender->lent--;
  tide_lock_give(&lender->lock);
}

static void give_back(struct tide_lender *lender, struct tide_work *work) {
  tide_lock_take(&lender->lock, lender->context->platform);
  lender->returned[lender->count++] = work;
  tide_lock_give(&lender->lock);
  lender->wake(lender->self);
  release(lender);
}

/* Runs on a worker between two operations. */
static void help(void *self, struct tide_helper *helper) {
  struct tide_lender *lender = self;
  const struct tide_platform *platform = lender->context->platform;
  struct tide_work *work = helper->work;
  uint64_t start = platform->now(platform->self);
  bool more = false;
  do {
    if (more && tide_workers_are_idle(helper)) lender->wake(lender->self); /* a core is free */
    bool too_long = platform->now(platform->self) - start > HELP_MOST;
    if (too_long || !try_copy(lender, work)) {
      give_back(lender, work); /* and the thread that it wakes takes what is ready */
      return;
    }
  } while (tide_device_exchange(lender->device, &work, 1, &work, 1, &more));
  release(lender);
}

bool tide_lend(struct tide_lender *lender) {
  struct tide_helper *helper = tide_workers_helper();
  if (!helper || !reserve(lender)) return false;
  if (tide_device_exchange(lender->device, NULL, 0, &helper->work, 1, NULL)) {
    helper->help = help;
    helper->self = lender;
  } else {
    release(lender); /* meanwhile another device may have left a work */
  }
  return true;
}

size_t tide_lender_take_back(struct tide_lender *lender, struct tide_work **out_works,
                             size_t most) {
  tide_lock_take(&lender->lock, lender->context->platform);
  size_t count = lender->count < most ? lender->count : most;
  lender->count -= (uint32_t)count;
  memcpy(out_works, lender->returned, count * sizeof *out_works);
  memmove(lender->returned, lender->returned + count, lender->count * sizeof *out_works);
  tide_lock_give(&lender->lock);
  return count;
}

bool tide_lender_is_used(struct tide_lender *lender) {
  tide_lock_take(&lender->lock, lender->context->platform);
  bool is_used = lender->lent > 0;
  tide_lock_give(&lender->lock);
  return is_used;
}
