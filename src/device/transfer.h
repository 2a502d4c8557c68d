/* device/transfer.h: one whole read, write or sync on the calling thread. Short
 * transfers and interrupted calls are continued here, so that neither bodies nor
 * devices think of them. */
#ifndef TIDE_DEVICE_TRANSFER_H
#define TIDE_DEVICE_TRANSFER_H

#include "base/sister.h"
#include "tidemark/backend.h"
#include "tidemark/file.h"

/* A single system call moves at most this much; larger transfers take several. */
#define TIDE_TRANSFER_MOST 0x7ffff000u

/* A call that the system refuses for now (EAGAIN, EBUSY) is repeated: at once a few times, then
 * with pauses, then not any more. An interrupted one (EINTR) is repeated likewise, without end. */
#define TIDE_REPEATS_AT_ONCE 8u
#define TIDE_REPEATS_MOST 128u
#define TIDE_REPEAT_PAUSE 20000000u /* ns */

/* Returns a body class's ops for file devices; NULL if it has none. */
static inline const struct tide_file_ops *tide_file_ops_of(const struct tide_body_class *body) {
  const struct tide_body_ops *ops = body->ops;
  return ops && ops->kind == TIDE_OPS_FILE ? (const struct tide_file_ops *)(const void *)ops : NULL;
}
/* TIDE_IO_NONE if the work has no body. */
static inline enum tide_io_verb tide_transfer_verb(const struct tide_work *work) {
  return work->body ? tide_file_ops_of(work->body)->verb : TIDE_IO_NONE;
}

/* The status that a system error number (positive) stands for. */
TIDE_SISTER enum tide_status tide_status_of_errno(int number);
/* Counts one refusal in *repeats and pauses when it is time. False: it was the last one. */
bool tide_transfer_repeats(uint32_t *repeats, int error);

/* Blocks until all of it is done. TIDE_IO: also when a file ends before the last byte. On a pipe or
 * socket the offset means nothing, and no bytes may ever come: a file device waits for those
 * without a thread. *out_error (may be NULL): the system's error number, 0 when none was the
 * cause. */
enum tide_status tide_transfer(enum tide_io_verb verb, const struct tide_io *io, int *out_error);
/* Says why a transfer has failed: the file, the bytes, and what the system answered (`error`; 0:
 * the file ended, or took nothing more). */
void tide_transfer_describe(enum tide_io_verb verb, const struct tide_io *io,
                            enum tide_status status, int error, struct tide_failure *out_failure);
/* tide_transfer for a body on a host thread: reports why it failed. */
TIDE_SISTER enum tide_status tide_transfer_report(enum tide_io_verb verb, const struct tide_io *io);
/* Asks the work's body class what to transfer. False: it failed, and the work says why. */
bool tide_transfer_prepare(struct tide_work *work, struct tide_io *out_io);
/* For a backend that hands the work back: sets its status, and why. */
void tide_transfer_fail(struct tide_work *work, enum tide_io_verb verb, const struct tide_io *io,
                        enum tide_status status, int error);

#endif
