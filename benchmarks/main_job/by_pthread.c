/* Two threads, each with a strip of its own: pread, the bodies, pwrite. */
#include "hand_job.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct job job;
static atomic_size_t next_strip;
static pthread_barrier_t written;

static void *work(void *finishes) {
  unsigned char *raw = malloc(job_strip_most(&job)), *soft = malloc(job_strip_most(&job));
  job_must(raw && soft, "memory");
  for (size_t k; (k = atomic_fetch_add(&next_strip, 1)) < job.strips;) {
    job_read(&job, k, raw);
    job_measure(&job, k, raw, soft);
    job_write(&job, k, soft);
  }
  pthread_barrier_wait(&written);
  if (finishes) job_finish(&job);
  else job_sync(&job);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t other;
  job_open(&job, argc, argv);
  job_must(pthread_barrier_init(&written, NULL, 2) == 0, "a barrier");
  job_must(pthread_create(&other, NULL, work, NULL) == 0, "a thread");
  work(&job);
  pthread_join(other, NULL);
  return 0;
}
