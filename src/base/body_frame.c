#include "base/body_frame.h"
#include "base/text.h"

#ifdef __wasm__
static struct tide_body_frame *current; /* wasm has one thread */
#else
static _Thread_local struct tide_body_frame *current __attribute__((tls_model("initial-exec")));
#endif

struct tide_body_frame *tide_body_frame(void) {
  return current;
}

struct tide_body_frame *tide_body_frame_set(struct tide_body_frame *frame) {
  struct tide_body_frame *before = current;
#ifndef TIDE_INTERLEAVE /* explored threads share one system thread, and have no frames */
  current = frame;
#else
  (void)frame;
#endif
  return before;
}

struct tide_body_frame *tide_body_blocks(struct tide_blocked_bodies *blocked,
                                         const struct tide_platform *platform,
                                         const struct tide_wait_point *points, size_t count) {
  struct tide_body_frame *frame = current;
  if (!frame || !frame->work) return NULL;
  tide_lock_take(&blocked->lock, platform);
  frame->points = points;
  frame->count = count;
  tide_list_push_back(&blocked->frames, &frame->link);
  tide_lock_give(&blocked->lock);
  return frame;
}

void tide_body_unblocks(struct tide_blocked_bodies *blocked, const struct tide_platform *platform,
                        struct tide_body_frame *frame) {
  if (!frame) return;
  tide_lock_take(&blocked->lock, platform);
  tide_list_remove(&frame->link);
  tide_lock_give(&blocked->lock);
}

enum tide_status tide_body_report(enum tide_status status, int32_t code, const char *format, ...) {
  struct tide_text text;
  va_list list;
  if (!current || status == TIDE_OK) return status;
  struct tide_failure *failure = &current->failure;
  failure->status = status;
  failure->code = code;
  tide_text_init(&text, failure->text, sizeof failure->text);
  va_start(list, format);
  tide_text_format_list(&text, format, list);
  va_end(list);
  if (tide_text_cut(&text)) tide_text_trim(failure->text);
  return status;
}
