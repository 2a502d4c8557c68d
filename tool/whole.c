/* Files that appear when they are complete: traces, generated images, formatted programs. (The
 * outputs of a run are in files.c: they appear all together.) */
#include "tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the file's folder is there. Else the reason has been printed. */
static bool has_folder(const char *path) {
  struct stat info;
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return true;
  char *folder = strndup(path, (size_t)(slash - path));
  if (!folder) tide_tool_error("cannot write '%s': out of memory", path);
  else if (stat(folder, &info) != 0)
    tide_tool_error("cannot write '%s': its folder '%s': %s", path, folder, strerror(errno));
  else if (!S_ISDIR(info.st_mode))
    tide_tool_error("cannot write '%s': '%s' is no folder", path, folder);
  else {
    free(folder);
    return true;
  }
  free(folder);
  return false;
}

/* Refuses anything but a regular file: a rename would replace /dev/null or a pipe by a file. */
bool tide_tool_can_write(const char *path) {
  struct stat info;
  bool there = stat(path, &info) == 0;
  if (there && S_ISDIR(info.st_mode)) tide_tool_error("cannot write '%s': it is a folder", path);
  else if (there && !S_ISREG(info.st_mode))
    tide_tool_error("cannot write '%s': it is no regular file", path);
  else return there || has_folder(path);
  return false;
}

static int open_temporary(const char *path, char **out_temporary) {
  size_t capacity = strlen(path) + 16;
  char *temporary = malloc(capacity);
  if (!temporary) return -1;
  snprintf(temporary, capacity, "%s.XXXXXX", path);
  int descriptor = mkostemp(temporary, O_CLOEXEC);
  if (descriptor < 0) {
    free(temporary);
    return -1;
  }
  mode_t mask = umask(0);
  umask(mask);
  (void)!fchmod(descriptor, 0666 & ~mask);
  tide_tool_remember_file(temporary);
  *out_temporary = temporary;
  return descriptor;
}

int tide_tool_begin_file(const char *path, char **out_temporary) {
  *out_temporary = NULL;
  if (!tide_tool_can_write(path)) return -1;
  int descriptor = open_temporary(path, out_temporary);
  if (descriptor < 0) tide_tool_error("cannot write '%s': %s", path, strerror(errno));
  return descriptor;
}

bool tide_tool_end_file(const char *path, int descriptor, char *temporary, bool good) {
  if (descriptor < 0) return false;
  int error = errno;
  if (close(descriptor) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good && rename(temporary, path) != 0) {
    good = false;
    error = errno;
  }
  if (!good) {
    unlink(temporary);
    if (error) tide_tool_error("cannot write '%s': %s", path, strerror(error));
  }
  tide_tool_forget_file(temporary);
  free(temporary);
  return good;
}

bool tide_tool_same_file(const char *path, const char *other) {
  struct stat a, b;
  return path && other && stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}
