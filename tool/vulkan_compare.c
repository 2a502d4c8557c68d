/* Targets of --compare: stdout, and files that the program writes. */
#include "tool/vulkan_explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASIDE ".before-tidemark"

/* ---- the files ------------------------------------------------------------------- */

static void aside_path(const struct tide_vulkan_target *target, char *buffer, size_t size) {
  snprintf(buffer, size, "%s" ASIDE, target->name);
}

bool tide_vulkan_targets_init(struct tide_vulkan_targets *targets,
                              const struct tide_vulkan_job *job,
                              const struct tide_vulkan_directory *directory) {
  targets->count = 0;
  for (size_t i = 0; i < job->target_count; i++) {
    struct tide_vulkan_target *target = &targets->list[targets->count++];
    struct stat info;
    char name[32];
    *target = (struct tide_vulkan_target){.name = job->targets[i]};
    target->is_stdout = strcmp(target->name, "stdout") == 0;
    snprintf(name, sizeof name, target->is_stdout ? "plain.stdout" : "plain-%zu.file", i);
    tide_vulkan_path(directory, name, target->plain);
    char aside[4096];
    if (target->is_stdout) continue;
    aside_path(target, aside, sizeof aside);
    if (lstat(aside, &info) == 0) {
      tide_tool_error(
          "--compare %s: '%s' is in the way: another run, or one that was killed, left it",
          target->name, aside);
      return false;
    }
    if (lstat(target->name, &info) != 0 || S_ISREG(info.st_mode)) continue;
    tide_tool_error("--compare %s: a regular file is expected, which the program writes",
                    target->name);
    return false;
  }
  return true;
}

bool tide_vulkan_targets_remove(const struct tide_vulkan_targets *targets, bool is_first) {
  for (size_t i = 0; i < targets->count; i++) {
    const struct tide_vulkan_target *target = &targets->list[i];
    char aside[4096];
    if (target->is_stdout) continue;
    aside_path(target, aside, sizeof aside);
    int failed = is_first ? rename(target->name, aside) : unlink(target->name);
    if (failed == 0 || errno == ENOENT) continue;
    tide_tool_error("--compare %s: cannot remove it before a run: %s", target->name,
                    strerror(errno));
    return false;
  }
  return true;
}

bool tide_vulkan_targets_keep(const struct tide_vulkan_targets *targets, const char *output) {
  for (size_t i = 0; i < targets->count; i++) {
    const struct tide_vulkan_target *target = &targets->list[i];
    char path[TIDE_VULKAN_PATH_MOST + 8];
    snprintf(path, sizeof path, "%s.stdout", output);
    const char *from = target->is_stdout ? path : target->name;
    if (access(from, F_OK) != 0) {
      tide_tool_error("--compare %s: the program does not write it", target->name);
      return false;
    }
    if (strcmp(from, target->plain) != 0 && !tide_vulkan_copy_file(from, target->plain))
      return false;
  }
  for (size_t i = 0; i < targets->count; i++) {
    char aside[4096];
    aside_path(&targets->list[i], aside, sizeof aside);
    if (!targets->list[i].is_stdout) (void)unlink(aside);
  }
  return true;
}

void tide_vulkan_targets_restore(const struct tide_vulkan_targets *targets) {
  for (size_t i = 0; i < targets->count; i++) {
    const char *name = targets->list[i].name;
    char aside[4096];
    aside_path(&targets->list[i], aside, sizeof aside);
    if (!targets->list[i].is_stdout && access(aside, F_OK) == 0) (void)rename(aside, name);
  }
}

/* ---- comparison ------------------------------------------------------------------ */

/* Finds the first byte where two files differ. False: one cannot be read. */
static bool compare_files(FILE *a, FILE *b, bool *out_same, uint64_t *out_offset) {
  static char left[1 << 16], right[1 << 16];
  uint64_t offset = 0;
  for (;;) {
    size_t more = fread(left, 1, sizeof left, a), other = fread(right, 1, sizeof right, b);
    size_t both = more < other ? more : other, at = 0;
    if (ferror(a) || ferror(b)) return false;
    if (memcmp(left, right, both) != 0)
      while (left[at] == right[at]) at++;
    else at = both;
    *out_offset = offset + at;
    *out_same = at == both && more == other;
    if (!*out_same || !both) return true;
    offset += both;
  }
}

static bool compare_target(const struct tide_vulkan_target *target, const char *path,
                           struct tide_vulkan_difference *difference) {
  FILE *plain = fopen(target->plain, "re"), *other = fopen(path, "re");
  bool good = plain && (other || errno == ENOENT), is_same = false;
  *difference = (struct tide_vulkan_difference){.target = target->name, .is_missing = !other};
  if (plain && other) good = compare_files(plain, other, &is_same, &difference->offset);
  if (!good) tide_tool_error("cannot read '%s': %s", path, strerror(errno));
  if (plain) fclose(plain);
  if (other) fclose(other);
  if (is_same) difference->target = NULL;
  return good;
}

bool tide_vulkan_targets_compare(const struct tide_vulkan_targets *targets, const char *output,
                                 struct tide_vulkan_difference *out_difference) {
  *out_difference = (struct tide_vulkan_difference){.target = NULL};
  for (size_t i = 0; i < targets->count && !out_difference->target; i++) {
    const struct tide_vulkan_target *target = &targets->list[i];
    char path[TIDE_VULKAN_PATH_MOST + 8];
    snprintf(path, sizeof path, "%s.stdout", output);
    if (!compare_target(target, target->is_stdout ? path : target->name, out_difference))
      return false;
  }
  return true;
}
