/* A program from its file to its plan. */
#include "tool/tool.h"
#include "tidemark/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAGS_MOST 20

static void print_report(const struct tide_tool_program *program,
                         const struct tide_report *report) {
  size_t told = report->count < report->capacity ? report->count : report->capacity;
  for (size_t i = 0; i < told; i++) tide_tool_error_at(program->path, &report->diags[i]);
  if (report->count > told)
    tide_tool_error("%s: %zu more error%s", program->path, report->count - told,
                    tide_tool_plural(report->count - told));
}

/* ---- text ------------------------------------------------------------------------ */

/* Reads may block: unlike a FIFO with a name, a pipe at stdin has had a writer. */
static int open_stdin(const char **out_why) {
  int descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  *out_why = descriptor < 0 ? strerror(errno) : NULL;
  return descriptor;
}

/* Checks the size of a file before the read; reads a pipe up to the limit. */
bool tide_tool_read_text(struct tide_tool_program *program, const char *path) {
  struct stat info;
  const char *why;
  bool is_stdin = strcmp(path, "-") == 0;
  program->path = is_stdin ? "<stdin>" : path;
  program->file = is_stdin ? "/dev/stdin" : path;
  int descriptor = is_stdin ? open_stdin(&why) : tide_tool_open_input(path, &why);
  path = program->path;
  if (descriptor < 0) {
    tide_tool_error("%s: %s", path, why);
    return false;
  }
  if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size > TIDE_PROGRAM_TEXT_MAX) {
    tide_tool_error("%s: %lld bytes are too long for a program; at most %u are read", path,
                    (long long)info.st_size, TIDE_PROGRAM_TEXT_MAX);
  } else if (!(program->text =
                   tide_tool_read_input(descriptor, TIDE_PROGRAM_TEXT_MAX, &program->length))) {
    if (errno == EFBIG)
      tide_tool_error("%s: too long for a program; at most %u bytes are read", path,
                      TIDE_PROGRAM_TEXT_MAX);
    else tide_tool_error("%s: %s", path, strerror(errno));
  }
  close(descriptor);
  return program->text != NULL;
}

bool tide_tool_read(struct tide_tool_program *program, const char *path, bool syntax_only) {
  struct tide_diag diags[DIAGS_MOST];
  struct tide_report report = {.diags = diags, .capacity = DIAGS_MOST};
  if (!tide_tool_read_text(program, path)) return false;
  struct tide_program_params params = {.struct_size = sizeof params,
                                       .allocator = tide_allocator_system(),
                                       .text = program->text,
                                       .length = program->length,
                                       .syntax_only = syntax_only};
  if (tide_program_parse(&params, &report, &program->program) == TIDE_OK) return true;
  print_report(program, &report);
  if (!report.count) tide_tool_error("%s: it could not be read", path);
  return false;
}

/* ---- settings and bodies ------------------------------------------------------------ */

bool tide_tool_add_setting(struct tide_tool_program *program, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text) {
    tide_tool_error("--set %s: expected NAME=VALUE", text);
    return false;
  }
  char *copy = program->setting_count < TIDE_TOOL_SETTINGS_MOST ? strdup(text) : NULL;
  if (!copy) {
    tide_tool_error("--set %s: %s", text,
                    program->setting_count < TIDE_TOOL_SETTINGS_MOST ? "out of memory"
                                                                     : "too many settings");
    return false;
  }
  copy[equals - text] = 0;
  program->owned[program->owned_count++] = copy;
  program->settings[program->setting_count++] =
      (struct tide_setting){copy, copy + (equals - text) + 1};
  return true;
}

bool tide_tool_add_plugin(struct tide_tool_program *program, const char *path) {
  const struct tide_plugin *plugin;
  struct tide_diag diag = {.status = TIDE_OK};
  struct stat info;
  if (program->plugin_count == TIDE_TOOL_PLUGINS_MOST) {
    tide_tool_error("at most %d plugins", TIDE_TOOL_PLUGINS_MOST);
    return false;
  }
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* loading a FIFO would block */
    tide_tool_error("--plugin %s: it is no regular file", path);
    return false;
  }
  if (tide_plugin_load(path, &program->plugins[program->plugin_count], &plugin, &diag) != TIDE_OK) {
    tide_tool_error("%s", diag.text);
    return false;
  }
  program->sets[++program->plugin_count] =
      (struct tide_body_set){plugin->bodies, plugin->body_count};
  return true;
}

bool tide_tool_has_param(const struct tide_tool_program *program, const char *name,
                         bool *out_text) {
  size_t count;
  const struct tide_program_param *params = tide_program_params_of(program->program, &count);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(params[i].name, name) != 0) continue;
    *out_text = params[i].text;
    return true;
  }
  return false;
}

bool tide_tool_is_set(const struct tide_tool_program *program, const char *name) {
  for (size_t i = 0; i < program->setting_count; i++)
    if (strcmp(program->settings[i].name, name) == 0) return true;
  return false;
}

/* ---- the plan -------------------------------------------------------------------------- */

static void show_progress(void *user, uint64_t operations) {
  const struct tide_tool_program *program = user;
  tide_tool_progress("%s: planning, %llu operations", program->path,
                     (unsigned long long)operations);
}

bool tide_tool_plan(struct tide_tool_program *program) {
  struct tide_diag diags[DIAGS_MOST];
  struct tide_report report = {.diags = diags, .capacity = DIAGS_MOST};
  program->sets[0].bodies = tide_kernel_bodies(&program->sets[0].count);
  struct tide_plan_params params = {.struct_size = sizeof params,
                                    .bodies = program->sets,
                                    .body_set_count = program->plugin_count + 1,
                                    .settings = program->settings,
                                    .setting_count = program->setting_count,
                                    .progress = show_progress,
                                    .progress_user = program};
  enum tide_status status = tide_plan_create(program->program, &params, &report, &program->plan);
  tide_tool_progress_over();
  if (status == TIDE_OK) return true;
  print_report(program, &report);
  if (!report.count) tide_tool_error("%s: no plan could be made of it", program->path);
  return false;
}

void tide_tool_unload(struct tide_tool_program *program) {
  tide_plan_destroy(program->plan);
  tide_program_destroy(program->program);
  for (size_t i = 0; i < program->plugin_count; i++) tide_plugin_unload(program->plugins[i]);
  for (size_t i = 0; i < program->owned_count; i++) free(program->owned[i]);
  free(program->text);
}
