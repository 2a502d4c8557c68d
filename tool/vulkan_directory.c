/* The private directory of `tidemark vulkan`, and the files of a run in it.
 *
 *   $TMPDIR/tidemark-vulkan-XXXXXX/
 *     run/               the layer's manifest; its PID.report, PID.order and PID.trace
 *     NAME.stdout ...    outputs that are compared
 *
 * The program may write there, too: links are not followed, and only regular files are read. */
#include "tool/vulkan_session.h"

#include "layer/build_id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tide_vulkan_directory_create(struct tide_vulkan_directory *directory) {
  const char *parent = getenv("TMPDIR");
  char template[sizeof directory->path], real[4096];
  if (!parent || !*parent) parent = "/tmp";
  int length = snprintf(template, sizeof template, "%s/tidemark-vulkan-XXXXXX", parent);
  if (length >= (int)sizeof template || !mkdtemp(template)) {
    tide_tool_error("cannot make a directory in '%s': %s", parent,
                    strerror(length >= (int)sizeof template ? ENAMETOOLONG : errno));
    return false;
  }
  /* Absolute: the program may change its directory. */
  if (realpath(template, real) && strlen(real) < sizeof directory->path) {
    strcpy(directory->path, real);
    return true;
  }
  tide_tool_error("cannot use a directory in '%s': its path is too long", parent);
  rmdir(template);
  return false;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
  (void)info, (void)where;
  if (kind == FTW_DP) (void)rmdir(path);
  else (void)unlink(path);
  return 0;
}

void tide_vulkan_directory_remove(struct tide_vulkan_directory *directory) {
  if (directory->path[0]) nftw(directory->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tide_vulkan_path(const struct tide_vulkan_directory *directory, const char *name,
                             char *buffer) {
  snprintf(buffer, TIDE_VULKAN_PATH_MOST, "%s/%s", directory->path, name);
  return buffer;
}

bool tide_vulkan_directory_clean(const struct tide_vulkan_directory *directory) {
  char run[TIDE_VULKAN_PATH_MOST];
  tide_vulkan_path(directory, "run", run);
  nftw(run, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  if (mkdir(run, 0700) == 0) return tide_vulkan_write_manifest(run);
  tide_tool_error("cannot make '%s': %s", run, strerror(errno));
  return false;
}

/* ---- files of the layer ---------------------------------------------------------- */

static int compare_processes(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* True for "PID.ENDING". */
static bool read_name(const char *name, const char *ending, uint64_t *out_process) {
  char *end;
  if (name[0] < '1' || name[0] > '9') return false;
  errno = 0;
  *out_process = strtoull(name, &end, 10);
  return !errno && *end == '.' && strcmp(end + 1, ending) == 0;
}

size_t tide_vulkan_list(const char *run, const char *ending, uint64_t *out_processes) {
  DIR *folder = opendir(run);
  size_t count = 0;
  for (struct dirent *entry;
       folder && count < TIDE_VULKAN_PROCESSES_MOST && (entry = readdir(folder));)
    if (read_name(entry->d_name, ending, &out_processes[count])) count++;
  if (folder) closedir(folder);
  qsort(out_processes, count, sizeof *out_processes, compare_processes);
  return count;
}

/* Opens a regular file. -1: errno says why not. */
static int open_regular(const char *path) {
  struct stat info;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return -1;
  if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) return descriptor;
  close(descriptor);
  errno = EINVAL;
  return -1;
}

static void file_path(const char *run, uint64_t process, const char *ending, char *buffer) {
  snprintf(buffer, TIDE_VULKAN_PATH_MOST, "%s/%llu.%s", run, (unsigned long long)process, ending);
}

char *tide_vulkan_read(const char *run, uint64_t process, const char *ending, size_t *out_length) {
  char path[TIDE_VULKAN_PATH_MOST], *text = NULL;
  file_path(run, process, ending, path);
  int descriptor = open_regular(path);
  if (descriptor >= 0) text = tide_tool_read_input(descriptor, TIDE_VULKAN_FILE_MOST, out_length);
  int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!text && error == EFBIG)
    tide_tool_error("%s: too long; at most %zu bytes are read", path, TIDE_VULKAN_FILE_MOST);
  else if (!text)
    tide_tool_error("%s: %s", path, error == EINVAL ? "it is no regular file" : strerror(error));
  return text;
}

bool tide_vulkan_copy_file(const char *from, const char *to) {
  static char bytes[1 << 16];
  int source = open_regular(from);
  if (source < 0) {
    tide_tool_error("cannot read '%s': %s", from,
                    errno == EINVAL ? "it is no regular file" : strerror(errno));
    return false;
  }
  char *temporary;
  int target = tide_tool_begin_file(to, &temporary);
  bool good = target >= 0;
  ssize_t got = 1;
  while (good && (got = read(source, bytes, sizeof bytes)) > 0)
    for (ssize_t done = 0; good && done < got;) {
      ssize_t put = write(target, bytes + done, (size_t)(got - done));
      if (put < 0 && errno == EINTR) continue;
      good = put > 0;
      done += put;
    }
  good = good && got == 0;
  int error = errno;
  close(source);
  errno = error;
  return tide_tool_end_file(to, target, temporary, good);
}

bool tide_vulkan_keep_trace(const char *run, const char *to) {
  uint64_t processes[TIDE_VULKAN_PROCESSES_MOST], largest = 0;
  char path[TIDE_VULKAN_PATH_MOST];
  size_t count = tide_vulkan_list(run, "trace", processes);
  off_t most = -1;
  for (size_t i = 0; i < count; i++) {
    struct stat info;
    file_path(run, processes[i], "trace", path);
    if (lstat(path, &info) != 0 || info.st_size <= most) continue;
    most = info.st_size;
    largest = processes[i];
  }
  if (most < 0) {
    tide_tool_error("no trace came: the layer wrote none");
    return false;
  }
  if (count > 1)
    tide_tool_error("%zu processes wrote a trace; '%s' is the largest, of process %llu", count, to,
                    (unsigned long long)largest);
  file_path(run, largest, "trace", path);
  return tide_vulkan_copy_file(path, to);
}

bool tide_vulkan_save(const char *run, const char *folder, const char *name) {
  static const char *const endings[] = {"report", "order"};
  bool good = true;
  for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
    uint64_t processes[TIDE_VULKAN_PROCESSES_MOST];
    size_t count = tide_vulkan_list(run, endings[e], processes);
    for (size_t i = 0; i < count && good; i++) {
      char from[TIDE_VULKAN_PATH_MOST], to[4096], process[24] = "";
      file_path(run, processes[i], endings[e], from);
      if (count > 1) snprintf(process, sizeof process, "-%llu", (unsigned long long)processes[i]);
      snprintf(to, sizeof to, "%s/%s%s.%s", folder, name, process, endings[e]);
      good = tide_tool_need_folders(to) && tide_vulkan_copy_file(from, to);
    }
  }
  return good;
}

/* ---- the reports of a run -------------------------------------------------------- */

/* True if the report is of the layer of this tool's build. Prints what came instead. */
static bool is_of_our_layer(const struct tide_vulkan_report *report) {
  char file[4200];
  if (report->build && strcmp(report->version, tide_layer_version) == 0 &&
      strcmp(report->build, tide_layer_build) == 0)
    return true;
  tide_vulkan_layer_file(file, sizeof file);
  if (report->build)
    tide_tool_error("another layer answered: expected %s, build %s, from '%s'; came %s, build %s, "
                    "from '%s'",
                    tide_layer_version, tide_layer_build, file, report->version, report->build,
                    report->file);
  else
    tide_tool_error("another layer answered: expected %s, build %s, from '%s'; came an older one, "
                    "which writes no build id",
                    tide_layer_version, tide_layer_build, file);
  return false;
}

static bool read_report(const char *run, uint64_t process, struct tide_vulkan_report *report) {
  struct tide_diag diag = {.status = TIDE_OK};
  size_t length;
  char *text = tide_vulkan_read(run, process, "report", &length);
  if (!text) return false;
  enum tide_status status = tide_vulkan_report_parse(report, text, length, &diag);
  free(text);
  if (status == TIDE_OK && report->process != process) {
    tide_tool_error("%llu.report: it is of process %llu", (unsigned long long)process,
                    (unsigned long long)report->process);
    tide_vulkan_report_fini(report);
    return false;
  }
  if (status != TIDE_OK)
    tide_tool_error("%llu.report:%u:%u: %s", (unsigned long long)process, diag.line, diag.column,
                    diag.text);
  return status == TIDE_OK;
}

bool tide_vulkan_reports_read(struct tide_vulkan_reports *reports, const char *run) {
  uint64_t processes[TIDE_VULKAN_PROCESSES_MOST];
  size_t count = tide_vulkan_list(run, "report", processes);
  *reports = (struct tide_vulkan_reports){.list = calloc(count + 1, sizeof *reports->list)};
  if (!reports->list) {
    tide_tool_error("out of memory");
    return false;
  }
  if (count == TIDE_VULKAN_PROCESSES_MOST)
    tide_tool_error("the reports of %zu processes are read; further ones are not", count);
  for (size_t i = 0; i < count; i++) {
    struct tide_vulkan_report *report = &reports->list[reports->count];
    bool is_read = read_report(run, processes[i], report),
         is_ours = is_read && is_of_our_layer(report);
    if (is_read && !is_ours) tide_vulkan_report_fini(report);
    reports->count += is_ours;
    reports->broken += !is_ours;
    reports->foreign += is_read && !is_ours;
  }
  return true;
}

void tide_vulkan_reports_free(struct tide_vulkan_reports *reports) {
  for (size_t i = 0; i < reports->count; i++) tide_vulkan_report_fini(&reports->list[i]);
  free(reports->list);
  *reports = (struct tide_vulkan_reports){.list = NULL};
}

uint64_t tide_vulkan_reports_count(const struct tide_vulkan_reports *reports, const char *name) {
  uint64_t sum = 0;
  for (size_t i = 0; i < reports->count; i++)
    sum += tide_vulkan_report_count(&reports->list[i], name);
  return sum;
}

size_t tide_vulkan_reports_lines(const struct tide_vulkan_reports *reports,
                                 enum tide_vulkan_line_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < reports->count; i++)
    for (size_t k = 0; k < reports->list[i].line_count; k++)
      count += reports->list[i].lines[k].kind == kind;
  return count;
}

bool tide_vulkan_reports_lost(const struct tide_vulkan_reports *reports) {
  for (size_t i = 0; i < reports->count; i++)
    if (strcmp(reports->list[i].reason, "lost") == 0) return true;
  return false;
}
