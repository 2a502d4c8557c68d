#include "hand_job.h"

#include "tidemark/kernel.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINES = 64, RADIUS = 4, SHRINK = 32 }; /* of examples/satellite.tide; one channel */

void job_must(bool condition, const char *what) {
  if (condition) return;
  perror(what);
  exit(1);
}

static int open_output(const struct job *job, const char *name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", job->folder, name);
  int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  job_must(descriptor >= 0, path);
  return descriptor;
}

void job_open(struct job *job, int argc, char **argv) {
  job_must(argc == 3 || argc == 5, "PROGRAM INPUT FOLDER [WIDTH HEIGHT]");
  job->folder = argv[2];
  job->width = argc == 5 ? strtoul(argv[3], NULL, 10) : 16384;
  job->height = argc == 5 ? strtoul(argv[4], NULL, 10) : 16384;
  job->strips = (job->height + LINES - 1) / LINES;
  job->input = open(argv[1], O_RDONLY | O_CLOEXEC);
  job_must(job->input >= 0, argv[1]);
  job->output = open_output(job, "blurred.raw");
  job->thumb = calloc(job->height / SHRINK, job->width / SHRINK);
  job->digests = calloc(job->strips + 1, sizeof *job->digests);
  job_must(job->thumb && job->digests, "memory");
}

size_t job_strip_most(const struct job *job) { return (LINES + 2 * RADIUS) * job->width; }

struct job_strip job_strip(const struct job *job, size_t k) {
  size_t first = k * LINES, left = job->height - first;
  size_t lines = left < LINES ? left : LINES, rest = left - lines;
  size_t above = first < RADIUS ? first : RADIUS, below = rest < RADIUS ? rest : RADIUS;
  return (struct job_strip){(first - above) * job->width, (above + lines + below) * job->width,
                            above * job->width, lines * job->width};
}

static void call_body(const char *name, const struct tide_argument *arguments) {
  job_must(tide_kernel_find(name)->class_.host((void *)(uintptr_t)arguments) == TIDE_OK, name);
}

static struct tide_argument bytes(const void *data, size_t size) {
  return (struct tide_argument){.data = (void *)(uintptr_t)data, .size = size};
}

static struct tide_argument number(size_t value) {
  return (struct tide_argument){.integer = (int64_t)value};
}

void job_measure(struct job *job, size_t k, const unsigned char *raw, unsigned char *soft) {
  struct job_strip strip = job_strip(job, k);
  struct tide_argument blur[] = {bytes(raw, strip.size), bytes(soft, strip.size),
                                 number(job->width), number(RADIUS), number(1)};
  call_body("blur", blur);
  size_t rows = strip.own / job->width / SHRINK, row = job->width / SHRINK;
  struct tide_argument shrink[] = {bytes(soft + strip.at, rows * SHRINK * job->width),
                                   bytes(job->thumb + k * (LINES / SHRINK) * row, rows * row),
                                   number(job->width), number(SHRINK), number(1)};
  if (rows) call_body("downsample", shrink);
  struct tide_argument hash[] = {bytes(soft + strip.at, strip.own), bytes(&job->digests[k], 8),
                                 number(0)};
  call_body("hash", hash);
}

void job_read(const struct job *job, size_t k, unsigned char *raw) {
  struct job_strip strip = job_strip(job, k);
  for (size_t done = 0; done < strip.size;) {
    ssize_t moved = pread(job->input, raw + done, strip.size - done, (off_t)(strip.from + done));
    job_must(moved > 0, "pread");
    done += (size_t)moved;
  }
}

static void write_all(int file, const void *data, size_t size, size_t offset) {
  for (size_t done = 0; done < size;) {
    ssize_t moved = pwrite(file, (const char *)data + done, size - done, (off_t)(offset + done));
    job_must(moved > 0, "pwrite");
    done += (size_t)moved;
  }
}

void job_write(const struct job *job, size_t k, const unsigned char *soft) {
  struct job_strip strip = job_strip(job, k);
  write_all(job->output, soft + strip.at, strip.own, strip.from + strip.at);
}

void job_finish(struct job *job) {
  size_t width = job->width / SHRINK, height = job->height / SHRINK;
  struct tide_argument combine[] = {bytes(job->digests, 8 * job->strips),
                                    bytes(&job->digests[job->strips], 8)};
  call_body("combine", combine);
  write_all(open_output(job, "digests.bin"), job->digests, 8 * (job->strips + 1), 0);
  struct tide_argument png[] = {bytes(job->thumb, width * height),
                                {.descriptor = open_output(job, "preview.png"), .name = NULL},
                                number(width),
                                number(height),
                                number(1)};
  call_body("png_write", png);
}

void job_sync(const struct job *job) { job_must(fsync(job->output) == 0, "fsync"); }
