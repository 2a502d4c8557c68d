/* Modules through the public header, and probes put into a kernel. */
#include "tidemark/mods.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

static const char kernel[] =
    "gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 2, 1>} {\n"
    "  gpu.func @k(%n: i32) kernel {\n"
    "    %sched = cutlass.tile_scheduler.static_persistent %n, %n, %n : i32, i32, i32 -> "
    "!cutlass.tile_scheduler<static_persistent>\n"
    "    cutlass.async.exec {warps = array<i32: 0, 4>} {\n"
    "      gpu.barrier\n"
    "      cutlass.async.yield\n"
    "    }\n"
    "    gpu.return\n"
    "  }\n"
    "}\n";

static void note(void *self, const struct tide_mods_diagnostic *d) {
  char *last = self;
  if (d->severity != TIDE_MODS_ERROR) return;
  strncpy(last, d->text, 199);
}

static struct tide_mods_module *parse(const char *text, const struct tide_mods_sink *sink) {
  struct tide_mods_module *module;
  struct tide_mods_params params = {.struct_size = sizeof params,
                                    .allocator = tide_allocator_system(),
                                    .text = text,
                                    .length = strlen(text),
                                    .sink = sink};
  CHECK_OK(tide_mods_parse(&params, &module));
  return module;
}

static char *print(struct tide_mods_module *module, bool generic) {
  size_t length = tide_mods_print(module, generic, NULL, 0);
  char *text = malloc(length + 1);
  CHECK(text != NULL && length > 0);
  CHECK_EQ_U64(tide_mods_print(module, generic, text, length + 1), length);
  return text;
}

TEST(a_module_is_read_and_printed) {
  struct tide_mods_module *module = parse(kernel, NULL);
  CHECK_OK(tide_mods_verify(module));
  CHECK_EQ_U64(tide_mods_operations(module), 9);
  CHECK(tide_mods_memory(module) > 0);
  char *generic = print(module, true);
  struct tide_mods_module *again = parse(generic, NULL);
  char *second = print(again, true);
  CHECK_EQ_STR(second, generic);
  free(generic);
  free(second);
  tide_mods_destroy(again);
  tide_mods_destroy(module);
  tide_mods_destroy(NULL);
}

TEST(what_is_wrong_goes_to_the_sink) {
  char last[200] = "";
  struct tide_mods_sink sink = {note, last};
  struct tide_mods_module *module;
  struct tide_mods_params params = {.struct_size = sizeof params,
                                    .allocator = tide_allocator_system(),
                                    .text = "func.func @f() { func.return %x : i32 }",
                                    .length = 39,
                                    .sink = &sink};
  CHECK_STATUS(tide_mods_parse(&params, &module), TIDE_CORRUPT);
  CHECK(module == NULL);
  CHECK_EQ_STR(last, "use of undeclared SSA value name");
}

TEST(participants_follow_from_cluster_and_policy) {
  CHECK_EQ_U64(tide_mods_participants((struct tide_mods_cluster){1, 1, 1}, TIDE_MODS_MMA_1SM), 1);
  CHECK_EQ_U64(tide_mods_participants((struct tide_mods_cluster){4, 1, 1}, TIDE_MODS_MMA_1SM), 15);
  CHECK_EQ_U64(tide_mods_participants((struct tide_mods_cluster){2, 2, 1}, TIDE_MODS_MMA_2SM), 3);
  CHECK_EQ_U64(tide_mods_participants((struct tide_mods_cluster){4, 4, 1}, TIDE_MODS_MMA_1SM),
               0xffff);
  CHECK_EQ_U64(tide_mods_participants((struct tide_mods_cluster){1, 2, 1}, TIDE_MODS_MMA_2SM), 0);
  CHECK_EQ_U64(tide_mods_participants((struct tide_mods_cluster){8, 4, 1}, TIDE_MODS_MMA_1SM), 0);
  CHECK_EQ_U64(tide_mods_participants((struct tide_mods_cluster){0, 1, 1}, TIDE_MODS_MMA_1SM), 0);
}

/* begin, smid, throttle before the barrier; end behind it. */
static void add_probes(struct tide_mods_module *module, enum tide_mods_mma mma) {
  struct tide_mods_cursor cursor;
  struct tide_mods_window window;
  tide_mods_value sched, smid, elapsed;
  CHECK_OK(tide_mods_region(module, "k", 0, &cursor));
  CHECK_OK(tide_mods_find(&cursor, "sched", &sched));
  CHECK_OK(tide_mods_mainloop_begin(&cursor, sched, mma, &window));
  CHECK_OK(tide_mods_report_smid(&cursor, &smid));
  CHECK_OK(tide_mods_throttle(&cursor, 0));
  CHECK_OK(tide_mods_throttle(&cursor, 2));
  CHECK_OK(tide_mods_seek(&cursor, "gpu.barrier", true));
  CHECK_OK(tide_mods_mainloop_end(&cursor, &window, &elapsed));
}

TEST(probes_make_a_window) {
  for (int pairs = 0; pairs < 2; pairs++) {
    struct tide_mods_module *module = parse(kernel, NULL);
    add_probes(module, pairs ? TIDE_MODS_MMA_2SM : TIDE_MODS_MMA_1SM);
    CHECK_OK(tide_mods_verify(module));
    CHECK_EQ_U64(tide_mods_fold(module), 2); /* the throttle of profile 0, the unused smid */
    CHECK_OK(tide_mods_verify(module));
    char *text = print(module, false);
    CHECK(strstr(text, pairs ? "arith.constant 3 : i64" : "arith.constant 15 : i64") != NULL);
    CHECK(strstr(text, pairs ? "is_2cta_mma = true" : "is_2cta_mma = false") != NULL);
    CHECK(strstr(text, "mods_report_smid") == NULL);
    free(text);
    tide_mods_destroy(module);
  }
}

TEST(what_is_not_there_is_not_found) {
  struct tide_mods_module *module = parse(kernel, NULL);
  struct tide_mods_cursor cursor;
  struct tide_mods_window window;
  tide_mods_value value;
  CHECK_STATUS(tide_mods_region(module, "other", 0, &cursor), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_mods_region(module, "k", 1, &cursor), TIDE_NOT_FOUND);
  CHECK_OK(tide_mods_region(module, "k", 0, &cursor));
  CHECK_STATUS(tide_mods_seek(&cursor, "scf.while", false), TIDE_NOT_FOUND);
  CHECK_STATUS(tide_mods_find(&cursor, "nothing", &value), TIDE_NOT_FOUND);
  CHECK_OK(tide_mods_find(&cursor, "n", &value));
  CHECK_STATUS(tide_mods_mainloop_begin(&cursor, value, TIDE_MODS_MMA_1SM, &window), TIDE_INVALID);
  CHECK_STATUS(tide_mods_throttle(&cursor, 3), TIDE_INVALID);
  tide_mods_destroy(module);
}

TEST(no_allocator_is_malloc) {
  static const char text[] = "module { func.func private @f(i32) }";
  struct tide_mods_params params = {
      .struct_size = sizeof params, .text = text, .length = sizeof text - 1};
  struct tide_mods_module *module;
  CHECK_OK(tide_mods_parse(&params, &module));
  CHECK_OK(tide_mods_verify(module));
  CHECK(tide_mods_memory(module) > 0);
  tide_mods_destroy(module);
}

TEST_MAIN(CASE(no_allocator_is_malloc), CASE(a_module_is_read_and_printed),
          CASE(what_is_wrong_goes_to_the_sink), CASE(participants_follow_from_cluster_and_policy),
          CASE(probes_make_a_window), CASE(what_is_not_there_is_not_found))
