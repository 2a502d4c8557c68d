/* The door of a medium, through which each step goes. It is apart from its callers, so that the
 * explorer of seeded schedules can be linked in its place (tests/simulation/wic_world.c). */
#include "wic/medium.h"

struct tide_lock *tide_medium_enter(struct tide_medium *medium) {
  tide_lock_take(&medium->lock, medium->platform);
  return &medium->lock;
}
