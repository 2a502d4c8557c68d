/* tidemark/file.h: reads, writes and syncs of files as operations.
 *
 * The model. A file device reads, writes and syncs files through io_uring. Operations of one queue
 * overlap, and end in any order; what they signal appears in order. A transfer is
 * done when all of its bytes are; a file that ends before fails it with TIDE_IO. Small
 * writes into the page cache are done by the ring's own thread, since that is ten
 * times faster than what a ring does with them. Where the kernel has no io_uring,
 * threads do the same work, and tide_file_kind says so.
 *
 * A transfer of a pipe, a socket, a terminal or another descriptor that can be polled waits
 * without a place in the depth and without a thread, in either form, and ends when the other end
 * pleases; on one descriptor the oldest read gets the bytes. SIGPIPE is not raised: the
 * transfer fails.
 *
 * The way out. Destroying a queue, or tide_queue_cancel, cancels what it has under way: its
 * waiters get TIDE_CANCELLED at once. The memory of a transfer stays the kernel's until
 * tide_device_settle says that all is over: at once for what can be polled; through a ring as
 * soon as the kernel gives it back; through threads when the call returns, which a file system
 * that hangs may put off for ever. tide_device_close_until has a deadline for that.
 *
 * A device fails for good when the system refuses io_uring_enter: at once, or after some seconds of
 * EAGAIN or EBUSY. What the kernel has not taken then fails with the errno's status; the device
 * is lost with it, so the waiters of all else hear of it, too; and once the kernel has
 * ended what it has in its hands, the device is certified. Until then that memory is kept.
 * tide_device_failure says why.
 *
 * Source: docs/architecture.md; io_uring(7).
 */
#ifndef TIDEMARK_FILE_H
#define TIDEMARK_FILE_H

#include "tidemark/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tide_io_verb { TIDE_IO_NONE, TIDE_IO_READ, TIDE_IO_WRITE, TIDE_IO_SYNC };

/* One transfer. */
struct tide_io {
  int descriptor;
  void *data;
  uint64_t size;
  uint64_t offset;
  const char *name; /* the file's, for messages; lives as long as the operation. NULL: the path of
                       the descriptor, as far as the system tells */
};

/* The bodies of a file device: the `ops` of their class points to `ops` here. */
struct tide_file_ops {
  struct tide_body_ops ops; /* kind: TIDE_OPS_FILE */
  enum tide_io_verb verb;
  /* Fills *out_io, whose fields are zero, from the operation's arguments. It may report a failure
   * as a body does. Any thread. */
  enum tide_status (*describe)(const void *arguments, struct tide_io *out_io);
};

struct tide_file_params {
  size_t struct_size;
  const char *label;  /* copied, cut at 31 bytes; NULL: "file" */
  uint32_t depth;     /* transfers under way at once, at most 4096; 0: 64 */
  bool force_threads; /* threads even where io_uring works: for tests and comparisons */
};

/* Out of order, axes of domain storage; takes bodies with struct tide_file_ops. NULL params are the
 * defaults. TIDE_INVALID: too deep; TIDE_FULL: no descriptors left; TIDE_NOMEM. Threads stand in
 * where the kernel has no io_uring. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_file_open(struct tide_context *context,
                                                         const struct tide_file_params *params,
                                                         struct tide_device **out_device);
/* Returns "io_uring" or "threads (why)" for a file device, "" for others. Lives as long as the
 * device. */
TIDE_API const char *tide_file_kind(const struct tide_device *device);

#ifdef __cplusplus
}
#endif
#endif
