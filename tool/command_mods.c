/* tidemark mods: persistent kernels as text. */
#include "tool/mods_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tide_tool_commands commands = {
    "mods",
    "usage: tidemark mods COMMAND [OPTIONS] FILE\n"
    "Persistent kernels in MLIR's syntax: the MODS operations and what stands around them.",
    "command",
    "COMMAND",
    {{"check", "parses and verifies a file", tide_tool_mods_check},
     {"opt", "parses, verifies, folds and prints a file", tide_tool_mods_opt},
     {"lower", "lowers kernels: to NVVM, LLVM IR, PTX", tide_tool_mods_lower},
     {"run", "runs a kernel on the CPU, or a GPU, too, and checks its result", tide_tool_mods_run},
     {NULL, NULL, NULL}}};

int tide_tool_mods(int argc, char **argv) {
  if (argc > 2) tide_mods_dashes(argc - 1, argv + 1);
  return tide_tool_dispatch(&commands, argc, argv);
}

void tide_mods_dashes(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    size_t length = strlen(argv[i]);
    if (strcmp(argv[i], "--") == 0) return;
    if (argv[i][0] != '-' || argv[i][1] == '-' || length < 3) continue;
    char *longer = malloc(length + 2); /* never freed: argv points to it */
    if (!longer) continue;
    longer[0] = '-';
    memcpy(longer + 1, argv[i], length + 1);
    argv[i] = longer;
  }
}

/* ---- files ---- */

#define TEXT_MOST (64u << 20) /* bytes of a module */

bool tide_mods_read(struct tide_mods_input *input, const char *path) {
  bool is_stdin = strcmp(path, "-") == 0;
  const char *why = NULL;
  *input = (struct tide_mods_input){.name = is_stdin ? "<stdin>" : path};
  int from = is_stdin ? STDIN_FILENO : tide_tool_open_input(path, &why);
  if (from >= 0) input->text = tide_tool_read_input(from, TEXT_MOST, &input->length);
  if (from >= 0 && !input->text) why = strerror(errno);
  bool is_long = from >= 0 && !input->text && errno == EFBIG;
  if (from > STDIN_FILENO) close(from);
  if (is_long)
    tide_tool_error("%s: too long for a module; at most %u bytes are read", path, TEXT_MOST);
  else if (!input->text) tide_tool_error("%s: %s", path, why);
  return input->text != NULL;
}

void tide_mods_free(struct tide_mods_input *input) {
  free(input->text);
  input->text = NULL;
}

/* ---- diagnostics ---- */

static const char *severity_name(enum tide_mods_severity severity) {
  static const char *const names[] = {"", "error", "warning", "remark", "note"};
  return names[severity];
}

static void to_stderr(void *self, const struct tide_mods_diagnostic *d) {
  (void)self;
  if (d->line) fprintf(stderr, "%s:%u:%u: ", d->file, d->line, d->column);
  else fprintf(stderr, "%s%s: ", d->file, d->file[0] == '<' ? ":0" : ""); /* <unknown>:0 */
  fprintf(stderr, "%s: %s\n", severity_name(d->severity), d->text);
  if (!d->source || d->source_length > 500) return;
  fprintf(stderr, "%.*s\n", (int)d->source_length, d->source);
  for (uint32_t i = 1; i < d->column && i <= d->source_length; i++)
    fputc(d->source[i - 1] == '\t' ? '\t' : ' ', stderr);
  fputs("^\n", stderr);
}
const struct tide_mods_sink tide_mods_stderr = {to_stderr, NULL};

static void to_stdout(void *self, const char *bytes, size_t size) {
  (void)self;
  fwrite(bytes, 1, size, stdout);
}
const struct tide_ir_out tide_mods_stdout = {to_stdout, NULL};

/* ---- parts ---- */

/* Returns the start of the next line if this one begins with // -----; else NULL. */
static const char *skip_separator(const char *line, const char *end) {
  if (end - line < 8 || memcmp(line, "// -----", 8) != 0) return NULL;
  const char *next = memchr(line, '\n', (size_t)(end - line));
  return next ? next + 1 : end;
}

bool tide_mods_parts(const struct tide_mods_input *input, bool split,
                     bool (*each)(void *self, const struct tide_mods_part *part), void *self) {
  const char *end = input->text + input->length, *line = input->text;
  struct tide_mods_part part = {input->text, 0, 1};
  uint32_t number = 1;
  bool good = true;
  while (split && line < end) {
    const char *next = memchr(line, '\n', (size_t)(end - line));
    const char *behind = skip_separator(line, end);
    number++;
    if (behind) {
      part.length = (size_t)(line - part.text);
      good = each(self, &part) && good;
      part = (struct tide_mods_part){behind, 0, number};
    }
    line = next ? next + 1 : end;
  }
  part.length = (size_t)(end - part.text);
  return each(self, &part) && good;
}

static void tell_rest(const struct tide_mods_input *input, const struct tide_ir *ir) {
  uint32_t most = ir ? ir->errors_max : 0;
  if (most && ir->errors > most)
    tide_tool_error("%s: %u more error%s; check --errors 0 shows all", input->name,
                    ir->errors - most, tide_tool_plural(ir->errors - most));
  if (most && ir->warnings > most)
    tide_tool_error("%s: %u more warning%s; check --errors 0 shows all", input->name,
                    ir->warnings - most, tide_tool_plural(ir->warnings - most));
}

bool tide_mods_load(const struct tide_mods_input *input, const struct tide_mods_part *part,
                    const struct tide_mods_reading *reading, struct tide_ir **out_ir) {
  struct tide_ir_parse_params params = {.text = part->text,
                                        .length = part->length,
                                        .file = input->name,
                                        .first_line = part->first_line,
                                        .any_operation = reading->any_operation};
  struct tide_ir_verify_params rules = {.partial = reading->partial};
  enum tide_status status = tide_ir_create(tide_allocator_system(), out_ir);
  if (status == TIDE_OK) {
    (*out_ir)->sink = reading->sink;
    if (reading->all_errors || reading->errors_max) (*out_ir)->errors_max = reading->errors_max;
    status = tide_ir_parse(*out_ir, &params);
  }
  if (status == TIDE_OK) status = tide_ir_verify(*out_ir, &rules);
  tell_rest(input, *out_ir);
  if (status != TIDE_OK && status != TIDE_CORRUPT)
    tide_tool_error("%s: %s", input->name, tide_status_text(status));
  return status == TIDE_OK;
}
