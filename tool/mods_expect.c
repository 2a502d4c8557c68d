/* The diagnostics that a file expects, in the form of MLIR's tests:
 *
 *   // expected-error@+1 {{a part of the message}}
 *
 * error, warning, remark or note; @+N, @-N, @above, @below, or nothing for the same line. */
#include "tool/mods_commands.h"

#include <stdlib.h>
#include <string.h>

struct expectation {
  enum tide_mods_severity severity;
  uint32_t line, column; /* the location of the comment */
  uint32_t at;           /* the line of the diagnostic; 0: any */
  const char *text;
  size_t length;
  bool came;
};

struct tide_mods_expected {
  struct tide_mods_sink sink;
  const char *file;
  struct expectation *list;
  size_t count, capacity;
  bool wrong;
};

/* Reads "expected-error" and so on. Returns the length of the word; 0: no such word. */
static size_t severity_of(const char *at, const char *end, enum tide_mods_severity *out) {
  static const char *const words[] = {"", "expected-error", "expected-warning", "expected-remark",
                                      "expected-note"};
  for (int i = 1; i <= 4; i++) {
    size_t length = strlen(words[i]);
    if ((size_t)(end - at) < length || memcmp(at, words[i], length) != 0) continue;
    *out = (enum tide_mods_severity)i;
    return length;
  }
  return 0;
}

static bool line_expects(const char *line, const char *end) {
  enum tide_mods_severity ignored;
  for (const char *at = line; at < end; at++)
    if (*at == 'e' && severity_of(at, end, &ignored)) return true;
  return false;
}

static const char *line_end(const char *line, const char *end) {
  const char *found = memchr(line, '\n', (size_t)(end - line));
  return found ? found : end;
}

/* Returns the nearest line above or below that has no expectation itself. */
static uint32_t other_line(const struct tide_mods_part *part, const char *line, uint32_t number,
                           bool below) {
  const char *end = part->text + part->length;
  for (;;) {
    if (below) {
      line = line_end(line, end);
      if (line >= end) return number + 1;
      line++;
      number++;
    } else {
      if (line == part->text) return number;
      for (line--; line > part->text && line[-1] != '\n';) line--;
      number--;
    }
    if (!line_expects(line, line_end(line, end))) return number;
  }
}

/* Reads the location after the word: @+1 and the like. */
static const char *place_of(const struct tide_mods_part *part, const char *at, const char *end,
                            const char *line, struct expectation *item) {
  item->at = item->line;
  if (at >= end || *at != '@') return at;
  at++;
  size_t left = (size_t)(end - at);
  if (left >= 5 && memcmp(at, "above", 5) == 0) {
    item->at = other_line(part, line, item->line, false);
    return at + 5;
  }
  if (left >= 5 && memcmp(at, "below", 5) == 0) {
    item->at = other_line(part, line, item->line, true);
    return at + 5;
  }
  if (left >= 7 && memcmp(at, "unknown", 7) == 0) {
    item->at = 0;
    return at + 7;
  }
  bool back = left && *at == '-';
  uint32_t lines = 0;
  if (left && (*at == '-' || *at == '+')) at++;
  for (; at < end && *at >= '0' && *at <= '9'; at++) lines = lines * 10 + (uint32_t)(*at - '0');
  item->at = back ? item->line - lines : item->line + lines;
  return at;
}

static bool add_expectation(struct tide_mods_expected *expected, const struct expectation *item) {
  if (expected->count == expected->capacity) {
    size_t capacity = expected->capacity ? expected->capacity * 2 : 16;
    struct expectation *larger = realloc(expected->list, capacity * sizeof *larger);
    if (!larger) return false;
    expected->list = larger;
    expected->capacity = capacity;
  }
  expected->list[expected->count++] = *item;
  return true;
}

static const char *find_braces(const char *at, const char *end, const char *what) {
  for (; at + 1 < end; at++)
    if (at[0] == what[0] && at[1] == what[1]) return at;
  return NULL;
}

static bool read_line(struct tide_mods_expected *expected, const struct tide_mods_part *part,
                      const char *line, const char *end, uint32_t number) {
  struct expectation item = {.line = number};
  for (const char *at = line; at < end; at++) {
    size_t length = *at == 'e' ? severity_of(at, end, &item.severity) : 0;
    if (!length) continue;
    item.column = (uint32_t)(at - line) + 1;
    at = place_of(part, at + length, end, line, &item);
    const char *open = find_braces(at, end, "{{"),
               *close = open ? find_braces(open + 2, end, "}}") : NULL;
    if (!close) {
      fprintf(stderr, "%s:%u:%u: error: expected {{…}} behind it\n", expected->file, number,
              item.column);
      return false;
    }
    item.text = open + 2;
    item.length = (size_t)(close - item.text);
    if (!add_expectation(expected, &item)) return false;
    at = close + 1;
  }
  return true;
}

static bool contains_text(const char *text, const char *part, size_t length) {
  size_t size = strlen(text);
  for (size_t i = 0; i + length <= size; i++)
    if (memcmp(text + i, part, length) == 0) return true;
  return false;
}

static const char *name_of(enum tide_mods_severity severity) {
  static const char *const names[] = {"", "error", "warning", "remark", "note"};
  return names[severity];
}

static void mark_expected(void *self, const struct tide_mods_diagnostic *d) {
  struct tide_mods_expected *expected = self;
  for (size_t i = 0; i < expected->count; i++) {
    struct expectation *item = &expected->list[i];
    if (item->came || item->severity != d->severity || (item->at && item->at != d->line) ||
        !contains_text(d->text, item->text, item->length))
      continue;
    item->came = true;
    return;
  }
  /* Like MLIR, ignores notes and remarks that were not expected. */
  if (d->severity == TIDE_MODS_NOTE || d->severity == TIDE_MODS_REMARK) return;
  expected->wrong = true;
  fprintf(stderr, "%s:%u:%u: error: unexpected %s: %s\n", d->file, d->line, d->column,
          name_of(d->severity), d->text);
}

struct tide_mods_expected *tide_mods_expect(const struct tide_mods_input *input,
                                            const struct tide_mods_part *part) {
  struct tide_mods_expected *expected = calloc(1, sizeof *expected);
  const char *end = part->text + part->length;
  uint32_t number = part->first_line;
  if (!expected) return NULL;
  expected->sink = (struct tide_mods_sink){mark_expected, expected};
  expected->file = input->name;
  for (const char *line = part->text; line < end; number++) {
    const char *stop = line_end(line, end);
    if (!read_line(expected, part, line, stop, number)) expected->wrong = true;
    line = stop + 1;
  }
  return expected;
}

const struct tide_mods_sink *tide_mods_expected_sink(struct tide_mods_expected *expected) {
  return &expected->sink;
}

bool tide_mods_expected_end(struct tide_mods_expected *expected) {
  bool good = !expected->wrong;
  for (size_t i = 0; i < expected->count; i++) {
    const struct expectation *item = &expected->list[i];
    if (item->came) continue;
    fprintf(stderr, "%s:%u:%u: error: expected %s \"%.*s\" was not produced\n", expected->file,
            item->line, item->column, name_of(item->severity), (int)item->length, item->text);
    good = false;
  }
  free(expected->list);
  free(expected);
  return good;
}
