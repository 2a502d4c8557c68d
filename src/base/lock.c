#include "base/lock.h"

/* Spinning longer than a section lasts means that the holder is off its core:
 * give that core away, and if that does not help, sleep. The sleep is bounded
 * because nobody wakes us. */
void tide_lock_contended(struct tide_lock *lock, const struct tide_platform *platform) {
  for (uint32_t round = 0;; round++) {
    for (int spin = 0; spin < 64; spin++) {
      if (tide_load_relaxed(&lock->word) == 0 && tide_lock_try(lock)) return;
      tide_pause();
    }
    if (round < 16) {
      platform->yield(platform->self);
    } else {
      uint64_t nap = platform->now(platform->self) + 50000;
      platform->wait(platform->self, &lock->word, 1, nap);
    }
  }
}
