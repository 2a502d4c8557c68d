/* Frontiers from outside: the wire decoder, the text parser, and the laws on what they let in.
 *
 * The first byte chooses: wire or text, and the capacity. What is let in must be valid and come
 * back the same through both forms; anything else must leave the frontier empty. Then the input is
 * split into two frontiers that are merged and compared. */
#include "base/check.h"
#include "base/alloc.h"
#include "tidemark/causal.h"

typedef TIDE_FRONTIER_STORAGE(storage, 255);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct tide_frontier *f, const struct tide_frontier *g) {
  struct tide_frontier_entry a, b;
  if (f->count != g->count || f->tainted != g->tainted) return false;
  struct tide_frontier_cursor i = tide_frontier_begin(f), j = tide_frontier_begin(g);
  while (tide_frontier_next(&i, &a))
    if (!tide_frontier_next(&j, &b) || a.axis != b.axis || a.epoch != b.epoch) return false;
  return true;
}

static void check_refused(const struct tide_frontier *f, enum tide_status status,
                          const struct tide_diag *diag) {
  TIDE_ASSERT(status == TIDE_CORRUPT || status == TIDE_FULL);
  TIDE_ASSERT(diag->status == status && diag->text[0]);
  TIDE_ASSERT(f->count == 0 && !f->tainted);
}

static void check_round_trips(const struct tide_frontier *f) {
  static uint8_t bytes[4 + 16 * 255];
  static char text[64 * 256];
  static storage again;
  size_t written;
  TIDE_ASSERT(tide_frontier_validate(f, NULL) == TIDE_OK);
  TIDE_ASSERT(tide_frontier_encode(f, bytes, sizeof bytes, &written) == TIDE_OK);
  tide_frontier_init(&again.frontier, f->count);
  TIDE_ASSERT(tide_frontier_decode(bytes, written, &again.frontier, NULL) == TIDE_OK);
  TIDE_ASSERT(same(f, &again.frontier));
  size_t length = tide_frontier_print(f, text, sizeof text);
  TIDE_ASSERT(length < sizeof text && text[length] == 0);
  TIDE_ASSERT(tide_frontier_parse(text, length, &again.frontier, NULL) == TIDE_OK);
  TIDE_ASSERT(same(f, &again.frontier));
}

static void check_not_canonical(const uint8_t *bytes, size_t size) {
  static storage room;
  tide_frontier_init(&room.frontier, 255);
  TIDE_ASSERT(tide_frontier_decode(bytes, size, &room.frontier, NULL) == TIDE_CORRUPT);
}

/* What is nearly an encoding, where chance would take long to get: an axis twice, two entries the
 * wrong way round, an epoch of 0, a byte too few or too many. */
static void check_neighbours(uint8_t *bytes, size_t size) {
  uint8_t entry[16];
  check_not_canonical(bytes, size - 1);
  check_not_canonical(bytes, size + 1);
  if (size >= 4 + 32) {
    memcpy(entry, bytes + 20, 16);
    memcpy(bytes + 20, bytes + 4, 8);
    check_not_canonical(bytes, size);
    memcpy(bytes + 20, bytes + 4, 16);
    memcpy(bytes + 4, entry, 16);
    check_not_canonical(bytes, size);
    memcpy(bytes + 4, bytes + 20, 16);
    memcpy(bytes + 20, entry, 16);
  }
  if (size >= 4 + 16) {
    memset(bytes + size - 8, 0, 8);
    check_not_canonical(bytes, size);
  }
}

static bool read_wire(const uint8_t *data, size_t size, struct tide_frontier *f) {
  static uint8_t bytes[4 + 16 * 255 + 1];
  struct tide_diag diag = {0};
  enum tide_status status = tide_frontier_decode(data, size, f, &diag);
  if (status != TIDE_OK) {
    check_refused(f, status, &diag);
    return false;
  }
  size_t written; /* there is one encoding of a frontier */
  TIDE_ASSERT(tide_frontier_encode(f, bytes, sizeof bytes, &written) == TIDE_OK);
  TIDE_ASSERT(written == size && memcmp(bytes, data, size) == 0);
  check_neighbours(bytes, size);
  return true;
}

static bool read_text(const uint8_t *data, size_t size, struct tide_frontier *f) {
  struct tide_diag diag = {0};
  enum tide_status status = tide_frontier_parse((const char *)data, size, f, &diag);
  if (status == TIDE_OK) return true;
  check_refused(f, status, &diag);
  TIDE_ASSERT(diag.line == 1 && diag.column >= 1 && diag.column <= size + 1);
  return false;
}

/* Every three bytes are an entry of the one or the other. */
static void fill(struct tide_frontier *f, struct tide_frontier *g, const uint8_t *data,
                 size_t size) {
  for (size_t at = 0; at + 3 <= size; at += 3) {
    tide_axis axis = tide_axis_make(0, TIDE_DOMAIN_QUEUE, 1 + data[at]);
    tide_frontier_raise(data[at + 2] & 1 ? f : g, axis, data[at + 1], NULL);
  }
}

static void check_laws(const uint8_t *data, size_t size, uint8_t capacity) {
  static storage a, b, c;
  struct tide_frontier *f = &a.frontier, *g = &b.frontier, *both = &c.frontier;
  tide_frontier_init(f, capacity);
  tide_frontier_init(g, 255);
  fill(f, g, data, size);
  tide_frontier_init(both, 255);
  tide_frontier_copy(both, f, NULL);
  tide_frontier_merge(both, g, NULL);
  TIDE_ASSERT(tide_frontier_validate(both, NULL) == TIDE_OK);
  bool over = tide_frontier_dominates(f, g), under = tide_frontier_dominates(g, f);
  enum tide_order order = tide_frontier_compare(f, g);
  TIDE_ASSERT((order == TIDE_EQUAL) == (over && under));
  TIDE_ASSERT((order == TIDE_AFTER) == (over && !under));
  TIDE_ASSERT((order == TIDE_BEFORE) == (under && !over));
  if (!both->tainted) {
    TIDE_ASSERT(tide_frontier_dominates(both, f) && tide_frontier_dominates(both, g));
    TIDE_ASSERT(over == same(both, f) && under == same(both, g));
  }
  tide_frontier_merge(f, g, NULL); /* perhaps into too little room */
  TIDE_ASSERT(tide_frontier_validate(f, NULL) == TIDE_OK);
  TIDE_ASSERT(f->tainted || same(f, both));
  f->tainted = 0;
  TIDE_ASSERT(tide_frontier_dominates(both, f)); /* what is left is true */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static storage room;
  if (size == 0) return 0;
  uint8_t choice = data[0];
  data++, size--;
  uint8_t capacity = choice & 2 ? 255 : (uint8_t)(1 + (choice >> 3));
  tide_frontier_init(&room.frontier, capacity);
  bool in =
      choice & 1 ? read_wire(data, size, &room.frontier) : read_text(data, size, &room.frontier);
  if (in) check_round_trips(&room.frontier);
  if (choice & 4) check_laws(data, size, capacity);
  return 0;
}
