/* Runs of pages: the edges. What holds in general is tests/oracle/pages.c's. */
#include "harness.h"

#include "base/random.h"
#include "tidemark/causal.h"
#include "wic/pages.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const enum tide_pages_kind kinds[] = {TIDE_PAGES_FAST, TIDE_PAGES_TREE};
#define EACH(kind) for (unsigned kind = 0; kind < 2; kind++)

struct meter {
  uint64_t asked, fail_at; /* the allocation that fails; 0: none */
  int64_t out, bytes;
};

static void *meter_alloc(void *self, size_t size, size_t align) {
  struct meter *meter = self;
  void *memory = NULL;
  if (++meter->asked == meter->fail_at) return NULL;
  if (posix_memalign(&memory, align < 16 ? 16 : align, size)) return NULL;
  memset(memory, 0xdd, size); /* what nobody has set is not read */
  meter->out++;
  meter->bytes += (int64_t)size;
  return memory;
}

static void meter_free(void *self, void *memory, size_t size) {
  struct meter *meter = self;
  meter->out--;
  meter->bytes -= (int64_t)size;
  free(memory);
}

struct rig {
  struct meter meter;
  struct tide_allocator allocator;
  struct tide_context *context;
};

static void rig_open(struct rig *rig) {
  *rig = (struct rig){.allocator = {meter_alloc, meter_free, &rig->meter}};
  CHECK_OK(tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &rig->allocator),
                               &rig->context));
}

static void rig_close(struct rig *rig) {
  tide_context_destroy(rig->context);
  CHECK_EQ_U64((uint64_t)rig->meter.out, 0);
  CHECK_EQ_U64((uint64_t)rig->meter.bytes, 0);
}

static struct tide_pages *make(struct rig *rig, unsigned kind, uint32_t count) {
  struct tide_pages *pages;
  CHECK_OK(tide_pages_create(rig->context, kinds[kind], count, &pages));
  CHECK_EQ_U64(tide_pages_free_count(pages), count);
  CHECK_EQ_U64(tide_pages_largest(pages), count);
  return pages;
}

TEST(bad_arguments) {
  struct rig rig;
  struct tide_pages *pages = NULL;
  rig_open(&rig);
  struct tide_context *context = rig.context;
  EACH(kind) {
    CHECK_STATUS(tide_pages_create(context, kinds[kind], 0, &pages), TIDE_INVALID);
    CHECK_STATUS(tide_pages_create(context, kinds[kind], TIDE_PAGES_MOST + 1, &pages),
                 TIDE_INVALID);
    CHECK_STATUS(tide_pages_create(context, kinds[kind], UINT32_MAX, &pages), TIDE_INVALID);
    CHECK_STATUS(tide_pages_create(NULL, kinds[kind], 8, &pages), TIDE_INVALID);
    CHECK_STATUS(tide_pages_create(context, kinds[kind], 8, NULL), TIDE_INVALID);
  }
  CHECK_STATUS(tide_pages_create(context, (enum tide_pages_kind)2, 8, &pages), TIDE_INVALID);
  CHECK(!pages);
  tide_pages_destroy(NULL);
  EACH(kind) {
    pages = make(&rig, kind, 8);
    CHECK_EQ_U64(tide_pages_alloc(pages, 0), TIDE_PAGES_NONE);
    CHECK_EQ_U64(tide_pages_alloc(pages, 9), TIDE_PAGES_NONE);
    CHECK_EQ_U64(tide_pages_alloc(pages, TIDE_PAGES_MOST), TIDE_PAGES_NONE);
    CHECK_EQ_U64(tide_pages_alloc(pages, UINT32_MAX), TIDE_PAGES_NONE);
    CHECK_EQ_U64(tide_pages_free_count(pages), 8);
    tide_pages_destroy(pages);
  }
  rig_close(&rig);
}

TEST(one_page) {
  struct rig rig;
  rig_open(&rig);
  EACH(kind) {
    struct tide_pages *pages = make(&rig, kind, 1);
    for (int i = 0; i < 3; i++) {
      CHECK_EQ_U64(tide_pages_alloc(pages, 2), TIDE_PAGES_NONE);
      CHECK_EQ_U64(tide_pages_alloc(pages, 1), 0);
      CHECK_EQ_U64(tide_pages_alloc(pages, 1), TIDE_PAGES_NONE);
      CHECK_EQ_U64(tide_pages_free_count(pages), 0);
      CHECK_EQ_U64(tide_pages_largest(pages), 0);
      tide_pages_free(pages, 0, 1);
      CHECK_EQ_U64(tide_pages_largest(pages), 1);
    }
    tide_pages_destroy(pages);
  }
  rig_close(&rig);
}

/* Enough pages, but no two of them side by side, until one between comes back. */
TEST(every_second_page) {
  enum { COUNT = 101 };
  struct rig rig;
  rig_open(&rig);
  EACH(kind) {
    struct tide_pages *pages = make(&rig, kind, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) CHECK_EQ_U64(tide_pages_alloc(pages, 1), i);
    for (uint32_t i = 0; i < COUNT; i += 2) tide_pages_free(pages, i, 1);
    CHECK_EQ_U64(tide_pages_free_count(pages), COUNT / 2 + 1);
    CHECK_EQ_U64(tide_pages_largest(pages), 1);
    CHECK_EQ_U64(tide_pages_alloc(pages, 2), TIDE_PAGES_NONE);
    tide_pages_free(pages, 63, 1);
    CHECK_EQ_U64(tide_pages_largest(pages), 3);
    CHECK_EQ_U64(tide_pages_alloc(pages, 3), 62);
    tide_pages_destroy(pages);
  }
  rig_close(&rig);
}

/* What each is said to give. */
TEST(which_run_it_gives) {
  struct rig rig;
  rig_open(&rig);
  EACH(kind) {
    struct tide_pages *pages = make(&rig, kind, 100);
    CHECK_EQ_U64(tide_pages_alloc(pages, 50), 0);
    CHECK_EQ_U64(tide_pages_alloc(pages, 10), 50);
    CHECK_EQ_U64(tide_pages_alloc(pages, 5), 60);
    CHECK_EQ_U64(tide_pages_alloc(pages, 35), 65);
    tide_pages_free(pages, 0, 50);
    tide_pages_free(pages, 60, 5);
    bool lowest = kinds[kind] == TIDE_PAGES_TREE;
    CHECK_EQ_U64(tide_pages_alloc(pages, 4), lowest ? 0 : 60);
    CHECK_EQ_U64(tide_pages_alloc(pages, 1), lowest ? 4 : 64);
    tide_pages_destroy(pages);
  }
  rig_close(&rig);
}

/* Two that are asked the same answer the same, and nothing asks for memory after create. */
TEST(same_again_without_memory) {
  enum { COUNT = 5000, LIVE = 600 };
  static struct { uint32_t first, count; } live[LIVE];
  struct rig rig;
  rig_open(&rig);
  EACH(kind) {
    struct tide_pages *a = make(&rig, kind, COUNT), *b = make(&rig, kind, COUNT);
    struct tide_random random = {kind + 7};
    uint64_t asked = rig.meter.asked;
    memset(live, 0, sizeof live);
    for (int i = 0; i < 20000; i++) {
      uint32_t at = (uint32_t)tide_random_below(&random, LIVE);
      if (live[at].count) {
        tide_pages_free(a, live[at].first, live[at].count);
        tide_pages_free(b, live[at].first, live[at].count);
      }
      live[at].count = 1 + (uint32_t)tide_random_below(&random, 16);
      live[at].first = tide_pages_alloc(a, live[at].count);
      CHECK_EQ_U64(tide_pages_alloc(b, live[at].count), live[at].first);
      if (live[at].first == TIDE_PAGES_NONE) live[at].count = 0;
    }
    CHECK_EQ_U64(rig.meter.asked, asked);
    tide_pages_destroy(a);
    tide_pages_destroy(b);
  }
  rig_close(&rig);
}

TEST(every_allocation_may_fail) {
  struct rig rig;
  rig_open(&rig);
  EACH(kind) {
    enum tide_status status = TIDE_NOMEM;
    for (uint64_t n = 1; status != TIDE_OK; n++) {
      struct tide_pages *pages = NULL;
      int64_t out = rig.meter.out;
      CHECK(n < 20);
      rig.meter.fail_at = rig.meter.asked + n;
      status = tide_pages_create(rig.context, kinds[kind], 16384, &pages);
      rig.meter.fail_at = 0;
      if (status == TIDE_OK) {
        CHECK(n > 3); /* all of them have had their turn */
        tide_pages_destroy(pages);
      } else {
        CHECK_STATUS(status, TIDE_NOMEM);
        CHECK(!pages);
      }
      CHECK_EQ_U64((uint64_t)rig.meter.out, (uint64_t)out); /* nothing is left behind */
    }
  }
  rig_close(&rig);
}

/* As many as there may be: all four levels of sizes. */
TEST(the_most_pages) {
  struct rig rig;
  rig_open(&rig);
  EACH(kind) {
    uint32_t count = kinds[kind] == TIDE_PAGES_FAST ? TIDE_PAGES_MOST : (1u << 18) + 1;
    struct tide_pages *pages = make(&rig, kind, count);
    CHECK_EQ_U64(tide_pages_alloc(pages, count - 1), 0);
    CHECK_EQ_U64(tide_pages_alloc(pages, 1), count - 1);
    CHECK_EQ_U64(tide_pages_largest(pages), 0);
    tide_pages_free(pages, 0, count - 1);
    CHECK_EQ_U64(tide_pages_largest(pages), count - 1);
    CHECK_EQ_U64(tide_pages_alloc(pages, count), TIDE_PAGES_NONE);
    tide_pages_free(pages, count - 1, 1);
    CHECK_EQ_U64(tide_pages_alloc(pages, count), 0);
    tide_pages_free(pages, 0, count);
    CHECK_EQ_U64(tide_pages_alloc(pages, 3), 0);
    CHECK_EQ_U64(tide_pages_largest(pages), count - 3);
    tide_pages_destroy(pages); /* and what is taken goes with it */
  }
  rig_close(&rig);
}

/* ---- what was not allocated so is not freed so -------------------------------------------------
 */

static bool is_refused(struct tide_pages *pages, uint32_t first, uint32_t count) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    tide_pages_free(pages, first, count);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(wrong_frees) {
  struct rig rig;
  rig_open(&rig);
  EACH(kind) {
    struct tide_pages *pages = make(&rig, kind, 40);
    CHECK_EQ_U64(tide_pages_alloc(pages, 4), 0);
    CHECK_EQ_U64(tide_pages_alloc(pages, 4), 4);
    CHECK_EQ_U64(tide_pages_alloc(pages, 1), 8);
    CHECK(is_refused(pages, 0, 0));
    CHECK(is_refused(pages, 40, 1));
    CHECK(is_refused(pages, 39, 2));
    CHECK(is_refused(pages, UINT32_MAX, 2));
    CHECK(is_refused(pages, 20, 4)); /* never taken */
    CHECK(is_refused(pages, 0, 3));  /* less, more, a part, two */
    CHECK(is_refused(pages, 0, 5));
    CHECK(is_refused(pages, 1, 3));
    CHECK(is_refused(pages, 3, 1));
    CHECK(is_refused(pages, 0, 8));
    CHECK(!is_refused(pages, 8, 1)); /* the child's copy only */
    tide_pages_free(pages, 4, 4);
    CHECK(is_refused(pages, 4, 4)); /* again */
    CHECK(is_refused(pages, 7, 1));
    tide_pages_free(pages, 0, 4);
    CHECK(is_refused(pages, 0, 4));
    CHECK(is_refused(pages, 4, 4)); /* inside what is free now */
    CHECK_EQ_U64(tide_pages_alloc(pages, 8), 0);
    CHECK(is_refused(pages, 0, 4));
    CHECK(is_refused(pages, 4, 4));
    tide_pages_free(pages, 0, 8);
    CHECK_EQ_U64(tide_pages_alloc(pages, 4), 0);
    CHECK_EQ_U64(tide_pages_alloc(pages, 4), 4);
    tide_pages_free(pages, 0, 4);
    tide_pages_free(pages, 4, 4);
    CHECK(is_refused(pages, 4, 4)); /* it has joined what was before it */
    tide_pages_free(pages, 8, 1);
    CHECK_EQ_U64(tide_pages_largest(pages), 40);
    tide_pages_destroy(pages);
  }
  rig_close(&rig);
}

TEST_MAIN(CASE(bad_arguments), CASE(one_page), CASE(every_second_page), CASE(which_run_it_gives),
          CASE(same_again_without_memory), CASE(every_allocation_may_fail), CASE(the_most_pages),
          CASE(wrong_frees))
