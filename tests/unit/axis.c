/* Axes: the three fields, domain names, leases, closed intervals, the context. */
#include "causal/context_state.h"
#include "harness.h"

#include "base/random.h"
#include "causal/closed.h"
#include "tidemark/causal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

TEST(axis_has_three_fields) {
  tide_axis axis = tide_axis_make(0xabcd, TIDE_DOMAIN_KERNEL, 0x123456789ab);
  CHECK_EQ_U64(axis, 0xabcd6123456789abull);
  CHECK_EQ_U64(tide_axis_machine(axis), 0xabcd);
  CHECK_EQ_U64(tide_axis_domain(axis), TIDE_DOMAIN_KERNEL);
  CHECK_EQ_U64(tide_axis_ordinal(axis), 0x123456789ab);
}

TEST(an_ordinal_does_not_spill_into_the_domain) {
  tide_axis axis = tide_axis_make(1, TIDE_DOMAIN_QUEUE, UINT64_MAX);
  CHECK_EQ_U64(tide_axis_ordinal(axis), TIDE_ORDINAL_MAX);
  CHECK_EQ_U64(tide_axis_domain(axis), TIDE_DOMAIN_QUEUE);
  CHECK_EQ_U64(tide_axis_machine(axis), 1);
  axis = tide_axis_make(1, (enum tide_domain)0x12, 5);
  CHECK_EQ_U64(tide_axis_domain(axis), 2);
  CHECK_EQ_U64(tide_axis_machine(axis), 1);
}

TEST(every_domain_has_a_name) {
  CHECK(!tide_domain_name(0));
  for (unsigned d = 1; d < TIDE_DOMAIN_COUNT; d++) CHECK(tide_domain_name(d));
  CHECK_EQ_STR(tide_domain_name(TIDE_DOMAIN_QUEUE), "queue");
  CHECK_EQ_STR(tide_domain_name(TIDE_DOMAIN_EXTERNAL), "external");
  CHECK(!tide_domain_name(TIDE_DOMAIN_COUNT));
  CHECK(!tide_domain_name(9));
  CHECK(!tide_domain_name(~0u));
}

TEST(a_lease_goes_up_from_one) {
  struct tide_lease lease;
  tide_lease_init(&lease, 7);
  tide_axis axis = 0;
  for (uint64_t i = 1; i <= 3; i++) {
    CHECK_OK(tide_lease_take(&lease, TIDE_DOMAIN_HOST, &axis));
    CHECK_EQ_U64(axis, tide_axis_make(7, TIDE_DOMAIN_HOST, i));
  }
  CHECK_OK(tide_lease_take(&lease, TIDE_DOMAIN_QUEUE, &axis));
  CHECK_EQ_U64(axis, tide_axis_make(7, TIDE_DOMAIN_QUEUE, 1));
}

TEST(a_lease_refuses_unknown_domains) {
  struct tide_lease lease;
  tide_lease_init(&lease, 0);
  tide_axis axis = 42;
  CHECK_STATUS(tide_lease_take(&lease, (enum tide_domain)0, &axis), TIDE_INVALID);
  CHECK_STATUS(tide_lease_take(&lease, TIDE_DOMAIN_COUNT, &axis), TIDE_INVALID);
  CHECK_STATUS(tide_lease_take(&lease, (enum tide_domain) - 1, &axis), TIDE_INVALID);
  CHECK_EQ_U64(axis, 42);
}

TEST(a_lease_runs_out_and_never_wraps) {
  struct tide_lease lease;
  tide_axis axis;
  tide_lease_init(&lease, 0);
  lease.next[TIDE_DOMAIN_QUEUE] = TIDE_ORDINAL_MAX;
  CHECK_OK(tide_lease_take(&lease, TIDE_DOMAIN_QUEUE, &axis));
  CHECK_EQ_U64(tide_axis_ordinal(axis), TIDE_ORDINAL_MAX);
  for (int i = 0; i < 3; i++)
    CHECK_STATUS(tide_lease_take(&lease, TIDE_DOMAIN_QUEUE, &axis), TIDE_EXHAUSTED);
  CHECK_EQ_U64(lease.next[TIDE_DOMAIN_QUEUE], TIDE_ORDINAL_MAX + 1);
  CHECK_OK(tide_lease_take(&lease, TIDE_DOMAIN_HOST, &axis)); /* the others go on */

  lease.next[TIDE_DOMAIN_HOST] = 100; /* a narrower one, as a service hands out */
  lease.end[TIDE_DOMAIN_HOST] = 102;
  CHECK_OK(tide_lease_take(&lease, TIDE_DOMAIN_HOST, &axis));
  CHECK_OK(tide_lease_take(&lease, TIDE_DOMAIN_HOST, &axis));
  CHECK_STATUS(tide_lease_take(&lease, TIDE_DOMAIN_HOST, &axis), TIDE_EXHAUSTED);
  CHECK_EQ_U64(tide_axis_ordinal(axis), 101);

  lease.end[TIDE_DOMAIN_KERNEL] = UINT64_MAX; /* a broken one may not reach the domain bits */
  lease.next[TIDE_DOMAIN_KERNEL] = TIDE_ORDINAL_MAX + 1;
  CHECK_STATUS(tide_lease_take(&lease, TIDE_DOMAIN_KERNEL, &axis), TIDE_EXHAUSTED);
}

#define TAKERS 4
#define TAKEN 300000

static atomic_uint lined_up;

struct taker {
  pthread_t thread;
  struct tide_lease *lease;
  tide_axis axes[TAKEN];
  size_t count;
};

static void *take_all(void *argument) {
  struct taker *taker = argument;
  atomic_fetch_add(&lined_up, 1);
  while (atomic_load(&lined_up) < TAKERS) tide_platform_linux()->yield(NULL);
  while (taker->count < TAKEN &&
         tide_lease_take(taker->lease, TIDE_DOMAIN_QUEUE, &taker->axes[taker->count]) == TIDE_OK)
    taker->count++;
  return NULL;
}

TEST(threads_never_get_the_same_axis) {
  static struct taker takers[TAKERS];
  static bool seen[TAKERS * TAKEN + 1];
  struct tide_lease lease;
  tide_lease_init(&lease, 0);
  size_t most = TAKERS * TAKEN - 100; /* so that the end comes while they race */
  lease.end[TIDE_DOMAIN_QUEUE] = most + 1;
  for (int i = 0; i < TAKERS; i++) {
    takers[i].lease = &lease;
    CHECK(pthread_create(&takers[i].thread, NULL, take_all, &takers[i]) == 0);
  }
  size_t total = 0;
  for (int i = 0; i < TAKERS; i++) {
    pthread_join(takers[i].thread, NULL);
    total += takers[i].count;
    for (size_t k = 0; k < takers[i].count; k++) {
      uint64_t ordinal = tide_axis_ordinal(takers[i].axes[k]);
      CHECK(ordinal >= 1 && ordinal <= most && !seen[ordinal]);
      seen[ordinal] = true;
    }
  }
  CHECK_EQ_U64(total, most);
  CHECK_EQ_U64(lease.next[TIDE_DOMAIN_QUEUE], most + 1);
}

/* ---- closed intervals ---- */

TEST(closed_axes_join_into_intervals) {
  struct tide_interval room[3];
  struct tide_closed closed = {.spares = 0};
  for (int i = 0; i < 3; i++) tide_closed_add_spare(&closed, &room[i]);
  CHECK(!tide_closed_contains(&closed, 5));
  tide_closed_add(&closed, 5);
  tide_closed_add(&closed, 7);
  CHECK_EQ_U64(closed.intervals.count, 2);
  CHECK(!tide_closed_contains(&closed, 4) && !tide_closed_contains(&closed, 6));
  tide_closed_add(&closed, 6); /* fills the gap */
  CHECK_EQ_U64(closed.intervals.count, 1);
  tide_closed_add(&closed, 4);
  tide_closed_add(&closed, 8);
  CHECK_EQ_U64(closed.intervals.count, 1);
  CHECK_EQ_U64(closed.intervals.first->key, 4);
  tide_closed_add(&closed, UINT64_MAX);
  tide_closed_add(&closed, 1);
  CHECK_EQ_U64(closed.intervals.count, 3);
  CHECK_EQ_U64(closed.spares, 0);
  CHECK(tide_closed_contains(&closed, UINT64_MAX) && tide_closed_contains(&closed, 1));
  CHECK(!tide_closed_contains(&closed, UINT64_MAX - 1) && !tide_closed_contains(&closed, 9));
}

TEST(closed_axes_in_every_order) {
  enum { N = 300 };
  static struct tide_interval room[N];
  struct tide_random random = {4};
  for (int round = 0; round < 30; round++) {
    struct tide_closed closed = {.spares = 0};
    for (int i = 0; i < N; i++) tide_closed_add_spare(&closed, &room[i]);
    bool in[N + 2] = {false};
    size_t alone = 0;
    for (int i = 0; i < N; i++) {
      uint64_t axis = 1 + tide_random_below(&random, N);
      if (in[axis]) continue;
      in[axis] = true;
      tide_closed_add(&closed, axis);
    }
    for (uint64_t axis = 0; axis < N + 2; axis++) {
      CHECK(tide_closed_contains(&closed, axis) == in[axis]);
      alone += axis > 0 && in[axis] && !in[axis - 1];
    }
    CHECK_EQ_U64(closed.intervals.count, alone);
    CHECK_EQ_U64(closed.spares, N - alone);
  }
}

/* ---- context ---- */

TEST(a_context_has_defaults) {
  struct tide_context *context;
  CHECK_OK(tide_context_create(NULL, &context));
  CHECK(context->platform == tide_platform_linux());
  CHECK(context->allocator == tide_allocator_system());
  CHECK(context->lease == &context->own_lease && context->tracker && !context->sink);
  CHECK_EQ_U64(context->frontier_capacity, 16);
  tide_axis axis;
  CHECK_OK(tide_lease_take(context->lease, TIDE_DOMAIN_HOST, &axis));
  CHECK_EQ_U64(axis, tide_axis_make(0, TIDE_DOMAIN_HOST, 1));
  CHECK_OK(tide_tracker_register(context->tracker, axis));
  tide_context_destroy(context);
  tide_context_destroy(NULL);
}

TEST(a_context_takes_what_it_is_given) {
  struct tide_lease lease;
  tide_lease_init(&lease, 3);
  struct tide_sink sink = {0};
  struct tide_context_params params = {
      .struct_size = sizeof params, .lease = &lease, .sink = &sink, .frontier_capacity = 255};
  struct tide_context *context;
  CHECK_OK(tide_context_create(&params, &context));
  CHECK(context->lease == &lease && context->sink == &sink);
  CHECK_EQ_U64(context->frontier_capacity, 255);
  tide_context_destroy(context);
}

/* An allocator that refuses after `left` calls, and counts what is out. */
struct stingy {
  int left, out;
};

static void *stingy_alloc(void *self, size_t size, size_t align) {
  struct stingy *stingy = self;
  if (stingy->left-- <= 0) return NULL;
  stingy->out++;
  return aligned_alloc(align, (size + align - 1) / align * align);
}

static void stingy_free(void *self, void *memory, size_t size) {
  struct stingy *stingy = self;
  memset(memory, 0xa5, size);
  stingy->out--;
  free(memory);
}

TEST(a_context_without_memory) {
  for (int left = 0; left < 12; left++) {
    struct stingy stingy = {left, 0};
    struct tide_allocator allocator = {stingy_alloc, stingy_free, &stingy};
    struct tide_context_params params = {.struct_size = sizeof params, .allocator = &allocator};
    struct tide_context *context;
    enum tide_status status = tide_context_create(&params, &context);
    CHECK(status == TIDE_OK || status == TIDE_NOMEM);
    CHECK((left == 0) <= (status == TIDE_NOMEM));
    CHECK((left == 11) <= (status == TIDE_OK));
    if (status == TIDE_OK) tide_context_destroy(context);
    CHECK_EQ_U64(stingy.out, 0);
  }
}

TEST_MAIN(CASE(axis_has_three_fields), CASE(an_ordinal_does_not_spill_into_the_domain),
          CASE(every_domain_has_a_name), CASE(a_lease_goes_up_from_one),
          CASE(a_lease_refuses_unknown_domains), CASE(a_lease_runs_out_and_never_wraps),
          CASE(threads_never_get_the_same_axis), CASE(closed_axes_join_into_intervals),
          CASE(closed_axes_in_every_order), CASE(a_context_has_defaults),
          CASE(a_context_takes_what_it_is_given), CASE(a_context_without_memory))
