/* Reading a recorded order: "pick X of X Y Z", one release a line. */
#include "layer/recorded_order.h"

#include "base/text.h"
#include "layer/protocol.h"

#include <stdlib.h>
#include <string.h>

#define PICK "pick "
#define OF "of "

struct parser {
  struct tide_vulkan_order *order;
  struct tide_diag *diag;
  const char *line_begin, *line_end;
  uint32_t line;
};

#define REFUSE(parser, at, ...)                                                                    \
  tide_diag_at((parser)->diag, TIDE_CORRUPT, (parser)->line,                                       \
               (uint32_t)((at) - (parser)->line_begin) + 1, __VA_ARGS__)

static enum tide_status refuse_length(const struct parser *parser, const char *of, size_t most) {
  return tide_diag_at(parser->diag, TIDE_FULL, parser->line, 1, "too many %s: at most %zu are read",
                      of, most);
}

/* Returns the array, perhaps moved, with capacity for one more element. NULL: no memory. */
static void *make_room(void *array, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return array;
  size_t larger = *capacity ? 2 * *capacity : 64;
  void *moved = realloc(array, larger * size);
  if (moved) *capacity = larger;
  return moved;
}

static enum tide_status add_candidate(struct parser *parser, uint64_t number) {
  struct tide_vulkan_order *order = parser->order;
  if (order->candidate_count == TIDE_VULKAN_CANDIDATES_MOST)
    return refuse_length(parser, "candidates", TIDE_VULKAN_CANDIDATES_MOST);
  uint64_t *moved = make_room(order->candidates, order->candidate_count, &order->candidate_capacity,
                              sizeof *moved);
  if (!moved) return tide_diag_set(parser->diag, TIDE_NOMEM, "out of memory");
  order->candidates = moved;
  order->candidates[order->candidate_count++] = number;
  return TIDE_OK;
}

static enum tide_status add_pick(struct parser *parser, struct tide_vulkan_pick pick) {
  struct tide_vulkan_order *order = parser->order;
  if (order->pick_count == TIDE_VULKAN_PICKS_MOST)
    return refuse_length(parser, "picks", TIDE_VULKAN_PICKS_MOST);
  struct tide_vulkan_pick *moved =
      make_room(order->picks, order->pick_count, &order->pick_capacity, sizeof *moved);
  if (!moved) return tide_diag_set(parser->diag, TIDE_NOMEM, "out of memory");
  order->picks = moved;
  order->picks[order->pick_count++] = pick;
  return TIDE_OK;
}

/* Reads a number from 1 on, and the space behind it. */
static bool read_submission(const struct parser *parser, const char **at, uint64_t *out_number) {
  const char *begin = *at;
  uint64_t number = 0;
  for (; *at < parser->line_end && **at >= '0' && **at <= '9'; (*at)++) {
    if (number > UINT64_MAX / 10 - 1) return false;
    number = 10 * number + (uint64_t)(**at - '0');
  }
  bool ends_well = *at == parser->line_end || **at == ' ';
  if (*at == begin || !ends_well || !number) return false;
  if (*at < parser->line_end) (*at)++;
  *out_number = number;
  return true;
}

static bool skip_word(const struct parser *parser, const char **at, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(parser->line_end - *at) < length || memcmp(*at, word, length) != 0) return false;
  *at += length;
  return true;
}

/* Reads the rest of the line, "X Y Z". */
static enum tide_status read_candidates(struct parser *parser, const char *at,
                                        struct tide_vulkan_pick *pick) {
  bool has_first = false;
  while (at < parser->line_end) {
    const char *begin = at;
    uint64_t number;
    if (!read_submission(parser, &at, &number))
      return REFUSE(parser, begin, "a submission's number is expected");
    enum tide_status status = add_candidate(parser, number);
    if (status != TIDE_OK) return status;
    has_first = has_first || number == pick->first;
    pick->candidate_count++;
  }
  if (!has_first) return REFUSE(parser, parser->line_begin, "the pick is none of its candidates");
  return TIDE_OK;
}

static enum tide_status read_pick(struct parser *parser) {
  struct tide_vulkan_pick pick = {.candidates_at = parser->order->candidate_count};
  const char *at = parser->line_begin;
  if (!skip_word(parser, &at, PICK)) return REFUSE(parser, at, "'pick X of X Y …' is expected");
  const char *begin = at;
  if (!read_submission(parser, &at, &pick.first))
    return REFUSE(parser, begin, "a submission's number is expected");
  if (!skip_word(parser, &at, OF)) return REFUSE(parser, at, "'of' is expected");
  enum tide_status status = read_candidates(parser, at, &pick);
  return status == TIDE_OK ? add_pick(parser, pick) : status;
}

static enum tide_status read_head(const struct parser *parser) {
  size_t length = (size_t)(parser->line_end - parser->line_begin);
  bool fits = length == strlen(TIDE_VULKAN_ORDER_HEAD) &&
              memcmp(parser->line_begin, TIDE_VULKAN_ORDER_HEAD, length) == 0;
  if (fits) return TIDE_OK;
  return REFUSE(parser, parser->line_begin, "'%s' is expected", TIDE_VULKAN_ORDER_HEAD);
}

static enum tide_status read_lines(struct parser *parser, const char *text, const char *end) {
  enum tide_status status = TIDE_OK;
  const char *next = text;
  parser->line_begin = text;
  do {
    const char *feed = next < end ? memchr(next, '\n', (size_t)(end - next)) : NULL;
    parser->line++;
    parser->line_begin = next;
    if (!feed) return REFUSE(parser, next, "a whole line is expected");
    parser->line_end = feed;
    if ((size_t)(feed - next) > TIDE_VULKAN_ORDER_LINE_MOST)
      return refuse_length(parser, "bytes in a line", TIDE_VULKAN_ORDER_LINE_MOST);
    status = parser->line == 1 ? read_head(parser) : read_pick(parser);
    next = feed + 1;
  } while (next < end && status == TIDE_OK);
  return status;
}

enum tide_status tide_vulkan_order_parse(struct tide_vulkan_order *order, const char *text,
                                         size_t length, struct tide_diag *diag) {
  struct parser parser = {.order = order, .diag = diag};
  *order = (struct tide_vulkan_order){.picks = NULL};
  if (length > TIDE_VULKAN_FILE_MOST)
    return tide_diag_at(diag, TIDE_FULL, 1, 1, "%zu bytes: at most %zu are read", length,
                        TIDE_VULKAN_FILE_MOST);
  enum tide_status status = read_lines(&parser, text, text + length);
  if (status != TIDE_OK) tide_vulkan_order_fini(order);
  return status;
}

void tide_vulkan_order_fini(struct tide_vulkan_order *order) {
  free(order->picks);
  free(order->candidates);
  *order = (struct tide_vulkan_order){.picks = NULL};
}

bool tide_vulkan_pick_overtakes(const struct tide_vulkan_order *order, size_t pick) {
  const struct tide_vulkan_pick *at = &order->picks[pick];
  for (size_t i = 0; i < at->candidate_count; i++)
    if (order->candidates[at->candidates_at + i] < at->first) return true;
  return false;
}
