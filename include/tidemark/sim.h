/* tidemark/sim.h: devices that take time without doing anything.
 *
 * The model. A simulated device is an executor on a clock (tidemark/clock.h): it has
 * hands, takes work through the same exchange as every other device, and hands it
 * back when the time that the work takes has passed. All that is above it is the real
 * thing: scheduler, timelines, pools, the runner of programs.
 *
 * Two ways to use it. As a device for queues of your own, in a test say: bodies run,
 * at the moment when they end. Or through *tide_simulate*: it runs a whole plan
 * (tidemark/program.h), whose bodies do not run and whose buffers and files need not
 * exist, and tells what came out: how long, who was busy, what waited for what.
 *
 *      tide_sim_open(context, clock, &params, &device);       the context's platform is the clock's
 *      … as with every device …
 *
 * Time in a simulated plan. An operation takes its `cost`, or, without one, a time
 * that is assumed (see tide_simulation_params), drawn from a distribution if asked
 * for; the draw depends on the seed and the operation's number alone, so that a plan and its
 * baseline get the same draws. It may start when the scheduler gives it out, a hand is
 * free, and what it waits for has arrived: a signal takes the *latency* of its way.
 *
 * Threads: one; the clock's.
 *
 * Source: docs/simulation.md.
 */
#ifndef TIDEMARK_SIM_H
#define TIDEMARK_SIM_H

#include "tidemark/clock.h"
#include "tidemark/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a device ------------------------------------------------------------------------ */

/* Who decides about time, and looks on. Every function may be NULL. */
struct tide_sim_script {
  /* When may this work start at the earliest? It has been taken, and keeps no hand busy until then.
   */
  uint64_t (*ready)(void *self, const struct tide_work *work, uint64_t now);
  /* It starts: how long does it take? */
  uint64_t (*start)(void *self, const struct tide_work *work, uint32_t hand, uint64_t now);
  /* The time that it was given is over: how much more does it take, on the same hand? 0: it ends.
   * TIDE_SIM_STALLS: it gives its hand away, and starts again after tide_sim_again. */
  uint64_t (*more)(void *self, struct tide_work *work, uint32_t hand, uint64_t now);
  /* It ends. The status may be changed. */
  void (*end)(void *self, struct tide_work *work, uint32_t hand, uint64_t now);
  void *self;
};

#define TIDE_SIM_STALLS UINT64_MAX

struct tide_sim_params {
  size_t struct_size;
  const char *label;       /* copied, cut at 31 bytes; NULL: "sim" */
  uint32_t hands;          /* how much it does at once, at most 65536; 0: 1 */
  bool out_of_order;       /* operations of one queue overlap, and end in any order */
  enum tide_domain domain; /* of its queues' axes; 0: TIDE_DOMAIN_QUEUE */
  uint64_t wake;           /* ns from when there is work to when a resting device looks */
  uint64_t cost;           /* ns that work takes, where the script does not say */
  const struct tide_sim_script *script; /* outlives the sim; NULL: none */
  bool skip_bodies;                     /* else host functions run, at their end */
};

/* The context's platform is `clock`'s, which outlives the device. NULL params are the defaults.
 * TIDE_INVALID: too many hands; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_sim_open(struct tide_context *context,
                                                        struct tide_clock *clock,
                                                        const struct tide_sim_params *params,
                                                        struct tide_device **out_device);
/* Its hands stop where they are, in the middle of things, and take nothing new … */
TIDE_API void tide_sim_halt(struct tide_device *device);
/* … until they go on: what would have ended meanwhile ends now. */
TIDE_API void tide_sim_resume(struct tide_device *device);
/* Work that has stalled may go on at this time, as soon as a hand is free. TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_sim_again(struct tide_device *device,
                                                         struct tide_work *work, uint64_t time);

/* ---- a plan ---------------------------------------------------------------------------- */

enum tide_sim_spread {
  TIDE_SPREAD_NONE,       /* always the cost */
  TIDE_SPREAD_UNIFORM,    /* from nothing to twice the cost */
  TIDE_SPREAD_EXPONENTIAL /* often little, sometimes a lot; the cost is the mean */
};

/* How long a signal is on its way, by how far apart its ends are. */
enum tide_sim_way {
  TIDE_WAY_QUEUE,   /* two queues of one device */
  TIDE_WAY_DEVICE,  /* two devices of one machine */
  TIDE_WAY_MACHINE, /* two machines */
  TIDE_WAY_COUNT
};

/* One way for itself, whatever its kind, in both directions. */
struct tide_sim_link {
  const char *from, *to; /* labels of the plan's devices */
  uint64_t latency;
};

struct tide_simulation_params {
  size_t struct_size;
  const struct tide_allocator *allocator; /* NULL: malloc */
  struct tide_plan *plan;                 /* is rewound */
  enum tide_run_mode mode;                /* all but sequential */
  uint64_t seed;
  /* What an operation without `cost` takes: so much, and so much more for each KiB that it names.
   */
  uint64_t cost, cost_per_kib;
  enum tide_sim_spread spread;
  uint64_t latencies[TIDE_WAY_COUNT];
  const struct tide_sim_link *links;
  size_t link_count;
  uint64_t wake;        /* from when there is work to when a resting device looks */
  uint64_t wait_cost;   /* a hand's time for each wait that is issued */
  uint64_t step_cost;   /* the submitting thread's time for each step */
  uint32_t workers;     /* of a device that does not say; 0: 1 */
  uint32_t workers_all; /* of every device but files, whatever it says; 0: as it says */
  uint32_t fail;        /* bodies that fail, in a million */
  size_t memory;        /* bytes that buffers may take; 0: no limit */
  uint8_t frontier;     /* entries of a frontier; 0: as the plan needs, at most 255 */
  uint32_t capacity;    /* operations of a queue that does not say; 0: the runner's choice */
  bool paused;          /* nothing starts until all is submitted, or the host waits */
  const struct tide_sink *sink; /* sees all events, with the clock's times; may be NULL */
  /* The run is made, and nothing has happened yet: whose axes are whose. May be NULL. */
  void (*made)(void *user, const struct tide_run *run);
  void *made_user;
  void (*progress)(void *user, uint64_t submitted, uint64_t finished);
  void *progress_user;
};

struct tide_sim_device_result {
  uint32_t hands;
  uint32_t machine;
  uint64_t operations;
  uint64_t busy; /* ns, summed over its hands */
};

/* Where the time of the longest path went; the parts add up to the makespan. */
struct tide_sim_path {
  uint64_t bodies;  /* operations ran */
  uint64_t waits;   /* the price of issued waits */
  uint64_t latency; /* signals were on their way */
  uint64_t hands;   /* an operation could have started, but all hands were busy */
  uint64_t others;  /* the host, or memory, kept it */
  size_t operations;
  size_t memory_waits; /* of these: a wait for recycled memory decided when it could start */
};

/* One operation, from its beginning to its end. */
struct tide_sim_stop {
  uint64_t step; /* its number in the plan */
  uint32_t queue;
  uint64_t start, end;
};

struct tide_simulation;

struct tide_simulation_result {
  struct tide_run_result run; /* what the runner tells of every run; times are the clock's */
  uint64_t makespan;          /* ns from the first submit to the last end */
  uint64_t longest_chain;     /* what it would be with any number of hands */
  uint64_t busy;              /* ns, summed over all operations */
  uint64_t operations;
  uint64_t assumed; /* operations whose cost nobody said */
  uint64_t stalls;  /* times that one that takes had to wait for its data … */
  uint64_t stalled; /* … and how long, summed; they keep no hand busy meanwhile */
  struct tide_sim_path path;
  struct tide_wait_counter waits;
  size_t memory_peak; /* bytes taken for buffers at a time */
  size_t device_count;
};

/* Runs all of the plan. An error of the run (a failure, a deadlock) comes back as its status, with
 * its place, and the simulation is there all the same, as far as it got; on TIDE_NOMEM and
 * TIDE_INVALID it may be NULL. TIDE_VALUE: times that add up to more than 146 years. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_simulate(const struct tide_simulation_params *params,
                                                        struct tide_diag *diag,
                                                        struct tide_simulation **out_simulation);
/* NULL is fine. */
TIDE_API void tide_simulation_destroy(struct tide_simulation *simulation);
/* Lives as long as the simulation. */
TIDE_API const struct tide_simulation_result *
tide_simulation_result(const struct tide_simulation *simulation);
/* How one of the plan's devices did. */
TIDE_API struct tide_sim_device_result
tide_simulation_device(const struct tide_simulation *simulation, size_t device);
/* An operation by its number, in the order of submission; false when there are not so many. One
 * that never started, or never ended, has zeros there. */
TIDE_API bool tide_simulation_operation(const struct tide_simulation *simulation, uint64_t number,
                                        struct tide_sim_stop *out_operation);
/* The operations on the longest path, the first one first; *out_count of them. */
TIDE_API const struct tide_sim_stop *tide_simulation_path(const struct tide_simulation *simulation,
                                                          size_t *out_count);

/* The kinds that a plan's devices may have in a simulation: those of real runs, and `sim`. For
 * tide_plan_count. */
TIDE_API const struct tide_device_kind *tide_simulation_kinds(size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
