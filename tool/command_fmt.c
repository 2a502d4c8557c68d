/* tidemark fmt: the one layout. */
#include "tool/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct tide_tool_option options[] = {
    {"--check", NULL, "changes nothing; exit status 1 when a file is laid out otherwise"},
    {"--write", NULL, "writes the files anew (appears by rename); else the text goes to stdout"},
    {NULL, NULL, NULL},
};
static const struct tide_tool_usage usage = {
    "fmt", "FILE…", "Lays programs out in their one way. Comments stay.", options, NULL};

/* False: the error has been printed. */
static bool write_file(const char *name, const char *text, size_t length) {
  struct stat info;
  char *path = realpath(name, NULL), *temporary; /* a link stays one */
  if (!path) {
    tide_tool_error("%s: %s", name, strerror(errno));
    return false;
  }
  int descriptor = tide_tool_begin_file(path, &temporary);
  bool good = descriptor >= 0;
  for (size_t done = 0; good && done < length;) {
    ssize_t wrote = write(descriptor, text + done, length - done);
    if (wrote < 0 && errno == EINTR) continue;
    good = wrote > 0;
    if (good) done += (size_t)wrote;
  }
  if (good && stat(path, &info) == 0) good = fchmod(descriptor, info.st_mode & 07777) == 0;
  good = tide_tool_end_file(path, descriptor, temporary, good);
  free(path);
  return good;
}

static int format_one(const char *path, bool check, bool write_back) {
  struct tide_tool_program program = {.path = NULL};
  int status = TIDE_EXIT_FAILED;
  char *text = NULL;
  if (!tide_tool_read(&program, path, true)) goto end;
  size_t length = tide_program_format(program.program, NULL, 0);
  text = malloc(length + 1);
  if (!text) {
    tide_tool_error("%s: out of memory", path);
    goto end;
  }
  tide_program_format(program.program, text, length + 1);
  bool same = length == program.length && memcmp(text, program.text, length) == 0;
  status = TIDE_EXIT_OK;
  if (check && !same) {
    tide_tool_error("%s: is laid out otherwise; tidemark fmt %s%s", program.path,
                    program.path == path ? "--write " : "", path);
    status = TIDE_EXIT_FAILED;
  } else if (write_back && !same && !write_file(path, text, length)) {
    status = TIDE_EXIT_FAILED;
  } else if (!check && !write_back) {
    fwrite(text, 1, length, stdout);
  }
end:
  free(text);
  tide_tool_unload(&program);
  return status;
}

int tide_tool_fmt(int argc, char **argv) {
  struct tide_tool_arguments arguments = {.usage = &usage, .argc = argc, .argv = argv};
  bool check = false, write_back = false, has_stdin = false;
  int option, files = 0, status = TIDE_EXIT_OK;
  while ((option = tide_tool_next_argument(&arguments)) != TIDE_ARGUMENT_END) {
    if (option == TIDE_ARGUMENT_HELP) return TIDE_EXIT_OK;
    if (option == TIDE_ARGUMENT_ERROR) return TIDE_EXIT_USAGE;
    if (option == 0) check = true;
    if (option == 1) write_back = true;
    if (option == TIDE_ARGUMENT_POSITIONAL) has_stdin |= strcmp(arguments.value, "-") == 0;
    /* Collects the files at the front of argv, in their order. */
    if (option == TIDE_ARGUMENT_POSITIONAL) argv[1 + files++] = argv[arguments.at - 1];
  }
  if (!files) return tide_tool_wrong_usage(&usage, "which file?");
  if (check && write_back) return tide_tool_wrong_usage(&usage, "--check or --write, not both");
  if (has_stdin && write_back)
    return tide_tool_wrong_usage(&usage, "--write -: standard input is no file to write to");
  tide_tool_watch_signals();
  for (int i = 1; i <= files; i++)
    if (format_one(argv[i], check, write_back) != TIDE_EXIT_OK) status = TIDE_EXIT_FAILED;
  return status;
}
