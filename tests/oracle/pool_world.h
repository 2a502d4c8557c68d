/* A world for pools: queues that enter, start and finish operations in any order that the
 * guarantee of tidemark/causal.h allows, over an arena of which every granule remembers all
 * operations that ever touched it.
 *
 * The one question: when an operation starts that names a buffer, have all operations
 * finished that used those bytes before the buffer was handed out? */
#ifndef TESTS_ORACLE_POOL_WORLD_H
#define TESTS_ORACLE_POOL_WORLD_H

#include "base/random.h"
#include "memory/pool.h"

#define GRANULE 64u
#define ARENA (16u * 1024u)
#define GRANULES (ARENA / GRANULE)
#define OPS 96u
#define QUEUES 5u
#define AXES (QUEUES + 8u)
#define LIVES 256u
#define WAITS 20u
#define ROOM 8u /* of frontiers, at most */

struct setting {
  unsigned steps;
  unsigned queues;
  uint8_t capacity;
  unsigned out_of_order; /* in 100 */
  unsigned hold;         /* in 100 operations */
  bool covers;           /* frees_cover_uses */
  bool grace;
  bool close;         /* queues come and go */
  unsigned strangers; /* in 100 lines: their operations touch buffers without naming them */
  bool waits_first;   /* TIDE_POOL_WAIT_FIRST */
  bool order_only;    /* nothing counts but the order of reuse */
  bool bodies_only;   /* nothing counts but operations that start too early */
};

enum op_state { OP_HELD, OP_ENTERED, OP_RUNNING, OP_DONE };

struct needed {
  tide_axis axis;
  uint64_t epoch;
};

struct op {
  enum op_state state;
  unsigned queue; /* an index into axes */
  uint64_t epoch;
  struct needed waits[WAITS];
  unsigned wait_count;
  struct life *life; /* the buffer it names; or NULL */
  int record_of;     /* the operation whose record it waits for; -1 */
  TIDE_FRONTIER_STORAGE(known, ROOM);
  TIDE_FRONTIER_STORAGE(record, ROOM);
};

/* One queue, from its axis' first epoch to its last. */
struct line {
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(frontier, ROOM);
  uint64_t taint_epoch;
  uint64_t published;
  bool in_order, closed, host, stranger;
  unsigned ops[OPS]; /* entered, by epoch - 1 */
  unsigned held[OPS], held_count;
};

/* One buffer. */
struct life {
  struct tide_buffer *buffer;
  unsigned first, count; /* granules */
  bool freed;            /* the owner let go */
  bool over;             /* and nobody pins it: its bytes are somebody else's */
  unsigned pins;
  uint8_t before[OPS]; /* operations that used its bytes before it was handed out */
  uint8_t users[OPS];
};

struct tally {
  uint64_t runs, allocs, known, finished, gap, fresh, tainted, deferred, joins, splits, mapped;
  uint64_t elided_past, gap_waits;
  uint64_t grown, gaps_at_the_limit, refused; /* allocs that took a chunk, waited, failed */
  uint64_t exchanged;                         /* allocs that only idle chunks made room for */
};

/* In front of each piece of memory that the library asked for. */
struct piece {
  _Alignas(64) struct piece *next, **link;
  size_t size;
};

struct world {
  struct setting setting;
  struct piece *pieces;
  struct tide_random random;
  struct tide_context *context;
  struct tide_pool *pool;
  struct line lines[AXES];
  unsigned line_count; /* line 0 is a host */
  struct op ops[OPS];
  unsigned op_count;
  struct life lives[LIVES];
  unsigned life_count;
  uint8_t users[GRANULES][OPS];
  struct life *owner[GRANULES];
  _Alignas(4096) char arena[ARENA];
  bool mapped[GRANULES];
  size_t limit;
  bool source_failed; /* during this alloc */
  const char *violation;
  struct tally *tally;
};

/* Runs one; NULL, or what went wrong. `tally` is added to. */
const char *pool_world_run(const struct setting *setting, uint64_t seed, struct tally *tally);

#endif
