#include "base/lock.h"

/* Waits for the lock. If spinning outlasts a critical section, the holder has lost its core: this
 * yields its own core and, if that does not help, sleeps. The sleep is bounded because an unlock
 * wakes no thread. */
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
