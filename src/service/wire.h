/* service/wire.h: what passes between a client and the service, and how it is checked.
 *
 * Two ways:
 * - the socket (SOCK_SEQPACKET): the client's `hello` first, the service's `welcome` with the
 *   descriptors of the shared memory; from then on answers only, service to client. A client that
 *   sends anything more has broken the framing, and is let go.
 * - the ring (command_ring.h): the client's commands, in the order in which it made them. A command
 * is a record of 1 to TIDE_WIRE_CELLS cells of 64 bytes. It asks for an answer by giving it a
 * number.
 *
 * Objects are named by {handle, generation} of the client's own table. The client chooses the
 * handle, so that making something needs no round trip; the service only looks that it is free and
 * that its generation was not used before.
 *
 * Nothing here trusts a byte: `tide_wire_open` looks at a *copy* of a record, and what it has let
 * through has all its arrays within it. */
#ifndef TIDE_SERVICE_WIRE_H
#define TIDE_SERVICE_WIRE_H

#include "tidemark/point.h"

#define TIDE_WIRE_MAGIC 0x4b52414d45444954ull /* "TIDEMARK" */
#define TIDE_WIRE_VERSION                                                                          \
  3u /* raised when this file's structures, or any number in them, change                          \
      */
#define TIDE_WIRE_CELL 64u
#define TIDE_WIRE_CELLS 64u /* of one command */
#define TIDE_WIRE_POINTS 96u
#define TIDE_WIRE_LABEL 32u

enum tide_wire_op {
  TIDE_WIRE_NONE = 0,
  TIDE_WIRE_FUTURE,   /* makes a future timeline; object: where; other: its channel; text: label */
  TIDE_WIRE_PROMISE,  /* object, value, deadline */
  TIDE_WIRE_FULFIL,   /* object, value */
  TIDE_WIRE_BREAK,    /* object, value, number: the cause */
  TIDE_WIRE_DESTROY,  /* object: of whatever kind */
  TIDE_WIRE_COMPOUND, /* promises one; object: where, deadline */
  TIDE_WIRE_ALL,      /* object, points */
  TIDE_WIRE_ANY,      /* object, points */
  TIDE_WIRE_EXPRESSION,      /* object, points, text */
  TIDE_WIRE_STATE,           /* object, value; answered */
  TIDE_WIRE_COMPLETE,        /* object, value; answered when it has ended */
  TIDE_WIRE_SCHEDULABLE,     /* object, value, points: assumed; answered */
  TIDE_WIRE_FORGET,          /* number: the answer that is not wanted any more */
  TIDE_WIRE_GRANT,           /* object, number: rights; answered with a token */
  TIDE_WIRE_REDEEM,          /* object: where to put it; text: the token; answered */
  TIDE_WIRE_CHANNEL,         /* object: where; number: priority; text: label */
  TIDE_WIRE_SUBMIT,          /* object: channel; points: waits, retires, cancel, choose; body */
  TIDE_WIRE_INCREASE,        /* object: channel; points: target; number: level */
  TIDE_WIRE_DECREASE,        /* object: channel; points: dependency; other: where to put the point
                                that cancels it, or 0; number: amount */
  TIDE_WIRE_CANCEL_DECREASE, /* object: channel; other: what decrease gave */
  TIDE_WIRE_CANCEL_ALL,      /* object: channel */
  TIDE_WIRE_BUFFER,          /* object: where; value: bytes; answered with its descriptor */
  TIDE_WIRE_TRUST,           /* number: the domain */
  TIDE_WIRE_STATS,    /* number: which client; deadline: or whose number; value: which channel, or
                         from where; answered */
  TIDE_WIRE_STAND_IN, /* promises one; object: where, number: of which domain, deadline */
  TIDE_WIRE_REPORT,   /* object: a stand-in, number: its state, value: its status */
  TIDE_WIRE_SYNC,     /* answered when all before it was executed */
  TIDE_WIRE_ALLOCATE, /* object: channel; other: where to put the buffer; value: bytes; points: one
                         of the channel's, and perhaps one of the host's; answered with its
                         descriptor */
  TIDE_WIRE_OPS
};

/* What STATS is about: its object's handle. */
enum tide_stats_about {
  TIDE_STATS_CLIENT = 1,
  TIDE_STATS_CHANNEL,
  TIDE_STATS_DIAGNOSIS,
  TIDE_STATS_TIMELINE
};

/* A name of the client's own table, and a value where one belongs to it. */
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
  TIDE_WIRE_HAS_CHOOSE = 8, /* the one after that */
  TIDE_WIRE_RECOVER = 16,
  TIDE_WIRE_FLAGS = 31
};

/* The first cell of a command. Behind it: points[wait_count + retire_count + …], then
 * arguments[argument_count + other_count], then `text_size` bytes. */
struct tide_wire_command {
  uint16_t cells;
  uint16_t op;
  uint32_t answer; /* the number that the answer carries; 0: none is wanted */
  struct tide_wire_name object, other;
  uint64_t value, deadline;
  uint32_t number, flags;
  uint16_t wait_count, retire_count; /* of other commands, all points are waits */
  uint8_t argument_count, other_count;
  uint8_t body, other_body; /* enum tide_session_body, or of the service's table */
  uint32_t text_size;
  uint32_t reserved; /* 0 */
};
_Static_assert(sizeof(struct tide_wire_command) == TIDE_WIRE_CELL,
               "a command begins with one cell");

/* A command as it was copied: its arrays lie in `bytes`. */
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
  size_t point_count; /* with cancel and choose */
  const struct tide_wire_argument *arguments;
  const char *text;
};

/* How many cells such a command has; 0: it is too large. */
uint32_t tide_wire_cells(const struct tide_wire_command *command);
/* TIDE_CORRUPT: a count, flag or size does not fit, or its size is not what its parts need. */
enum tide_status tide_wire_open(const struct tide_wire_record *record, uint32_t cells,
                                struct tide_wire_view *out_view);
/* Its text as a label: letters only, for it ends in other people's tables; cut where it is too
 * long.
 */
void tide_wire_label(const struct tide_wire_view *view, char out_label[TIDE_WIRE_LABEL]);
/* "PROMISE" …; "?" for what is none. */
const char *tide_wire_op_name(uint32_t op);

/* ---- the socket -------------------------------------------------------------------- */

enum tide_wire_kind {
  TIDE_WIRE_HELLO = 1,
  TIDE_WIRE_WELCOME, /* descriptors: ring, values, doorbell */
  TIDE_WIRE_ANSWER,  /* to the command that gave `answer` */
  TIDE_WIRE_REFUSAL, /* a command that wanted no answer failed: `sequence`, `op`, `status` */
  TIDE_WIRE_GOODBYE  /* the service ends: `status` */
};

/* What a client may have at a time; the policy sets it. */
struct tide_wire_limits {
  uint32_t handles, timelines, promises, channels, waits, parts, grants, operations, buffers;
  uint32_t cells; /* of the ring */
  uint32_t priority;
  uint64_t bytes;
};

struct tide_wire_message {
  uint64_t magic;
  uint32_t version, kind;
  uint32_t answer, status;
  uint64_t sequence; /* of a refused command: how many came before it */
  uint32_t op, state;
  struct tide_wire_name name; /* of the owner's: which place of its values */
  uint64_t owner;             /* whose values */
  uint64_t value, more;
  uint32_t domain, trusted;
  uint8_t token[16];
  struct tide_wire_limits limits;
  char label[TIDE_WIRE_LABEL];
  uint64_t numbers[16]; /* of STATS */
};

/* The first message of a client. TIDE_CORRUPT; TIDE_MISMATCH: another version. */
enum tide_status tide_wire_check_hello(const void *bytes, size_t size,
                                       struct tide_wire_message *out_hello);
void tide_wire_begin(struct tide_wire_message *message, enum tide_wire_kind kind);

#endif
