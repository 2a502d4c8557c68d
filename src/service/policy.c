/* The policy's text: words in lines. */
#include "service/policy.h"
#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>

struct reader {
  const char *text;
  size_t length, at;
  uint32_t line;
  size_t line_start;
  const char *word; /* the word that was read last */
  size_t size;
  struct tide_diag *diag;
};

static uint32_t column_of(const struct reader *r) {
  return (uint32_t)((size_t)(r->word - r->text) - r->line_start + 1);
}

static enum tide_status refuse_word(const struct reader *r, const char *what) {
  uint32_t column = column_of(r);
  if (!r->size)
    return tide_diag_at(r->diag, TIDE_CORRUPT, r->line, column, "%s, not the end of the line",
                        what);
  /* Quotes the word only if all its characters are printable. */
  for (size_t i = 0; i < r->size; i++)
    if (r->word[i] < '!' || r->word[i] > '~')
      return tide_diag_at(r->diag, TIDE_CORRUPT, r->line, column, "%s", what);
  size_t shown = r->size < 40 ? r->size : 40;
  return tide_diag_at(r->diag, TIDE_CORRUPT, r->line, column, "%s, not '%.*s'", what, (int)shown,
                      r->word);
}

/* Reads the next word of this line. False: the line has ended. */
static bool next_word(struct reader *r) {
  while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t')) r->at++;
  r->word = r->text + r->at;
  r->size = 0;
  if (r->at < r->length && r->text[r->at] == '#')
    while (r->at < r->length && r->text[r->at] != '\n') r->at++;
  while (r->at < r->length && r->text[r->at] != '\n' && r->text[r->at] != ' ' &&
         r->text[r->at] != '\t' && r->text[r->at] != '#') {
    r->at++;
    r->size++;
  }
  return r->size > 0;
}

static bool is_word(const struct reader *r, const char *word) {
  return strlen(word) == r->size && memcmp(word, r->word, r->size) == 0;
}

static bool parse_number(const struct reader *r, uint64_t most, uint64_t *out) {
  uint64_t value = 0;
  size_t i = 0;
  for (; i < r->size && r->word[i] >= '0' && r->word[i] <= '9'; i++) {
    if (value > (UINT64_MAX - 9) / 10) return false;
    value = value * 10 + (uint64_t)(r->word[i] - '0');
  }
  if (i == 0) return false;
  if (i + 1 == r->size) {
    char unit = r->word[i];
    unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    if (!shift || value > UINT64_MAX >> shift) return false;
    value <<= shift;
    i++;
  }
  if (i != r->size || value > most) return false;
  *out = value;
  return true;
}

/* Reads the number behind the word `name`. */
static enum tide_status read_number(struct reader *r, const char *name, uint64_t least,
                                    uint64_t most, uint64_t *out) {
  char what[128];
  if (next_word(r) && parse_number(r, most, out) && *out >= least) return TIDE_OK;
  snprintf(what, sizeof what, "%s: a number from %llu to %llu is expected", name,
           (unsigned long long)least, (unsigned long long)most);
  return refuse_word(r, what);
}

struct key {
  const char *name;
  size_t offset;
  uint64_t least, most;
};
#define LIMIT(name) offsetof(struct tide_policy_rule, limits.name)
static const struct key keys[] = {
    {"handles", LIMIT(handles), 1, 1u << 16},
    {"timelines", LIMIT(timelines), 1, 1u << 16},
    {"promises", LIMIT(promises), 1, 1u << 16},
    {"channels", LIMIT(channels), 0, 1024},
    {"waits", LIMIT(waits), 1, 1u << 16},
    {"parts", LIMIT(parts), 0, 1u << 16},
    {"grants", LIMIT(grants), 0, 1u << 16},
    {"operations", LIMIT(operations), 1, 1u << 16},
    {"buffers", LIMIT(buffers), 0, 1u << 16},
    {"cells", LIMIT(cells), 64, 1u << 16},
    {"priority", LIMIT(priority), 1, 15},
    {"connections", offsetof(struct tide_policy_rule, connections), 0, 1u << 16},
    {"refusals", offsetof(struct tide_policy_rule, refusals), 1, 1u << 20},
};

/* A second domain of a uid would replace the first one unnoticed. */
static enum tide_status read_speaks(struct reader *r, struct tide_policy_rule *rule) {
  uint64_t domain;
  if (rule->speaks_line)
    return tide_diag_at(r->diag, TIDE_CORRUPT, r->line, column_of(r),
                        "speaks: one domain is expected, and line %u has named it",
                        rule->speaks_line);
  enum tide_status status = read_number(r, "speaks", 0, UINT32_MAX, &domain);
  if (status != TIDE_OK) return status;
  rule->speaks = (uint32_t)domain;
  rule->speaks_line = r->line;
  return TIDE_OK;
}

static enum tide_status read_key(struct reader *r, struct tide_policy_rule *rule) {
  uint64_t number;
  if (is_word(r, "speaks")) return read_speaks(r, rule);
  if (is_word(r, "bytes")) {
    if (!next_word(r) || !parse_number(r, 1ull << 40, &number))
      return refuse_word(r, "bytes: a size from 0 to 1024G is expected, such as 64M");
    rule->limits.bytes = number;
    return TIDE_OK;
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (!is_word(r, keys[i].name)) continue;
    enum tide_status status = read_number(r, keys[i].name, keys[i].least, keys[i].most, &number);
    if (status != TIDE_OK) return status;
    memcpy((char *)rule + keys[i].offset, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
    return TIDE_OK;
  }
  return refuse_word(r, "a limit, trusted, admin or denied is expected");
}

static enum tide_status read_rule(struct reader *r, struct tide_policy_rule *rule) {
  while (next_word(r)) {
    enum tide_status status = TIDE_OK;
    if (is_word(r, "trusted")) rule->trusted = true;
    else if (is_word(r, "untrusted")) rule->trusted = false;
    else if (is_word(r, "admin")) rule->admin = true;
    else if (is_word(r, "denied")) rule->denied = true;
    else if (is_word(r, "allowed")) rule->denied = false;
    else status = read_key(r, rule);
    if (status != TIDE_OK) return status;
  }
  uint32_t cells = 64; /* the ring's size must be a power of two */
  while (cells < rule->limits.cells) cells *= 2;
  rule->limits.cells = cells;
  return TIDE_OK;
}

static enum tide_status read_uid(struct reader *r, struct tide_policy *policy) {
  uint64_t uid;
  if (!next_word(r) || !parse_number(r, UINT32_MAX, &uid))
    return refuse_word(r, "a uid from 0 to 4294967295 is expected");
  struct tide_policy_rule rule = policy->all;
  rule.uid = (uint32_t)uid;
  uint32_t at = 0;
  while (at < policy->count && policy->rules[at].uid != uid) at++;
  rule.speaks = at < policy->count ? policy->rules[at].speaks : policy->all.speaks;
  rule.speaks_line = at < policy->count ? policy->rules[at].speaks_line : 0;
  if (at == TIDE_POLICY_UIDS) {
    enum tide_status status = refuse_word(r, "there are too many uids");
    if (r->diag) r->diag->status = TIDE_FULL;
    return status == TIDE_OK ? TIDE_OK : TIDE_FULL;
  }
  enum tide_status status = read_rule(r, &rule);
  if (status != TIDE_OK) return status;
  policy->rules[at] = rule;
  if (at == policy->count) policy->count++;
  return TIDE_OK;
}

static enum tide_status read_trust(struct reader *r, struct tide_policy *policy) {
  uint64_t domain;
  enum tide_status status = read_number(r, "trust", 1, UINT32_MAX, &domain);
  if (status != TIDE_OK) return status;
  if (policy->trusted_count == TIDE_POLICY_DOMAINS)
    return refuse_word(r, "trust: at most 16 domains are expected");
  policy->trusted[policy->trusted_count++] = (uint32_t)domain;
  return next_word(r) ? refuse_word(r, "the end of the line is expected") : TIDE_OK;
}

static enum tide_status read_line(struct reader *r, struct tide_policy *policy) {
  uint64_t number;
  if (!next_word(r)) return TIDE_OK;
  if (is_word(r, "uid")) return read_uid(r, policy);
  if (is_word(r, "default")) {
    struct tide_policy_rule rule = policy->all;
    enum tide_status status = read_rule(r, &rule);
    if (status == TIDE_OK) policy->all = rule;
    return status;
  }
  if (is_word(r, "trust")) return read_trust(r, policy);
  if (!is_word(r, "clients"))
    return refuse_word(r, "'default', 'uid', 'trust' or 'clients' is expected");
  enum tide_status status = read_number(r, "clients", 1, 4096, &number);
  if (status != TIDE_OK) return status;
  policy->clients = (uint32_t)number;
  return next_word(r) ? refuse_word(r, "the end of the line is expected") : TIDE_OK;
}

void tide_policy_init(struct tide_policy *policy) {
  memset(policy, 0, sizeof *policy);
  policy->clients = 256;
  policy->all.connections = 64;
  policy->all.refusals = 256;
  policy->all.limits = (struct tide_wire_limits){.handles = 1024,
                                                 .timelines = 256,
                                                 .promises = 4096,
                                                 .channels = 16,
                                                 .waits = 256,
                                                 .parts = 256,
                                                 .grants = 64,
                                                 .operations = 256,
                                                 .buffers = 64,
                                                 .cells = 1024,
                                                 .priority = 8,
                                                 .bytes = 64u << 20};
}

enum tide_status tide_policy_read(struct tide_policy *policy, const char *text, size_t length,
                                  struct tide_diag *diag) {
  struct reader r = {.text = text, .length = length, .line = 1, .word = text, .diag = diag};
  while (r.at < length) {
    enum tide_status status = read_line(&r, policy);
    if (status != TIDE_OK) return status;
    r.at++; /* the newline */
    r.line++;
    r.line_start = r.at;
  }
  return TIDE_OK;
}

const struct tide_policy_rule *tide_policy_find(const struct tide_policy *policy, uint32_t uid) {
  for (uint32_t i = 0; i < policy->count; i++)
    if (policy->rules[i].uid == uid) return &policy->rules[i];
  return &policy->all;
}
