/* Runs mlir-opt, mlir-translate, opt and llc, one after another, through files without names. */
#include "tool/mods_back.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ARGUMENTS_MAX 8
#define LLVM "/usr/lib/llvm-19/bin" /* Debian's folder */

struct step {
  const char *tool, *package; /* "opt": opt-19, or a tool in LLVM's own folder */
  const char *arguments[ARGUMENTS_MAX];
};

/* ---- one tool ---- */

/* Starts a program. Returns 0, or the error. */
static int start_program(const char *path, char **argv, int in, int out, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (!error) error = posix_spawnp(pid, path, &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static int start_either(const struct step *step, int in, int out, pid_t *pid) {
  char name[64], path[512];
  const char *folder = getenv("TIDEMARK_LLVM");
  const char *argv[ARGUMENTS_MAX + 2] = {name};
  for (int i = 0; i < ARGUMENTS_MAX; i++) argv[i + 1] = step->arguments[i];
  snprintf(name, sizeof name, "%s-19", step->tool);
  snprintf(path, sizeof path, "%s/%s", folder ? folder : LLVM, step->tool);
  int error = start_program(name, (char **)argv, in, out, pid);
  return error == ENOENT ? start_program(path, (char **)argv, in, out, pid) : error;
}

static bool run_step(const struct step *step, FILE *in, FILE *out) {
  pid_t pid;
  int status;
  rewind(in);
  int error = start_either(step, fileno(in), fileno(out), &pid);
  if (error == ENOENT)
    tide_tool_error("%s-19 is not here; Debian has it in %s", step->tool, step->package);
  else if (error) tide_tool_error("%s-19: %s", step->tool, strerror(error));
  if (error) return false;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return false;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    tide_tool_error("%s-19 is not here; Debian has it in %s", step->tool, step->package);
  else tide_tool_error("%s-19 failed", step->tool);
  return false;
}

/* ---- texts and files ---- */

static bool put_text(const struct tide_mods_text *text, FILE *to) {
  return fwrite(text->bytes, 1, text->size, to) == text->size && fflush(to) == 0;
}

static bool get_text(struct tide_mods_text *text, FILE *from) {
  if (fseek(from, 0, SEEK_END) != 0) return false;
  long size = ftell(from);
  if (size < 0) return false;
  char *bytes = malloc((size_t)size + 1);
  if (!bytes) return false;
  rewind(from);
  if (fread(bytes, 1, (size_t)size, from) != (size_t)size) {
    free(bytes);
    return false;
  }
  bytes[size] = 0;
  free(text->bytes);
  *text = (struct tide_mods_text){bytes, (size_t)size};
  return true;
}

static bool run_through(const struct step *step, struct tide_mods_text *text) {
  FILE *in = tmpfile(), *out = tmpfile();
  bool good = in && out && put_text(text, in);
  if (!good) tide_tool_error("a temporary file: %s", strerror(errno));
  good = good && run_step(step, in, out);
  if (good && !get_text(text, out)) {
    tide_tool_error("what %s-19 wrote: %s", step->tool, strerror(errno));
    good = false;
  }
  if (in) fclose(in);
  if (out) fclose(out);
  return good;
}

/* ---- the cluster ---- */

/* Adds the cluster's size behind the parameters of every kernel: LLVM 19 drops nvvm.cluster_dim. */
static bool put_cluster(const uint32_t cluster[3], struct tide_mods_text *text) {
  struct tide_mods_text fresh = {NULL, 0};
  if (cluster[0] * cluster[1] * cluster[2] <= 1) return true;
  FILE *to = open_memstream(&fresh.bytes, &fresh.size);
  if (!to) return false;
  bool in_head = false;
  for (const char *line = text->bytes, *end; *line; line = end) {
    end = strchr(line, '\n');
    end = end ? end + 1 : line + strlen(line);
    size_t length = (size_t)(end - line);
    fwrite(line, 1, length, to);
    char last = length > 1 ? line[length - 2] : '\n';
    if (strncmp(line, ".visible .entry", 15) == 0) in_head = true;
    if (!in_head || last != ')') continue;
    fprintf(to, ".explicitcluster\n.reqnctapercluster %u, %u, %u\n", cluster[0], cluster[1],
            cluster[2]);
    in_head = false;
  }
  if (fclose(to) != 0) {
    free(fresh.bytes);
    return false;
  }
  free(text->bytes);
  *text = fresh;
  return true;
}

bool tide_mods_back(const struct tide_mods_back *back, struct tide_mods_text *text) {
  char cpu[32];
  snprintf(cpu, sizeof cpu, "-mcpu=%s", back->chip);
  const struct step steps[] = {
      {"mlir-opt", "mlir-19-tools", {"--convert-nvvm-to-llvm", "-"}},
      {"mlir-translate", "mlir-19-tools", {"--mlir-to-llvmir", "-"}},
      {"opt", "llvm-19", {"-O2", "-S", "-"}},
      {"llc", "llvm-19", {"-march=nvptx64", cpu, "-mattr=+ptx80", "-o", "-", "-"}}};
  for (size_t i = 0; i < (back->ptx ? 4 : 2); i++)
    if (!run_through(&steps[i], text)) return false;
  if (!back->ptx || put_cluster(back->cluster, text)) return true;
  tide_tool_error("the PTX: %s", strerror(errno));
  return false;
}
