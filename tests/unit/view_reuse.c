/* The page's core, natively: who may have memory that was freed. */
#include "harness.h"
#include "view.h"

#include "tidemark/queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- asking as the page does ------------------------------------------------------------ */

static uint32_t load(const char *text) {
  uint32_t length = (uint32_t)strlen(text);
  char *room = tide_view_room(length + 1);
  CHECK(room != NULL);
  memcpy(room, text, length);
  return tide_view_load(length);
}

static void run(const char *text) {
  if (load(text) != TIDE_OK) FAIL("%s\n%s", tide_view_answer(), text);
  if (tide_view_run() != TIDE_OK) FAIL("%s\n%s", tide_view_answer(), text);
}

/* The numbers of a list of the answer. */
static size_t list(const char *key, int64_t *out, size_t most) {
  char open[32];
  size_t count = 0;
  snprintf(open, sizeof open, "\"%s\":[", key);
  const char *at = strstr(tide_view_answer(), open);
  if (!at) FAIL("no %s in %s", key, tide_view_answer());
  at += strlen(open);
  while (*at != ']' && count < most) {
    char *end;
    out[count++] = strtoll(at, &end, 10);
    CHECK(end != at);
    at = end + (*end == ',');
  }
  return count;
}

/* ---- who may have what was freed ----------------------------------------------------------- */

/* What the core says of the memory that was freed last. `by`: how it was handed out; whom the pool
 * finds to know all of it, it does not ask whether all has finished. */
static enum tide_reuse ask(uint32_t free, uint32_t at, int64_t queue, enum tide_reuse by) {
  int64_t numbers[64];
  if (!free) return TIDE_REUSE_FRESH;
  CHECK_EQ_U64(tide_view_reuse(free, at), TIDE_OK);
  CHECK(strstr(tide_view_answer(), "\"known\":true") != NULL);
  size_t count = list("queues", numbers, 64), open = 0;
  bool knows = false;
  for (size_t i = 0; i < count; i++) knows |= numbers[i] == queue;
  open = list("open", numbers, 64);
  if (open && knows) return TIDE_REUSE_KNOWN;
  /* Tainted, and no signaller stands for it: a grace period may have ended meanwhile. */
  if (open && numbers[0] < 0 && by == TIDE_REUSE_FINISHED) return by;
  if (open) return TIDE_REUSE_GAP;
  return by == TIDE_REUSE_KNOWN ? by : TIDE_REUSE_FINISHED;
}

/* What the pool did when it handed memory out must be what the core says of that moment. There is
 * room for one page, so it was that one. */
static void compare(uint64_t seen[4]) {
  const struct tide_view_entry *log = tide_view_array(TIDE_VIEW_ARRAY_LOG);
  uint32_t count = tide_view_array_count(TIDE_VIEW_ARRAY_LOG), frees = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t kind = log[i].kind & 255, reuse = log[i].kind >> 8 & 255;
    if (kind == TIDE_EVENT_FREE) CHECK_EQ_U64(log[i].frontier, ++frees);
    if (kind != TIDE_EVENT_ALLOC) continue;
    CHECK_EQ_U64(ask(frees, i, (int64_t)log[i].value, reuse), reuse);
    seen[reuse & 3]++;
  }
}

struct text {
  char text[1 << 14];
  size_t length;
};

static void append(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  t->length +=
      (size_t)vsnprintf(t->text + t->length, sizeof t->text - t->length, format, arguments);
  va_end(arguments);
  CHECK(t->length < sizeof t->text);
}

static unsigned below(uint64_t *random, unsigned limit) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*random >> 33) % limit;
}

/* One page, which queues hand on. */
static void generate(struct text *t, uint64_t seed) {
  uint64_t random = seed;
  unsigned value[3] = {0};
  t->length = 0;
  append(t, "device c cpu workers 2\nqueue q[3] on c\ntimeline t[3]\nscratch page 4K\n");
  for (unsigned i = 0; i < 24; i++) {
    unsigned q = below(&random, 3), from = below(&random, 3);
    append(t, "q[%u]: alloc page\nq[%u]: iota page, %u", q, q, i);
    if (value[from] && from != q)
      append(t, "  wait t[%u] >= %u", from, 1 + below(&random, value[from]));
    append(t, "  signal t[%u] = %u  cost %uus\nq[%u]: free page\n", q, ++value[q],
           1 + below(&random, 900), q);
  }
}

TEST(reuse_is_what_the_pool_says) {
  static struct text t;
  uint64_t seen[4] = {0};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    generate(&t, seed);
    tide_view_begin();
    tide_view_option(TIDE_VIEW_MEMORY, 4096);
    tide_view_option(TIDE_VIEW_STEP_COST, seed % 3 ? 100000 : 0);
    tide_view_option(TIDE_VIEW_FRONTIER, seed % 4 ? 0 : 2);
    run(t.text);
    compare(seen);
  }
  tide_view_begin();
  CHECK(seen[TIDE_REUSE_KNOWN] && seen[TIDE_REUSE_FINISHED] && seen[TIDE_REUSE_GAP]);
}

static size_t memory_waits_of(uint32_t number) {
  const struct tide_view_operation *op = tide_view_array(TIDE_VIEW_ARRAY_OPERATIONS);
  const struct tide_view_wait *wait = tide_view_array(TIDE_VIEW_ARRAY_WAITS);
  size_t count = 0;
  CHECK(number < tide_view_array_count(TIDE_VIEW_ARRAY_OPERATIONS));
  op += number;
  wait += op->first_wait;
  for (uint32_t i = 0; i < op->wait_count; i++, wait++) {
    if (wait->value >= 0) continue;
    CHECK(wait->timeline == TIDE_VIEW_NONE && wait->class_ == TIDE_WAIT_ISSUED);
    CHECK(wait->cause != TIDE_VIEW_NONE && wait->cause < number);
    count++;
  }
  return count;
}

/* What a queue waits for memory is there as its other waits are: in the log, and of the operation,
 * with whoever had the memory before. */
TEST(waits_for_memory) {
  static struct text t;
  uint64_t all = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    generate(&t, seed);
    tide_view_begin();
    tide_view_option(TIDE_VIEW_MEMORY, seed % 2 ? 4096 : 0);
    tide_view_option(TIDE_VIEW_PAUSED, 1);
    run(t.text);
    const char *counted = strstr(tide_view_answer(), "\"gap_waits\":");
    CHECK(counted != NULL);
    uint64_t waits = strtoull(counted + 12, NULL, 10), told = 0;
    const struct tide_view_entry *log = tide_view_array(TIDE_VIEW_ARRAY_LOG);
    for (uint32_t i = 0; i < tide_view_array_count(TIDE_VIEW_ARRAY_LOG); i++) {
      if ((log[i].kind & 255) != TIDE_EVENT_GAP) continue;
      CHECK_EQ_U64(log[i].object, 0); /* there is one buffer */
      CHECK(memory_waits_of(log[i].operation) > 0);
      told++;
    }
    CHECK_EQ_U64(told, waits);
    CHECK(seed % 2 || !waits);
    all += waits;
  }
  tide_view_begin();
  CHECK(all > 100);
}

/* The same moment gives the same answer, whatever was asked before. */
TEST(moments_in_any_order) {
  static struct text t;
  generate(&t, 7);
  tide_view_begin();
  tide_view_option(TIDE_VIEW_STEP_COST, 100000);
  run(t.text);
  uint32_t count = tide_view_array_count(TIDE_VIEW_ARRAY_LOG);
  char first[512];
  CHECK_EQ_U64(tide_view_reuse(1, count / 2), TIDE_OK);
  snprintf(first, sizeof first, "%s", tide_view_answer());
  CHECK_EQ_U64(tide_view_reuse(1, count), TIDE_OK);
  CHECK(strstr(tide_view_answer(), "\"open\":[]") != NULL); /* all is over at the end */
  CHECK_EQ_U64(tide_view_reuse(1, UINT32_MAX), TIDE_OK);
  CHECK_EQ_U64(tide_view_reuse(1, 0), TIDE_OK);
  CHECK_EQ_U64(tide_view_reuse(1, count / 2), TIDE_OK);
  if (strcmp(first, tide_view_answer()) != 0) FAIL("%s, then %s", first, tide_view_answer());
  CHECK_EQ_U64(tide_view_reuse(0, 0), TIDE_NOT_FOUND);
  CHECK_EQ_U64(tide_view_reuse(1000, 0), TIDE_NOT_FOUND);
  tide_view_begin();
  CHECK_EQ_U64(tide_view_reuse(1, 0), TIDE_NOT_FOUND);
}

/* Each buffer's frees are its own. */
TEST(frees_are_of_their_buffers) {
  tide_view_begin();
  run("device c cpu\nqueue q on c\nscratch a, b 64\nq: alloc a\nq: alloc b\nq: fill b, 1\nq: free "
      "b\n"
      "q: fill a, 1\nq: free a\n");
  const struct tide_view_entry *log = tide_view_array(TIDE_VIEW_ARRAY_LOG);
  uint32_t count = tide_view_array_count(TIDE_VIEW_ARRAY_LOG), seen = 0;
  for (uint32_t i = 0; i < count; i++)
    if ((log[i].kind & 255) == TIDE_EVENT_FREE) CHECK_EQ_U64(log[i].object, 1 - seen++);
  CHECK_EQ_U64(seen, 2);
  tide_view_begin();
}

/* ---- what is no program ------------------------------------------------------------------------
 */

TEST(errors_have_places) {
  tide_view_begin();
  CHECK(load("device c cpu\nqueue q on c\nq: nop  wait t >= 1\n") != TIDE_OK);
  CHECK(strstr(tide_view_answer(), "\"line\":3") != NULL);
  CHECK(tide_view_run() == TIDE_INVALID); /* there is nothing to run */
  CHECK(tide_view_operation(0) == TIDE_NOT_FOUND);
  tide_view_begin();
  run("device c cpu\nqueue q on c\nq: nop\n");
  CHECK_EQ_U64(tide_view_array_count(TIDE_VIEW_ARRAY_OPERATIONS), 1);
  CHECK(tide_view_run() == TIDE_INVALID); /* once */
  CHECK(tide_view_array(TIDE_VIEW_ARRAY_COUNT) == NULL);
  tide_view_begin();
}

TEST_MAIN(CASE(reuse_is_what_the_pool_says), CASE(waits_for_memory), CASE(moments_in_any_order),
          CASE(frees_are_of_their_buffers), CASE(errors_have_places))
