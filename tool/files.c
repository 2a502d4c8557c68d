/* The files of one run. Outputs have no name until the whole run has succeeded. They are written to
 * files that vanish by themselves, where the system has such (O_TMPFILE), else to files with a name
 * that begins with a dot, which are removed again. */
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
  char *path;      /* the present or future path */
  char *temporary; /* a name until the commit; NULL: none */
  /* An output's nearest existing folder, and the rest of its path from there. */
  dev_t device;
  ino_t folder;
  const char *way;
};

struct tide_tool_files {
  const char *directory;
  struct tide_file_source source;
  size_t count;
  struct item items[];
};

/* ---- paths --------------------------------------------------------------------- */

static char *join_path(const char *directory, const char *path) {
  size_t capacity = strlen(path) + (directory ? strlen(directory) + 1 : 0) + 1;
  char *joined = malloc(capacity);
  if (!joined) return NULL;
  if (directory && path[0] != '/') snprintf(joined, capacity, "%s/%s", directory, path);
  else snprintf(joined, capacity, "%s", path);
  return joined;
}

/* Returns the nearest existing folder of a path; malloc's. */
static char *nearest_folder(const char *path) {
  struct stat info;
  char *folder = malloc(strlen(path) + sizeof ".");
  if (folder) strcpy(folder, path);
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

bool tide_tool_need_folders(const char *path) {
  bool good = tide_tool_make_folders(path);
  if (!good) tide_tool_error("cannot write '%s': %s", path, strerror(errno));
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
  return tide_diag_set(diag, status_of(errno), "file '%s': cannot read '%s': %s", item->file->label,
                       item->path, why);
}

/* True if a file without a name can get one later. */
static bool can_link(void) { return geteuid() == 0 || access("/proc/self/fd", X_OK) == 0; }

static int open_named(struct item *item, const char *folder) {
  const char *slash = strrchr(item->path, '/');
  const char *name = slash ? slash + 1 : item->path;
  size_t capacity = strlen(folder) + strlen(name) + 16;
  item->temporary = malloc(capacity);
  if (!item->temporary) return -1;
  snprintf(item->temporary, capacity, "%s/.%s.XXXXXX", folder, name);
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

/* Finds the output's location, independent of the form of its path: two paths may lead there. */
static void locate_output(struct item *item, const char *folder) {
  struct stat info;
  size_t length = strlen(folder);
  bool is_prefix = strncmp(item->path, folder, length) == 0 &&
                   (item->path[length] == '/' || folder[length - 1] == '/');
  item->way = item->path + (is_prefix ? length : 0); /* "." is no prefix of ".file" */
  if (stat(folder, &info) != 0) return;
  item->device = info.st_dev;
  item->folder = info.st_ino;
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
  if (is_there && !S_ISREG(info.st_mode)) { /* a rename would replace it, /dev/null for example */
    free(folder);
    return tide_diag_set(diag, TIDE_INVALID, "file '%s': '%s' is no regular file",
                         item->file->label, item->path);
  }
  locate_output(item, folder);
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

/* Returns the next name of a relative path, without "." and "//". A name before ".." counts as
 * existing: its folder is made later. *out_length is 0 at the end. */
static const char *next_name(const char *at, size_t *out_length) {
  for (;;) {
    while (*at == '/') at++;
    *out_length = strcspn(at, "/");
    if (*out_length != 1 || *at != '.') return at;
    at++;
  }
}

static bool is_up(const char *name, size_t length) {
  return length == 2 && name[0] == '.' && name[1] == '.';
}

/* Skips "name/.." pairs at the front. */
static const char *next_kept(const char *at, size_t *out_length) {
  for (;;) {
    const char *name = next_name(at, out_length);
    size_t open = 1, length = *out_length;
    if (!length || is_up(name, length)) return name;
    for (const char *rest = name + length; open;) {
      rest = next_name(rest, &length);
      if (!length) return name;
      if (is_up(rest, length)) open--;
      else open++;
      rest += length;
      if (!open) at = rest;
    }
  }
}

/* True if two relative paths from one folder lead to the same location. */
static bool same_way(const char *a, const char *b) {
  size_t length, other;
  for (;; a += length, b += other) {
    a = next_kept(a, &length);
    b = next_kept(b, &other);
    if (length != other || strncmp(a, b, length) != 0) return false;
    if (!length) return true;
  }
}

static const struct item *same_output(const struct tide_tool_files *files,
                                      const struct item *item) {
  for (const struct item *other = files->items; other < item; other++)
    if (other->file && other->file->mode == TIDE_FILE_WRITE && other->path && other->way &&
        other->device == item->device && other->folder == item->folder &&
        same_way(other->way, item->way))
      return other;
  return NULL;
}

static enum tide_status open_file(void *self, const struct tide_plan_file *file,
                                  struct tide_opened_file *out_file, struct tide_diag *diag) {
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
  if (status == TIDE_OK)
    *out_file =
        (struct tide_opened_file){item->descriptor, item->path ? item->path : "the temporary file"};
  return status;
}

/* ---- the end ----------------------------------------------------------------------------- */

static bool copy_bytes(int from, int to) {
  static char bytes[1 << 16];
  for (off_t at = 0;;) {
    ssize_t got = pread(from, bytes, sizeof bytes, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    at += got;
    for (ssize_t done = 0, put; done < got; done += put)
      if ((put = write(to, bytes + done, (size_t)(got - done))) < 0) {
        if (errno != EINTR) return false;
        put = 0;
      }
  }
}

/* Copies an output to a named file, if a file without a name cannot get one. */
static bool copy_output(struct item *item) {
  const char *slash = strrchr(item->path, '/');
  char *folder = slash ? strndup(item->path, (size_t)(slash - item->path) + 1) : strdup(".");
  int to = folder ? open_named(item, folder) : -1;
  free(folder);
  if (to < 0) return false;
  bool good = copy_bytes(item->descriptor, to);
  int error = errno;
  if (close(to) != 0 && good) {
    good = false;
    error = errno;
  }
  errno = error;
  return good; /* else tide_tool_files_destroy removes the temporary file */
}

/* Gives an output without a name a temporary one, in its own folder. */
static bool link_output(struct item *item) {
  if (item->temporary) return true;
  char from[64];
  size_t capacity = strlen(item->path) + 32;
  const char *slash = strrchr(item->path, '/');
  const char *name = slash ? slash + 1 : item->path;
  if (!tide_tool_make_folders(item->path) || !(item->temporary = malloc(capacity))) return false;
  snprintf(from, sizeof from, "/proc/self/fd/%d", item->descriptor);
  for (unsigned attempt = 0; attempt < 100; attempt++) {
    snprintf(item->temporary, capacity, "%.*s.%s.%d.%u", (int)(name - item->path), item->path, name,
             (int)getpid(), attempt);
    tide_tool_remember_file(item->temporary);
    if (linkat(AT_FDCWD, from, AT_FDCWD, item->temporary, AT_SYMLINK_FOLLOW) == 0) return true;
    if (errno == ENOENT &&
        linkat(item->descriptor, "", AT_FDCWD, item->temporary, AT_EMPTY_PATH) == 0)
      return true;
    int error = errno;
    tide_tool_forget_file(item->temporary);
    if (error != EEXIST) break;
  }
  free(item->temporary);
  item->temporary = NULL;
  return copy_output(item); /* the system may forbid linkat */
}

static enum tide_status refuse_file(const struct item *item, struct tide_diag *diag) {
  return tide_diag_at(diag, status_of(errno), item->file->line, item->file->column,
                      "file '%s': cannot write '%s': %s", item->file->label, item->path,
                      strerror(errno));
}

/* True if a folder has appeared at the path while the program ran: the rename would fail, after
 * others have succeeded. */
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
    if (!link_output(item) || folder_in_the_way(item)) return refuse_file(item, diag);
  }
  for (size_t i = 0; i < files->count; i++) {
    struct item *item = &files->items[i];
    if (!item->file || item->file->mode != TIDE_FILE_WRITE) continue;
    if (!tide_tool_make_folders(item->path) || rename(item->temporary, item->path) != 0)
      return refuse_file(item, diag);
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
