/* cluster/message.h: the messages between the members of a session, as bytes.
 *
 * Little-endian, at most TIDE_MESSAGE_MOST bytes. Each message begins with the tag of its session,
 * so that no message of another session is taken in. What is decoded has been
 * checked against the message alone: sizes, enumerations, frontiers, the order of values. */
#ifndef TIDE_CLUSTER_MESSAGE_H
#define TIDE_CLUSTER_MESSAGE_H

#include "timeline/mirror.h"

#define TIDE_MESSAGE_MOST 8192u
#define TIDE_MESSAGE_NAME 64u /* of a timeline, with its terminator */
/* Bytes for the frontiers of one message: no more entries than 16 bytes each allow, and a head and
 * the round-up of each record. */
#define TIDE_MESSAGE_FRONTIERS (2 * TIDE_MESSAGE_MOST + 128 * TIDE_MIRROR_PENDING)

enum tide_message_kind {
  TIDE_MESSAGE_FOLLOW = 1,  /* I want the states of your timeline of this name */
  TIDE_MESSAGE_UNFOLLOW,    /* no more of them */
  TIDE_MESSAGE_FOLLOW_AXIS, /* I want the progress of your axis; TIDE_AXIS_IF_CLOSED: if closed */
  TIDE_MESSAGE_STATE,       /* reached, promised and failed values of my timeline */
  TIDE_MESSAGE_PROGRESS,    /* the finished epoch of my axis; UINT64_MAX: it is closed */
  TIDE_MESSAGE_LOST,        /* the session has lost a member */
  TIDE_MESSAGE_ACK,         /* I have taken in so many more of your states and progress */
  TIDE_MESSAGE_LEAVING,     /* I am leaving: acknowledge each message, and say when this is noted */
  TIDE_MESSAGE_NOTED,       /* so many timelines of yours have I asked for, up to then */
  TIDE_MESSAGE_BYE,         /* I shall tell nothing new; I serve until all have said so */
  TIDE_MESSAGE_EXPORT,      /* a value of mine publishes a buffer to you */
  TIDE_MESSAGE_PART,        /* the kind of my part of a collective's instance */
  TIDE_MESSAGE_BEAT         /* I am there */
};

/* Bytes of a member's memory. `chunk`: the transport's number of a piece of memory. */
struct tide_span {
  uint64_t chunk, offset, size;
};

/* EXPORT. The state that reaches `value` is sent later. */
struct tide_message_export {
  uint64_t value;
  struct tide_span span;
  uint32_t receipt; /* the sender's number of the timeline that says when it has been read */
  uint64_t receipt_value;
};

#define TIDE_AXIS_IF_CLOSED                                                                        \
  1u /* the epoch of a FOLLOW_AXIS that is answered for a closed axis only */

struct tide_message {
  uint64_t tag;
  enum tide_message_kind kind;
  uint32_t number; /* FOLLOW, UNFOLLOW, STATE, EXPORT, PART: the follower's number of the timeline;
                      ACK, NOTED: how many */
  char name[TIDE_MESSAGE_NAME];
  tide_axis axis;
  uint64_t epoch;
  uint32_t rank;               /* LOST */
  struct tide_failure failure; /* LOST; STATE: the first cause, if has_cause */
  bool has_cause;
  struct tide_message_export export;
  uint64_t instance, kind_of_part; /* PART; `number` is that of the timeline of arrivals */
  uint64_t ended; /* STATE: all operations that were to signal values up to this one are over */
  struct tide_mirror_state state; /* STATE; its pointers lead into this struct */
  struct tide_mirror_record pending[TIDE_MIRROR_PENDING];
  uint64_t frontiers[TIDE_MESSAGE_FRONTIERS / sizeof(uint64_t)];
};

/* Writes a message, piece by piece. `size` counts the written bytes; a piece that does not fit is
 * left out, which `full` then tells. */
struct tide_message_writer {
  unsigned char bytes[TIDE_MESSAGE_MOST];
  size_t size;
  bool full;
};

void tide_message_begin(struct tide_message_writer *writer, uint64_t tag,
                        enum tide_message_kind kind);
void tide_message_follow(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                         const char *name);
void tide_message_axis(struct tide_message_writer *writer, uint64_t tag,
                       enum tide_message_kind kind, tide_axis axis, uint64_t epoch);
/* ACK, NOTED or UNFOLLOW. */
void tide_message_count(struct tide_message_writer *writer, uint64_t tag,
                        enum tide_message_kind kind, uint32_t count);
void tide_message_lost(struct tide_message_writer *writer, uint64_t tag, uint32_t rank,
                       const struct tide_failure *why);
void tide_message_export(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                         const struct tide_message_export *export);
void tide_message_part(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                       uint64_t instance, uint64_t kind);
/* Writes the head of a state. The records follow: the newest reached one first, if
 * state->newest.value is not 0; then the pending ones, ascending. */
void tide_message_state(struct tide_message_writer *writer, uint64_t tag, uint32_t number,
                        uint64_t ended, const struct tide_mirror_state *state);
/* Appends a record. False: there is no room for it, and the message stays as it was. */
bool tide_message_add_record(struct tide_message_writer *writer,
                             const struct tide_mirror_record *record);

/* Reads a message. TIDE_CORRUPT, with a diag that says where; then nothing of `out` may be used. */
enum tide_status tide_message_read(const void *bytes, size_t size, struct tide_message *out,
                                   struct tide_diag *diag);

#endif
