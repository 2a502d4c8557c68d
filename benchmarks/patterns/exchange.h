/* How data gets from a producer to its consumers, and back.
 *
 * One producer side, many consumers, cycles. In each cycle a consumer is given up to shape.down
 * messages and gives up to shape.up back; a message is named by its direction, the consumer, the
 * cycle and its number in that. The writer of a message:
 *
 *   void *room = exchange_room(x, m);    where to write, shape.bytes at most; waits for its readers
 *   ... write ...                        of two cycles before; NULL: the run is over
 *   exchange_give(x, m, length);
 *
 * and its reader:
 *
 *   const void *data = exchange_take(x, m);    NULL: the run is over
 *   ... load from it ...
 *   if (!exchange_taken(x, m)) ...             the data was not good; its memory is free again
 *
 * With a way that waits, take returns when the data is there. With faults take returns at once, and
 * the first load stalls. So a reader does what needs no data before it takes, and believes what it
 * has computed only when taken has said true. Only when the run is watched take makes that first
 * load itself, so that the moment is known at which it went on.
 *
 * Memory: two halves, for the even and the odd cycles (P and P' of the WIC paper); in a half a page
 * aligned place for each message. A half may be recycled when all that was given of it was taken.
 *
 * What a pattern must keep to: messages of one direction, consumer and cycle are taken in order,
 * and all that is given is taken. Before the producer gives anything of cycle k + 2 to a consumer
 * it has taken all that this consumer gave in cycle k: so room never waits on a consumer's side,
 * which may be a fiber.
 */
#ifndef PATTERNS_EXCHANGE_H
#define PATTERNS_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum direction { DOWN, UP }; /* to a consumer; back to the producer side */

struct message {
  enum direction direction;
  uint32_t consumer, cycle, number;
};

static inline struct message down(uint32_t consumer, uint32_t cycle, uint32_t number) {
  return (struct message){DOWN, consumer, cycle, number};
}

static inline struct message up(uint32_t consumer, uint32_t cycle, uint32_t number) {
  return (struct message){UP, consumer, cycle, number};
}

struct shape {
  uint32_t consumers, cycles;
  uint32_t down, up; /* messages a consumer and cycle, at most */
  uint32_t others;   /* jobs of a crew that take no messages, behind the consumers */
  bool watched;      /* moments and waiting are filled for all ways */
  size_t bytes;      /* of a message, at most */
  /* "Two devices": the consumers' core, the producer side's; a way's own threads belong to one of
   * them. -1: nobody is pinned. */
  int cores[2];
};

/* One place in memory. `given` and `taken` are the last cycle of this half whose message was, plus
 * 1; 0: none yet. A cache line of its own, since all of them are polled. */
struct slot {
  _Alignas(64) _Atomic uint32_t given;
  _Atomic uint32_t taken;
  _Atomic uint32_t parked_list;
  uint32_t length;
};

/* When, in ns: a report's raw material. 0: never. */
struct moment {
  uint64_t asked; /* the reader called take */
  uint64_t given; /* the writer called give */
  uint64_t got;   /* the reader has the data; of ways that fault only when the run is watched */
};

/* What waiting cost one reader; of ways that fault, the moments say it. */
struct waiting {
  _Alignas(64) uint64_t waits; /* takes that found no data */
  uint64_t ns, checks;         /* from take to data, in these; looks at whether it is there */
  uint64_t inside;             /* ns in all of the exchange's calls, when the run is watched */
};

/* What a test does wrong on purpose, in cycle 1 (of 0 ...), to message 0 of consumer 0. */
enum plant {
  PLANT_NOTHING,
  PLANT_STALE, /* it has the data of the cycle before */
  PLANT_EARLY, /* it is given before it is written */
};

struct exchange;

/* The time for which a consumer with a core for itself looks before it sleeps: no other thread
 * needs that core. */
#define EXCHANGE_LINGER 1000000 /* ns */

/* A way for data to get there. */
struct way {
  const char *name, *summary;
  bool faults;        /* take does not wait: the load does, and nobody can say how long */
  const char *policy; /* of the comparison policies: what of it this is; NULL: none of them */
  /* NULL: fine; else why not, in a text that stays. close comes after an open that failed, too, and
   * even without one: then state is NULL. Both may be NULL. */
  const char *(*open)(struct exchange *x);
  void (*close)(struct exchange *x);
  /* The writer's two, and the reader's two. */
  void *(*room)(struct exchange *x, struct message m);
  void (*give)(struct exchange *x, struct message m, size_t length);
  const void *(*take)(struct exchange *x, struct message m);
  bool (*taken)(struct exchange *x, struct message m);
  /* Where the writer of this message writes, from room to give; NULL: in memory. */
  void *(*place)(struct exchange *x, struct message m);
  /* The writer is about to wait for something, or is done: what it was told to give must be seen.
   * NULL: give does not delay. */
  void (*flush)(struct exchange *x);
  /* The run is over: whoever waits stops that. It is called again and again until all threads have
   * ended. NULL: nobody sleeps. */
  void (*stop)(struct exchange *x);
  /* How many faults there were until now. NULL: the way has none. */
  uint64_t (*faulted)(struct exchange *x);
  /* Runs entry(argument, i) for each consumer, and then for the others, in fibers say, to their
   * ends; false: why not is in x->problem. NULL: a thread each. */
  bool (*crew)(struct exchange *x, void (*entry)(void *argument, uint32_t index), void *argument);
};

struct exchange {
  const struct way *way;
  struct shape shape;
  /* Both halves, as the writer sees them. A way may map them itself in open; then it takes them
   * away in close, and sets this to NULL. */
  unsigned char *memory;
  size_t place;       /* bytes from one message's place to the next: whole pages */
  struct slot *slots; /* as in memory */
  struct moment *moments;
  struct waiting *waiting; /* of consumer i; the producer side's at [shape.consumers] */
  _Atomic bool over;
  const char *problem; /* of a crew */
  /* ns of their processor time that a crew's carriers looked for a fiber that can run; only when
   * the run is watched. */
  _Atomic uint64_t looked;
  void *state; /* of the way */
  enum plant plant;
  unsigned char *scratch; /* of a plant */
};

/* NULL: fine; else why not (a text that need not be freed). Then it is closed already. */
const char *exchange_open(struct exchange *x, const struct way *way, const struct shape *shape,
                          enum plant plant);
void exchange_close(struct exchange *x);

void *exchange_room(struct exchange *x, struct message m);
void exchange_give(struct exchange *x, struct message m, size_t length);
const void *exchange_take(struct exchange *x, struct message m);
bool exchange_taken(struct exchange *x, struct message m);
/* Before the producer side ends. */
void exchange_flush(struct exchange *x);
/* From whichever thread: everybody's waits end, and say so. */
void exchange_stop(struct exchange *x);

/* ---- for ways ---- */

size_t exchange_index(const struct exchange *x, struct message m); /* of slots and places */
/* Of moments: one for each message of the run, not of two cycles only. */
struct moment *exchange_moment(struct exchange *x, struct message m);
static inline struct slot *exchange_slot(struct exchange *x, struct message m) {
  return &x->slots[exchange_index(x, m)];
}
static inline void *exchange_place(struct exchange *x, struct message m) {
  return x->way->place ? x->way->place(x, m) : x->memory + exchange_index(x, m) * x->place;
}
/* Whose waiting it is when this message's reader waits. */
static inline struct waiting *exchange_reader(struct exchange *x, struct message m) {
  return &x->waiting[m.direction == DOWN ? m.consumer : x->shape.consumers];
}
uint64_t exchange_now(void);      /* ns, monotonic */
uint64_t exchange_cpu_time(void); /* ns of the calling thread's processor time */
/* The calling thread; -1 is fine. */
void exchange_pin(int core);
/* As large as both halves, touched; munmap gives it back. NULL: no memory. */
void *exchange_map(const struct exchange *x, size_t *out_size);

/* ---- the ways ---- */

extern const struct way way_spin, way_yield, way_futex, way_monitor, way_direct, way_fibers;
extern const struct way way_nblocking, way_demandcpy, way_effshare, way_gps, way_finepack;
/* All there are: the baselines first, the policies last. */
extern const struct way *const ways[];
extern const size_t way_count;

#endif
