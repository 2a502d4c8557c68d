/* The entry to a medium's lock, which each step takes. This file is separate, so that the explorer
 * of seeded schedules can replace it (tests/simulation/wic_world.c). */
#include "wic/medium.h"

struct tide_lock *tide_medium_enter(struct tide_medium *medium) {
  tide_lock_take(&medium->lock, medium->platform);
  return &medium->lock;
}
