/* The default path of a service's socket: in a directory that no other user can write to, or make
 * first. */
#include "tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the path is a directory of this user's, not a link, with none of these mode bits. */
static bool is_own_directory(const char *path, mode_t forbidden, struct stat *out_stat) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  errno = 0;
  bool good =
      fstat(fd, out_stat) == 0 && out_stat->st_uid == geteuid() && !(out_stat->st_mode & forbidden);
  close(fd);
  return good;
}

/* Finds the directory that lives as long as the user is logged in. Only the user may write to it.
 * The system makes /run/user/UID, and /run is root's, so that path is reliable even without the
 * variable (su, cron). */
static bool find_runtime_directory(char *buffer, size_t size) {
  struct stat stat;
  const char *given = getenv("XDG_RUNTIME_DIR");
  if (geteuid() == 0) {
    snprintf(buffer, size, "/run");
    return true;
  }
  if (given && given[0]) {
    bool good = given[0] == '/' && (size_t)snprintf(buffer, size, "%s", given) < size;
    if (!good)
      tide_tool_error("XDG_RUNTIME_DIR: an absolute path of less than %u bytes is expected, not "
                      "'%.80s'; --socket PATH names another one",
                      (unsigned)size, given);
    return good;
  }
  snprintf(buffer, size, "/run/user/%u", (unsigned)geteuid());
  if (is_own_directory(buffer, S_IWGRP | S_IWOTH, &stat)) return true;
  tide_tool_error("no socket is named: XDG_RUNTIME_DIR is not set, and %s is no directory of this "
                  "user; --socket PATH is expected",
                  buffer);
  return false;
}

bool tide_tool_socket(char *buffer, size_t size, bool make) {
  char directory[64], path[80];
  struct stat stat;
  if (!find_runtime_directory(directory, sizeof directory)) return false;
  snprintf(path, sizeof path, "%s/tidemark", directory);
  if (make && mkdir(path, 0700) != 0 && errno != EEXIST) {
    tide_tool_error("%s: %s", path, strerror(errno));
    return false;
  }
  if (!is_own_directory(path, S_IRWXG | S_IRWXO, &stat)) {
    if (errno == ENOENT)
      tide_tool_error("no service listens at %s/socket: %s; --socket PATH names another one", path,
                      strerror(errno));
    else if (errno) tide_tool_error("%s: %s", path, strerror(errno));
    else
      tide_tool_error(
          "%s: a directory of uid %u with mode 0700 is expected, not of uid %u with mode "
          "%04o",
          path, (unsigned)geteuid(), (unsigned)stat.st_uid, (unsigned)stat.st_mode & 07777);
    return false;
  }
  snprintf(buffer, size, "%s/socket", path);
  return true;
}
