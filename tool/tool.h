/* tool/tool.h: shared by the subcommands. Each is one file with one function,
 * int tide_tool_NAME(int argc, char **argv), which returns the exit status. */
#ifndef TIDE_TOOL_TOOL_H
#define TIDE_TOOL_TOOL_H

#include "program/json.h"
#include "tidemark/run.h"

#include <stdarg.h>
#include <stdio.h>

enum { TIDE_EXIT_OK = 0, TIDE_EXIT_FAILED = 1, TIDE_EXIT_USAGE = 2 };

int tide_tool_run(int argc, char **argv);
int tide_tool_sim(int argc, char **argv);
int tide_tool_explain(int argc, char **argv);
int tide_tool_fmt(int argc, char **argv);
int tide_tool_generate(int argc, char **argv);
int tide_tool_demo(int argc, char **argv);
int tide_tool_serve(int argc, char **argv);
int tide_tool_top(int argc, char **argv);
int tide_tool_view(int argc, char **argv);
int tide_tool_mods(int argc, char **argv);
int tide_tool_vulkan(int argc, char **argv);

/* ---- arguments.c ---- */

struct tide_tool_option {
  const char *name;     /* "--set" */
  const char *argument; /* "KEY=VALUE"; NULL: the option takes none */
  const char *help;
};

struct tide_tool_usage {
  const char *command;    /* "run" */
  const char *positional; /* "FILE" */
  const char *summary;
  const struct tide_tool_option *options; /* ends with a NULL name; --help need not be listed */
  const char *notes;                      /* printed below the options, without a last line
                                             feed; may be NULL */
};

struct tide_tool_arguments {
  const struct tide_tool_usage *usage;
  int argc, at;
  char **argv;
  const char *value; /* the option's argument, or the positional argument */
  bool options_over; /* after "--" */
};

enum {
  TIDE_ARGUMENT_END = -1,
  TIDE_ARGUMENT_POSITIONAL = -2,
  TIDE_ARGUMENT_ERROR = -3,
  TIDE_ARGUMENT_HELP = -4
};

/* Commands of a command: `tidemark mods`, `tidemark demo`. */
struct tide_tool_commands {
  const char *command, *head;     /* "mods"; the text above the list, the usage first */
  const char *kind, *placeholder; /* "command", "COMMAND" */
  struct tide_tool_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
  } rows[8]; /* ends with a NULL name */
};
/* Runs the command that argv[1] names, or prints the list. Returns the exit status. */
int tide_tool_dispatch(const struct tide_tool_commands *commands, int argc, char **argv);

/* Returns the index of the next option in the table, or one of the above. ERROR and HELP have been
 * printed. */
int tide_tool_next_argument(struct tide_tool_arguments *arguments);
void tide_tool_print_usage(const struct tide_tool_usage *usage, FILE *to);
/* Prints "tidemark run: message", and the way to get help. Returns TIDE_EXIT_USAGE. */
int tide_tool_wrong_usage(const struct tide_tool_usage *usage, const char *format, ...)
    TIDE_PRINTF(2, 3);

/* A hint for a mistyped word: begin, tide_suggestion_offer each candidate, print the hint. */
struct tide_suggestion;
struct tide_tool_hint {
  char text[128];
};
struct tide_suggestion tide_tool_mistyped(const char *word, size_t length);
/* Returns " (did you mean --check?)", or "" if no candidate is near; it lives in *out_hint. */
const char *tide_tool_hint(const struct tide_suggestion *suggestion, const char *dashes,
                           struct tide_tool_hint *out_hint);
/* Returns the hint for a mistyped option of a command that reads its own command line; `options`
 * ends with NULL. The text is valid until the next call. */
typedef const char *tide_tool_hint_of_option(const char *word, const char *const *options);
tide_tool_hint_of_option tide_tool_option_hint;

/* Reads bytes: "12", "64K", "2G". False if the text is no size. */
bool tide_tool_parse_size(const char *text, uint64_t *out_size);
bool tide_tool_parse_number(const char *text, uint64_t most, uint64_t *out_number);

/* ---- console.c ---- */

/* The ending of the noun behind a number. */
static inline const char *tide_tool_plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* Prints "tidemark: message" on stderr, over the progress line if there is one. */
void tide_tool_error(const char *format, ...) TIDE_PRINTF(1, 2);
/* Prints "satellite.tide:12:18: message". */
void tide_tool_error_at(const char *file, const struct tide_diag *diag);
/* Prints a finding of check mode, with its advice. */
void tide_tool_finding_at(const char *file, const struct tide_finding *finding);
/* Overwrites the progress line, when stderr is a terminal. */
void tide_tool_progress(const char *format, ...) TIDE_PRINTF(1, 2);
void tide_tool_progress_over(void);

/* Handles signals. SIGQUIT: prints on stderr which operations wait, and for which; SIGINT, SIGTERM:
 * removes unfinished files and ends. To be called before there are threads. */
void tide_tool_watch_signals(void);
/* Sets the run for SIGQUIT; NULL: none. */
void tide_tool_watch_run(struct tide_run *run);
/* Removes the file when a signal ends the program, until it is forgotten. False: no memory. */
bool tide_tool_remember_file(const char *path);
void tide_tool_forget_file(const char *path);
/* Removes all remembered files: the program ends early. */
void tide_tool_remove_files(void);

/* ---- socket_path.c ---- */

/* Finds the path of a service's socket when none is given. `make`: makes a missing directory.
 * False: the reason has been printed. */
bool tide_tool_socket(char *buffer, size_t size, bool make);
#define TIDE_TOOL_SOCKET_HELP                                                                      \
  "$XDG_RUNTIME_DIR/tidemark/socket if not given (root: /run/tidemark/socket)"

/* ---- json.c ---- */

/* Returns a writer of JSON to a file, which must outlive it. */
struct tide_json tide_tool_json(FILE *to);

/* ---- input.c ---- */

/* Opens a file for reading. A FIFO waits two seconds for a writer, and stays non-blocking; a folder
 * is refused. -1: *out_why is the reason. */
int tide_tool_open_input(const char *path, const char **out_why);
/* Reads to the end; the caller frees the text. NULL: see errno; EFBIG: more than the limit, which
 * must be above 64 KiB. */
char *tide_tool_read_input(int descriptor, size_t limit, size_t *out_length);

/* ---- load.c ---- */

#define TIDE_TOOL_SETTINGS_MOST 256
#define TIDE_TOOL_PLUGINS_MOST 16

struct tide_plugin_library;

struct tide_tool_program {
  const char *path; /* as messages name it: "<stdin>" for "-" */
  const char *file; /* where it lies: "/dev/stdin" for "-" */
  char *text;
  size_t length;
  struct tide_program *program;
  struct tide_plan *plan;
  struct tide_setting settings[TIDE_TOOL_SETTINGS_MOST];
  size_t setting_count;
  char *owned[TIDE_TOOL_SETTINGS_MOST]; /* freed at the end */
  size_t owned_count;
  struct tide_plugin_library *plugins[TIDE_TOOL_PLUGINS_MOST];
  struct tide_body_set sets[TIDE_TOOL_PLUGINS_MOST + 1];
  size_t plugin_count;
};

/* Reads a file; the path "-" is standard input. False: there were errors, which have been printed.
 */
bool tide_tool_read_text(struct tide_tool_program *program, const char *path);
bool tide_tool_read(struct tide_tool_program *program, const char *path, bool syntax_only);
bool tide_tool_add_plugin(struct tide_tool_program *program, const char *path);
/* Adds a copy of "name=value". */
bool tide_tool_add_setting(struct tide_tool_program *program, const char *text);
bool tide_tool_has_param(const struct tide_tool_program *program, const char *name, bool *out_text);
bool tide_tool_is_set(const struct tide_tool_program *program, const char *name);
bool tide_tool_plan(struct tide_tool_program *program);
void tide_tool_unload(struct tide_tool_program *program);

/* ---- devices.c ---- */

const struct tide_device_kind *tide_tool_devices(size_t *out_count);

/* ---- files.c: the files of one run ---- */

struct tide_tool_files;

/* `directory`: the folder for outputs with relative names; NULL: the names are used as they are. */
struct tide_tool_files *tide_tool_files_create(const struct tide_plan_tables *tables,
                                               const char *directory);
const struct tide_file_source *tide_tool_files_source(struct tide_tool_files *files);
/* Returns the present or future path; NULL for a temporary file. */
const char *tide_tool_files_path(const struct tide_tool_files *files, size_t index);
int tide_tool_files_descriptor(const struct tide_tool_files *files, size_t index);
/* Gives the outputs their names, all or none. On an error the diag has the reason. */
enum tide_status tide_tool_files_commit(struct tide_tool_files *files, struct tide_diag *diag);
/* Removes all outputs that were not committed. NULL is allowed. */
void tide_tool_files_destroy(struct tide_tool_files *files);
/* Makes the missing folders of a path. */
bool tide_tool_make_folders(const char *path);
/* The same, with a message on failure. */
bool tide_tool_need_folders(const char *path);

/* ---- whole.c ---- */

/* True if a file can come to be at `path`: its folder is there, since an option that names a file
 * makes no folders, and nothing but a regular file is in the way. False: the reason has been
 * printed. */
bool tide_tool_can_write(const char *path);
/* Opens a new file beside `path` for writing. -1: the reason has been printed. */
int tide_tool_begin_file(const char *path, char **out_temporary);
/* Closes a file, and gives it its name if it is good. False otherwise: the file is removed, and the
 * error of errno has been printed (0: was printed before). A descriptor of -1 is allowed. */
bool tide_tool_end_file(const char *path, int descriptor, char *temporary, bool good);
/* True if both files exist and are the same. */
bool tide_tool_same_file(const char *path, const char *other);

/* ---- image_input.c ---- */

/* Makes the missing inputs with names like out/terrain-WIDTHxHEIGHT.raw. False: the reason has been
 * printed. */
bool tide_tool_make_inputs(const struct tide_tool_program *program);
/* Uses the user's own image: sets `input`, `width` and `height`. A PNG is decoded into out/
 * first. */
bool tide_tool_use_image(struct tide_tool_program *program, const char *path);
/* Makes smooth hills with fields, 8 bits a pixel; the same for the same seed. The file appears by
 * rename, in a folder that is there. */
bool tide_tool_make_terrain(const char *path, uint64_t width, uint64_t height, uint64_t seed);

#endif
