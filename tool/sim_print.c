/* The results of `tidemark sim`, for people and for scripts. */
#include "program/report.h"
#include "tool/sim_job.h"

#include <stdlib.h>
#include <string.h>

const char *tide_sim_time(uint64_t ns, char *buffer, size_t size) {
  double time = (double)ns;
  if (ns < 1000) snprintf(buffer, size, "%llu ns", (unsigned long long)ns);
  else if (ns < 1000000) snprintf(buffer, size, "%.2f us", time / 1e3);
  else if (ns < 1000000000) snprintf(buffer, size, "%.3f ms", time / 1e6);
  else snprintf(buffer, size, "%.4f s", time / 1e9);
  return buffer;
}

static double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- the longest path, by body ---------------------------------------------------------- */

struct share {
  const char *name;
  uint64_t time, count;
};

struct named_stop {
  const struct tide_sim_stop *stop;
  uint64_t step;
};

static int by_step(const void *a, const void *b) {
  const struct named_stop *x = a, *y = b;
  return (x->step > y->step) - (x->step < y->step);
}

static int by_time(const void *a, const void *b) {
  const struct share *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? 1 : -1;
  return strcmp(x->name, y->name);
}

#define SHARES_MOST 64

static size_t add_share(struct share *shares, size_t count, const char *name, uint64_t time) {
  size_t at = 0;
  while (at < count && strcmp(shares[at].name, name) != 0) at++;
  if (at == SHARES_MOST) return count;
  shares[at].name = name;
  shares[at].time += time;
  shares[at].count++;
  return at == count ? count + 1 : count;
}

/* Walks through the plan once, with the stops in its order. */
static size_t share_out(struct tide_plan *plan, const struct tide_simulation *simulation,
                        struct share *shares) {
  size_t stop_count, count = 0, at = 0;
  struct tide_step step;
  const struct tide_sim_stop *stops = tide_simulation_path(simulation, &stop_count);
  struct named_stop *named = calloc(stop_count + 1, sizeof *named);
  if (!named) return 0;
  for (size_t i = 0; i < stop_count; i++) named[i] = (struct named_stop){&stops[i], stops[i].step};
  qsort(named, stop_count, sizeof *named, by_step);
  tide_plan_rewind(plan);
  while (at < stop_count && tide_plan_next(plan, &step, NULL) == TIDE_OK && step.kind) {
    for (; at < stop_count && named[at].step == step.number; at++)
      count = add_share(shares, count, step.body->class_.name,
                        named[at].stop->end - named[at].stop->start);
  }
  free(named);
  qsort(shares, count, sizeof *shares, by_time);
  return count;
}

static void print_stops(struct tide_sim_job *job, const struct tide_simulation *simulation) {
  size_t count;
  char when[32], took[32], text[160];
  struct tide_step step;
  const struct tide_sim_stop *stops = tide_simulation_path(simulation, &count);
  uint64_t at = 0;
  tide_plan_rewind(job->program.plan);
  for (size_t i = 0; i < count; i++) {
    /* The stops come in the order of time, which is nearly the plan's. */
    if (stops[i].step < at) tide_plan_rewind(job->program.plan), at = 0;
    do {
      if (tide_plan_next(job->program.plan, &step, NULL) != TIDE_OK || !step.kind) return;
      at = step.number + 1;
    } while (step.number != stops[i].step);
    tide_step_print(job->program.plan, &step, text, sizeof text);
    tide_sim_time(stops[i].end - stops[i].start, took, sizeof took);
    printf("    %12s %12s  %u:%u  %s\n", tide_sim_time(stops[i].start, when, sizeof when), took,
           step.line, step.column, text);
  }
}

static void print_path(struct tide_sim_job *job, const struct tide_sim_outcome *outcome) {
  const struct tide_sim_path *path = &outcome->result->path;
  uint64_t all = outcome->result->makespan;
  struct share shares[SHARES_MOST] = {{.count = 0}};
  size_t count = share_out(job->program.plan, outcome->simulation, shares);
  printf("  longest path    %zu operation%s, tracked: bodies %.1f %%", path->operations,
         tide_tool_plural(path->operations), percent(path->bodies, all));
  printf(", waiting for a hand %.1f %%", percent(path->hands, all));
  if (path->latency) printf(", signals on their way %.1f %%", percent(path->latency, all));
  if (path->waits) printf(", price of waits %.1f %%", percent(path->waits, all));
  if (path->others) printf(", host and wake-ups %.1f %%", percent(path->others, all));
  printf("\n                  ");
  for (size_t i = 0; i < count && i < 6; i++)
    printf("%s%s %llux %.1f %%", i ? ", " : "", shares[i].name, (unsigned long long)shares[i].count,
           percent(shares[i].time, all));
  printf("%s\n", count > 6 ? ", …" : "");
  if (job->path) print_stops(job, outcome->simulation);
}

/* ---- tables ------------------------------------------------------------------------------ */

static const char *short_name(const struct tide_sim_outcome *outcome) {
  if (outcome->by_host) return "by host";
  return outcome->mode == TIDE_RUN_EVENTS    ? "events"
         : outcome->mode == TIDE_RUN_BARRIER ? "barrier"
                                             : "tracked";
}

/* Returns the name of the tracked run, beside the other one. */
static const char *tracked_name(const struct tide_sim_outcome *other) {
  return other && other->by_host ? "ahead" : "tracked";
}

static void print_two_times(const char *name, uint64_t a, const uint64_t *b, const char *more) {
  char x[32], y[32];
  printf("  %-15s %12s", name, tide_sim_time(a, x, sizeof x));
  if (b) printf("  %12s", tide_sim_time(*b, y, sizeof y));
  printf("%s\n", more);
}

static void print_times(const struct tide_sim_outcome *tracked,
                        const struct tide_sim_outcome *other) {
  const struct tide_simulation_result *a = tracked->result, *b = other ? other->result : NULL;
  printf("  %-15s %12s", "", tracked_name(other));
  if (b) printf("%14s", short_name(other));
  printf("\n");
  print_two_times("makespan", a->makespan, b ? &b->makespan : NULL, "");
  print_two_times("longest chain", a->longest_chain, b ? &b->longest_chain : NULL,
                  "    with any number of hands");
  print_two_times("all work", a->busy, b ? &b->busy : NULL, "");
}

static void print_hardware(const struct tide_sim_device_result *device) {
  printf(", %u hardware queue%s", device->hardware_queues, device->hardware_queues == 1 ? "" : "s");
  if (device->ahead) printf(", %u ahead", device->ahead);
}

static void print_devices(const struct tide_plan_tables *tables,
                          const struct tide_sim_outcome *tracked,
                          const struct tide_sim_outcome *other) {
  enum { MOST = 16 };
  printf("  busy\n");
  for (size_t i = 0; i < tables->device_count && i < MOST; i++) {
    struct tide_sim_device_result a = tide_simulation_device(tracked->simulation, i);
    printf("    %-13s %10.1f %%", tables->devices[i].label,
           percent(a.busy, tracked->result->makespan * a.hands));
    if (other)
      printf("%12.1f %%", percent(tide_simulation_device(other->simulation, i).busy,
                                  other->result->makespan * a.hands));
    printf("    %llu operation%s, %u hand%s", (unsigned long long)a.operations,
           tide_tool_plural(a.operations), a.hands, tide_tool_plural(a.hands));
    if (a.machine) printf(", machine %u", a.machine);
    if (a.hardware_queues) print_hardware(&a);
    printf("\n");
  }
  if (tables->device_count > MOST) printf("    … and %zu more\n", tables->device_count - MOST);
}

static void print_stalls(const struct tide_sim_outcome *tracked) {
  char all[32];
  const struct tide_simulation_result *a = tracked->result;
  if (a->stalls)
    printf("  stalls           %llu, for %s in all: what was taken was not there yet\n",
           (unsigned long long)a->stalls, tide_sim_time(a->stalled, all, sizeof all));
}

static void print_tracked_waits(const struct tide_sim_outcome *outcome, const char *name) {
  const struct tide_context_stats *sched = &outcome->result->run.sched;
  printf("    %-13s  %11llu%12llu%12llu%12llu%16llu\n", name, (unsigned long long)sched->waits,
         (unsigned long long)sched->waits_resolved, (unsigned long long)sched->waits_elided,
         (unsigned long long)sched->waits_issued,
         (unsigned long long)outcome->result->waits.issued_cross);
  if (sched->gap_waits)
    printf("      and %llu for recycled buffers\n", (unsigned long long)sched->gap_waits);
}

static void print_waits(const struct tide_sim_outcome *tracked,
                        const struct tide_sim_outcome *other) {
  printf("  waits            %11s%12s%12s%12s%16s\n", "submitted", "resolved", "elided", "issued",
         "between queues");
  print_tracked_waits(tracked, tracked_name(other));
  if (other && other->by_host) print_tracked_waits(other, short_name(other));
  if (other && other->mode == TIDE_RUN_EVENTS) {
    const struct tide_run_result *run = &other->result->run;
    printf("    an event each  %11s%12s%12s%12llu\n", "", "", "",
           (unsigned long long)run->event_waits);
    if (run->reuse_waits)
      printf("      and %llu for recycled buffers\n", (unsigned long long)run->reuse_waits);
  }
  if (other && other->mode == TIDE_RUN_BARRIER)
    printf("    all queues were joined %llu time%s\n",
           (unsigned long long)other->result->run.barriers,
           tide_tool_plural(other->result->run.barriers));
}

static bool runs_ahead(const struct tide_sim_outcome *outcome) {
  for (size_t i = 0; i < outcome->result->device_count; i++)
    if (tide_simulation_device(outcome->simulation, i).ahead) return true;
  return false;
}

/* Returns the number of issued waits that no device has kept. */
static uint64_t waits_by_host(const struct tide_context_stats *sched) {
  uint64_t all = sched->waits_issued + sched->gap_waits;
  return all < sched->waits_by_device ? 0 : all - sched->waits_by_device;
}

/* Prints the numbers of waits by their keeper, and of the commands for devices. */
static void print_kept(const struct tide_sim_outcome *tracked) {
  const struct tide_context_stats *sched = &tracked->result->run.sched;
  if (!runs_ahead(tracked)) return;
  printf("  waits kept by    %11s%12s\n", "device", "host");
  printf("                   %11llu%12llu\n", (unsigned long long)sched->waits_by_device,
         (unsigned long long)waits_by_host(sched));
  printf("  commands         %11s%12s%12s\n", "native wait", "barrier", "reached");
  printf("                   %11llu%12llu%12llu\n", (unsigned long long)sched->native_waits,
         (unsigned long long)sched->barriers, (unsigned long long)sched->reached_waits);
  if (sched->ran_in_vain)
    printf("      %llu operation%s ran in vain\n", (unsigned long long)sched->ran_in_vain,
           tide_tool_plural(sched->ran_in_vain));
}

static void print_memory(const struct tide_sim_outcome *tracked,
                         const struct tide_sim_outcome *other) {
  const struct tide_pool_stats *pool = &tracked->result->run.pool;
  if (!tracked->result->memory_peak) return;
  printf("  memory           %llu bytes in use at most, %zu taken",
         (unsigned long long)pool->peak_bytes, tracked->result->memory_peak);
  if (other) printf("; %s: %zu taken", short_name(other), other->result->memory_peak);
  printf("\n");
}

/* Prints the cost of the waits for memory, and the memory with which there are none. */
static void print_memory_waits(const struct tide_sim_outcome *tracked,
                               const struct tide_sim_unlimited *unlimited) {
  const struct tide_simulation_result *result = tracked->result;
  uint64_t waits = result->run.sched.gap_waits;
  char with[32], without[32], size[32];
  if (!waits) return;
  printf(
      "                   %llu wait%s for recycled buffers, %zu of which decide%s the longest path",
      (unsigned long long)waits, waits == 1 ? "" : "s", result->path.memory_waits,
      result->path.memory_waits == 1 ? "s" : "");
  if (!unlimited->is_known) {
    printf("\n");
    return;
  }
  printf(";\n                   with --memory %s there are none, and the makespan is ",
         tide_report_size(unlimited->memory, size, sizeof size));
  if (unlimited->makespan < result->makespan)
    printf("%s instead of %s:\n                   they order work that could overlap\n",
           tide_sim_time(unlimited->makespan, without, sizeof without),
           tide_sim_time(result->makespan, with, sizeof with));
  else printf("no shorter: they cost no time\n");
}

static void print_stats(const struct tide_sim_job *job, const struct tide_sim_outcome *tracked) {
  const struct tide_context_stats *sched = &tracked->result->run.sched;
  if (!job->stats) return;
  printf("  stats            held at submit %llu, signals %llu, picked %llu, devices woken %llu\n",
         (unsigned long long)sched->held, (unsigned long long)sched->signals,
         (unsigned long long)sched->picks, (unsigned long long)sched->kicks);
  printf("                   frontier entries %llu, at most %llu, tainted %llu\n",
         (unsigned long long)sched->frontier_entries, (unsigned long long)sched->frontier_peak,
         (unsigned long long)sched->tainted);
}

static void print_costs(const struct tide_sim_job *job, const struct tide_sim_outcome *tracked) {
  char cost[32], more[32];
  const struct tide_simulation_result *result = tracked->result;
  if (!result->assumed) return;
  printf("  costs           unknown for %llu of them; assumed: %s, and %s for each KiB named\n",
         (unsigned long long)result->assumed, tide_sim_time(job->params.cost, cost, sizeof cost),
         tide_sim_time(job->params.cost_per_kib, more, sizeof more));
}

bool tide_sim_print(struct tide_sim_job *job, const struct tide_sim_outcome *tracked,
                    const struct tide_sim_outcome *other,
                    const struct tide_sim_unlimited *unlimited) {
  const struct tide_plan_tables *tables = tide_plan_tables(job->program.plan);
  printf("%s\n", job->program.path);
  printf("  simulated       %llu operation%s on %zu queue%s of %zu device%s, seed %llu\n",
         (unsigned long long)tracked->result->operations,
         tide_tool_plural(tracked->result->operations), tables->queue_count,
         tide_tool_plural(tables->queue_count), tables->device_count,
         tide_tool_plural(tables->device_count), (unsigned long long)job->params.seed);
  print_costs(job, tracked);
  print_times(tracked, other);
  print_devices(tables, tracked, other);
  print_path(job, tracked);
  print_stalls(tracked);
  print_waits(tracked, other);
  print_kept(tracked);
  print_memory(tracked, other);
  print_memory_waits(tracked, unlimited);
  print_stats(job, tracked);
  return true;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_path(struct tide_json *json, struct tide_sim_job *job,
                      const struct tide_sim_outcome *outcome) {
  const struct tide_sim_path *path = &outcome->result->path;
  struct share shares[SHARES_MOST] = {{.count = 0}};
  size_t count = share_out(job->program.plan, outcome->simulation, shares);
  tide_json_open(json, "longest_path", '{');
  tide_json_number(json, "operations", path->operations);
  tide_json_seconds(json, "bodies", path->bodies);
  tide_json_seconds(json, "waiting_for_a_hand", path->hands);
  tide_json_seconds(json, "latency", path->latency);
  tide_json_seconds(json, "price_of_waits", path->waits);
  tide_json_seconds(json, "host_and_wake_ups", path->others);
  tide_json_number(json, "waits_for_buffers", path->memory_waits);
  tide_json_open(json, "by_body", '{');
  for (size_t i = 0; i < count; i++) tide_json_seconds(json, shares[i].name, shares[i].time);
  tide_json_close(json, '}');
  tide_json_close(json, '}');
}

static void json_waits(struct tide_json *json, const struct tide_sim_outcome *outcome) {
  const struct tide_run_result *run = &outcome->result->run;
  tide_json_open(json, "waits", '{');
  if (outcome->mode == TIDE_RUN_TRACKED) {
    tide_json_number(json, "submitted", run->sched.waits);
    tide_json_number(json, "resolved", run->sched.waits_resolved);
    tide_json_number(json, "elided", run->sched.waits_elided);
    tide_json_number(json, "issued", run->sched.waits_issued);
    tide_json_number(json, "issued_between_queues", outcome->result->waits.issued_cross);
    tide_json_number(json, "for_buffers", run->sched.gap_waits);
  } else {
    tide_json_number(json, "events", run->events);
    tide_json_number(json, "event_waits", run->event_waits);
    tide_json_number(json, "for_buffers", run->reuse_waits);
    tide_json_number(json, "barriers", run->barriers);
  }
  tide_json_close(json, '}');
  if (!runs_ahead(outcome)) return;
  tide_json_open(json, "ahead", '{');
  tide_json_number(json, "waits_by_device", run->sched.waits_by_device);
  tide_json_number(json, "waits_by_host", waits_by_host(&run->sched));
  tide_json_number(json, "native_waits", run->sched.native_waits);
  tide_json_number(json, "barriers", run->sched.barriers);
  tide_json_number(json, "reached_waits", run->sched.reached_waits);
  tide_json_number(json, "ran_in_vain", run->sched.ran_in_vain);
  tide_json_close(json, '}');
}

static void json_outcome(struct tide_json *json, struct tide_sim_job *job,
                         const struct tide_sim_outcome *outcome) {
  const struct tide_plan_tables *tables = tide_plan_tables(job->program.plan);
  const struct tide_simulation_result *result = outcome->result;
  tide_json_open(json, short_name(outcome), '{');
  tide_json_seconds(json, "makespan", result->makespan);
  if (result->stalls) {
    tide_json_number(json, "stalls", result->stalls);
    tide_json_seconds(json, "stalled", result->stalled);
  }
  tide_json_seconds(json, "longest_chain", result->longest_chain);
  tide_json_seconds(json, "all_work", result->busy);
  json_waits(json, outcome);
  tide_json_open(json, "devices", '[');
  for (size_t i = 0; i < tables->device_count; i++) {
    struct tide_sim_device_result device = tide_simulation_device(outcome->simulation, i);
    tide_json_open(json, NULL, '{');
    tide_json_text(json, "name", tables->devices[i].label);
    tide_json_number(json, "hands", device.hands);
    tide_json_number(json, "machine", device.machine);
    if (device.hardware_queues) {
      tide_json_number(json, "hardware_queues", device.hardware_queues);
      tide_json_number(json, "ahead", device.ahead);
    }
    tide_json_number(json, "operations", device.operations);
    tide_json_seconds(json, "busy", device.busy);
    tide_json_close(json, '}');
  }
  tide_json_close(json, ']');
  json_path(json, job, outcome);
  tide_json_number(json, "memory_peak", result->memory_peak);
  tide_json_number(json, "held", result->run.sched.held);
  tide_json_number(json, "frontier_entries", result->run.sched.frontier_entries);
  tide_json_number(json, "frontier_peak", result->run.sched.frontier_peak);
  tide_json_number(json, "tainted", result->run.sched.tainted);
  tide_json_close(json, '}');
}

bool tide_sim_print_json(struct tide_sim_job *job, const struct tide_sim_outcome *tracked,
                         const struct tide_sim_outcome *other,
                         const struct tide_sim_unlimited *unlimited) {
  struct tide_json json = tide_tool_json(stdout);
  const struct tide_plan_tables *tables = tide_plan_tables(job->program.plan);
  tide_json_open(&json, NULL, '{');
  tide_json_text(&json, "program", job->program.path);
  tide_json_number(&json, "seed", job->params.seed);
  tide_json_number(&json, "operations", tracked->result->operations);
  tide_json_number(&json, "queues", tables->queue_count);
  tide_json_number(&json, "devices", tables->device_count);
  tide_json_number(&json, "unknown_costs", tracked->result->assumed);
  json_outcome(&json, job, tracked);
  if (other) json_outcome(&json, job, other);
  if (unlimited->is_known) {
    tide_json_open(&json, "without_waits_for_buffers", '{');
    tide_json_seconds(&json, "makespan", unlimited->makespan);
    tide_json_number(&json, "memory", unlimited->memory);
    tide_json_close(&json, '}');
  }
  tide_json_close(&json, '}');
  return true;
}
