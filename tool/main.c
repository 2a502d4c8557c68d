/* tidemark: the command-line tool. */
#include "tool/tool.h"

#include "program/name_table.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* benchmarks/patterns/command.c */
int patterns_command(int argc, char **argv, tide_tool_hint_of_option *hint);

static int run_patterns(int argc, char **argv) {
  return patterns_command(argc, argv, tide_tool_option_hint);
}

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "runs a program on real queues, checks it, compares it", tide_tool_run},
    {"sim", "runs a program on simulated devices, up to thousands of them", tide_tool_sim},
    {"explain", "says of each wait of a program what becomes of it, and why", tide_tool_explain},
    {"view", "shows a program in a browser, step by step", tide_tool_view},
    {"fmt", "lays a program out in its one way", tide_tool_fmt},
    {"generate", "makes an image to run programs on", tide_tool_generate},
    {"demo", "runs an example of several processes", tide_tool_demo},
    {"patterns", "runs ways of waiting for data on ten patterns of communication", run_patterns},
    {"serve", "orders the work of other processes", tide_tool_serve},
    {"mods", "checks, lowers and runs persistent kernels written in MLIR's syntax", tide_tool_mods},
    {"vulkan", "runs an unmodified Vulkan program in other orders; explains and audits its waits",
     tide_tool_vulkan},
    {"top", "shows who is connected to a service, and who waits for whom", tide_tool_top},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(FILE *to) {
  fputs("tidemark orders work on many queues by what must have happened before it.\n\n"
        "usage: tidemark COMMAND [ARGUMENTS]\n\n",
        to);
  for (size_t i = 0; i < COMMANDS; i++)
    fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fputs("\n  tidemark COMMAND --help   all about one of them\n"
        "  tidemark help COMMAND     the same\n"
        "  tidemark --version\n",
        to);
}

static int unknown_command(const char *name) {
  struct tide_suggestion suggestion = tide_tool_mistyped(name, strlen(name));
  struct tide_tool_hint hint;
  for (size_t i = 0; i < COMMANDS; i++)
    tide_suggestion_offer(&suggestion, commands[i].name, strlen(commands[i].name));
  fprintf(stderr, "tidemark: there is no command '%s'%s; expected one of:", name,
          tide_tool_hint(&suggestion, "", &hint));
  for (size_t i = 0; i < COMMANDS; i++) fprintf(stderr, "%s %s", i ? "," : "", commands[i].name);
  fputs("\n", stderr);
  return TIDE_EXIT_USAGE;
}

static int run_command(int argc, char **argv) {
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(argv[0], commands[i].name) == 0) return commands[i].run(argc, argv);
  return unknown_command(argv[0]);
}

/* `help vulkan audit` is `vulkan audit --help`. The words of `help` end at the first option. */
static int help_about(int argc, char **argv) {
  static char option[] = "--help";
  char *words[4] = {NULL};
  int count = 0;
  for (; count < argc && count < 2 && argv[count][0] != '-'; count++) words[count] = argv[count];
  if (count == 0 || count < argc) {
    fprintf(stderr, "tidemark help: unexpected '%s'; expected a command\n", argv[count]);
    return TIDE_EXIT_USAGE;
  }
  words[count++] = option;
  return run_command(count, words);
}

/* Fails if the output could not be written. */
static int finish_output(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  fputs("tidemark: the output could not be written\n", stderr);
  return status ? status : TIDE_EXIT_FAILED;
}

/* Opens /dev/null for closed standard descriptors. Otherwise a file that the tool opens, an output
 * for example, could get the number of stdout, and messages would go into it. The opened
 * descriptors refuse writes, so that printing fails as before. */
static bool close_gaps(void) {
  for (int number = 0; number <= STDERR_FILENO; number++)
    if (fcntl(number, F_GETFD) < 0 &&
        open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) != number)
      return false;
  return true;
}

int main(int argc, char **argv) {
  if (!close_gaps()) return TIDE_EXIT_FAILED;
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails instead */
  if (argc < 2) {
    print_help(stderr);
    return TIDE_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts("tidemark " TIDE_VERSION);
    return finish_output(TIDE_EXIT_OK);
  }
  bool help = strcmp(argv[1], "help") == 0;
  if (help && argc > 2) return finish_output(help_about(argc - 2, argv + 2));
  if (help || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return finish_output(TIDE_EXIT_OK);
  }
  return finish_output(run_command(argc - 1, argv + 1));
}
