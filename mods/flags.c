#include "mods/flags.h"
#include "base/alloc.h"

/* Bit i is word i. `fast`, which is in no table, stands for all words of fastmath. */
static const char *const overflow_words[] = {"nsw", "nuw", NULL};
static const char *const fastmath_words[] = {"reassoc", "nnan",     "ninf", "nsz",
                                             "arcp",    "contract", "afn",  NULL};
#define FAST 127u

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool read_word(enum tide_flags flags, const char *text, size_t length, uint32_t *bits) {
  const char *const *words = flags == TIDE_FLAGS_OVERFLOW ? overflow_words : fastmath_words;
  if (length == 4 && memcmp(text, "none", 4) == 0) return true;
  if (flags == TIDE_FLAGS_FASTMATH && length == 4 && memcmp(text, "fast", 4) == 0) {
    *bits |= FAST;
    return true;
  }
  for (uint32_t i = 0; words[i]; i++)
    if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) {
      *bits |= 1u << i;
      return true;
    }
  return false;
}

bool tide_flags_read(enum tide_flags flags, const char *text, size_t length, uint32_t *out_bits,
                     size_t *out_wrong) {
  size_t at = 0;
  *out_bits = 0;
  for (;; at++) {
    while (at < length && is_space(text[at])) at++;
    size_t start = at;
    while (at < length && !is_space(text[at]) && text[at] != ',') at++;
    *out_wrong = start;
    if (!read_word(flags, text + start, at - start, out_bits)) return false;
    while (at < length && is_space(text[at])) at++;
    if (at == length) return true;
    *out_wrong = at;
    if (text[at] != ',') return false;
  }
}

void tide_flags_print(enum tide_flags flags, uint32_t bits, struct tide_text *out) {
  bool overflow = flags == TIDE_FLAGS_OVERFLOW;
  const char *const *words = overflow ? overflow_words : fastmath_words;
  const char *before = "";
  if (!bits) tide_text_format(out, "none");
  else if (!overflow && bits == FAST) tide_text_format(out, "fast");
  else
    for (uint32_t i = 0; words[i]; i++) {
      if (!(bits >> i & 1)) continue;
      tide_text_format(out, "%s%s", before, words[i]);
      before = overflow ? ", " : ",";
    }
}

const char *tide_flags_words(enum tide_flags flags) {
  return flags == TIDE_FLAGS_OVERFLOW ? "none, nsw, nuw"
                                      : "none, reassoc, nnan, ninf, nsz, arcp, contract, afn, fast";
}
