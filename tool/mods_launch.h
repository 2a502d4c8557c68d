/* tool/mods_launch.h: a kernel's arguments in text form, and the check of its result. */
#ifndef TIDE_TOOL_MODS_LAUNCH_H
#define TIDE_TOOL_MODS_LAUNCH_H

#include "tidemark/mods.h"
#include "tool/mods_commands.h"

#define TIDE_MODS_ARGUMENTS_MAX 64

enum tide_mods_element {
  TIDE_ELEMENT_I8,
  TIDE_ELEMENT_I32,
  TIDE_ELEMENT_I64,
  TIDE_ELEMENT_F32,
  TIDE_ELEMENT_F64
};

/* An argument: a number, or a matrix. */
struct tide_mods_matrix {
  char name[32];
  bool is_number;
  enum tide_mods_element element;
  uint64_t rows, columns;
  char fill; /* r, z, i */
  void *data;
  uint64_t size;
  int64_t integer;
  double number;
};

struct tide_mods_launch {
  struct tide_mods_run_params params;
  const char *settings[TIDE_MODS_ARGUMENTS_MAX]; /* the values of --arg */
  size_t setting_count;
  struct tide_mods_matrix matrices[TIDE_MODS_ARGUMENTS_MAX];
  struct tide_mods_argument arguments[TIDE_MODS_ARGUMENTS_MAX];
  size_t count;
  char *check; /* "C = A * B"; NULL: no check */
};

/* Adds "NAME=TEXT". False: too many, or no name. */
bool tide_mods_launch_set(struct tide_mods_launch *launch, const char *text);
/* Reads the module's description of its arguments. False: the reason has been printed. */
bool tide_mods_launch_prepare(struct tide_mods_launch *launch);
/* Fills the memory, to which params' arguments then point. */
void tide_mods_launch_fill(struct tide_mods_launch *launch);
/* True if the result in memory is correct. False: the difference has been printed. */
bool tide_mods_launch_check(struct tide_mods_launch *launch);
/* Fills the memory, runs and checks. False: the reason has been printed. */
bool tide_mods_launch_run(struct tide_mods_launch *launch, struct tide_context *context,
                          struct tide_mods_run_stats *out_stats);
bool tide_mods_launch_print(const struct tide_mods_launch *launch, const char *name);
void tide_mods_launch_fini(struct tide_mods_launch *launch);

#endif
