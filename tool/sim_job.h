/* tool/sim_job.h: what `tidemark sim` was asked to do, and what came out. */
#ifndef TIDE_TOOL_SIM_JOB_H
#define TIDE_TOOL_SIM_JOB_H

#include "tidemark/sim.h"
#include "tool/tool.h"

#define TIDE_SIM_LINKS_MOST 64

struct tide_sim_job {
  struct tide_tool_program program;
  struct tide_simulation_params params; /* but for the plan and the mode */
  struct tide_sim_link links[TIDE_SIM_LINKS_MOST];
  char *owned[TIDE_SIM_LINKS_MOST]; /* the links' texts */
  enum tide_run_mode baseline;      /* TIDE_RUN_TRACKED: none */
  bool json, path, stats, quiet;
  const char *sweep, *plot;
  const char *against; /* a setting that the sweep does once more with */
};

/* One way to run the plan. */
struct tide_sim_outcome {
  enum tide_run_mode mode;
  struct tide_simulation *simulation;
  const struct tide_simulation_result *result;
};

/* Errors are printed; false: there was one, and nothing is left. */
bool tide_sim_job_run(struct tide_sim_job *job, enum tide_run_mode mode,
                      struct tide_sim_outcome *out_outcome);

/* What a tracked run would be with as much memory as it likes. */
struct tide_sim_unlimited {
  bool is_known;
  uint64_t makespan, memory; /* bytes taken */
};

/* ---- sim_print.c: `other` may be NULL ---- */
bool tide_sim_print(struct tide_sim_job *job, const struct tide_sim_outcome *tracked,
                    const struct tide_sim_outcome *other,
                    const struct tide_sim_unlimited *unlimited);
bool tide_sim_print_json(struct tide_sim_job *job, const struct tide_sim_outcome *tracked,
                         const struct tide_sim_outcome *other,
                         const struct tide_sim_unlimited *unlimited);
/* "12.3 ms". Returns the buffer. */
const char *tide_sim_time(uint64_t ns, char *buffer, size_t size);

/* ---- sim_sweep.c ---- */
bool tide_sim_sweep(struct tide_sim_job *job);

/* ---- sim_plot.c ---- */

struct tide_sim_point {
  uint64_t at; /* the parameter's value */
  uint64_t operations, makespan;
  double seconds;           /* of real time */
  double entries, tainted;  /* of an operation's frontier; of all operations */
  uint64_t peak, memory_kb; /* entries at most; resident, of the process */
  bool there;
};

struct tide_sim_series {
  const char *name;
  const struct tide_sim_point *points;
};

/* Four drawings, one below the other: time for an operation, makespan, entries, tainted operations.
 */
bool tide_sim_plot(const char *path, const char *parameter, bool quiet,
                   const struct tide_sim_series *series, size_t series_count, size_t point_count);

#endif
