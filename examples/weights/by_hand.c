/* Converts weights in four threads, one a stage, which a count of done blocks a stage orders. */
#include "weights.h"

#include <pthread.h>
#include <stdbool.h>

static struct weights weights;
static struct slot slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t done[STAGES]; /* blocks; guarded by the lock */
static int error;             /* the first one; guarded by the lock */

/* Blocks until the stage has done so many blocks. False if a stage has failed. */
static bool await(enum stage stage, uint64_t blocks) {
  pthread_mutex_lock(&lock);
  while (done[stage] < blocks && !error) pthread_cond_wait(&changed, &lock);
  bool good = !error;
  pthread_mutex_unlock(&lock);
  return good;
}

static void finish(enum stage stage, int failure) {
  pthread_mutex_lock(&lock);
  if (!failure) done[stage]++;
  else if (!error) error = failure;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

/* True if the stage may begin its block n, counted from 1. */
static bool await_turn(enum stage stage, uint64_t n) {
  switch (stage) {
    case LOAD: return await(STORE, n > SLOTS ? n - SLOTS : 0);
    case CHECK: return await(LOAD, n);
    case CONVERT: return await(LOAD, n);
    default: return await(CHECK, n) && await(CONVERT, n);
  }
}

static void *run_stage(void *name) {
  enum stage stage = (enum stage)((const char *const *)name - stage_names);
  for (uint64_t n = 1; n <= weights.blocks && await_turn(stage, n); n++)
    finish(stage, stage_steps[stage](&weights, n - 1, &slots[n % SLOTS]));
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[STAGES];
  int started = 0, failure = weights_open(&weights, argc, argv);
  while (!failure && started < STAGES) {
    failure = pthread_create(&threads[started], NULL, run_stage, (void *)&stage_names[started]);
    if (!failure) started++;
  }
  if (failure) finish(LOAD, failure);
  while (started > 0) pthread_join(threads[--started], NULL);
  if (error) return fprintf(stderr, "weights: %s\n", strerror(error)), 1;
  printf("%llu weights\n", (unsigned long long)weights.count);
  return 0;
}
