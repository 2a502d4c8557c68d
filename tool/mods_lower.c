/* tidemark mods lower. */
#include "mods/lower.h"
#include "tool/mods_back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tide_tool_option options[] = {
    {"--emit", "mods|nvvm|llvm|ptx",
     "mods: the cutlass dialect is gone, by the names of \"MODS Async Dispatch\" (the default);\n"
     "                             nvvm: what MLIR 19 has, one module of llvm.funcs; llvm, ptx: "
     "by\n"
     "                             mlir-opt-19, mlir-translate-19, opt-19 and llc-19"},
    {"--mods-end", "single|full",
     "the end of a window. single: drain, wait (the default for mods); full: drain, wait,\n"
     "                             arrive, wait: all CTAs have finished (for all others)"},
    {"--partial", "error|mbarrier", "masks that leave out participants"},
    {"--chip", "sm_90a|sm_90", "for ptx; the default is sm_90a"},
    {"-o", "FILE", "where to; else stdout"},
    {NULL, NULL, NULL}};
static const struct tide_tool_usage usage = {
    "mods lower", "FILE", "Lowers kernels; - is stdin.", options,
    "Exit status 0: all is well; 1: something is wrong, or a tool is missing; 2: the command line "
    "is.\n"
    "llvm and ptx take mlir-opt-19 and so on from the PATH, else from LLVM's own folder: that is\n"
    "/usr/lib/llvm-19/bin, or what TIDEMARK_LLVM names."};

enum emit { EMIT_MODS, EMIT_NVVM, EMIT_LLVM, EMIT_PTX };

struct job {
  const char *path, *output;
  enum emit emit;
  struct tide_lower_params lower;
  bool has_end; /* given as an option */
  struct tide_mods_back back;
};

/* ---- options ---- */

static int one_of(const char *value, const char *const *names) {
  for (int i = 0; names[i]; i++)
    if (strcmp(value, names[i]) == 0) return i;
  return -1;
}

static bool set_option(struct job *job, const char *name, const char *value) {
  static const char *const emits[] = {"mods", "nvvm", "llvm", "ptx", NULL};
  static const char *const ends[] = {"single", "full", NULL};
  static const char *const partials[] = {"error", "mbarrier", NULL};
  static const char *const chips[] = {"sm_90a", "sm_90", NULL};
  int at = 0;
  if (strcmp(name, "--emit") == 0) job->emit = (enum emit)(at = one_of(value, emits));
  else if (strcmp(name, "--mods-end") == 0) {
    job->lower.end = (enum tide_lower_end)(at = one_of(value, ends));
    job->has_end = true;
  } else if (strcmp(name, "--partial") == 0)
    job->lower.partial = (enum tide_ir_partial)(at = one_of(value, partials));
  else if (strcmp(name, "--chip") == 0) {
    at = one_of(value, chips);
    job->back.chip = value;
  } else job->output = value;
  return at >= 0;
}

/* ---- the work ---- */

static void to_file(void *self, const char *bytes, size_t size) { fwrite(bytes, 1, size, self); }

static bool print_module(struct tide_ir *ir, struct tide_mods_text *text) {
  struct tide_ir_print_params params = {.generic = true};
  FILE *to = open_memstream(&text->bytes, &text->size);
  if (!to) return false;
  struct tide_ir_out out = {to_file, to};
  bool good = tide_ir_print(ir, ir->module, &params, &out) == TIDE_OK && !ferror(to);
  return fclose(to) == 0 && good;
}

static void find_cluster(const struct tide_ir *ir, uint32_t cluster[3]) {
  cluster[0] = cluster[1] = cluster[2] = 1;
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    tide_ir_attr shape = tide_ir_op_kind(ir, op) == TIDE_OP_GPU_MODULE
                             ? tide_ir_get(ir, op, TIDE_NAME_CLUSTER_SHAPE)
                             : 0;
    for (uint32_t i = 0; shape && i < 3; i++)
      cluster[i] = (uint32_t)tide_ir_attr_element(ir, shape, i);
  }
}

static bool lower_module(struct job *job, struct tide_ir *ir, struct tide_mods_text *text) {
  find_cluster(ir, job->back.cluster);
  if (!job->has_end)
    job->lower.end = job->emit == EMIT_MODS ? TIDE_LOWER_END_SINGLE : TIDE_LOWER_END_FULL;
  job->lower.form = job->emit == EMIT_MODS ? TIDE_LOWER_MODS : TIDE_LOWER_NVVM;
  enum tide_status status = tide_lower(ir, &job->lower);
  if (status == TIDE_OK && !print_module(ir, text)) status = TIDE_NOMEM;
  if (status != TIDE_OK && status != TIDE_CORRUPT)
    tide_tool_error("%s: %s", job->path, tide_status_text(status));
  if (status != TIDE_OK) return false;
  job->back.ptx = job->emit == EMIT_PTX;
  return job->emit < EMIT_LLVM || tide_mods_back(&job->back, text);
}

bool tide_mods_emit_ptx(struct tide_ir *ir, const char *path, struct tide_mods_text *out) {
  struct job job = {.path = path, .emit = EMIT_PTX, .back = {.chip = "sm_90a"}};
  return lower_module(&job, ir, out);
}

static bool write_all(int to, const struct tide_mods_text *text) {
  for (size_t done = 0; done < text->size;) {
    ssize_t wrote = write(to, text->bytes + done, text->size - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += (size_t)wrote;
  }
  return true;
}

static bool write_output(const char *output, const struct tide_mods_text *text) {
  char *temporary;
  if (!output) {
    bool good = write_all(STDOUT_FILENO, text);
    if (!good) tide_tool_error("stdout: %s", strerror(errno));
    return good;
  }
  int to = tide_tool_begin_file(output, &temporary);
  bool good = to >= 0 && write_all(to, text);
  return tide_tool_end_file(output, to, temporary, good);
}

static bool run_lowering(struct job *job) {
  static const struct tide_mods_reading plain = {.sink = &tide_mods_stderr};
  struct tide_mods_reading reading = plain;
  struct tide_mods_input input;
  struct tide_mods_text text = {NULL, 0};
  struct tide_ir *ir = NULL;
  reading.partial = job->lower.partial;
  if (!tide_mods_read(&input, job->path)) return false;
  struct tide_mods_part all = {input.text, input.length, 1};
  bool good = tide_mods_load(&input, &all, &reading, &ir) && lower_module(job, ir, &text) &&
              write_output(job->output, &text);
  tide_ir_destroy(ir);
  tide_mods_free(&input);
  free(text.bytes);
  return good;
}

int tide_tool_mods_lower(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  struct job job = {.back = {.chip = "sm_90a"}};
  int option;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == TIDE_ARGUMENT_POSITIONAL) {
      if (job.path) return tide_tool_wrong_usage(&usage, "one file at a time");
      job.path = arguments.value;
    } else if (!set_option(&job, options[option].name, arguments.value)) {
      return tide_tool_wrong_usage(&usage, "%s: '%s' is not one of its values",
                                   options[option].name, arguments.value);
    }
  }
  if (!job.path) job.path = "-";
  return run_lowering(&job) ? TIDE_EXIT_OK : TIDE_EXIT_FAILED;
}
