/* service/wire.h: the messages between a client and the service, and their checks.
 *
 * Two channels:
 * - the socket (SOCK_SEQPACKET): the client's `hello` first, then the service's `welcome` with the
 *   descriptors of the shared memory; from then on answers only, service to client. A client that
 *   sends anything more has broken the framing, and is disconnected.
 * - the ring (command_ring.h): the client's commands, in the order in which it made them. A command
 *   is a record of 1 to TIDE_WIRE_CELLS cells of 64 bytes. A command with an answer number asks for
 *   an answer.
 *
 * Objects are named by {handle, generation} of the client's own table. The client chooses the
 * handle, so that making an object needs no round trip; the service only checks that the handle is
 * free and that its generation was not used before.
 *
 * Every byte is untrusted: `tide_wire_open` checks a *copy* of a record. In an accepted record all
 * arrays lie within the record. */
#ifndef TIDE_SERVICE_WIRE_H
#define TIDE_SERVICE_WIRE_H

#include "tidemark/point.h"

#define TIDE_WIRE_MAGIC 0x4b52414d45444954ull /* "TIDEMARK" */
#define TIDE_WIRE_VERSION 4u /* raised when this file's structures or numbers change */
#define TIDE_WIRE_CELL 64u
#define TIDE_WIRE_CELLS 64u /* the most cells of one command */
#define TIDE_WIRE_POINTS 96u
#define TIDE_WIRE_LABEL 32u /* TIDE_LABEL_SIZE */

enum tide_wire_op {
  TIDE_WIRE_NONE = 0,
  TIDE_WIRE_FUTURE, /* object: its name; other: its channel; number: capacity; value: initial; text:
 label */
  TIDE_WIRE_PROMISE,     /* object, value, deadline */
  TIDE_WIRE_FULFIL,      /* object, value */
  TIDE_WIRE_BREAK,       /* object, value, number: the cause */
  TIDE_WIRE_DESTROY,     /* object: of any kind */
  TIDE_WIRE_COMPOUND,    /* promises one; object: its name, deadline */
  TIDE_WIRE_ALL,         /* object, points */
  TIDE_WIRE_ANY,         /* object, points */
  TIDE_WIRE_EXPRESSION,  /* object, points, text */
  TIDE_WIRE_STATE,       /* object, value; answered */
  TIDE_WIRE_COMPLETE,    /* object, value; answered when it has ended */
  TIDE_WIRE_SCHEDULABLE, /* object, value, points: assumed; answered */
  TIDE_WIRE_FORGET,      /* number: the unwanted answer */
  TIDE_WIRE_GRANT,       /* object, number: rights; answered with a token */
  TIDE_WIRE_REDEEM,      /* object: the new name; text: the token; answered */
  TIDE_WIRE_CHANNEL,     /* object: its name; value: operations; number: priority; text: label */
  TIDE_WIRE_SUBMIT,      /* object: channel; points: waits, retires, cancel, choose; body */
  TIDE_WIRE_INCREASE,    /* object: channel; points: target; number: level */
  TIDE_WIRE_DECREASE,    /* object: channel; points: dependency; number: amount; value: the
                            decrease's own number */
  TIDE_WIRE_CANCEL_DECREASE, /* object: channel; value: the decrease's number */
  TIDE_WIRE_CANCEL_ALL,      /* object: channel */
  TIDE_WIRE_BUFFER,          /* object: its name; value: bytes; answered with its descriptor */
  TIDE_WIRE_TRUST,           /* number: the domain */
  TIDE_WIRE_STATS,    /* number: the client's index; deadline: or its number; value: the channel, or
                         the start; answered */
  TIDE_WIRE_STAND_IN, /* promises one; object: its name, number: the foreign domain, deadline */
  TIDE_WIRE_REPORT,   /* object: a stand-in, number: its state, value: its status */
  TIDE_WIRE_SYNC,     /* answered when all commands before it were executed */
  TIDE_WIRE_ALLOCATE, /* object: channel; other: the buffer's name; value: bytes; points: one of the
                         channel's, and perhaps one of the host's; answered with its descriptor */
  TIDE_WIRE_OPS
};

/* The subject of STATS: the handle of its object. */
enum tide_stats_about {
  TIDE_STATS_CLIENT = 1,
  TIDE_STATS_CHANNEL,
  TIDE_STATS_DIAGNOSIS,
  TIDE_STATS_TIMELINE
};

/* A name in the client's own table; a point adds a value. */
struct tide_wire_name {
  uint32_t handle, generation;
};
struct tide_wire_point {
  struct tide_wire_name name;
  uint64_t value;
};

/* An argument of a body: a range of a buffer, or a number (handle 0, in `offset`). */
struct tide_wire_argument {
  struct tide_wire_name buffer;
  uint64_t offset, size;
};
#define TIDE_WIRE_ARGUMENTS 8u /* TIDE_SESSION_ARGUMENTS_MAX */

enum tide_wire_flags {
  TIDE_WIRE_MAY_BE_PASSED = 1,
  TIDE_WIRE_DESPITE_BROKEN = 2,
  TIDE_WIRE_HAS_CANCEL = 4, /* the point after the retires */
  TIDE_WIRE_HAS_CHOOSE = 8, /* the point after that */
  TIDE_WIRE_RECOVER = 16,
  TIDE_WIRE_FLAGS = 31
};

/* The first cell of a command. Then follow points[wait_count + retire_count + …],
 * arguments[argument_count + other_count], and `text_size` bytes. */
struct tide_wire_command {
  uint16_t cells;
  uint16_t op;
  uint32_t answer; /* the number that the answer carries; 0: no answer */
  struct tide_wire_name object, other;
  uint64_t value, deadline;
  uint32_t number, flags;
  uint16_t wait_count, retire_count; /* all points of other commands are waits */
  uint8_t argument_count, other_count;
  uint8_t body, other_body; /* enum tide_session_body, or of the service's table */
  uint32_t text_size;
  uint32_t reserved; /* 0 */
};
_Static_assert(sizeof(struct tide_wire_command) == TIDE_WIRE_CELL,
               "a command begins with one cell");

/* A copied command: its arrays lie in `bytes`. */
struct tide_wire_record {
  union {
    struct tide_wire_command command;
    unsigned char bytes[TIDE_WIRE_CELLS * TIDE_WIRE_CELL];
    uint64_t align;
  };
};

struct tide_wire_view {
  const struct tide_wire_command *command;
  const struct tide_wire_point *points;
  size_t point_count; /* including cancel and choose */
  const struct tide_wire_argument *arguments;
  const char *text;
};

/* Returns the number of cells of such a command; 0: it is too large. */
uint32_t tide_wire_cells(const struct tide_wire_command *command);
/* TIDE_CORRUPT: a count, flag or size is invalid, or `cells` is not the size of its parts. */
enum tide_status tide_wire_open(const struct tide_wire_record *record, uint32_t cells,
                                struct tide_wire_view *out_view);
/* Copies the text as a label (base/label.h), since other users' tables show it. */
void tide_wire_label(const struct tide_wire_view *view, char out_label[TIDE_WIRE_LABEL]);
/* Returns "PROMISE" …; "UNKNOWN" for another number. */
const char *tide_wire_op_name(uint32_t op);

/* ---- the socket -------------------------------------------------------------------- */

enum tide_wire_kind {
  TIDE_WIRE_HELLO = 1,
  TIDE_WIRE_WELCOME, /* descriptors: ring, values, doorbell */
  TIDE_WIRE_ANSWER,  /* answers the command with the number `answer` */
  TIDE_WIRE_REFUSAL, /* a command without an answer failed: `sequence`, `op`, `status` */
  TIDE_WIRE_GOODBYE  /* the service ends: `status` */
};

/* The most that a client may have at a time; set by the policy. */
struct tide_wire_limits {
  uint32_t handles, timelines, promises, channels, waits, parts, grants, operations, buffers;
  uint32_t cells; /* the ring's size */
  uint32_t priority;
  uint64_t bytes;
};

struct tide_wire_message {
  uint64_t magic;
  uint32_t version, kind;
  uint32_t answer, status;
  uint64_t sequence; /* a refused command's: the number of commands before it */
  uint32_t op, state;
  struct tide_wire_name name; /* the owner's name: the slot of its values */
  uint64_t owner;             /* the owner of the values */
  uint64_t value, more;
  uint32_t domain, trusted;
  uint8_t token[16];
  struct tide_wire_limits limits;
  char label[TIDE_WIRE_LABEL];
  uint64_t numbers[16]; /* the answer to STATS */
};

/* Checks the first message of a client. TIDE_CORRUPT; TIDE_MISMATCH: another version. */
enum tide_status tide_wire_check_hello(const void *bytes, size_t size,
                                       struct tide_wire_message *out_hello);
void tide_wire_begin(struct tide_wire_message *message, enum tide_wire_kind kind);

#endif
