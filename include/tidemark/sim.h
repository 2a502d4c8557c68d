/* tidemark/sim.h: devices that take simulated time.
 *
 * The model. A simulated device is an executor on a clock (tidemark/clock.h). It has hands, takes
 * work through the same exchange as every other device, and returns it when the work's time has
 * passed. All layers above are the real ones: scheduler, timelines, pools, the runner of programs.
 *
 * There are two uses. First, as a device for queues of your own, in a test for example: bodies run
 * at the moment when they end. Second, through *tide_simulate*: it runs a whole plan
 * (tidemark/program.h) without its bodies, buffers and files, and reports durations, busy times,
 * and waits.
 *
 *      tide_sim_open(context, clock, &params, &device);       the context's platform is the clock's
 *      … as with every device …
 *
 * Running ahead. A device may have a submitting thread and hardware queues, as a GPU has. The
 * thread spends `submit_cost` on one work after the other; the host knows an end after
 * `round_trip`. With `ahead` the device gets work before that may start, and keeps the waits that
 * remain: a chain of n operations takes about n bodies. Without it the host keeps all waits: each
 * operation of the chain costs a submission and a round trip, too. A body that fails while it runs
 * ahead loses the device.
 *
 * Time in a simulated plan. An operation takes its `cost`, or else an assumed time (see
 * tide_simulation_params), drawn from a distribution on request. The draw depends only on the seed
 * and the operation's number, so a plan and its baseline get the same draws. An operation starts
 * when the scheduler hands it out, a hand is free, and its waits have arrived: a signal takes the
 * *latency* of its way.
 *
 * Threads: a single one, the clock's.
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

struct tide_submission;

/* A script decides about times, and observes. Every function may be NULL. */
struct tide_sim_script {
  /* Returns the earliest start of this work. The work has been taken, and occupies no hand until
   * then. Running ahead: called when all that the work waits for has ended. */
  uint64_t (*ready)(void *self, const struct tide_work *work, uint64_t now);
  /* The work starts: returns its duration. */
  uint64_t (*start)(void *self, const struct tide_work *work, uint32_t hand, uint64_t now);
  /* The duration is over: returns the extra time on the same hand. 0: the work ends.
   * TIDE_SIM_STALLS: the work releases its hand, and starts again after tide_sim_again. Not with a
   * submitting thread. */
  uint64_t (*more)(void *self, struct tide_work *work, uint32_t hand, uint64_t now);
  /* The work ends. May change work->status. Running ahead: a failure loses the device. */
  void (*end)(void *self, struct tide_work *work, uint32_t hand, uint64_t now);
  void *self;
  /* Running ahead only: the work is submitted. A status but TIDE_OK refuses it. After
   * tide_work_fail, the work takes no time and its body does not run. */
  enum tide_status (*submit)(void *self, struct tide_work *work,
                             const struct tide_submission *submission);
};

#define TIDE_SIM_STALLS UINT64_MAX

struct tide_sim_params {
  size_t struct_size;
  const char *label;                    /* copied, cut at 31 bytes; NULL: "sim" */
  uint32_t hands;                       /* maximum concurrent work, at most 65536; 0: 1 */
  bool out_of_order;                    /* operations of one queue overlap, and end in any order */
  enum tide_domain domain;              /* domain of the queues' axes; 0: TIDE_DOMAIN_QUEUE */
  uint64_t wake;                        /* ns until an idle device notices new work */
  uint64_t cost;                        /* ns that work takes without a script's `start` */
  const struct tide_sim_script *script; /* must outlive the device; NULL: none */
  bool skip_bodies;                     /* false: host functions run, when their work ends */
  /* Any of these makes a device with a submitting thread: see above. Times are in ns. */
  uint32_t ahead;           /* see tidemark/backend.h; 0: the host keeps all waits */
  uint32_t hardware_queues; /* at most 8; 0: 1 */
  uint64_t submit_cost;     /* the thread's time for each submission */
  uint64_t
      native_wait_cost; /* from the awaited signal to the start, if that holds back the start */
  uint64_t round_trip;  /* from the end of work until the host knows it */
};

/* Opens a simulated device. The context's platform must be that of `clock`, which outlives the
 * device. NULL params select the defaults. TIDE_INVALID: struct_size is missing, too many hands or
 * hardware queues; TIDE_UNSUPPORTED: a script's `more` with a submitting thread; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_sim_open(struct tide_context *context,
                                                        struct tide_clock *clock,
                                                        const struct tide_sim_params *params,
                                                        struct tide_device **out_device);
/* Halts the device: work in progress stops, and no new work is taken. */
TIDE_API void tide_sim_halt(struct tide_device *device);
/* Resumes the device: work that would have ended meanwhile ends now. */
TIDE_API void tide_sim_resume(struct tide_device *device);
/* Restarts stalled work at this time, as soon as a hand is free. Not with a submitting thread.
 * TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_sim_again(struct tide_device *device,
                                                         struct tide_work *work, uint64_t time);

/* ---- a plan ---------------------------------------------------------------------------- */

enum tide_sim_spread {
  TIDE_SPREAD_NONE,       /* always the cost */
  TIDE_SPREAD_UNIFORM,    /* from nothing to twice the cost */
  TIDE_SPREAD_EXPONENTIAL /* often short, sometimes long; the cost is the mean */
};

/* The distance between the ends of a signal, which selects its latency. */
enum tide_sim_way {
  TIDE_WAY_QUEUE,   /* two queues of one device */
  TIDE_WAY_DEVICE,  /* two devices of one machine */
  TIDE_WAY_MACHINE, /* two machines */
  TIDE_WAY_COUNT
};

/* A latency for two particular devices, in both directions, instead of that of their distance. */
struct tide_sim_link {
  const char *from, *to; /* labels of the plan's devices */
  uint64_t latency;
};

struct tide_simulation_params {
  size_t struct_size;
  const struct tide_allocator *allocator; /* NULL: malloc */
  struct tide_plan *plan;                 /* the simulation rewinds it */
  enum tide_run_mode mode;                /* any mode but sequential */
  uint64_t seed;
  /* Assumed time of an operation without `cost`: cost + cost_per_kib for each KiB that it names. */
  uint64_t cost, cost_per_kib;
  enum tide_sim_spread spread;
  uint64_t latencies[TIDE_WAY_COUNT];
  const struct tide_sim_link *links;
  size_t link_count;
  uint64_t wake;        /* ns until an idle device notices new work */
  uint64_t wait_cost;   /* a hand's time for each issued wait */
  uint64_t step_cost;   /* the submitting thread's time for each step */
  uint32_t workers;     /* workers of a device that declares none; 0: 1 */
  uint32_t workers_all; /* workers of every device except files, overriding the program; 0: as
                           declared */
  uint32_t fail;        /* failing bodies per million */
  size_t memory;        /* maximum bytes of all buffers; 0: no limit */
  uint8_t frontier;     /* capacity of frontiers, in entries; 0: as needed by the plan, at most
                           255 */
  uint32_t capacity;    /* operations of a queue without a declared capacity; 0: the runner's
                           default */
  bool paused;          /* nothing starts until everything is submitted, or the host waits */
  const struct tide_sink *sink; /* receives all events, with the clock's times; may be NULL */
  /* Called when the run is created, before its first step, to map axes to objects. May be NULL. */
  void (*made)(void *user, const struct tide_run *run);
  void *made_user;
  void (*progress)(void *user, uint64_t submitted, uint64_t finished);
  void *progress_user;
  bool keep_on_host; /* the host keeps all waits, of devices that run ahead, too */
  uint64_t submit_cost, native_wait_cost,
      round_trip; /* ns: see tide_sim_params; of `gpu` devices */
};

struct tide_sim_device_result {
  uint32_t hands;
  uint32_t machine;
  uint64_t operations;
  uint64_t busy;                   /* ns, summed over all hands */
  uint32_t ahead, hardware_queues; /* a `gpu` device's; ahead 0: the host keeps all waits */
};

/* The time of the longest path, by cause; the parts add up to the makespan. */
struct tide_sim_path {
  uint64_t bodies;  /* running operations */
  uint64_t waits;   /* the cost of issued waits */
  uint64_t latency; /* signals in transit, and the cost of native waits */
  uint64_t hands;   /* an operation could have started, but all hands were busy */
  uint64_t others;  /* delays by the host, with its submissions and round trips, or by memory */
  size_t operations;
  size_t memory_waits; /* operations that a wait for recycled memory delayed last */
};

/* An operation's start and end. */
struct tide_sim_stop {
  uint64_t step; /* number of its step in the plan */
  uint32_t queue;
  uint64_t start, end;
};

struct tide_simulation;

struct tide_simulation_result {
  struct tide_run_result run; /* the runner's result; times are the clock's */
  uint64_t makespan;          /* ns from the first submit to the last end */
  uint64_t longest_chain;     /* the makespan with any number of hands, and without the costs of
                                 submissions, native waits and round trips */
  uint64_t busy;              /* ns, summed over all operations */
  uint64_t operations;
  uint64_t assumed; /* operations without a given cost */
  uint64_t stalls;  /* number of times that an operation with a take waited for its data */
  uint64_t stalled; /* ns of these waits, summed; they occupy no hand */
  struct tide_sim_path path;
  struct tide_wait_counter waits;
  size_t memory_peak; /* maximum bytes of buffers at any time */
  size_t device_count;
};

/* Runs the whole plan. An error of the run (a failure, a deadlock) is returned as its status, with
 * its location. The simulation exists all the same, as far as it got; after TIDE_NOMEM and
 * TIDE_INVALID it may be NULL. TIDE_VALUE: the times add up to more than 146 years. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_simulate(const struct tide_simulation_params *params,
                                                        struct tide_diag *diag,
                                                        struct tide_simulation **out_simulation);
/* Destroys the simulation. NULL is fine. */
TIDE_API void tide_simulation_destroy(struct tide_simulation *simulation);
/* Returns the result. Lives as long as the simulation. */
TIDE_API const struct tide_simulation_result *
tide_simulation_result(const struct tide_simulation *simulation);
/* Returns the result of one of the plan's devices. */
TIDE_API struct tide_sim_device_result
tide_simulation_device(const struct tide_simulation *simulation, size_t device);
/* Returns an operation by its number, in the order of submission; false: no such number. An
 * operation that never started, or never ended, has zeros for these times. */
TIDE_API bool tide_simulation_operation(const struct tide_simulation *simulation, uint64_t number,
                                        struct tide_sim_stop *out_operation);
/* Returns the operations of the longest path, in order; *out_count of them. */
TIDE_API const struct tide_sim_stop *tide_simulation_path(const struct tide_simulation *simulation,
                                                          size_t *out_count);

/* Returns the device kinds of a simulation: those of real runs, `sim` and `gpu`. For
 * tide_plan_count. */
TIDE_API const struct tide_device_kind *tide_simulation_kinds(size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
