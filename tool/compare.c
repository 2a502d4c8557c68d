/* Compares two runs, byte for byte. */
#include "tool/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t size) {
  size_t at = 0;
  while (at < size && a[at] == b[at]) at++;
  return at;
}

static ssize_t read_piece(int descriptor, unsigned char *to, uint64_t offset) {
  size_t done = 0;
  while (done < PIECE) {
    ssize_t got = pread(descriptor, to + done, PIECE - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static bool report_difference(struct tide_job *job, const struct tide_diag *place, const char *what,
                              const char *name, uint64_t offset, int want, int got) {
  struct tide_diag diag = *place;
  char ends[2][24] = {"the end", "the end"};
  if (want >= 0) snprintf(ends[0], sizeof ends[0], "0x%02x", (unsigned)want);
  if (got >= 0) snprintf(ends[1], sizeof ends[1], "0x%02x", (unsigned)got);
  snprintf(diag.text, sizeof diag.text,
           "%s differs from a sequential run (%s): at byte %llu it has %s, expected %s", what, name,
           (unsigned long long)offset, ends[1], ends[0]);
  tide_tool_error_at(job->program.path, &diag);
  return false;
}

static bool compare_file(struct tide_job *job, size_t index, const struct tide_outcome *reference,
                         const struct tide_outcome *outcome, const char *name,
                         unsigned char *pieces) {
  const struct tide_plan_file *file = &job->report.tables->files[index];
  int want = tide_tool_files_descriptor(reference->files, index);
  int got = tide_tool_files_descriptor(outcome->files, index);
  struct tide_diag place = {.status = TIDE_MISMATCH, .line = file->line, .column = file->column};
  char what[128];
  snprintf(what, sizeof what, "file '%s'", file->path ? file->path : file->label);
  for (uint64_t offset = 0;; offset += PIECE) {
    ssize_t a = read_piece(want, pieces, offset), b = read_piece(got, pieces + PIECE, offset);
    if (a < 0 || b < 0) {
      tide_tool_error("%s: %s", what, strerror(errno));
      return false;
    }
    size_t least = (size_t)(a < b ? a : b), at = 0;
    if (memcmp(pieces, pieces + PIECE, least) != 0)
      at = first_difference(pieces, pieces + PIECE, least);
    else at = least;
    if (at < least || a != b)
      return report_difference(job, &place, what, name, offset + at,
                               at < (size_t)a ? pieces[at] : -1,
                               at < (size_t)b ? pieces[PIECE + at] : -1);
    job->report.file_bytes += (uint64_t)a;
    if ((size_t)a < PIECE) break;
  }
  job->report.files++;
  return true;
}

static bool compare_buffer(struct tide_job *job, uint32_t index,
                           const struct tide_outcome *reference, const struct tide_outcome *outcome,
                           const char *name) {
  const struct tide_plan_buffer *buffer = &job->report.tables->buffers[index];
  const unsigned char *want = tide_run_buffer(reference->run, index);
  const unsigned char *got = tide_run_buffer(outcome->run, index);
  if (!want || !got) return true;
  job->report.buffers++;
  job->report.buffer_bytes += buffer->size;
  if (memcmp(want, got, (size_t)buffer->size) == 0) return true;
  size_t at = first_difference(want, got, (size_t)buffer->size);
  struct tide_diag place = {
      .status = TIDE_MISMATCH, .line = buffer->line, .column = buffer->column};
  char what[128];
  snprintf(what, sizeof what, "buffer '%s'", buffer->label);
  return report_difference(job, &place, what, name, at, want[at], got[at]);
}

bool tide_job_compare(struct tide_job *job, const struct tide_outcome *reference,
                      const struct tide_outcome *outcome, const char *name) {
  const struct tide_plan_tables *tables = job->report.tables;
  unsigned char *pieces = malloc(2 * PIECE);
  bool good = pieces != NULL;
  if (!pieces) tide_tool_error("out of memory");
  tide_tool_progress("comparing %s", name);
  job->report.files = job->report.file_bytes = 0;
  job->report.buffers = job->report.buffer_bytes = 0;
  for (size_t i = 0; i < tables->file_count && pieces; i++)
    if (tables->files[i].mode == TIDE_FILE_WRITE)
      good &= compare_file(job, i, reference, outcome, name, pieces);
  for (uint32_t i = 0; i < tables->buffer_count; i++)
    good &= compare_buffer(job, i, reference, outcome, name);
  free(pieces);
  tide_tool_progress_over();
  return good;
}
