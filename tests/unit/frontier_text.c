/* Frontiers in text and on the wire. */
#include "naive.h"

#include "base/random.h"
#include "tidemark/causal.h"

#include <stdlib.h>
#include <string.h>

typedef TIDE_FRONTIER_STORAGE(storage, 255);

static tide_axis queue(uint64_t ordinal) { return tide_axis_make(0, TIDE_DOMAIN_QUEUE, ordinal); }

/* ---- text ---- */

static enum tide_status parse(const char *text, struct tide_frontier *f, struct tide_diag *diag) {
  return tide_frontier_parse(text, strlen(text), f, diag);
}

static void check_round(const char *text, const char *want) {
  storage room;
  struct tide_frontier *f = &room.frontier;
  struct tide_diag diag = {.text = "no error"};
  tide_frontier_init(f, 255);
  enum tide_status status = parse(text, f, &diag);
  if (status != TIDE_OK) FAIL("'%s': %s, column %u", text, diag.text, diag.column);
  CHECK_EQ_STR(diag.text, "no error");
  CHECK_OK(tide_frontier_validate(f, NULL));
  char printed[256];
  CHECK_EQ_U64(tide_frontier_print(f, printed, sizeof printed), strlen(want));
  CHECK_EQ_STR(printed, want);
}

TEST(text_round_trips) {
  check_round("{}", "{}");
  check_round("{}~", "{}~");
  check_round("{queue:0.3@7, host:0.1@2}", "{queue:0.3@7, host:0.1@2}");
  check_round("{queue:0.3@7,host:0.1@2}~", "{queue:0.3@7, host:0.1@2}~");
  check_round(" \t{ host : 0 . 1 @ 2 , queue:0.3@7\t} ~ ", "{queue:0.3@7, host:0.1@2}~");
  check_round("{queue:1.1@1,external:0.1@1,queue:0.2@1,queue:0.1@1}",
              "{queue:0.1@1, queue:0.2@1, external:0.1@1, queue:1.1@1}");
  check_round("{collective:1.2@3, storage:4.5@6, network:7.8@9, kernel:10.11@12}",
              "{collective:1.2@3, storage:4.5@6, network:7.8@9, kernel:10.11@12}");
  check_round("{external:65535.17592186044415@18446744073709551615}",
              "{external:65535.17592186044415@18446744073709551615}");
  check_round("{queue:00.003@0007}", "{queue:0.3@7}");
}

TEST(text_reads_only_its_length) {
  storage room;
  tide_frontier_init(&room.frontier, 4);
  const char text[] = "{queue:0.3@71}";
  CHECK_OK(tide_frontier_parse(text, sizeof text - 1, &room.frontier, NULL));
  for (size_t length = 0; length < sizeof text - 1; length++) {
    char *exact = malloc(length ? length : 1); /* so that a sanitizer sees a byte too many */
    memcpy(exact, text, length);
    CHECK_STATUS(tide_frontier_parse(exact, length, &room.frontier, NULL), TIDE_CORRUPT);
    CHECK_EQ_U64(room.frontier.count, 0);
    free(exact);
  }
  CHECK_STATUS(tide_frontier_parse("{}\0", 3, &room.frontier, NULL), TIDE_CORRUPT);
  CHECK_STATUS(tide_frontier_parse("\0{}", 3, &room.frontier, NULL), TIDE_CORRUPT);
}

static void check_refused(const char *text, enum tide_status status, uint32_t column,
                          const char *why) {
  storage room;
  struct tide_frontier *f = &room.frontier;
  struct tide_diag diag = {0};
  tide_frontier_init(f, 2);
  tide_frontier_raise(f, queue(99), 1, NULL);
  f->tainted = 1;
  CHECK_STATUS(parse(text, f, &diag), status);
  CHECK_EQ_STR(diag.text, why);
  CHECK_EQ_U64(diag.line, 1);
  CHECK_EQ_U64(diag.column, column);
  CHECK_STATUS(diag.status, status);
  CHECK(f->count == 0 && !f->tainted && f->capacity == 2);
  CHECK_STATUS(parse(text, f, NULL), status);
}

TEST(text_errors_say_where_and_what) {
  check_refused("", TIDE_CORRUPT, 1, "frontier: expected '{', the text ends");
  check_refused("queue:0.1@1", TIDE_CORRUPT, 1, "frontier: expected '{', found 'q'");
  check_refused("{", TIDE_CORRUPT, 2, "frontier: expected a domain, the text ends");
  check_refused("{queue", TIDE_CORRUPT, 7, "frontier: expected ':', the text ends");
  check_refused("{queue:0", TIDE_CORRUPT, 9, "frontier: expected '.', the text ends");
  check_refused("{queue:0.1", TIDE_CORRUPT, 11, "frontier: expected '@', the text ends");
  check_refused("{queue:0.1@2", TIDE_CORRUPT, 13, "frontier: expected ',' or '}', the text ends");
  check_refused("{queue:0.1@2,}", TIDE_CORRUPT, 14, "frontier: expected a domain, found '}'");
  check_refused("{,}", TIDE_CORRUPT, 2, "frontier: expected a domain, found ','");
  check_refused("{queue:0.1@2 host:0.1@1}", TIDE_CORRUPT, 14,
                "frontier: expected ',' or '}', found 'h'");
  check_refused("{} x", TIDE_CORRUPT, 4, "frontier: expected '~' or the end, found 'x'");
  check_refused("{}~~", TIDE_CORRUPT, 4, "frontier: expected the end, found '~'");
  check_refused("{}\n", TIDE_CORRUPT, 3, "frontier: expected '~' or the end, found byte 0x0a");
  check_refused("{queue:-1.1@1}", TIDE_CORRUPT, 8, "frontier: expected a machine, found '-'");
  check_refused("{queue:0.\xc3@1}", TIDE_CORRUPT, 10,
                "frontier: expected an ordinal, found byte 0xc3");
}

TEST(text_numbers_have_ranges) {
  check_refused("{ quark:0.1@1}", TIDE_CORRUPT, 3, "frontier: unknown domain");
  check_refused("{queues:0.1@1}", TIDE_CORRUPT, 2, "frontier: unknown domain");
  check_refused("{que:0.1@1}", TIDE_CORRUPT, 2, "frontier: unknown domain");
  check_refused("{?9:0.1@1}", TIDE_CORRUPT, 2, "frontier: expected a domain, found '?'");
  check_refused("{queue:65536.1@1}", TIDE_CORRUPT, 8, "frontier: a machine is from 0 to 65535");
  check_refused("{queue:0.17592186044416@1}", TIDE_CORRUPT, 10,
                "frontier: an ordinal is from 0 to 17592186044415");
  check_refused("{queue:0.1@0}", TIDE_CORRUPT, 12,
                "frontier: an epoch is from 1 to 18446744073709551615");
  check_refused("{queue:0.1@18446744073709551616}", TIDE_CORRUPT, 12,
                "frontier: an epoch is from 1 to 18446744073709551615");
  /* A wrap of the multiplication, or back to something small. */
  check_refused("{queue:0.1@184467440737095516160}", TIDE_CORRUPT, 12,
                "frontier: an epoch is from 1 to 18446744073709551615");
  check_refused("{queue:0.1@184467440737095516165}", TIDE_CORRUPT, 12,
                "frontier: an epoch is from 1 to 18446744073709551615");
  check_refused("{queue:0.1@340282366920938463463374607431768211457}", TIDE_CORRUPT, 12,
                "frontier: an epoch is from 1 to 18446744073709551615");
}

TEST(text_duplicates_and_too_many) {
  check_refused("{queue:0.1@1, queue:0.01@2}", TIDE_CORRUPT, 15,
                "frontier: the axis is listed twice");
  check_refused("{queue:0.1@1, host:0.1@1, queue:0.2@3}", TIDE_FULL, 27,
                "frontier: more entries than the capacity of 2");
  check_refused("{queue:0.1@1, host:0.1@1, queue:0.1@3}", TIDE_CORRUPT, 27,
                "frontier: the axis is listed twice");
}

TEST(text_that_does_not_fit_is_cut) {
  storage room;
  struct tide_frontier *f = &room.frontier;
  tide_frontier_init(f, 4);
  tide_frontier_raise(f, queue(3), 7, NULL);
  f->tainted = 1;
  char text[32];
  const char want[] = "{queue:0.3@7}~";
  for (size_t size = 0; size <= sizeof want; size++) {
    memset(text, 'x', sizeof text);
    CHECK_EQ_U64(tide_frontier_print(f, text, size), sizeof want - 1);
    size_t kept = size ? size - 1 : 0;
    CHECK(memcmp(text, want, kept) == 0);
    if (size) CHECK(text[kept] == 0);
    CHECK(text[size] == 'x');
  }
  CHECK_EQ_U64(tide_frontier_print(f, NULL, 0), sizeof want - 1);
}

TEST(axes_print_even_when_unknown) {
  char text[64];
  CHECK_EQ_U64(tide_axis_print(tide_axis_make(3, TIDE_DOMAIN_KERNEL, 12), text, sizeof text), 11);
  CHECK_EQ_STR(text, "kernel:3.12");
  tide_axis_print(9ull << 44 | 5, text, sizeof text);
  CHECK_EQ_STR(text, "?9:0.5");
  tide_axis_print(0, text, sizeof text);
  CHECK_EQ_STR(text, "?0:0.0");
}

/* ---- wire ---- */

static size_t encode(const struct tide_frontier *f, uint8_t *bytes, size_t size) {
  size_t written;
  CHECK_OK(tide_frontier_encode(f, bytes, size, &written));
  CHECK_EQ_U64(written, tide_frontier_wire_size(f->count));
  return written;
}

static void make_random(struct tide_random *random, struct tide_frontier *f, uint64_t most) {
  tide_frontier_clear(f);
  uint64_t count = tide_random_below(random, most + 1);
  for (uint64_t i = 0; i < count; i++) {
    enum tide_domain domain = (enum tide_domain)(1 + tide_random_below(random, 7));
    tide_axis axis = tide_axis_make((uint16_t)tide_random_next(random), domain,
                                    tide_random_next(random) >> tide_random_below(random, 64));
    uint64_t epoch = tide_random_next(random) >> tide_random_below(random, 64);
    tide_frontier_raise(f, axis, epoch ? epoch : 1, NULL);
  }
  f->tainted = tide_random_below(random, 4) == 0;
}

static bool same(const struct tide_frontier *f, const struct tide_frontier *g) {
  return f->count == g->count && f->tainted == g->tainted && same_entries(f, g);
}

TEST(wire_is_what_the_header_says) {
  storage room;
  struct tide_frontier *f = &room.frontier;
  tide_frontier_init(f, 4);
  tide_frontier_raise(f, tide_axis_make(0x0102, TIDE_DOMAIN_HOST, 0x0405060708), 0x1112131415161718,
                      NULL);
  f->tainted = 1;
  uint8_t bytes[20];
  static const uint8_t want[20] = {1,    1,    1,    0,    0x08, 0x07, 0x06, 0x05, 0x04, 0x30,
                                   0x02, 0x01, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
  CHECK_EQ_U64(encode(f, bytes, 20), 20);
  CHECK(memcmp(bytes, want, 20) == 0);
  size_t needed = 0;
  CHECK_STATUS(tide_frontier_encode(f, bytes, 19, &needed), TIDE_FULL);
  CHECK_EQ_U64(needed, 20);
  tide_frontier_clear(f);
  CHECK_EQ_U64(encode(f, bytes, 4), 4);
  CHECK(memcmp(bytes, "\1\0\0\0", 4) == 0);
}

TEST(wire_and_text_round_trips) {
  struct tide_random random = {12};
  static storage a, b;
  static uint8_t bytes[4 + 16 * 255];
  static char text[64 * 255];
  for (int round = 0; round < 3000; round++) {
    struct tide_frontier *f = &a.frontier, *g = &b.frontier;
    tide_frontier_init(f, 255);
    make_random(&random, f, round % 8 ? 12 : 255);
    size_t size = encode(f, bytes, sizeof bytes);
    tide_frontier_init(g, f->count); /* just enough room */
    struct tide_diag diag = {.text = "no error"};
    CHECK_OK(tide_frontier_decode(bytes, size, g, &diag));
    CHECK_EQ_STR(diag.text, "no error");
    CHECK(same(f, g));
    size_t length = tide_frontier_print(f, text, sizeof text);
    CHECK(length < sizeof text);
    tide_frontier_clear(g);
    CHECK_OK(tide_frontier_parse(text, length, g, NULL));
    CHECK(same(f, g));
    if (f->count < 2) continue;
    tide_frontier_init(g, (uint8_t)(f->count - 1));
    CHECK_STATUS(tide_frontier_decode(bytes, size, g, NULL), TIDE_FULL);
    CHECK(g->count == 0 && !g->tainted);
    CHECK_STATUS(tide_frontier_parse(text, length, g, NULL), TIDE_FULL);
  }
}

static void check_undecodable(const uint8_t *bytes, size_t size, const char *why) {
  storage room;
  struct tide_frontier *f = &room.frontier;
  struct tide_diag diag = {0};
  tide_frontier_init(f, 3);
  tide_frontier_raise(f, queue(99), 1, NULL);
  f->tainted = 1;
  uint8_t *exact = malloc(size ? size : 1);
  memcpy(exact, bytes, size);
  CHECK_STATUS(tide_frontier_decode(exact, size, f, &diag), TIDE_CORRUPT);
  CHECK_STATUS(tide_frontier_decode(exact, size, f, NULL), TIDE_CORRUPT);
  free(exact);
  CHECK_EQ_STR(diag.text, why);
  CHECK(f->count == 0 && !f->tainted);
}

TEST(wire_has_one_encoding_only) {
  storage room;
  struct tide_frontier *f = &room.frontier;
  tide_frontier_init(f, 3);
  for (uint64_t i = 1; i <= 3; i++) tide_frontier_raise(f, queue(i), i, NULL);
  uint8_t good[52], bad[53];
  size_t size = encode(f, good, sizeof good);
  CHECK_OK(tide_frontier_decode(good, size, f, NULL));
#define BAD(change, length, why)                                                                   \
  do {                                                                                             \
    memset(bad, 0, sizeof bad);                                                                    \
    memcpy(bad, good, size);                                                                       \
    change;                                                                                        \
    check_undecodable(bad, length, why);                                                           \
  } while (0)
  BAD((void)0, 0, "frontier: 0 bytes, a head has 4");
  BAD((void)0, 3, "frontier: 3 bytes, a head has 4");
  BAD((void)0, 51, "frontier: 3 entries take 52 bytes, found 51");
  BAD((void)0, 53, "frontier: 3 entries take 52 bytes, found 53");
  BAD((void)0, 4, "frontier: 3 entries take 52 bytes, found 4");
  BAD(bad[0] = 2, 52, "frontier: version 2, expected 1");
  BAD(bad[0] = 0, 52, "frontier: version 0, expected 1");
  BAD(bad[1] = 2, 52, "frontier: unknown flags 0x02");
  BAD(bad[1] = 0x81, 52, "frontier: unknown flags 0x81");
  BAD(bad[3] = 1, 52, "frontier: 259 entries take 4148 bytes, found 52");
  BAD(bad[4 + 16] = 1, 52, "frontier: entry 1 repeats the axis before it");
  BAD(bad[4] = 5, 52, "frontier: entry 1 is not in axis order");
  BAD(bad[4 + 32] = 1, 52, "frontier: entry 2 is not in axis order");
  BAD(bad[12 + 32] = 0, 52, "frontier: entry 2 has epoch 0");
  BAD(memset(bad + 4, 0, 8), 52, "frontier: entry 0 has the unknown domain 0");
  BAD(bad[4 + 32 + 5] = 0x80, 52, "frontier: entry 2 has the unknown domain 8");
#undef BAD
}

/* Any change of one byte either is refused or makes another frontier that encodes to these bytes.
 */
static void check_mutant(const uint8_t *bytes, size_t size) {
  storage room;
  struct tide_frontier *f = &room.frontier;
  uint8_t again[4 + 16 * 255];
  tide_frontier_init(f, 255);
  enum tide_status status = tide_frontier_decode(bytes, size, f, NULL);
  if (status != TIDE_OK) {
    CHECK_STATUS(status, TIDE_CORRUPT);
    CHECK(f->count == 0 && !f->tainted);
    return;
  }
  CHECK_OK(tide_frontier_validate(f, NULL));
  CHECK_EQ_U64(encode(f, again, sizeof again), size);
  CHECK(memcmp(bytes, again, size) == 0);
}

TEST(wire_with_any_byte_changed) {
  struct tide_random random = {99};
  for (int round = 0; round < 20; round++) {
    storage room;
    uint8_t bytes[4 + 16 * 12];
    tide_frontier_init(&room.frontier, 255);
    make_random(&random, &room.frontier, round % 2 ? 3 : 12);
    size_t size = encode(&room.frontier, bytes, sizeof bytes);
    for (size_t at = 0; at < size; at++) {
      uint8_t was = bytes[at];
      for (unsigned value = 0; value < 256; value++) {
        bytes[at] = (uint8_t)value;
        check_mutant(bytes, size);
      }
      bytes[at] = was;
    }
    for (size_t cut = 0; cut < size; cut++) check_mutant(bytes, cut);
  }
}

TEST(an_unknown_domain_is_not_sent) {
  storage room;
  uint8_t bytes[64];
  size_t size;
  tide_frontier_init(&room.frontier, 2);
  tide_frontier_raise(&room.frontier, 9ull << 44 | 5, 1, NULL);
  CHECK_STATUS(tide_frontier_encode(&room.frontier, bytes, sizeof bytes, &size), TIDE_INVALID);
}

TEST_MAIN(CASE(text_round_trips), CASE(text_reads_only_its_length),
          CASE(text_errors_say_where_and_what), CASE(text_numbers_have_ranges),
          CASE(text_duplicates_and_too_many), CASE(text_that_does_not_fit_is_cut),
          CASE(axes_print_even_when_unknown), CASE(wire_is_what_the_header_says),
          CASE(wire_and_text_round_trips), CASE(wire_has_one_encoding_only),
          CASE(wire_with_any_byte_changed), CASE(an_unknown_domain_is_not_sent))
