#include "tool/mods_launch.h"

#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

static const struct {
  const char *name;
  uint64_t size;
} elements[] = {{"i8", 1}, {"i32", 4}, {"i64", 8}, {"f32", 4}, {"f64", 8}};
#define ELEMENTS (sizeof elements / sizeof *elements)

static const char *skip_spaces(const char *at) {
  while (*at == ' ') at++;
  return at;
}

static bool take_number(const char **at, uint64_t most, uint64_t *out) {
  char *end;
  if (**at < '0' || **at > '9') return false;
  *out = strtoull(*at, &end, 10);
  *at = end;
  return *out <= most;
}

/* Reads the name of "A = …" or "A=…". Returns the text after the equals sign. */
static const char *take_name(const char *text, char name[32]) {
  size_t length = strcspn(text, " =");
  const char *at = skip_spaces(text + length);
  if (!length || length >= 32 || *at != '=') return NULL;
  memcpy(name, text, length);
  name[length] = 0;
  return skip_spaces(at + 1);
}

/* Reads "[64x32] random", which follows "f32". */
static bool parse_matrix(struct tide_mods_matrix *matrix, const char *at) {
  static const char *const fills[] = {"random", "zero", "iota"};
  matrix->columns = 1;
  if (*at++ != '[' || !take_number(&at, 1 << 20, &matrix->rows)) return false;
  if (*at == 'x' && (at++, !take_number(&at, 1 << 20, &matrix->columns))) return false;
  if (*at++ != ']') return false;
  matrix->size = matrix->rows * matrix->columns * elements[matrix->element].size;
  at = skip_spaces(at);
  for (size_t i = 0; i < 3; i++)
    if (strcmp(at, fills[i]) == 0) {
      matrix->fill = *fills[i];
      return matrix->size <= (uint64_t)1 << 32;
    }
  return false;
}

static bool parse_argument(struct tide_mods_matrix *matrix, const char *text) {
  const char *at = take_name(text, matrix->name);
  char *end;
  if (!at) return false;
  for (size_t i = 0; i < ELEMENTS; i++) {
    size_t length = strlen(elements[i].name);
    if (strncmp(at, elements[i].name, length) != 0) continue;
    matrix->element = (enum tide_mods_element)i;
    return parse_matrix(matrix, at + length);
  }
  matrix->is_number = true;
  matrix->number = strtod(at, &end);
  if (end == at || *skip_spaces(end)) return false;
  matrix->integer = strtoll(at, NULL, 10);
  return true;
}

bool tide_mods_launch_set(struct tide_mods_launch *launch, const char *text) {
  char name[32];
  if (launch->setting_count == TIDE_MODS_ARGUMENTS_MAX || !take_name(text, name)) return false;
  launch->settings[launch->setting_count++] = text;
  return true;
}

/* ---- the module's attributes ---- */

static const struct tide_ir_attr_record *text_attr(struct tide_ir *ir, tide_ir_op op,
                                                   const char *name, enum tide_ir_attr_kind kind) {
  tide_ir_attr attr = tide_ir_get(ir, op, tide_ir_intern_text(ir, name));
  const struct tide_ir_attr_record *record = attr ? tide_ir_attr_of(ir, attr) : NULL;
  return record && record->kind == kind ? record : NULL;
}

/* Returns the text of the attribute `tidemark.args` for an argument; NULL: it has none. */
static const char *said_of(struct tide_ir *ir, tide_ir_op kernel, const char *name) {
  const struct tide_ir_attr_record *list =
      text_attr(ir, kernel, "tidemark.args", TIDE_IR_ATTR_ARRAY);
  for (uint32_t i = 0; list && i < list->count; i++) {
    const struct tide_ir_attr_record *item = tide_ir_attr_of(ir, tide_ir_item(ir, list->items, i));
    char own[32];
    if (item->kind != TIDE_IR_ATTR_STRING) continue;
    const char *text = tide_ir_string_text(ir, item->string, NULL);
    if (take_name(text, own) && strcmp(own, name) == 0) return text;
  }
  return NULL;
}

/* Returns the text for argument `index` if MLIR's tools have renamed the arguments to %arg0 and so
 * on: the entry at that index, if there is one entry for each argument. */
static const char *said_in_order(struct tide_ir *ir, tide_ir_op kernel, const char *name,
                                 size_t index, char out_own[32]) {
  const struct tide_ir_attr_record *list =
      text_attr(ir, kernel, "tidemark.args", TIDE_IR_ATTR_ARRAY);
  tide_ir_block entry = tide_ir_body(ir, kernel, 0);
  char anew[32];
  snprintf(anew, sizeof anew, "arg%zu", index);
  if (!list || strcmp(name, anew) != 0 ||
      list->count != tide_ir_block_of(ir, entry)->argument_count)
    return NULL;
  const struct tide_ir_attr_record *item =
      tide_ir_attr_of(ir, tide_ir_item(ir, list->items, (uint32_t)index));
  if (item->kind != TIDE_IR_ATTR_STRING) return NULL;
  const char *text = tide_ir_string_text(ir, item->string, NULL);
  return take_name(text, out_own) ? text : NULL;
}

static const char *set_for(const struct tide_mods_launch *launch, const char *name) {
  char own[32];
  for (size_t i = launch->setting_count; i-- > 0;)
    if (take_name(launch->settings[i], own) && strcmp(own, name) == 0) return launch->settings[i];
  return NULL;
}

/* True if the type is no integer, or the number is a whole one that fits its bits, signed or
 * not. */
static bool fits_element(const struct tide_ir *ir, tide_ir_type type,
                         const struct tide_mods_matrix *matrix) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  if (record->kind != TIDE_IR_INTEGER && record->kind != TIDE_IR_INDEX) return true;
  uint32_t bits = record->kind == TIDE_IR_INTEGER ? record->a : 64;
  if ((double)matrix->integer != matrix->number) return false;
  if (bits == 0 || bits >= 64) return true;
  int64_t limit = (int64_t)1 << bits;
  return matrix->integer < limit && matrix->integer >= -(limit / 2);
}

/* False: an --arg names an argument that the kernel does not have. */
static bool all_settings_meant(const struct tide_mods_launch *launch) {
  for (size_t i = 0; i < launch->setting_count; i++) {
    char own[32];
    bool meant = false;
    if (!take_name(launch->settings[i], own)) continue;
    for (size_t j = 0; j < launch->count; j++)
      meant = meant || strcmp(launch->matrices[j].name, own) == 0;
    if (meant) continue;
    tide_tool_error("%s: the kernel has no argument '%s'", launch->params.file, own);
    return false;
  }
  return true;
}

static bool add_argument(struct tide_mods_launch *launch, struct tide_ir *ir, tide_ir_op kernel,
                         tide_ir_value value) {
  size_t length = 0;
  const char *written = tide_ir_value_name(ir, value, &length);
  char name[32] = "";
  if (length < sizeof name && written) memcpy(name, written, length);
  struct tide_mods_matrix *matrix = &launch->matrices[launch->count];
  const char *text = set_for(launch, name);
  if (!text) text = said_of(ir, kernel, name);
  char own[32];
  if (!text && (text = said_in_order(ir, kernel, name, launch->count, own))) {
    const char *set = set_for(launch, own);
    if (set) text = set;
  }
  if (!text) {
    tide_tool_error("%s: nothing is said of argument '%s': --arg %s=…, or tidemark.args",
                    launch->params.file, name, name);
    return false;
  }
  if (!parse_argument(matrix, text)) {
    tide_tool_error("%s: '%s' is no argument: \"m = 8\", \"A = f32[64x32] random\"",
                    launch->params.file, text);
    return false;
  }
  if (matrix->is_number ==
      tide_ir_type_is(ir, tide_ir_type_of_value(ir, value), TIDE_IR_LLVM_POINTER)) {
    tide_tool_error("%s: argument '%s' is %s", launch->params.file, name,
                    matrix->is_number ? "memory, not a number" : "a number, not memory");
    return false;
  }
  if (matrix->is_number && !fits_element(ir, tide_ir_type_of_value(ir, value), matrix)) {
    tide_tool_error("%s: argument '%s' is no number of type '%s': %s", launch->params.file, name,
                    tide_ir_type_name(ir, tide_ir_type_of_value(ir, value)).text, text);
    return false;
  }
  launch->count++;
  if (matrix->is_number || !matrix->size) return true;
  matrix->data = malloc(matrix->size);
  if (!matrix->data) tide_tool_error("out of memory");
  return matrix->data != NULL;
}

static tide_ir_op find_kernel(const struct tide_mods_launch *launch, struct tide_ir *ir) {
  for (tide_ir_op op = ir->module; op; op = tide_ir_walk_next(ir, ir->module, op, true)) {
    const char *name = tide_ir_get_text(ir, op, TIDE_NAME_SYM_NAME);
    if (tide_ir_op_kind(ir, op) == TIDE_OP_GPU_FUNC && tide_ir_has(ir, op, TIDE_NAME_KERNEL) &&
        (!launch->params.kernel || (name && strcmp(name, launch->params.kernel) == 0)))
      return op;
  }
  tide_tool_error("%s: there is no such kernel", launch->params.file);
  return 0;
}

static bool prepare_from(struct tide_mods_launch *launch, struct tide_ir *ir) {
  tide_ir_op kernel = find_kernel(launch, ir);
  tide_ir_block entry = kernel ? tide_ir_body(ir, kernel, 0) : 0;
  if (!entry) return false;
  uint32_t count = tide_ir_block_of(ir, entry)->argument_count;
  if (count > TIDE_MODS_ARGUMENTS_MAX) {
    tide_tool_error("%s: more than %u arguments", launch->params.file, TIDE_MODS_ARGUMENTS_MAX);
    return false;
  }
  for (uint32_t i = 0; i < count; i++)
    if (!add_argument(launch, ir, kernel, tide_ir_argument(ir, entry, i))) return false;
  if (!all_settings_meant(launch)) return false;
  const struct tide_ir_attr_record *check =
      text_attr(ir, kernel, "tidemark.check", TIDE_IR_ATTR_STRING);
  if (check) launch->check = strdup(tide_ir_string_text(ir, check->string, NULL));
  return !check || launch->check;
}

bool tide_mods_launch_prepare(struct tide_mods_launch *launch) {
  struct tide_mods_input input = {.name = launch->params.file};
  struct tide_mods_part part = {launch->params.text, launch->params.length, 1};
  struct tide_mods_reading reading = {.sink = &tide_mods_stderr};
  struct tide_ir *ir = NULL;
  bool good = tide_mods_load(&input, &part, &reading, &ir) && prepare_from(launch, ir);
  tide_ir_destroy(ir);
  return good;
}

void tide_mods_launch_fini(struct tide_mods_launch *launch) {
  for (size_t i = 0; i < launch->count; i++) free(launch->matrices[i].data);
  free(launch->check);
}

/* ---- numbers ---- */

static double get_element(const struct tide_mods_matrix *matrix, uint64_t index) {
  switch (matrix->element) {
    case TIDE_ELEMENT_I8: return ((const int8_t *)matrix->data)[index];
    case TIDE_ELEMENT_I32: return ((const int32_t *)matrix->data)[index];
    case TIDE_ELEMENT_I64: return (double)((const int64_t *)matrix->data)[index];
    case TIDE_ELEMENT_F32: return (double)((const float *)matrix->data)[index];
    default: return ((const double *)matrix->data)[index];
  }
}

static void put_element(struct tide_mods_matrix *matrix, uint64_t index, double value) {
  switch (matrix->element) {
    case TIDE_ELEMENT_I8: ((int8_t *)matrix->data)[index] = (int8_t)(int64_t)value; break;
    case TIDE_ELEMENT_I32: ((int32_t *)matrix->data)[index] = (int32_t)(int64_t)value; break;
    case TIDE_ELEMENT_I64: ((int64_t *)matrix->data)[index] = (int64_t)value; break;
    case TIDE_ELEMENT_F32: ((float *)matrix->data)[index] = (float)value; break;
    default: ((double *)matrix->data)[index] = value; break;
  }
}

/* Fills a matrix. random: whole numbers from -4 to 4, the same for the same index. */
static void fill_matrix(struct tide_mods_matrix *matrix, uint64_t salt) {
  uint64_t state = 0x9e3779b97f4a7c15u * (salt + 1);
  if (!matrix->data) return;
  memset(matrix->data, 0, matrix->size);
  for (uint64_t i = 0; matrix->fill != 'z' && i < matrix->rows * matrix->columns; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    put_element(matrix, i, matrix->fill == 'i' ? (double)i : (double)((state >> 33) % 9) - 4);
  }
}

static struct tide_mods_matrix *find_matrix(struct tide_mods_launch *launch, const char *name) {
  for (size_t i = 0; i < launch->count; i++)
    if (!launch->matrices[i].is_number && strcmp(launch->matrices[i].name, name) == 0)
      return &launch->matrices[i];
  return NULL;
}

static bool check_product(const char *check, const struct tide_mods_matrix *c,
                          const struct tide_mods_matrix *a, const struct tide_mods_matrix *b) {
  for (uint64_t i = 0; i < c->rows; i++)
    for (uint64_t j = 0; j < c->columns; j++) {
      double sum = 0, got = get_element(c, i * c->columns + j);
      for (uint64_t k = 0; k < a->columns; k++)
        sum += get_element(a, i * a->columns + k) * get_element(b, k * b->columns + j);
      if (sum != got) {
        tide_tool_error("%s: wrong: row %llu, column %llu is %g, not %g", check,
                        (unsigned long long)i, (unsigned long long)j, got, sum);
        return false;
      }
    }
  return true;
}

/* Checks "C = A * B". */
bool tide_mods_launch_check(struct tide_mods_launch *launch) {
  char c[32], a[32], b[32], behind;
  if (!launch->check) return true;
  struct tide_mods_matrix *cm, *am, *bm;
  if (sscanf(launch->check, "%31[^ =] = %31[^ *] * %31[^ ] %c", c, a, b, &behind) != 3 ||
      !(cm = find_matrix(launch, c)) || !(am = find_matrix(launch, a)) ||
      !(bm = find_matrix(launch, b)) || am->columns != bm->rows || cm->rows != am->rows ||
      cm->columns != bm->columns) {
    tide_tool_error("%s: \"%s\" can't be checked: \"C = A * B\" with matrices that fit",
                    launch->params.file, launch->check);
    return false;
  }
  return check_product(launch->check, cm, am, bm);
}

/* ---- the run ---- */

void tide_mods_launch_fill(struct tide_mods_launch *launch) {
  for (size_t i = 0; i < launch->count; i++) {
    struct tide_mods_matrix *matrix = &launch->matrices[i];
    fill_matrix(matrix, i);
    launch->arguments[i] =
        (struct tide_mods_argument){matrix->data, matrix->size, matrix->integer, matrix->number};
  }
  launch->params.arguments = launch->arguments;
  launch->params.argument_count = launch->count;
}

bool tide_mods_launch_run(struct tide_mods_launch *launch, struct tide_context *context,
                          struct tide_mods_run_stats *out_stats) {
  struct tide_mods_run *run;
  tide_mods_launch_fill(launch);
  enum tide_status status = tide_mods_run_create(context, &launch->params, &run);
  if (status == TIDE_NOMEM || status == TIDE_FULL)
    tide_tool_error("%s: %s", launch->params.file, tide_status_text(status));
  if (status != TIDE_OK) return false;
  status = tide_mods_run_step(run, UINT64_MAX);
  tide_mods_run_statistics(run, out_stats);
  tide_mods_run_destroy(run);
  return status == TIDE_OK && tide_mods_launch_check(launch);
}

/* Prints integers exactly, and floats with enough digits to tell neighbours apart. */
static void print_element(const struct tide_mods_matrix *matrix, uint64_t index) {
  double value = get_element(matrix, index);
  char text[32];
  int most = matrix->element == TIDE_ELEMENT_F64 ? 17 : 9;
  if (matrix->element == TIDE_ELEMENT_I64)
    snprintf(text, sizeof text, "%lld", (long long)((const int64_t *)matrix->data)[index]);
  else if (matrix->element < TIDE_ELEMENT_F32) snprintf(text, sizeof text, "%.0f", value);
  else
    for (int digits = 6; digits <= most; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, value);
      double back = strtod(text, NULL);
      if (most == 9 ? (float)back == (float)value : back == value) break;
    }
  fputs(text, stdout);
}

bool tide_mods_launch_print(const struct tide_mods_launch *launch, const char *name) {
  const struct tide_mods_matrix *matrix = find_matrix((struct tide_mods_launch *)launch, name);
  if (!matrix) {
    tide_tool_error("there is no memory '%s' among the arguments", name);
    return false;
  }
  for (uint64_t i = 0; i < matrix->rows; i++)
    for (uint64_t j = 0; j < matrix->columns; j++) {
      print_element(matrix, i * matrix->columns + j);
      putchar(j + 1 == matrix->columns ? '\n' : ' ');
    }
  return true;
}
