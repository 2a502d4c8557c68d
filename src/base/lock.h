/* base/lock.h: a lock for critical sections of some tens of nanoseconds.
 *
 * Taking the lock is one exchange, which is quicker than a compare-and-swap and changes nothing
 * while the lock is held. Giving it back is one plain store. That is half the cost of a mutex,
 * which must check for sleeping threads on every unlock. Threads that find the lock taken pay the
 * price: they spin, then yield, then sleep for short bounded times. Never held while calling out or
 * blocking. */
#ifndef TIDE_BASE_LOCK_H
#define TIDE_BASE_LOCK_H

#include "base/sister.h"
#include "base/atomic.h"
#include "tidemark/base.h"

struct tide_lock {
  uint32_t word; /* 0 free, 1 held */
};

TIDE_SISTER void tide_lock_contended(struct tide_lock *lock, const struct tide_platform *platform);

static inline void tide_lock_init(struct tide_lock *lock) { lock->word = 0; }

static inline bool tide_lock_try(struct tide_lock *lock) {
  return tide_exchange(&lock->word, 1u) == 0;
}

#ifdef TIDE_INTERLEAVE
/* Hooks of the explorer of interleavings: it allows no attempt before the lock is free, and must
 * know which store unlocks. */
void interleave_lock(uint32_t *word);
void interleave_unlock(uint32_t *word);
#else
#define interleave_lock(word) ((void)0)
#define interleave_unlock(word) ((void)0)
#endif

static inline void tide_lock_take(struct tide_lock *lock, const struct tide_platform *platform) {
  interleave_lock(&lock->word);
  if (__builtin_expect(!tide_lock_try(lock), 0)) tide_lock_contended(lock, platform);
}

/* Takes the lock if it is free. False: the lock is held, and the caller takes a path that may wait.
 * (The explorer waits here.) */
static inline bool tide_lock_take_free(struct tide_lock *lock) {
  interleave_lock(&lock->word);
  return __builtin_expect(tide_lock_try(lock), 1);
}

static inline void tide_lock_give(struct tide_lock *lock) {
  interleave_unlock(&lock->word);
  tide_store_release(&lock->word, 0u);
}

static inline bool tide_lock_held(const struct tide_lock *lock) {
  return tide_load_relaxed(&lock->word) != 0;
}

#endif
