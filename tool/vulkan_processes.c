/* The processes of a run, from /proc.
 *
 * The tool is a subreaper: when the parent of one of the program's processes ends, the process
 * becomes the tool's child. So all of them are descendants at any time, in any group or session.
 * Children that the tool had before (of a shell that executed it) are strangers. */
#include "tool/vulkan_session.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
  pid_t id, parent;
  bool is_found;
};

struct table {
  struct process *list;
  size_t count, capacity;
};

/* Reads a small file of /proc. Returns its length; 0: the process is gone. */
static size_t read_file(pid_t process, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  ssize_t length = read(descriptor, text, size - 1);
  close(descriptor);
  text[length > 0 ? length : 0] = 0;
  return length > 0 ? (size_t)length : 0;
}

/* Reads the parent of a process. False: the process is gone. */
static bool read_parent(pid_t process, pid_t *out_parent) {
  char text[512];
  int parent;
  if (!read_file(process, "stat", text, sizeof text)) return false;
  const char *name_end = strrchr(text, ')'); /* a name may have parentheses and spaces */
  if (!name_end || sscanf(name_end + 1, " %*c %d", &parent) != 1) return false;
  *out_parent = parent;
  return true;
}

static bool add_process(struct table *table, pid_t id, pid_t parent) {
  if (table->count == table->capacity) {
    size_t capacity = table->capacity ? 2 * table->capacity : 256;
    struct process *list = realloc(table->list, capacity * sizeof *list);
    if (!list) return false;
    table->list = list;
    table->capacity = capacity;
  }
  table->list[table->count++] = (struct process){id, parent, false};
  return true;
}

static bool read_all(struct table *table) {
  DIR *folder = opendir("/proc");
  bool good = folder != NULL;
  for (struct dirent *entry; good && (entry = readdir(folder));) {
    pid_t parent;
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (read_parent(id, &parent)) good = add_process(table, id, parent);
  }
  if (folder) closedir(folder);
  return good;
}

static bool has_process(const struct tide_vulkan_processes *processes, pid_t id) {
  for (size_t i = 0; processes && i < processes->count; i++)
    if (processes->list[i] == id) return true;
  return false;
}

static bool append_process(struct tide_vulkan_processes *processes, pid_t id) {
  if (processes->count == processes->capacity) {
    size_t capacity = processes->capacity ? 2 * processes->capacity : 16;
    pid_t *list = realloc(processes->list, capacity * sizeof *list);
    if (!list) return false;
    processes->list = list;
    processes->capacity = capacity;
  }
  processes->list[processes->count++] = id;
  return true;
}

/* Appends the children of a process that are not found yet. */
static bool append_children(struct table *table, pid_t parent, struct tide_vulkan_processes *found,
                            const struct tide_vulkan_processes *strangers) {
  for (size_t i = 0; i < table->count; i++) {
    struct process *process = &table->list[i];
    if (process->is_found || process->parent != parent || has_process(strangers, process->id))
      continue;
    process->is_found = true;
    if (!append_process(found, process->id)) return false;
  }
  return true;
}

bool tide_vulkan_descendants(struct tide_vulkan_processes *found,
                             const struct tide_vulkan_processes *strangers) {
  struct table table = {.list = NULL};
  found->count = 0;
  bool good = read_all(&table) && append_children(&table, getpid(), found, strangers);
  for (size_t i = 0; good && i < found->count; i++)
    good = append_children(&table, found->list[i], found, strangers);
  free(table.list);
  return good;
}
