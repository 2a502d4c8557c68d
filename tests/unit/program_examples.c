/* Every program in examples/: it is written in the one layout, and its plan with small
 * parameters is the one in tests/expected/plan. To write those anew after a change that
 * is meant: UPDATE_EXPECTED=1 build/unit-program_examples, and look at the difference. */
#include "program_load.h"

#include <dirent.h>

#define PROGRAMS_MOST 64

static char *read_file(const char *path, size_t *out_length) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = malloc(1 << 20);
  CHECK(text);
  *out_length = fread(text, 1, (1 << 20) - 1, file);
  text[*out_length] = 0;
  fclose(file);
  return text;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

/* The names without ".tide", sorted. */
static size_t list_examples(char names[PROGRAMS_MOST][64]) {
  size_t count = 0;
  DIR *folder = opendir("examples");
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    size_t length = strlen(entry->d_name);
    if (length < 6 || strcmp(entry->d_name + length - 5, ".tide") != 0) continue;
    CHECK(count < PROGRAMS_MOST && length < 64);
    memcpy(names[count], entry->d_name, length - 5);
    names[count++][length - 5] = 0;
  }
  closedir(folder);
  qsort(names, count, 64, by_name);
  CHECK(count >= 15);
  return count;
}

/* Few enough steps to read. */
static const struct tide_setting small[] = {
    {"width", "100"}, {"height", "333"}, {"steps", "3"},   {"rounds", "3"}, {"items", "6"},
    {"stages", "3"},  {"turns", "2"},    {"queries", "2"}, {"pages", "6"},  {"chunks", "4"},
};

static void load_example(struct loaded *l, const char *name, const char *text, size_t length) {
  struct loaded first;
  char buffer[2048];
  struct tide_setting settings[16];
  size_t used = 0, params;
  load_with(&first, tide_allocator_system(), text, length, NULL, 0, 0);
  if (first.status != TIDE_OK)
    FAIL("examples/%s.tide: %s", name, errors_of(&first, buffer, sizeof buffer));
  const struct tide_program_param *param = tide_program_params_of(first.program, &params);
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
    for (size_t k = 0; k < params; k++) {
      if (strcmp(param[k].name, small[i].name) == 0) settings[used++] = small[i];
    }
  }
  load_with(l, tide_allocator_system(), text, length, settings, used, 0);
  if (l->status != TIDE_OK)
    FAIL("examples/%s.tide, small: %s", name, errors_of(l, buffer, sizeof buffer));
  unload(&first);
}

/* What the plan has, and each of its steps. */
static char *describe(struct loaded *l) {
  const struct tide_plan_tables *t = tide_plan_tables(l->plan);
  char *steps = steps_of(l->plan), *all = malloc(1 << 20);
  size_t used = 0, size = 1 << 20;
  CHECK(all);
  for (size_t i = 0; i < t->timeline_count; i++) {
    used += (size_t)snprintf(all + used, size - used, "# timeline %s: %s%s, %llu\n",
                             t->timelines[i].label, tide_scope_name(t->timelines[i].scope),
                             t->timelines[i].operations_only ? "" : ", signalled by the host",
                             (unsigned long long)t->timelines[i].last);
  }
  used += (size_t)snprintf(all + used, size - used, "# operations %llu, bytes %llu + %llu\n",
                           (unsigned long long)t->operations, (unsigned long long)t->static_bytes,
                           (unsigned long long)t->scratch_bytes);
  CHECK(used + strlen(steps) < size);
  strcpy(all + used, steps);
  free(steps);
  return all;
}

TEST(plans) {
  static char names[PROGRAMS_MOST][64];
  size_t count = list_examples(names);
  for (size_t i = 0; i < count; i++) {
    char path[128];
    size_t length, expected_length = 0;
    struct loaded l;
    snprintf(path, sizeof path, "examples/%s.tide", names[i]);
    char *text = read_file(path, &length);
    CHECK(text);
    load_example(&l, names[i], text, length);
    char *plan = describe(&l);
    snprintf(path, sizeof path, "tests/expected/plan/%s.txt", names[i]);
    if (getenv("UPDATE_EXPECTED")) {
      FILE *file = fopen(path, "wb");
      CHECK(file);
      fputs(plan, file);
      fclose(file);
    }
    char *expected = read_file(path, &expected_length);
    if (!expected) FAIL("%s is missing: UPDATE_EXPECTED=1 writes it", path);
    if (strcmp(plan, expected) != 0) FAIL("the plan of %s is not that of %s", names[i], path);
    free(expected);
    free(plan);
    free(text);
    unload(&l);
  }
}

TEST(layout) {
  static char names[PROGRAMS_MOST][64];
  size_t count = list_examples(names);
  for (size_t i = 0; i < count; i++) {
    char path[128];
    size_t length;
    snprintf(path, sizeof path, "examples/%s.tide", names[i]);
    char *text = read_file(path, &length);
    CHECK(text && text[0] == '#');
    struct tide_program_params params = {.struct_size = sizeof params,
                                         .allocator = tide_allocator_system(),
                                         .text = text,
                                         .length = length};
    struct tide_program *program;
    CHECK_OK(tide_program_parse(&params, NULL, &program));
    char *out = malloc(length * 2 + 64);
    CHECK(out);
    tide_program_format(program, out, length * 2 + 64);
    if (strcmp(out, text) != 0) FAIL("%s: tidemark fmt would change it", path);
    free(out);
    tide_program_destroy(program);
    free(text);
  }
}

/* Spread out and squeezed, they are still the same programs. */
static char *respace(const char *text, unsigned seed) {
  char *out = malloc(strlen(text) * 4 + 64), *at = out;
  bool comment = false, string = false;
  CHECK(out);
  for (; *text; text++) {
    if (*text == '\n') comment = false;
    if (*text == '#' && !string) comment = true;
    if (*text == '"' && !comment) string = !string;
    *at++ = *text;
    if (comment || string) continue;
    seed = seed * 1103515245 + 12345;
    if (*text == ' ' || (strchr(",+*-/()", *text) && text[1] != '\n'))
      for (unsigned n = seed >> 16 & 3; n; n--) *at++ = n & 1 ? ' ' : '\t';
    if (*text == '\n' && (seed >> 20 & 3) == 0) *at++ = '\n';
    if (*text == ',' && (seed >> 24 & 3) == 0) at += sprintf(at, "\n  # here\n");
  }
  *at = 0;
  return out;
}

TEST(the_same_program_in_any_layout) {
  static char names[PROGRAMS_MOST][64];
  size_t count = list_examples(names);
  for (size_t i = 0; i < count; i++) {
    char path[128];
    size_t length;
    struct loaded plain, spaced, formatted;
    snprintf(path, sizeof path, "examples/%s.tide", names[i]);
    char *text = read_file(path, &length);
    CHECK(text);
    char *loose = respace(text, (unsigned)i + 1);
    load_example(&plain, names[i], text, length);
    load_example(&spaced, names[i], loose, strlen(loose));
    size_t size = tide_program_format(spaced.program, NULL, 0) + 1;
    char *again = malloc(size), *twice = malloc(size);
    CHECK(again && twice);
    tide_program_format(spaced.program, again, size);
    load_example(&formatted, names[i], again, size - 1);
    CHECK_EQ_U64(tide_program_format(formatted.program, twice, size), size - 1);
    CHECK_EQ_STR(twice, again);
    char *a = describe(&plain), *b = describe(&spaced), *c = describe(&formatted);
    CHECK_EQ_STR(b, a);
    CHECK_EQ_STR(c, a);
    free(a), free(b), free(c), free(text), free(loose), free(again), free(twice);
    unload(&plain), unload(&spaced), unload(&formatted);
  }
}

TEST_MAIN(CASE(plans), CASE(layout), CASE(the_same_program_in_any_layout))
