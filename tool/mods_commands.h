/* tool/mods_commands.h: shared by the subcommands of `tidemark mods`. Each is one file with one
 * function, int tide_tool_mods_NAME(int argc, char **argv). */
#ifndef TIDE_TOOL_MODS_COMMANDS_H
#define TIDE_TOOL_MODS_COMMANDS_H

#include "mods/ir.h"
#include "tool/tool.h"

int tide_tool_mods_check(int argc, char **argv);
int tide_tool_mods_opt(int argc, char **argv);
int tide_tool_mods_lower(int argc, char **argv);
int tide_tool_mods_run(int argc, char **argv);

/* A whole file, or stdin for "-". */
struct tide_mods_input {
  const char *name; /* the name in diagnostics: "-" becomes <stdin> */
  char *text;
  size_t length;
};
/* False: the reason has been printed. */
bool tide_mods_read(struct tide_mods_input *input, const char *path);
void tide_mods_free(struct tide_mods_input *input);

/* Prints to stderr, as mlir-opt does: the message, the line, a caret. */
extern const struct tide_mods_sink tide_mods_stderr;

/* A part of a file: all of it, or the text between two lines of `// -----`. */
struct tide_mods_part {
  const char *text;
  size_t length;
  uint32_t first_line;
};
/* Calls `each` for every part, even after one has failed. False: a call returned false. */
bool tide_mods_parts(const struct tide_mods_input *input, bool split,
                     bool (*each)(void *self, const struct tide_mods_part *part), void *self);

/* Parses and verifies. False: the error went to the sink, or has been printed. *out_ir is set even
 * then, unless memory ran out; the caller destroys it. */
struct tide_mods_reading {
  bool any_operation;
  enum tide_ir_partial partial;
  const struct tide_mods_sink *sink;
  bool all_errors; /* else at most errors_max; 0: the default number */
  uint32_t errors_max;
};
bool tide_mods_load(const struct tide_mods_input *input, const struct tide_mods_part *part,
                    const struct tide_mods_reading *reading, struct tide_ir **out_ir);

/* Turns -option into --option: mlir-opt takes both. */
void tide_mods_dashes(int argc, char **argv);

/* `// expected-error@+1 {{…}}`: the diagnostics that a file expects. */
struct tide_mods_expected;
struct tide_mods_expected *tide_mods_expect(const struct tide_mods_input *input,
                                            const struct tide_mods_part *part);
const struct tide_mods_sink *tide_mods_expected_sink(struct tide_mods_expected *expected);
/* Prints the expected diagnostics that did not come. True: no diagnostic was wrong or missing. */
bool tide_mods_expected_end(struct tide_mods_expected *expected);

/* Prints to stdout. */
extern const struct tide_ir_out tide_mods_stdout;

#endif
