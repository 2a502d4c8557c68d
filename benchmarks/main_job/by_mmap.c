/* Two threads over mapped files, each with the next strip in turn: no copy is read. A strip is
 * blurred with the lines around it, so its result takes a copy into the mapped output. */
#include "hand_job.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct job job;
static const unsigned char *source;
static unsigned char *target;
static atomic_size_t next_strip;
static pthread_barrier_t written;

static void *work(void *finishes) {
  unsigned char *soft = malloc(job_strip_most(&job));
  job_must(soft != NULL, "memory");
  for (size_t k; (k = atomic_fetch_add(&next_strip, 1)) < job.strips;) {
    struct job_strip strip = job_strip(&job, k);
    job_measure(&job, k, source + strip.from, soft);
    memcpy(target + strip.from + strip.at, soft + strip.at, strip.own);
  }
  pthread_barrier_wait(&written);
  if (finishes) job_finish(&job);
  else job_sync(&job);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t other;
  job_open(&job, argc, argv);
  size_t size = job.width * job.height;
  job_must(ftruncate(job.output, (off_t)size) == 0, "ftruncate");
  source = mmap(NULL, size, PROT_READ, MAP_SHARED, job.input, 0);
  target = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, job.output, 0);
  job_must(source != MAP_FAILED && target != MAP_FAILED, "mmap");
  job_must(pthread_barrier_init(&written, NULL, 2) == 0, "a barrier");
  job_must(pthread_create(&other, NULL, work, NULL) == 0, "a thread");
  work(&job);
  pthread_join(other, NULL);
  return 0;
}
