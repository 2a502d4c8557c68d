/* benchmarks/main_job/measured_process.h: whole processes, measured: time, context switches, peak
 * memory. */
#ifndef BENCHMARKS_MAIN_JOB_MEASURED_PROCESS_H
#define BENCHMARKS_MAIN_JOB_MEASURED_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESS_TIME, PROCESS_SWITCHES, PROCESS_MEMORY, PROCESS_VALUES };

/* Runs a command without output; fills in ms, context switches of all its threads, and MiB. False:
 * it failed. */
static inline bool process_measure(char *const *command, double *out_values) {
  struct timespec begin, end;
  struct rusage usage;
  int status;
  pid_t ended;
  fflush(NULL);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0 && dup2(nowhere, 1) == 1) execv(command[0], command);
    _exit(127);
  }
  do ended = wait4(child, &status, 0, &usage);
  while (ended < 0 && errno == EINTR);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (ended != child || status != 0) return false;
  out_values[PROCESS_TIME] =
      (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
  out_values[PROCESS_SWITCHES] = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
  out_values[PROCESS_MEMORY] = (double)usage.ru_maxrss / 1024;
  return true;
}

static inline bool process_read_equal(FILE *a, FILE *b) {
  static char left[1 << 16], right[1 << 16];
  for (;;) {
    size_t size = fread(left, 1, sizeof left, a);
    if (fread(right, 1, sizeof right, b) != size || memcmp(left, right, size) != 0) return false;
    if (size == 0) return !ferror(a) && !ferror(b);
  }
}

/* True if two files hold the same bytes. */
static inline bool process_same_file(const char *path, const char *other) {
  FILE *a = fopen(path, "rb"), *b = fopen(other, "rb");
  bool same = a && b && process_read_equal(a, b);
  if (a) fclose(a);
  if (b) fclose(b);
  return same;
}

static const char *const process_outputs[] = {"blurred.raw", "preview.png", "digests.bin"};
enum { PROCESS_OUTPUTS = sizeof process_outputs / sizeof process_outputs[0], PROCESS_PATH = 4096 };

/* Calls `work` for the path of each output of the job in a folder. False: one call was. */
static inline bool process_each_output(const char *folder, const char *other,
                                       bool (*work)(const char *path, const char *other)) {
  char path[2 * PROCESS_PATH], beside[2 * PROCESS_PATH];
  bool good = true;
  for (int i = 0; i < PROCESS_OUTPUTS && good; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, process_outputs[i]);
    snprintf(beside, sizeof beside, "%s/%s", other, process_outputs[i]);
    good = work(path, beside);
  }
  return good;
}

static inline bool process_remove_one(const char *path, const char *other) {
  (void)other;
  return unlink(path) == 0 || errno == ENOENT;
}

/* Removes a folder's outputs, and waits until the disk has done so: else the next process would pay
 * for that. */
static inline bool process_remove_outputs(const char *folder) {
  bool good = process_each_output(folder, folder, process_remove_one);
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  good = good && descriptor >= 0 && syncfs(descriptor) == 0;
  if (descriptor >= 0) close(descriptor);
  return good;
}

static inline bool process_same_outputs(const char *folder, const char *other) {
  return process_each_output(folder, other, process_same_file);
}

#endif
