/* The files of one run. Outputs have no name until all of it has succeeded: they
 * are written to files that vanish by themselves, where the system has such
 * (O_TMPFILE), else under a name that begins with a dot and is removed again. */
#include "tool/tool.h"

#include "base/text.h"
#include "device/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct item {
  const struct tide_plan_file *file;
  int descriptor;
  char *path;      /* where it is, or will be */
  char *temporary; /* its name until then; NULL: it has none */
};

struct tide_tool_files {
  const char *directory;
  struct tide_file_source source;
  size_t count;
  struct item items[];
};

/* ---- paths --------------------------------------------------------------------- */

static char *join_path(const char *directory, const char *path) {
  size_t room = strlen(path) + (directory ? strlen(directory) + 1 : 0) + 1;
  char *joined = malloc(room);
  if (!joined) return NULL;
  if (directory && path[0] != '/') snprintf(joined, room, "%s/%s", directory, path);
  else snprintf(joined, room, "%s", path);
  return joined;
}

/* The nearest folder on the way to a path that is there already. */
static char *nearest_folder(const char *path) {
  struct stat info;
  char *folder = strdup(path);
  while (folder) {
    char *slash = strrchr(folder, '/');
    if (!slash) {
      strcpy(folder, ".");
      return folder;
    }
    if (slash == folder) {
      folder[1] = 0;
      return folder;
    }
    *slash = 0;
    if (stat(folder, &info) == 0) return folder;
  }
  return NULL;
}

bool tide_tool_make_folders(const char *path) {
  char *copy = strdup(path);
  if (!copy) return false;
  bool good = true;
  for (char *slash = strchr(copy + 1, '/'); slash && good; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    good = mkdir(copy, 0777) == 0 || errno == EEXIST;
    *slash = '/';
  }
  free(copy);
  return good;
}

static enum tide_status status_of(int error) {
  if (error == ENOENT || error == ENOTDIR) return TIDE_NOT_FOUND;
  return tide_status_of_errno(error);
}

/* ---- opening ------------------------------------------------------------------------ */

static enum tide_status open_input(struct item *item, struct tide_diag *diag) {
  const char *why;
  item->path = strdup(item->file->path);
  if (!item->path) return TIDE_NOMEM;
  item->descriptor = tide_tool_open_input(item->path, &why);
  if (item->descriptor >= 0) return TIDE_OK;
  return tide_diag_set(diag, status_of(errno), "file '%s': cannot read '%s': %s",
                       item->file->label, item->path, why);
}

/* Can a file without a name get one later? */
static bool can_link(void) { return geteuid() == 0 || access("/proc/self/fd", X_OK) == 0; }

static int open_named(struct item *item, const char *folder) {
  const char *slash = strrchr(item->path, '/');
  const char *name = slash ? slash + 1 : item->path;
  size_t room = strlen(folder) + strlen(name) + 16;
  item->temporary = malloc(room);
  if (!item->temporary) return -1;
  snprintf(item->temporary, room, "%s/.%s.XXXXXX", folder, name);
  int descriptor = mkostemp(item->temporary, O_CLOEXEC);
  if (descriptor >= 0) {
    mode_t mask = umask(0);
    umask(mask);
    (void)!fchmod(descriptor, 0666 & ~mask);
    tide_tool_remember_file(item->temporary);
    return descriptor;
  }
  free(item->temporary);
  item->temporary = NULL;
  return -1;
}

static enum tide_status open_output(struct item *item, const char *directory,
                                    struct tide_diag *diag) {
  struct stat info;
  item->path = join_path(directory, item->file->path);
  char *folder = item->path ? nearest_folder(item->path) : NULL;
  if (!folder) return TIDE_NOMEM;
  size_t length = strlen(item->path);
  bool is_there = stat(item->path, &info) == 0;
  bool is_folder = is_there && S_ISDIR(info.st_mode);
  if (!length || is_folder || item->path[length - 1] == '/') {
    free(folder);
    return tide_diag_set(diag, TIDE_INVALID, "file '%s': '%s' is a folder", item->file->label,
                         item->path);
  }
  if (is_there && !S_ISREG(info.st_mode)) { /* /dev/null, say: it would be replaced */
    free(folder);
    return tide_diag_set(diag, TIDE_INVALID, "file '%s': '%s' is no regular file",
                         item->file->label, item->path);
  }
  int error = EOPNOTSUPP;
  if (can_link()) {
    item->descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    error = errno;
  }
  bool no_such = error == EOPNOTSUPP || error == EISDIR || error == ENOENT;
  if (item->descriptor < 0 && no_such) {
    item->descriptor = open_named(item, folder);
    error = errno;
  }
  free(folder);
  if (item->descriptor >= 0) return TIDE_OK;
  return tide_diag_set(diag, status_of(error), "file '%s': cannot write '%s': %s",
                       item->file->label, item->path, strerror(error));
}

static enum tide_status open_temporary(struct item *item, struct tide_diag *diag) {
  const char *folder = getenv("TMPDIR");
  if (!folder || !folder[0]) folder = "/tmp";
  item->descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (item->descriptor >= 0) return TIDE_OK;
  char name[PATH_MAX];
  if (snprintf(name, sizeof name, "%s/tidemark.XXXXXX", folder) >= (int)sizeof name)
    return tide_diag_set(diag, TIDE_INVALID, "file '%s': TMPDIR is too long", item->file->label);
  item->descriptor = mkostemp(name, O_CLOEXEC);
  if (item->descriptor < 0)
    return tide_diag_set(diag, status_of(errno), "file '%s': no temporary file in '%s': %s",
                         item->file->label, folder, strerror(errno));
  unlink(name);
  return TIDE_OK;
}

/* Skips what says nothing in a path: "//" and "/./". */
static const char *skip_nothing(const char *path) {
  while (path[0] == '/' && (path[1] == '/' || (path[1] == '.' && path[2] == '/')))
    path += path[1] == '/' ? 1 : 2;
  return path;
}

/* The same place by its spelling, "./a/b" and "a//b"? */
static bool same_path(const char *a, const char *b) {
  while (a[0] == '.' && a[1] == '/') a = skip_nothing(a + 1) + 1;
  while (b[0] == '.' && b[1] == '/') b = skip_nothing(b + 1) + 1;
  for (;; a++, b++) {
    a = skip_nothing(a);
    b = skip_nothing(b);
    if (*a != *b) return false;
    if (!*a) return true;
  }
}

static const struct item *same_output(const struct tide_tool_files *files,
                                      const struct item *item) {
  for (const struct item *other = files->items; other < item; other++)
    if (other->file && other->file->mode == TIDE_FILE_WRITE && other->path &&
        same_path(other->path, item->path))
      return other;
  return NULL;
}

static enum tide_status open_file(void *self, const struct tide_plan_file *file,
                                  int *out_descriptor, struct tide_diag *diag) {
  struct tide_tool_files *files = self;
  struct item *item = &files->items[0];
  while (item->file && item->file != file) item++;
  item->file = file;
  enum tide_status status;
  if (file->mode == TIDE_FILE_READ) status = open_input(item, diag);
  else if (file->mode == TIDE_FILE_WRITE) status = open_output(item, files->directory, diag);
  else status = open_temporary(item, diag);
  if (status == TIDE_OK && file->mode == TIDE_FILE_WRITE && same_output(files, item))
    status = tide_diag_set(diag, TIDE_INVALID, "file '%s': '%s' is the output of file '%s', too",
                           file->label, item->path, same_output(files, item)->file->label);
  if (status == TIDE_OK) *out_descriptor = item->descriptor;
  return status;
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Gives an output that has no name a temporary one, beside where it belongs. */
static bool link_output(struct item *item) {
  if (item->temporary) return true;
  char from[64];
  size_t room = strlen(item->path) + 32;
  const char *slash = strrchr(item->path, '/');
  const char *name = slash ? slash + 1 : item->path;
  if (!tide_tool_make_folders(item->path) || !(item->temporary = malloc(room))) return false;
  snprintf(from, sizeof from, "/proc/self/fd/%d", item->descriptor);
  for (unsigned attempt = 0; attempt < 100; attempt++) {
    snprintf(item->temporary, room, "%.*s.%s.%d.%u", (int)(name - item->path), item->path, name,
             (int)getpid(), attempt);
    tide_tool_remember_file(item->temporary);
    if (linkat(AT_FDCWD, from, AT_FDCWD, item->temporary, AT_SYMLINK_FOLLOW) == 0) return true;
    if (errno == ENOENT &&
        linkat(item->descriptor, "", AT_FDCWD, item->temporary, AT_EMPTY_PATH) == 0)
      return true;
    int error = errno;
    tide_tool_forget_file(item->temporary);
    errno = error;
    if (errno != EEXIST) break;
  }
  int error = errno;
  free(item->temporary);
  item->temporary = NULL;
  errno = error;
  return false;
}

static enum tide_status refuse(const struct item *item, struct tide_diag *diag) {
  return tide_diag_at(diag, status_of(errno), item->file->line, item->file->column,
                      "file '%s': cannot write '%s': %s", item->file->label, item->path,
                      strerror(errno));
}

/* Has a folder come in its way while the program ran? Then the rename would fail, after others. */
static bool folder_in_the_way(const struct item *item) {
  struct stat info;
  if (stat(item->path, &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  errno = EISDIR;
  return true;
}

enum tide_status tide_tool_files_commit(struct tide_tool_files *files, struct tide_diag *diag) {
  for (size_t i = 0; i < files->count; i++) {
    struct item *item = &files->items[i];
    if (!item->file || item->file->mode != TIDE_FILE_WRITE) continue;
    if (!link_output(item) || folder_in_the_way(item)) return refuse(item, diag);
  }
  for (size_t i = 0; i < files->count; i++) {
    struct item *item = &files->items[i];
    if (!item->file || item->file->mode != TIDE_FILE_WRITE) continue;
    if (!tide_tool_make_folders(item->path) || rename(item->temporary, item->path) != 0)
      return refuse(item, diag);
    tide_tool_forget_file(item->temporary);
    free(item->temporary);
    item->temporary = NULL;
  }
  return TIDE_OK;
}

struct tide_tool_files *tide_tool_files_create(const struct tide_plan_tables *tables,
                                               const char *directory) {
  struct tide_tool_files *files =
      calloc(1, sizeof *files + (tables->file_count + 1) * sizeof files->items[0]);
  if (!files) return NULL;
  files->directory = directory;
  files->source = (struct tide_file_source){open_file, files};
  files->count = tables->file_count;
  for (size_t i = 0; i < files->count; i++) files->items[i].descriptor = -1;
  return files;
}

const struct tide_file_source *tide_tool_files_source(struct tide_tool_files *files) {
  return &files->source;
}

int tide_tool_files_descriptor(const struct tide_tool_files *files, size_t index) {
  return files->items[index].descriptor;
}

const char *tide_tool_files_path(const struct tide_tool_files *files, size_t index) {
  return files->items[index].path;
}

void tide_tool_files_destroy(struct tide_tool_files *files) {
  if (!files) return;
  for (size_t i = 0; i < files->count; i++) {
    struct item *item = &files->items[i];
    if (item->temporary) {
      unlink(item->temporary);
      tide_tool_forget_file(item->temporary);
    }
    if (item->descriptor >= 0) close(item->descriptor);
    free(item->temporary);
    free(item->path);
  }
  free(files);
}
