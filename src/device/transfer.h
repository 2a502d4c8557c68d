/* device/transfer.h: one whole read, write or sync on the calling thread. Continues short transfers
 * and interrupted calls, so that neither bodies nor devices have to. */
#ifndef TIDE_DEVICE_TRANSFER_H
#define TIDE_DEVICE_TRANSFER_H

#include "base/sister.h"
#include "tidemark/backend.h"
#include "tidemark/file.h"

/* Limit of a single system call; larger transfers take several. */
#define TIDE_TRANSFER_MOST 0x7ffff000u

/* Repeats of a call that the system refuses for now (EAGAIN, EBUSY): a few at once, then some with
 * pauses, then none. An interrupted call (EINTR) is repeated likewise, but without a limit. */
#define TIDE_REPEATS_AT_ONCE 8u
#define TIDE_REPEATS_MOST 128u
#define TIDE_REPEAT_PAUSE 20000000u /* ns */

/* Returns a body class's ops for file devices; NULL if it has none. */
static inline const struct tide_file_ops *tide_file_ops_of(const struct tide_body_class *body) {
  const struct tide_body_ops *ops = body->ops;
  return ops && ops->kind == TIDE_OPS_FILE ? (const struct tide_file_ops *)(const void *)ops : NULL;
}
/* Returns the verb of the work's body; TIDE_IO_NONE if it has no body. */
static inline enum tide_io_verb tide_transfer_verb(const struct tide_work *work) {
  return work->body ? tide_file_ops_of(work->body)->verb : TIDE_IO_NONE;
}

/* Blocks the signals of failed writes on this thread, which makes transfers for others: the calls
 * return EPIPE and EFBIG. */
void tide_transfer_block_signals(void);
/* Returns the status for a system error number (positive). */
TIDE_SISTER enum tide_status tide_status_of_errno(int number);
/* Counts one refusal in *repeats and pauses when it is time. False: it was the last one. */
bool tide_transfer_repeats(uint32_t *repeats, int error);

/* Blocks until the transfer is complete. TIDE_IO: also if a file ends before the last byte. On a
 * pipe or socket the offset is ignored, and the bytes may never come: file devices leave those
 * to stream.h. *out_error (may be NULL): the system's error number; 0: no error number is the
 * cause. */
enum tide_status tide_transfer(enum tide_io_verb verb, const struct tide_io *io, int *out_error);
/* Describes a failed transfer: the file, the bytes, and the system's error. error 0: the file
 * ended, or took nothing more. */
void tide_transfer_describe(enum tide_io_verb verb, const struct tide_io *io,
                            enum tide_status status, int error, struct tide_failure *out_failure);
/* Does tide_transfer for a body on a host thread, and reports a failure. */
TIDE_SISTER enum tide_status tide_transfer_report(enum tide_io_verb verb, const struct tide_io *io);
/* Gets the transfer from the work's body class. False: that failed, and the work has the
 * failure. */
bool tide_transfer_prepare(struct tide_work *work, struct tide_io *out_io);
/* Sets the work's status and failure, for a backend that hands it back. */
void tide_transfer_fail(struct tide_work *work, enum tide_io_verb verb, const struct tide_io *io,
                        enum tide_status status, int error);

#endif
