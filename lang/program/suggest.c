/* Suggests a known name for a misspelt one. */
#include "base/alloc.h"
#include "program/name_table.h"

void tide_suggestion_begin(struct tide_suggestion *suggestion, const char *text, size_t length) {
  *suggestion =
      (struct tide_suggestion){.text = text, .length = length, .best_distance = UINT32_MAX};
}

/* Returns the number of letters to insert, drop, change or swap with their neighbour. */
static unsigned edit_distance(const char *a, size_t n, const char *b, size_t m) {
  unsigned rows[3][TIDE_PROGRAM_NAME_MAX + 2];
  for (size_t j = 0; j <= m; j++) rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= n; i++) {
    unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
    now[0] = (unsigned)i;
    for (size_t j = 1; j <= m; j++) {
      unsigned best = before[j - 1] + (a[i - 1] != b[j - 1]);
      if (before[j] + 1 < best) best = before[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          earlier[j - 2] + 1 < best) {
        best = earlier[j - 2] + 1;
      }
      now[j] = best;
    }
  }
  return rows[n % 3][m];
}

void tide_suggestion_offer(struct tide_suggestion *suggestion, const char *candidate,
                           size_t length) {
  if (length > TIDE_PROGRAM_NAME_MAX || suggestion->length > TIDE_PROGRAM_NAME_MAX) return;
  unsigned d = edit_distance(suggestion->text, suggestion->length, candidate, length);
  unsigned most = suggestion->length < 3 ? 1 : suggestion->length < 6 ? 2 : 3;
  if (d > most || d >= suggestion->length || d > suggestion->best_distance) return;
  size_t prefix = 0;
  while (prefix < length && prefix < suggestion->length &&
         candidate[prefix] == suggestion->text[prefix])
    prefix++;
  if (d == suggestion->best_distance && prefix <= suggestion->best_prefix) return;
  suggestion->best = candidate;
  suggestion->best_length = length;
  suggestion->best_distance = d;
  suggestion->best_prefix = prefix;
}

const char *tide_suggestion_text(const struct tide_suggestion *suggestion, char *buffer,
                                 size_t size) {
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  if (suggestion->best) {
    tide_text_format(&text, "; did you mean '%.*s'?", (int)suggestion->best_length,
                     suggestion->best);
  }
  return buffer;
}
