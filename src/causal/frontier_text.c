/* The text form of a frontier: {queue:0.3@7, host:0.1@2}, with ~ behind it if tainted. */
#include "base/alloc.h"
#include "base/text.h"
#include "tidemark/causal.h"

static void print_axis(struct tide_text *text, tide_axis axis) {
  const char *domain = tide_domain_name(tide_axis_domain(axis));
  if (domain) tide_text_format(text, "%s", domain);
  else tide_text_format(text, "?%u", tide_axis_domain(axis));
  tide_text_format(text, ":%u.%llu", (unsigned)tide_axis_machine(axis),
                   (unsigned long long)tide_axis_ordinal(axis));
}

size_t tide_axis_print(tide_axis axis, char *buffer, size_t size) {
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  print_axis(&text, axis);
  return text.length;
}

size_t tide_frontier_print(const struct tide_frontier *frontier, char *buffer, size_t size) {
  struct tide_frontier_entry entry;
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  tide_text_bytes(&text, "{", 1);
  const char *comma = "";
  for (struct tide_frontier_cursor at = tide_frontier_begin(frontier);
       tide_frontier_next(&at, &entry); comma = ", ") {
    tide_text_bytes(&text, comma, strlen(comma));
    print_axis(&text, entry.axis);
    tide_text_format(&text, "@%llu", (unsigned long long)entry.epoch);
  }
  tide_text_bytes(&text, "}", 1);
  if (frontier->tainted) tide_text_bytes(&text, "~", 1);
  return text.length;
}

struct reader {
  const char *text;
  size_t length, at;
  struct tide_diag *diag;
};

/* Skips spaces. Returns the next character without accepting it; 0 at the end. */
static char next_character(struct reader *r) {
  while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t')) r->at++;
  return r->at < r->length ? r->text[r->at] : 0;
}

static bool accept_character(struct reader *r, char wanted) {
  if (next_character(r) != wanted) return false;
  r->at++;
  return true;
}

static enum tide_status report_problem(struct reader *r, size_t at, const char *problem) {
  return tide_diag_at(r->diag, TIDE_CORRUPT, 1, (uint32_t)at + 1, "frontier: %s", problem);
}

static enum tide_status report_expected(struct reader *r, const char *what) {
  char found = next_character(r);
  uint32_t column = (uint32_t)r->at + 1;
  if (r->at >= r->length)
    return tide_diag_at(r->diag, TIDE_CORRUPT, 1, column, "frontier: expected %s, the text ends",
                        what);
  if (found < ' ' || found > '~')
    return tide_diag_at(r->diag, TIDE_CORRUPT, 1, column,
                        "frontier: expected %s, found byte 0x%02x", what,
                        (unsigned)(unsigned char)found);
  return tide_diag_at(r->diag, TIDE_CORRUPT, 1, column, "frontier: expected %s, found '%c'", what,
                      found);
}

static enum tide_status read_number(struct reader *r, const char *what, uint64_t least,
                                    uint64_t most, uint64_t *out_value) {
  char first = next_character(r);
  if (first < '0' || first > '9') return report_expected(r, what);
  size_t start = r->at;
  uint64_t value = 0;
  bool fits = true;
  for (; r->at < r->length && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
    unsigned digit = (unsigned)(r->text[r->at] - '0');
    fits = fits && !__builtin_mul_overflow(value, 10u, &value) &&
           !__builtin_add_overflow(value, digit, &value);
  }
  *out_value = value;
  if (fits && value >= least && value <= most) return TIDE_OK;
  return tide_diag_at(r->diag, TIDE_CORRUPT, 1, (uint32_t)start + 1,
                      "frontier: %s is from %llu to %llu", what, (unsigned long long)least,
                      (unsigned long long)most);
}

static enum tide_status read_domain(struct reader *r, enum tide_domain *out_domain) {
  char first = next_character(r);
  if (first < 'a' || first > 'z') return report_expected(r, "a domain");
  const char *name = r->text + r->at;
  size_t length = 0;
  while (r->at + length < r->length && name[length] >= 'a' && name[length] <= 'z') length++;
  for (unsigned domain = 1; domain < TIDE_DOMAIN_COUNT; domain++) {
    const char *known = tide_domain_name(domain);
    if (strlen(known) != length || memcmp(known, name, length) != 0) continue;
    *out_domain = (enum tide_domain)domain;
    r->at += length;
    return TIDE_OK;
  }
  return report_problem(r, r->at, "unknown domain");
}

static enum tide_status read_axis(struct reader *r, tide_axis *out_axis) {
  enum tide_domain domain = TIDE_DOMAIN_QUEUE;
  uint64_t machine = 0, ordinal = 0;
  enum tide_status status = read_domain(r, &domain);
  if (status != TIDE_OK) return status;
  if (!accept_character(r, ':')) return report_expected(r, "':'");
  status = read_number(r, "a machine", 0, UINT16_MAX, &machine);
  if (status != TIDE_OK) return status;
  if (!accept_character(r, '.')) return report_expected(r, "'.'");
  status = read_number(r, "an ordinal", 0, TIDE_ORDINAL_MAX, &ordinal);
  if (status != TIDE_OK) return status;
  *out_axis = tide_axis_make((uint16_t)machine, domain, ordinal);
  return TIDE_OK;
}

static enum tide_status read_entry(struct reader *r, struct tide_frontier *frontier) {
  tide_axis axis = 0;
  uint64_t epoch = 0;
  next_character(r);
  size_t start = r->at;
  enum tide_status status = read_axis(r, &axis);
  if (status != TIDE_OK) return status;
  if (!accept_character(r, '@')) return report_expected(r, "'@'");
  status = read_number(r, "an epoch", 1, UINT64_MAX, &epoch);
  if (status != TIDE_OK) return status;
  if (tide_frontier_get(frontier, axis) != 0)
    return report_problem(r, start, "the axis is listed twice");
  if (frontier->count == frontier->capacity)
    return tide_diag_at(r->diag, TIDE_FULL, 1, (uint32_t)start + 1,
                        "frontier: more entries than the capacity of %u", frontier->capacity);
  tide_frontier_raise(frontier, axis, epoch, NULL);
  return TIDE_OK;
}

static enum tide_status read_frontier(struct reader *r, struct tide_frontier *frontier) {
  if (!accept_character(r, '{')) return report_expected(r, "'{'");
  if (!accept_character(r, '}')) {
    do {
      enum tide_status status = read_entry(r, frontier);
      if (status != TIDE_OK) return status;
    } while (accept_character(r, ','));
    if (!accept_character(r, '}')) return report_expected(r, "',' or '}'");
  }
  bool tainted = accept_character(r, '~');
  next_character(r);
  if (r->at < r->length) return report_expected(r, tainted ? "the end" : "'~' or the end");
  frontier->tainted = tainted;
  return TIDE_OK;
}

enum tide_status tide_frontier_parse(const char *text, size_t length,
                                     struct tide_frontier *frontier, struct tide_diag *diag) {
  struct reader reader = {text, length, 0, diag};
  tide_frontier_clear(frontier);
  enum tide_status status = read_frontier(&reader, frontier);
  if (status != TIDE_OK) tide_frontier_clear(frontier);
  return status;
}
