/* kernel: the table of built-in bodies, and that no argument whatever makes one leave its slices.
 */
#include "kernel_call.h"

#include "base/random.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

TEST(names_are_sorted_and_found) {
  size_t count;
  const struct tide_body *bodies = tide_kernel_bodies(&count);
  CHECK(count >= 23);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) CHECK(strcmp(bodies[i - 1].class_.name, bodies[i].class_.name) < 0);
    CHECK(tide_kernel_find(bodies[i].class_.name) == &bodies[i]);
  }
  CHECK(!tide_kernel_find("") && !tide_kernel_find("zzz") && !tide_kernel_find("Blur"));
  CHECK(!tide_kernel_find("blu") && !tide_kernel_find("blurr") && !tide_kernel_find(NULL));
}

static const struct tide_file_ops *file_ops(const struct tide_body *body) {
  const struct tide_body_ops *ops = body->class_.ops;
  return ops && ops->kind == TIDE_OPS_FILE ? (const struct tide_file_ops *)(const void *)ops : NULL;
}

TEST(every_body_is_described) {
  size_t count;
  const struct tide_body *bodies = tide_kernel_bodies(&count);
  for (size_t i = 0; i < count; i++) {
    const struct tide_body *body = &bodies[i];
    CHECK(body->class_.host && body->summary && body->summary[0]);
    const struct tide_file_ops *file = file_ops(body);
    CHECK(!file || (file->verb != TIDE_IO_NONE && file->describe != NULL));
    CHECK(body->param_count <= TIDE_PARAMS_MAX);
    bool optional = false;
    for (size_t p = 0; p < body->param_count; p++) {
      CHECK(body->params[p].name[0] && (!optional || body->params[p].optional));
      optional = body->params[p].optional;
      for (size_t q = 0; q < p; q++) CHECK(strcmp(body->params[p].name, body->params[q].name) != 0);
    }
  }
}

/* Sizes and numbers where bounds go wrong. */
static int64_t nasty(struct tide_random *random) {
  static const int64_t values[] = {
      0,         1,         2,         3,         4,          5,         7,         8,
      16,        -1,        -8,        255,       1024,       1025,      4096,      4097,
      65535,     65536,     INT32_MAX, INT32_MIN, 0xffffffff, INT64_MAX, INT64_MIN, INT64_MAX / 4,
      1ll << 61, 1ll << 62, 12,        6,         48,         1000000,   1000001,   9};
  return values[tide_random_below(random, sizeof values / sizeof values[0])];
}

/* Sizes are drawn from few numbers so that they often fit each other. */
static size_t some_size(struct tide_random *random) {
  static const size_t sizes[] = {0, 1, 4, 8, 16, 36, 48, 64, 100, 144, 256, 1024, 4096, 5000};
  return sizes[tide_random_below(random, sizeof sizes / sizeof sizes[0])];
}

struct drawn {
  bool mapped, from_start;
  size_t skew;
};

static struct tide_argument draw(struct tide_random *random, const struct tide_param *param,
                                 int file, size_t common, struct drawn *how) {
  *how = (struct drawn){0};
  switch (param->kind) {
    case TIDE_PARAM_INTEGER: return integer(nasty(random));
    case TIDE_PARAM_FILE: return descriptor(tide_random_below(random, 8) ? file : -1);
    default: break;
  }
  size_t size = tide_random_below(random, 2) ? common : some_size(random);
  if (tide_random_below(random, 16) == 0) return (struct tide_argument){.data = NULL, .size = size};
  *how = (struct drawn){true, tide_random_below(random, 2) != 0, tide_random_below(random, 4)};
  return slice_at(size, how->skew, how->from_start);
}

static void call_hostile(const struct tide_body *body, struct tide_random *random, int file) {
  struct tide_argument arguments[TIDE_PARAMS_MAX], before[TIDE_PARAMS_MAX];
  struct drawn how[TIDE_PARAMS_MAX];
  size_t common = some_size(random);
  for (size_t p = 0; p < body->param_count; p++)
    arguments[p] = draw(random, &body->params[p], file, common, &how[p]);
  if (strcmp(body->class_.name, "spin") == 0 && arguments[0].integer > 10 &&
      arguments[0].integer <= 60000000)
    arguments[0].integer = 10;
  memcpy(before, arguments, sizeof before);
  enum tide_status status = body->class_.host(arguments);
  if (strcmp(body->class_.name, "fail") != 0) CHECK(status != TIDE_FAILED);
  CHECK((unsigned)status < TIDE_STATUS_COUNT);
  for (size_t p = 0; p < body->param_count; p++)
    if (how[p].mapped) slice_drop(&before[p], how[p].skew, how[p].from_start);
}

TEST(no_arguments_lead_out_of_the_slices) {
  char name[] = "/tmp/tidemark-kernel-XXXXXX";
  int file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0);
  size_t count;
  const struct tide_body *bodies = tide_kernel_bodies(&count);
  unsigned rounds = 3000 / test_slowdown();
  for (size_t i = 0; i < count; i++) {
    struct tide_random random = {0x5eed + i};
    for (unsigned round = 0; round < rounds; round++) {
      call_hostile(&bodies[i], &random, file);
      CHECK(ftruncate(file, (off_t)tide_random_below(&random, 6000)) == 0);
    }
  }
  close(file);
}

/* What the ring is told to do is bounded the same way. */
TEST(no_arguments_make_a_bad_transfer) {
  struct tide_random random = {11};
  const struct tide_body *read = tide_kernel_find("read"), *write = tide_kernel_find("write");
  for (int round = 0; round < 100000; round++) {
    struct tide_argument a[3] = {descriptor(3),
                                 integer(nasty(&random)),
                                 {.data = &random, .size = (uint64_t)nasty(&random)}};
    struct tide_io io = {0};
    enum tide_status status = file_ops(read)->describe(a, &io);
    CHECK(file_ops(write)->describe(a, &io) == status);
    if (status != TIDE_OK) continue;
    CHECK(io.data == &random && io.size == a[2].size && io.offset == (uint64_t)a[1].integer);
    CHECK(a[1].integer >= 0 && io.offset + io.size <= (uint64_t)INT64_MAX);
  }
}

TEST_MAIN(CASE(names_are_sorted_and_found), CASE(every_body_is_described),
          CASE(no_arguments_lead_out_of_the_slices), CASE(no_arguments_make_a_bad_transfer))
