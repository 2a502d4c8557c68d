/* tool/sim_job.h: the options of `tidemark sim`, and its results. */
#ifndef TIDE_TOOL_SIM_JOB_H
#define TIDE_TOOL_SIM_JOB_H

#include "tidemark/sim.h"
#include "tool/tool.h"

#define TIDE_SIM_LINKS_MOST 64

struct tide_sim_job {
  struct tide_tool_program program;
  struct tide_simulation_params params; /* all but the plan and the mode */
  struct tide_sim_link links[TIDE_SIM_LINKS_MOST];
  char *owned[TIDE_SIM_LINKS_MOST]; /* the links' texts */
  enum tide_run_mode baseline;      /* TIDE_RUN_TRACKED: none, or by the host */
  bool baseline_by_host;            /* the baseline is tracked, and the host keeps all waits */
  bool json, path, stats, quiet;
  const char *sweep, *plot;
  const char *against; /* a setting with which the sweep is repeated; NULL: none */
};

/* A run of the plan in one mode. */
struct tide_sim_outcome {
  enum tide_run_mode mode;
  bool by_host; /* the baseline of a tracked run: the host keeps all waits */
  struct tide_simulation *simulation;
  const struct tide_simulation_result *result;
};

/* Runs the plan in out_outcome->mode, on the host's waits if by_host. False: the error has been
 * printed, and nothing is left. */
bool tide_sim_job_run(struct tide_sim_job *job, struct tide_sim_outcome *out_outcome);

/* The results of a tracked run without a memory limit. */
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
/* Writes "12.3 ms". Returns the buffer. */
const char *tide_sim_time(uint64_t ns, char *buffer, size_t size);

/* ---- sim_sweep.c ---- */
bool tide_sim_sweep(struct tide_sim_job *job);

/* ---- sim_plot.c ---- */

struct tide_sim_point {
  uint64_t at; /* the parameter's value */
  uint64_t operations, makespan;
  double seconds;           /* processor time of the simulation */
  double entries, tainted;  /* frontier entries per operation; the share of tainted operations */
  uint64_t peak, memory_kb; /* the most entries; the process's resident memory */
  bool there;
};

struct tide_sim_series {
  const char *name;
  const struct tide_sim_point *points;
};

/* Draws four plots, one below the other: time for an operation, makespan, entries, tainted
 * operations. */
bool tide_sim_plot(const char *path, const char *parameter, bool quiet,
                   const struct tide_sim_series *series, size_t series_count, size_t point_count);

#endif
