/* A pattern, and one run of it: N consumers on one device, a producer side on the other, each doing
 * the pattern's own work, stretched to the times that were asked for. */
#ifndef PATTERNS_RUN_H
#define PATTERNS_RUN_H

#include "exchange.h"

/* What a piece of work is, for its time: the producer's for one message, and a consumer's for one
 * message, independent of it (C1) and dependent on it (C2). */
enum phase { PRODUCE, C1, C2, PHASES };

enum model { UNIDIRECTIONAL, ALTERNATING, MULTIPLE, PROBABILISTIC, MODELS };
enum access { STREAMING, ADJACENT, SCATTER_GATHER, RANDOM, ACCESSES };
extern const char *const model_names[MODELS], *const access_names[ACCESSES];

struct settings {
  uint32_t consumers, cycles; /* cycles 0: the pattern's own number */
  uint32_t us[PHASES];        /* how long they shall take; 0: as long as once takes */
  size_t bytes;               /* of a message: a multiple of 4096 */
  bool pinned;                /* consumers on one core, the producer side on another */
  uint32_t slice;             /* us that a consumer may run while others want to; 0: the kernel's */
  uint32_t limit;             /* seconds until a run counts as hung */
  uint32_t cut;               /* ms after which it is ended, and said to be; 0: never */
  uint64_t seed;
  bool watched;    /* the outcome has what moments.h knows */
  bool beforehand; /* consumers start when the producer is done: two cycles, unidirectional only */
  bool unchecked;  /* not compared: it was before, with the same settings */
  uint32_t others; /* beside the consumers, on their device: work that needs no message */
  /* Of the generator. */
  enum model model;
  enum access access;
  uint32_t n0, n1;
  double xi;
};

struct run;
struct gpu_part;

/* Each function is given what create returned as r->state. Units of work may be repeated, so they
 * read what they do not write. Consumers may be fibers: no thread-locals, at most 16 KiB of stack,
 * no system call that blocks. produce and consume return false when the run is over early. */
struct pattern {
  const char *name, *summary;
  enum model model;
  enum access access;
  uint32_t down, up; /* messages a consumer and cycle, at most */
  uint32_t cycles;   /* by default */
  /* Instead of down and up. NULL: these. */
  void (*shape)(const struct settings *s, uint32_t *out_down, uint32_t *out_up);
  void *(*create)(const struct settings *s); /* NULL: no memory */
  void (*destroy)(void *state);
  bool (*produce)(struct run *r);
  bool (*consume)(struct run *r, uint32_t index);
  /* Computes the same alone, without any exchange, and compares; false: what differs is said. */
  bool (*check)(const struct settings *s, void *state, char *said, size_t size);
  const struct gpu_part *gpu; /* its consumers on a GPU (gpu.h); NULL: it has none */
};

/* What a report's curves have: from 0 to 100 % of something. */
#define CURVE 21

/* How often each phase repeats its unit, and how long it takes then. */
struct pace {
  uint32_t times[PHASES];
  double us[PHASES];
};

/* When one of the threads ran. */
struct span {
  uint64_t start, end, cpu; /* ns; cpu is 0 for fibers */
};

/* When a consumer did C1 or C2 of a message; cpu is less than the time when others ran, too. */
struct stretch {
  uint64_t start, end, cpu;
};

struct run {
  const struct pattern *pattern;
  struct settings settings;
  struct pace pace;
  struct exchange exchange;
  void *state;
  struct span *spans; /* of consumer i; the producer side's at [consumers] */
  bool calibrating;
  _Atomic uint64_t phase_ns[PHASES]; /* what they took then, or when the run is watched */
  struct stretch *stretches;         /* of a watched run: of all consumers */
  uint32_t most_stretches;
  _Atomic uint32_t stretch_count;
  uint64_t *others; /* of those beside the consumers: when each piece was done */
  uint32_t pieces;  /* of each */
  struct span crew; /* the first carrier's time in fibers: from the first start to the last end */
  struct gates *gates;
  _Atomic uint32_t unfinished; /* who returned false */
  _Atomic bool no_slices;      /* the kernel did not give them */
};

/* What one run came to. */
struct outcome {
  uint64_t ns;                 /* from the first start to the last end */
  uint64_t waits, checks;      /* of consumers */
  uint64_t producer_waited_ns; /* for what consumers give back */
  uint64_t waited_ns, cpu_ns;  /* sums over consumers */
  uint64_t alive_ns;           /* sum over consumers of the time from their start to their end */
  uint64_t messages, downs;    /* that were given; those of them to consumers */
  uint64_t faults;             /* of the ways that have them */
  bool cut;                    /* it was ended: ns is how long it may take, not what it took */
  /* Of a watched run; see moments.h. */
  uint64_t inside_ns, producer_inside_ns; /* in calls of the exchange */
  uint64_t producer_alive_ns, producer_cpu_ns;
  uint64_t consumer_cpu_ns; /* their threads', or the only carrier's in fibers; 0: not known */
  uint64_t work_ns[PHASES]; /* the processor's time in it */
  double apart, deviation;  /* Tp - Tc in parts of the time that a consumer has for a message */
  uint64_t awaited_ns, both_ns, hidden_ns;
  double early[CURVE], others_left[CURVE]; /* NAN: nobody waited */
  bool good;
  char said[160]; /* why not */
};

/* ---- for patterns ---- */

/* Does it as often as the pace says; the compiler must do it each time. */
void work(struct run *r, enum phase phase, void (*unit)(void *), void *argument);

static inline void *room(struct run *r, struct message m) { return exchange_room(&r->exchange, m); }
static inline void give(struct run *r, struct message m, size_t length) {
  exchange_give(&r->exchange, m, length);
}
static inline const void *take(struct run *r, struct message m) {
  return exchange_take(&r->exchange, m);
}
static inline bool taken(struct run *r, struct message m) {
  return exchange_taken(&r->exchange, m);
}

/* A number that looks random, the same for the same seed and index. */
static inline uint64_t mix(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* calloc for all of a state's arrays: if one has failed, *failed is set. */
void *make(size_t count, size_t size, bool *failed);

/* Equal? If not it is said: "NAME of consumer 3 differs at byte 17". */
bool same(const void *got, const void *want, size_t size, const char *name, uint32_t consumer,
          char *said, size_t room);

/* ---- for who runs them ---- */

extern const struct pattern *const patterns[]; /* the ten */
extern const size_t pattern_count;
extern const struct pattern pattern_generator;

/* Runs the pattern a little, without polling, to learn its pace. False: why not is in out->said. */
bool run_calibrate(const struct pattern *pattern, const struct settings *s, struct pace *out_pace,
                   struct outcome *out);
/* Two cores that this process may use; false: there is one. */
bool run_cores(int out_cores[2]);
/* Runs and checks it. */
void run_pattern(const struct pattern *pattern, const struct way *way, const struct settings *s,
                 const struct pace *pace, enum plant plant, struct outcome *out);

#endif
