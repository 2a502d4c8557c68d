/* StarPU 1.3: a task each, with its predecessors declared before it is submitted; scheduler eager,
 * CPU workers only. The tasks stay until the end, since a later one may name them. */
#include "peer.h"

#include <starpu.h>
#include <stdlib.h>

static struct starpu_codelet codelet;
static struct starpu_task **tasks;
static const struct peer_run *now;

static void body(void *buffers[], void *argument) {
  (void)buffers;
  now->body(now->argument, (uint32_t)(uintptr_t)argument);
}

const char *peer_open(uint32_t workers, const char *folder) {
  setenv("STARPU_HOME", folder, 1); /* it writes what it finds out about the machine */
  setenv("STARPU_SILENT", "1", 1);
  setenv("STARPU_WORKERS_NOBIND", "1", 1);
  setenv("STARPU_MAIN_THREAD_BIND", "0", 1);
  struct starpu_conf conf;
  starpu_conf_init(&conf);
  conf.sched_policy_name = "eager";
  conf.ncpus = (int)workers;
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.calibrate = 0;
  int failed = starpu_init(&conf);
  if (failed) return "starpu_init failed";
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = body;
  codelet.nbuffers = 0;
  codelet.name = "empty";
  return starpu_cpu_worker_get_count() == workers ? NULL : "it has fewer workers than asked for";
}

const char *peer_prepare(const struct peer_run *run) {
  tasks = calloc(run->graph->count, sizeof(struct starpu_task *));
  now = run;
  return tasks ? NULL : "no memory";
}

static bool submit(const struct peer_run *run, uint32_t i) {
  const struct peer_graph *graph = run->graph;
  static struct starpu_task *before[4096];
  uint32_t count = graph->first[i + 1] - graph->first[i];
  struct starpu_task *task = tasks[i] = starpu_task_create();
  if (!task || count > 4096) return false;
  task->cl = &codelet;
  task->cl_arg = (void *)(uintptr_t)i;
  task->destroy = 0;
  for (uint32_t e = 0; e < count; e++) before[e] = tasks[graph->before[graph->first[i] + e]];
  if (count) starpu_task_declare_deps_array(task, count, before);
  return starpu_task_submit(task) == 0;
}

const char *peer_do(const struct peer_run *run) {
  for (uint32_t i = 0; i < run->graph->count; i++)
    if (!submit(run, i)) return "a task was refused";
  run->submitted(run->argument);
  starpu_task_wait_for_all();
  return NULL;
}

void peer_finish(const struct peer_run *run) {
  for (uint32_t i = 0; i < run->graph->count; i++) starpu_task_destroy(tasks[i]);
  free(tasks);
}
