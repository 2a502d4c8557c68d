/* base/body_frame.h: the body that a thread runs.
 *
 * Bodies have no handle of their operation, and call libraries that know nothing of it. So the
 * thread knows: a frame says which work it runs, keeps what the body reports of its failure, and,
 * while the body blocks, what it waits for. */
#ifndef TIDE_BASE_BODY_FRAME_H
#define TIDE_BASE_BODY_FRAME_H

#include "base/sister.h"
#include "base/list.h"
#include "base/lock.h"
#include "tidemark/base.h"

struct tide_wait_point;

struct tide_body_frame {
  struct tide_failure failure;          /* TIDE_OK: nothing was reported */
  const void *work;                     /* struct tide_work; NULL: it has none */
  struct tide_link link;                /* in the context's blocked bodies */
  const struct tide_wait_point *points; /* what it waits for, while it blocks; NULL: a wait-set */
  size_t count;
};

/* Makes `frame` this thread's from now on; NULL: it runs no body. Returns the frame before. */
TIDE_SISTER struct tide_body_frame *tide_body_frame_set(struct tide_body_frame *frame);

/* The failure of a body that has returned `status`: as the body reported it, or that status alone.
 */
static inline const struct tide_failure *tide_body_failure(struct tide_body_frame *frame,
                                                           enum tide_status status) {
  if (frame->failure.status == TIDE_OK) frame->failure = (struct tide_failure){.status = status};
  frame->failure.status = status;
  return &frame->failure;
}

/* The frames of a context whose bodies block. `lock` is a leaf. */
struct tide_blocked_bodies {
  struct tide_lock lock;
  struct tide_link frames;
};
/* This thread is about to block, if it runs a body: it is listed until tide_body_unblocks. The
 * points stay valid. Returns the frame for that; NULL: it runs none. */
struct tide_body_frame *tide_body_blocks(struct tide_blocked_bodies *blocked,
                                         const struct tide_platform *platform,
                                         const struct tide_wait_point *points, size_t count);
/* NULL is fine. */
void tide_body_unblocks(struct tide_blocked_bodies *blocked, const struct tide_platform *platform,
                        struct tide_body_frame *frame);

#endif
