/* A pool of threads as it is written by hand: one mutex, one list of what is ready, a count of
 * predecessors and a list of successors an operation. */
#include "peer.h"

#include <pthread.h>
#include <stdlib.h>

struct edge {
  struct edge *next;
  uint32_t to;
};

struct task {
  struct task *next; /* in the list of what is ready */
  struct edge *after;
  void (*body)(void *argument, uint32_t operation);
  void *argument;
  uint32_t operation;
  uint32_t missing; /* predecessors that have not finished */
  bool finished;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER, all_done = PTHREAD_COND_INITIALIZER;
static struct task *tasks, *ready, **ready_end = &ready;
static struct edge *edges;
static uint32_t edge_count, left, idle;

static void make_ready(struct task *task) {
  task->next = NULL;
  *ready_end = task;
  ready_end = &task->next;
  if (idle > 0) pthread_cond_signal(&work_came);
}

static void complete(struct task *task) {
  task->finished = true;
  for (struct edge *edge = task->after; edge; edge = edge->next)
    if (--tasks[edge->to].missing == 0) make_ready(&tasks[edge->to]);
  if (--left == 0) pthread_cond_signal(&all_done);
}

static void *work(void *argument) {
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (!ready) {
      idle++;
      pthread_cond_wait(&work_came, &mutex);
      idle--;
    }
    struct task *task = ready;
    ready = task->next;
    if (!ready) ready_end = &ready;
    pthread_mutex_unlock(&mutex);
    task->body(task->argument, task->operation);
    pthread_mutex_lock(&mutex);
    complete(task);
  }
  return argument;
}

const char *peer_open(uint32_t workers, const char *folder) {
  (void)folder;
  for (uint32_t i = 0; i < workers; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) return "no thread";
  }
  return NULL;
}

const char *peer_prepare(const struct peer_run *run) {
  const struct peer_graph *graph = run->graph;
  tasks = calloc(graph->count, sizeof *tasks);
  edges = calloc(graph->first[graph->count] + 1, sizeof *edges);
  if (!tasks || !edges) return "no memory";
  edge_count = 0;
  left = graph->count;
  return NULL;
}

static void submit(const struct peer_run *run, uint32_t i) {
  const struct peer_graph *graph = run->graph;
  struct task *task = &tasks[i];
  pthread_mutex_lock(&mutex);
  *task = (struct task){.body = run->body, .argument = run->argument, .operation = i};
  for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
    struct task *before = &tasks[graph->before[e]];
    if (before->finished) continue;
    edges[edge_count] = (struct edge){before->after, i};
    before->after = &edges[edge_count++];
    task->missing++;
  }
  if (task->missing == 0) make_ready(task);
  pthread_mutex_unlock(&mutex);
}

const char *peer_do(const struct peer_run *run) {
  for (uint32_t i = 0; i < run->graph->count; i++) submit(run, i);
  run->submitted(run->argument);
  pthread_mutex_lock(&mutex);
  while (left > 0) pthread_cond_wait(&all_done, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

void peer_finish(const struct peer_run *run) {
  (void)run;
  free(tasks);
  free(edges);
}
