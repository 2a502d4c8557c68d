/* tidemark/file.h: reads, writes and syncs of files as operations.
 *
 * The model. A file device reads, writes and syncs files through io_uring. Operations of one queue
 * overlap, and end in any order; their signals appear in order. A transfer is done when all of its
 * bytes are; a file that ends earlier fails it with TIDE_IO. The ring's own thread does small
 * writes into the page cache, which is ten times faster than submitting them to the ring, and
 * transfers of files in memory (tmpfs, memfd). Where a cpu device has a worker for each core, its
 * workers make copies, too, of at most 4 MiB, between two operations. Beyond RLIMIT_FSIZE a
 * transfer fails, and SIGXFSZ is not raised. Where the kernel has no io_uring, threads do the same
 * work, and tide_file_kind reports it.
 *
 * A transfer of a pipe, a socket, a terminal or another descriptor that can be polled waits without
 * using the depth and without a thread, with io_uring and with threads. It ends when the other end
 * acts. On one descriptor the oldest read gets the bytes. SIGPIPE is not raised: the transfer
 * fails.
 *
 * Cancellation. Destroying a queue, or tide_queue_cancel, cancels transfers in progress: their
 * waiters get TIDE_CANCELLED at once. The memory of a transfer belongs to the kernel until
 * tide_device_settle returns TIDE_OK. For descriptors that can be polled that is at once; with a
 * ring, as soon as the kernel returns the memory; with threads, when the system call returns, which
 * a hanging file system may delay for ever. tide_device_close_until has a deadline for that case.
 *
 * The device fails permanently when the system refuses io_uring_enter: at once, or after some
 * seconds of EAGAIN or EBUSY. Transfers that the kernel has not taken then fail with the errno's
 * status. The device is lost with that status, so all other waiters are notified too. Once the
 * kernel has ended the transfers that it holds, the device is certified. Until then their memory is
 * kept. tide_device_failure returns the cause.
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

/* A transfer. */
struct tide_io {
  int descriptor;
  void *data;
  uint64_t size;
  uint64_t offset;
  const char *name; /* the file's name, for messages; lives as long as the operation. NULL: the path
                       of the descriptor, if the system reports it */
};

/* The description of a file body: `ops` of its class points to `ops` here. */
struct tide_file_ops {
  struct tide_body_ops ops; /* kind: TIDE_OPS_FILE */
  enum tide_io_verb verb;
  /* Fills *out_io, which is zeroed, from the operation's arguments. May report a failure as a body
   * does. Any thread; also twice for one operation. */
  enum tide_status (*describe)(const void *arguments, struct tide_io *out_io);
};

struct tide_file_params {
  size_t struct_size;
  const char *label;  /* copied, cut at 31 bytes; NULL: "file" */
  uint32_t depth;     /* concurrent transfers, at most 4096; 0: 64 */
  bool force_threads; /* use threads even if io_uring works: for tests and comparisons */
};

/* Opens a file device: not in-order, axes of domain storage, with bodies that have struct
 * tide_file_ops. Without io_uring in the kernel it uses threads. NULL params select the defaults.
 * TIDE_INVALID: struct_size is missing, or too deep; TIDE_FULL: no descriptors left; TIDE_NOMEM. */
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
