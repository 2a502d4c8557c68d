/* base/body_frame.h: the body that a thread runs.
 *
 * Bodies have no handle of their operation, and call libraries that know nothing of it. So the
 * state is per thread. A frame names the work that the thread runs, and keeps the failure that the
 * body reports. While the body blocks, the frame lists the points that the body waits for. */
#ifndef TIDE_BASE_BODY_FRAME_H
#define TIDE_BASE_BODY_FRAME_H

#include "base/sister.h"
#include "base/list.h"
#include "base/lock.h"
#include "tidemark/base.h"

struct tide_wait_point;
struct tide_helper;

struct tide_body_frame {
  struct tide_failure failure;          /* the reported failure; TIDE_OK: none */
  const void *work;                     /* struct tide_work; NULL: none */
  struct tide_link link;                /* link in the context's blocked bodies */
  const struct tide_wait_point *points; /* the awaited points of a blocked body; NULL: a wait-set */
  size_t count;
  struct tide_helper *helper; /* where another device may leave a work; NULL: nowhere */
};

/* Returns this thread's frame; NULL: none. */
struct tide_body_frame *tide_body_frame(void);
/* Makes `frame` this thread's frame; NULL: the thread runs no body. Returns the previous frame. */
TIDE_SISTER struct tide_body_frame *tide_body_frame_set(struct tide_body_frame *frame);

/* Returns the failure of a body that has returned `status`: the reported failure, or that status
 * alone. */
static inline const struct tide_failure *tide_body_failure(struct tide_body_frame *frame,
                                                           enum tide_status status) {
  if (frame->failure.status == TIDE_OK) frame->failure = (struct tide_failure){.status = status};
  frame->failure.status = status;
  return &frame->failure;
}

/* The frames of blocked bodies of one context. `lock` is a leaf. */
struct tide_blocked_bodies {
  struct tide_lock lock;
  struct tide_link frames;
};
/* Lists this thread's frame as blocked until tide_body_unblocks. `points` must stay valid until
 * then. Returns the frame for that call; NULL: the thread runs no body. */
struct tide_body_frame *tide_body_blocks(struct tide_blocked_bodies *blocked,
                                         const struct tide_platform *platform,
                                         const struct tide_wait_point *points, size_t count);
/* Ends tide_body_blocks. A NULL frame is fine. */
void tide_body_unblocks(struct tide_blocked_bodies *blocked, const struct tide_platform *platform,
                        struct tide_body_frame *frame);

#endif
