/* benchmarks/main_job/hand_job.h: the parts of examples/satellite.tide that its hand-written rivals
 * share.
 *
 * A rival reads the strips, calls job_measure for each and writes them, in its own way. The
 * functions of the bodies are Tidemark's own, so the rivals differ from the program in how they
 * order the work alone. An error ends the process with status 1. */
#ifndef BENCHMARKS_MAIN_JOB_HAND_JOB_H
#define BENCHMARKS_MAIN_JOB_HAND_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct job {
  size_t width, height, strips;
  int input, output; /* descriptors */
  const char *folder;
  unsigned char *thumb;
  uint64_t *digests; /* one a strip, and the total */
};

/* A strip, in bytes: [from, from + size) is read; [at, at + own) of that is the strip itself. */
struct job_strip {
  size_t from, size, at, own;
};

/* Opens the files of `PROGRAM INPUT FOLDER [WIDTH HEIGHT]`. */
void job_open(struct job *job, int argc, char **argv);
/* The largest size of a strip. */
size_t job_strip_most(const struct job *job);
struct job_strip job_strip(const struct job *job, size_t k);
/* Blurs a strip from raw to soft, shrinks it and takes its digest. */
void job_measure(struct job *job, size_t k, const unsigned char *raw, unsigned char *soft);
/* Move a whole strip: size bytes to raw; own bytes from soft. */
void job_read(const struct job *job, size_t k, unsigned char *raw);
void job_write(const struct job *job, size_t k, const unsigned char *soft);
/* Write the preview and the digests; wait until the strips are on the disk. All strips are
 * written. The two may run at once. */
void job_finish(struct job *job);
void job_sync(const struct job *job);
/* Ends the process unless the condition holds. */
void job_must(bool condition, const char *what);

#ifdef __cplusplus
}
#endif
#endif
