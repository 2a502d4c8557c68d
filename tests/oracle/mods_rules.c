/* Every rule of the verifier of modules, switched off, is missed by a file of tests/mods: what the
 * file's module is told changes. That all of it is told as the file says, case/mods tests. */
#include "harness.h"
#include "mods_rules.h"

#include "mods/ir.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES_MAX 300
#define RULES_MAX 400

struct file {
  char *path, *text;
  size_t length;
  bool any, partial;
  uint64_t told; /* with all rules on */
};
static struct file files[FILES_MAX];
static size_t file_count;

/* ---- files ---- */

/* The files of tests/mods/mlir have no RUN line: case/mods_mlir tries them. */
static bool load(struct file *file, const char *path) {
  static char buffer[1 << 18];
  FILE *from = fopen(path, "rb");
  CHECK(from);
  file->length = fread(buffer, 1, sizeof buffer - 1, from);
  fclose(from);
  buffer[file->length] = 0;
  char *end = strchr(buffer, '\n');
  const char *run = strstr(buffer, "// RUN: ");
  if (!end || (!strstr(path, "/mlir/") && (!run || run > end))) return false;
  *end = 0;
  file->any = strstr(buffer, "--allow-unregistered-dialect") != NULL;
  file->partial = strstr(buffer, "--partial") != NULL;
  *end = '\n';
  file->path = strdup(path);
  file->text = strdup(buffer);
  return file->path && file->text;
}

static void load_all(void) {
  glob_t found;
  if (glob("tests/mods/*.mlir", 0, NULL, &found) != 0 ||
      glob("tests/mods/mlir/*.mlir", GLOB_APPEND, NULL, &found) != 0)
    FAIL("tests/mods is not here: start it in the repository");
  for (size_t i = 0; i < found.gl_pathc && file_count < FILES_MAX; i++)
    if (load(&files[file_count], found.gl_pathv[i])) file_count++;
  globfree(&found);
  CHECK(file_count >= 60);
}

/* ---- what a file is told, as a number ---- */

static void mix(uint64_t *told, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    *told = (*told ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static void hear(void *self, const struct tide_mods_diagnostic *d) {
  uint64_t *told = self;
  mix(told, &d->severity, sizeof d->severity);
  mix(told, &d->line, sizeof d->line);
  mix(told, &d->column, sizeof d->column);
  mix(told, d->text, strlen(d->text));
}

static void tell_part(const struct file *file, const char *text, size_t length, uint64_t *told) {
  struct tide_mods_sink sink = {hear, told};
  struct tide_ir *ir;
  struct tide_ir_parse_params parse = {
      .text = text, .length = length, .file = "-", .any_operation = file->any};
  struct tide_ir_verify_params rules = {.partial = file->partial ? TIDE_IR_PARTIAL_MBARRIER
                                                                 : TIDE_IR_PARTIAL_REFUSED};
  CHECK_OK(tide_ir_create(tide_allocator_system(), &ir));
  ir->sink = &sink;
  enum tide_status status = tide_ir_parse(ir, &parse);
  if (status == TIDE_OK) status = tide_ir_verify(ir, &rules);
  mix(told, &status, sizeof status);
  tide_ir_destroy(ir);
}

static uint64_t tell(const struct file *file) {
  uint64_t told = 14695981039346656037u;
  for (const char *at = file->text; at;) {
    const char *end = strstr(at, "\n// -----");
    tell_part(file, at, end ? (size_t)(end - at) : strlen(at), &told);
    at = end ? end + 9 : NULL;
  }
  return told;
}

/* ---- what no text can say: names reach no other function, branches no other region ---- */

static tide_ir_op find_op(const struct tide_ir *ir, unsigned kind, uint32_t number) {
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true))
    if (tide_ir_op_kind(ir, op) == kind && number-- == 0) return op;
  FAIL("there is no such operation");
}

static uint64_t tell_built(bool branch) {
  static const char text[] = "func.func @f() {\n  %0 = arith.constant 1 : i32\n  return\n}\n"
                             "func.func @g() {\n  cf.br ^one\n^one:\n"
                             "  %1 = arith.constant 2 : i32\n  %2 = arith.addi %1, %1 : i32\n"
                             "  return\n}\n";
  uint64_t told = 14695981039346656037u;
  struct tide_mods_sink sink = {hear, &told};
  struct tide_ir_parse_params parse = {.text = text, .length = sizeof text - 1, .file = "-"};
  struct tide_ir *ir;
  CHECK_OK(tide_ir_create(tide_allocator_system(), &ir));
  ir->sink = &sink;
  CHECK_OK(tide_ir_parse(ir, &parse));
  if (branch) {
    tide_ir_op old = find_op(ir, TIDE_OP_CF_BR, 0);
    tide_ir_block there = tide_ir_op_of(ir, old)->block, other;
    other = tide_ir_op_of(ir, find_op(ir, TIDE_OP_ARITH_CONSTANT, 0))->block;
    tide_ir_op to_other =
        tide_ir_op_create(ir, &(struct tide_ir_op_params){.kind = TIDE_OP_CF_BR,
                                                          .successors = &other,
                                                          .successor_counts = (uint32_t[]){0},
                                                          .successor_count = 1});
    tide_ir_insert(ir, there, old, to_other);
    tide_ir_erase(ir, old);
  } else {
    tide_ir_op sum = find_op(ir, TIDE_OP_ARITH_ADDI, 0);
    tide_ir_op elsewhere = find_op(ir, TIDE_OP_ARITH_CONSTANT, 0);
    tide_ir_set_operand(ir, sum, 0, tide_ir_op_of(ir, elsewhere)->results);
  }
  enum tide_status status = tide_ir_verify(ir, NULL);
  mix(&told, &status, sizeof status);
  tide_ir_destroy(ir);
  return told;
}

static uint64_t built[2];

/* ---- rules ---- */

const struct tide_rule *tide_rule_off;
static bool spoke;

bool tide_rule_is_on(const struct tide_rule *rule) { return spoke = rule != tide_rule_off; }
bool tide_rule_spoke(void) { return spoke; }

/* In a child: what a rule keeps out may do anything. 0: no file misses it; else which one does. */
static size_t who_misses(const struct tide_rule *rule) {
  uint32_t at = 0;
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    tide_rule_off = rule;
    for (uint32_t i = 0; i < file_count; i++) {
      uint32_t number = i + 1;
      if (write(ends[1], &number, sizeof number) < 0) _exit(2);
      if (tell(&files[i]) != files[i].told) _exit(1);
    }
    uint32_t number = (uint32_t)file_count + 1;
    if (write(ends[1], &number, sizeof number) < 0) _exit(2);
    _exit(tell_built(false) != built[0] || tell_built(true) != built[1]);
  }
  close(ends[1]);
  while (read(ends[0], &at, sizeof at) == sizeof at) continue;
  close(ends[0]);
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : at;
}

TEST(every_rule_is_missed_by_a_file) {
  size_t rules = 0, missing = 0;
  load_all();
  for (size_t i = 0; i < file_count; i++) files[i].told = tell(&files[i]);
  for (int i = 0; i < 2; i++) built[i] = tell_built(i);
  for (const struct tide_rule *const *at = __start_tide_rules; at != __stop_tide_rules; at++) {
    size_t who = who_misses(*at);
    const char *name = strrchr((*at)->file, '/');
    rules++;
    if (!who) missing++;
    printf("     %-18s %4u  %-34s %.90s\n", name ? name + 1 : (*at)->file, (*at)->line,
           !who               ? "NOBODY"
           : who > file_count ? "built by calls"
                              : strrchr(files[who - 1].path, '/') + 1,
           (*at)->says);
  }
  printf("     %zu rules, %zu files\n", rules, file_count);
  if (missing) FAIL("%zu of %zu rules can go, and no file of tests/mods notices", missing, rules);
  CHECK(rules >= 100);
}

/* With none off it is told the same again. */
TEST(files_are_told_the_same_twice) {
  load_all();
  for (size_t i = 0; i < file_count; i++)
    if (tell(&files[i]) != tell(&files[i])) FAIL("%s", files[i].path);
}

TEST_MAIN(CASE_SECONDS(every_rule_is_missed_by_a_file, 300), CASE(files_are_told_the_same_twice))
