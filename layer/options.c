/* Reading the environment. */
#include "layer/options.h"
#include "layer/protocol.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const class_names[] = {"seen", "known", "own", "sibling", "needed"};

static bool parse_number(const char *text, size_t size, uint64_t *out_number) {
  uint64_t number = 0;
  if (size == 0) return false;
  for (size_t i = 0; i < size; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    uint64_t digit = (uint64_t)(text[i] - '0');
    if (number > (UINT64_MAX - digit) / 10) return false;
    number = number * 10 + digit;
  }
  *out_number = number;
  return true;
}

static bool is_word(const char *text, size_t size, const char *word) {
  return strlen(word) == size && memcmp(text, word, size) == 0;
}

/* Parses "own+known". */
static bool parse_classes(const char *text, size_t size, uint32_t *out_classes) {
  for (size_t at = 0; at <= size;) {
    size_t length = 0;
    while (at + length < size && text[at + length] != '+') length++;
    uint32_t found = 0;
    for (uint32_t i = 0; i < sizeof class_names / sizeof class_names[0]; i++)
      if (is_word(text + at, length, class_names[i])) found = 1u << i;
    if (!found) return false;
    *out_classes |= found;
    at += length + 1;
  }
  return true;
}

/* Parses "X:Y". */
static bool parse_pair(const char *text, size_t size, uint64_t *out_first, uint64_t *out_second) {
  const char *colon = memchr(text, ':', size);
  if (!colon) return false;
  size_t first = (size_t)(colon - text);
  return parse_number(text, first, out_first) &&
         parse_number(colon + 1, size - first - 1, out_second) && *out_first && *out_second;
}

static bool parse_flag(struct layer_options *options, const char *word, size_t size) {
  struct {
    const char *name;
    bool *flag;
  } flags[] = {{"families", &options->families},
               {"in-queue", &options->in_queue},
               {"trace", &options->trace}};
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    if (!is_word(word, size, flags[i].name)) continue;
    *flags[i].flag = true;
    return true;
  }
  return false;
}

static bool parse_setting(struct layer_options *options, const char *word, size_t size) {
  const char *equals = memchr(word, '=', size);
  if (!equals) return parse_flag(options, word, size);
  size_t name = (size_t)(equals - word), length = size - name - 1;
  const char *value = equals + 1;
  uint64_t number = 0;
  if (is_word(word, name, "drop")) return parse_classes(value, length, &options->dropped_classes);
  if (is_word(word, name, "after"))
    return parse_pair(value, length, &options->after_first, &options->after_second);
  if (!parse_number(value, length, &number)) return false;
  if (is_word(word, name, "seed")) options->seed = number;
  else if (is_word(word, name, "drop-edge")) options->drop_edge = number;
  else if (is_word(word, name, "prefix")) options->prefix = number;
  else if (is_word(word, name, "queues") && number >= 1 && number <= TIDE_VULKAN_QUEUES_MOST)
    options->queues = (uint32_t)number;
  else return false;
  return true;
}

static bool parse_mode(struct layer_options *options, const char *word, size_t size) {
  static const char *const modes[] = {
      [LAYER_EXPLAIN] = "explain", [LAYER_EXPLORE] = "explore", [LAYER_AUDIT] = "audit"};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (!is_word(word, size, modes[i])) continue;
    options->mode = (enum layer_mode)i;
    return true;
  }
  return false;
}

bool layer_options_parse(struct layer_options *options, const char *text, char *why,
                         unsigned why_size) {
  *options = (struct layer_options){.queues = 3, .prefix = UINT64_MAX};
  for (size_t at = 0, count = 0;; count++) {
    size_t size = strcspn(text + at, ",");
    bool good =
        count == 0 ? parse_mode(options, text + at, size) : parse_setting(options, text + at, size);
    if (!good) {
      snprintf(why, why_size, "%s: expected %s, not '%.*s' (column %zu)", TIDE_VULKAN_OPTIONS,
               count == 0 ? "explain, explore or audit" : "an option and its value", (int)size,
               text + at, at + 1);
      return false;
    }
    if (!text[at + size]) return true;
    at += size + 1;
  }
}

static bool copy_path(char *to, size_t size, const char *name, char *why, size_t why_size) {
  const char *value = getenv(name);
  if (!value) return true;
  if (strlen(value) >= size) {
    snprintf(why, why_size, "%s: a path of at most %zu bytes was expected", name, size - 1);
    return false;
  }
  strcpy(to, value);
  return true;
}

static struct layer_options options;

static void read_environment(void) {
  char why[256];
  const char *text = getenv(TIDE_VULKAN_OPTIONS);
  if (layer_options_parse(&options, text ? text : "explain", why, sizeof why) &&
      copy_path(options.directory, sizeof options.directory, TIDE_VULKAN_DIRECTORY, why,
                sizeof why) &&
      copy_path(options.replay, sizeof options.replay, TIDE_VULKAN_REPLAY, why, sizeof why))
    return;
  options.is_off = true;
  fprintf(stderr, "tidemark layer: %s; the layer does nothing\n", why);
}

const struct layer_options *layer_options(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return &options;
}
