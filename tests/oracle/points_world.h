/* What the two halves of the oracle of points share: the room, and the checks of all that it says.
 */
#ifndef TESTS_POINTS_WORLD_H
#define TESTS_POINTS_WORLD_H

#include "harness.h"
#include "points_model.h"
#include "unit/point_rig.h"

#include <setjmp.h>

struct timed {
  struct tide_timepoint timepoint;
  bool used;
  unsigned calls;
  enum tide_status status;
};

extern struct rig points_room;
extern struct timed points_timed[POINTS];
extern struct told *points_waits[WATCHES];
extern jmp_buf points_out;
extern char points_why[200];

/* Ends the run. */
__attribute__((format(printf, 1, 2), noreturn)) void points_violation(const char *format, ...);
/* The model's side of what the room does by itself: deadlines, and names that go. */
void points_model_expire(void);
void points_model_names(void);
/* At the end of each call. */
void points_after(void);
/* Everything that can be asked, against the model. */
void points_check(void);

#define EXPECT_STATUS(got, want, what, which)                                                      \
  do {                                                                                             \
    enum tide_status got_ = (got), want_ = (want);                                                 \
    if (got_ != want_)                                                                             \
      points_violation("%s %d: %s, not %s", (what), (which), tide_status_name(got_),               \
                       tide_status_name(want_));                                                   \
  } while (0)

#endif
