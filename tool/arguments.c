/* The command line, from a table of options. */
#include "tool/tool.h"

#include "program/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tide_tool_print_usage(const struct tide_tool_usage *usage, FILE *to) {
  fprintf(to, "usage: tidemark %s [OPTIONS] %s\n%s\n\n", usage->command, usage->positional,
          usage->summary);
  for (const struct tide_tool_option *option = usage->options; option->name; option++) {
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    fprintf(to, "  %-26s %s\n", left, option->help);
  }
  fprintf(to, "  %-26s %s\n", "--help", "this text");
  if (usage->notes) fprintf(to, "\n%s\n", usage->notes);
}

int tide_tool_wrong_usage(const struct tide_tool_usage *usage, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "tidemark %s: ", usage->command);
  vfprintf(stderr, format, list);
  fprintf(stderr, "; see tidemark %s --help\n", usage->command);
  va_end(list);
  return TIDE_EXIT_USAGE;
}

/* ---- mistyped words ---- */

struct tide_suggestion tide_tool_mistyped(const char *word, size_t length) {
  struct tide_suggestion suggestion;
  size_t dashes = 0;
  while (dashes < length && word[dashes] == '-') dashes++;
  tide_suggestion_begin(&suggestion, word + dashes, length - dashes);
  return suggestion;
}

const char *tide_tool_hint(const struct tide_suggestion *suggestion, const char *dashes,
                           struct tide_tool_hint *out_hint) {
  out_hint->text[0] = 0;
  if (suggestion->best)
    snprintf(out_hint->text, sizeof out_hint->text, " (did you mean %s%.*s?)", dashes,
             (int)suggestion->best_length, suggestion->best);
  return out_hint->text;
}

const char *tide_tool_option_hint(const char *word, const char *const *options) {
  static struct tide_tool_hint hint;
  struct tide_suggestion suggestion = tide_tool_mistyped(word, strlen(word));
  for (; *options; options++)
    tide_suggestion_offer(&suggestion, *options + 2, strlen(*options + 2));
  return tide_tool_hint(&suggestion, "--", &hint);
}

static int unknown_option(const struct tide_tool_usage *usage, const char *word, size_t length) {
  struct tide_suggestion suggestion = tide_tool_mistyped(word, length);
  struct tide_tool_hint hint;
  for (const struct tide_tool_option *option = usage->options; option->name; option++)
    tide_suggestion_offer(&suggestion, option->name + 2, strlen(option->name + 2));
  tide_suggestion_offer(&suggestion, "help", 4);
  tide_tool_wrong_usage(usage, "there is no option %.*s%s", (int)length, word,
                        tide_tool_hint(&suggestion, "--", &hint));
  return TIDE_ARGUMENT_ERROR;
}

/* ---- options ---- */

/* Reads an option: `--name value` or `--name=value`. */
static int take_option(struct tide_tool_arguments *arguments, const char *word) {
  const char *equals = strchr(word, '=');
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  for (int i = 0; arguments->usage->options[i].name; i++) {
    const struct tide_tool_option *option = &arguments->usage->options[i];
    if (strlen(option->name) != length || memcmp(option->name, word, length) != 0) continue;
    arguments->value = equals ? equals + 1 : NULL;
    if (!option->argument && equals) {
      tide_tool_wrong_usage(arguments->usage, "%s takes no value", option->name);
      return TIDE_ARGUMENT_ERROR;
    }
    if (option->argument && !equals) {
      if (arguments->at == arguments->argc) {
        tide_tool_wrong_usage(arguments->usage, "%s needs a value: %s", option->name,
                              option->argument);
        return TIDE_ARGUMENT_ERROR;
      }
      arguments->value = arguments->argv[arguments->at++];
    }
    return i;
  }
  return unknown_option(arguments->usage, word, length);
}

int tide_tool_next_argument(struct tide_tool_arguments *arguments) {
  if (!arguments->at) arguments->at = 1;
  if (arguments->at == arguments->argc) return TIDE_ARGUMENT_END;
  char *word = arguments->argv[arguments->at++];
  if (!arguments->options_over && strcmp(word, "--") == 0) {
    arguments->options_over = true;
    return tide_tool_next_argument(arguments);
  }
  if (arguments->options_over || word[0] != '-' || !word[1]) {
    arguments->value = word;
    return TIDE_ARGUMENT_POSITIONAL;
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    tide_tool_print_usage(arguments->usage, stdout);
    return TIDE_ARGUMENT_HELP;
  }
  return take_option(arguments, word);
}

bool tide_tool_parse_number(const char *text, uint64_t most, uint64_t *out_number) {
  char *end;
  if (text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (errno || *end || number > most) return false;
  *out_number = number;
  return true;
}

bool tide_tool_parse_size(const char *text, uint64_t *out_size) {
  static const char units[] = "KMGT";
  char *end;
  if (text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (errno) return false;
  const char *unit = *end ? strchr(units, *end) : NULL;
  if (*end && (!unit || end[1])) return false;
  unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
  if (number > UINT64_MAX >> shift) return false;
  *out_size = (uint64_t)number << shift;
  return true;
}

/* ---- commands of a command ---- */

static void print_commands(const struct tide_tool_commands *commands, FILE *to) {
  fprintf(to, "%s\n\n", commands->head);
  for (const struct tide_tool_command *row = commands->rows; row->name; row++)
    fprintf(to, "  %-12s %s\n", row->name, row->summary);
  fprintf(to, "\n  tidemark %s %s --help   all about one of them\n", commands->command,
          commands->placeholder);
}

int tide_tool_dispatch(const struct tide_tool_commands *commands, int argc, char **argv) {
  bool help = argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
  if (argc < 2 || help) {
    print_commands(commands, help ? stdout : stderr);
    return help ? TIDE_EXIT_OK : TIDE_EXIT_USAGE;
  }
  struct tide_suggestion suggestion = tide_tool_mistyped(argv[1], strlen(argv[1]));
  struct tide_tool_hint hint;
  for (const struct tide_tool_command *row = commands->rows; row->name; row++) {
    if (strcmp(argv[1], row->name) == 0) return row->run(argc - 1, argv + 1);
    tide_suggestion_offer(&suggestion, row->name, strlen(row->name));
  }
  fprintf(stderr, "tidemark %s: there is no %s '%s'%s; see tidemark %s --help\n", commands->command,
          commands->kind, argv[1], tide_tool_hint(&suggestion, "", &hint), commands->command);
  return TIDE_EXIT_USAGE;
}
