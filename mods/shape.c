/* Compares an operation with its row of the table. */
#include "mods/flags.h"
#include "mods/verify.h"
#include "mods/words.h"
#include "base/alloc.h"

static const char *letter_text(char letter) {
  switch (letter) {
    case 'i': return "signless integer or index";
    case 'n': return "signless integer";
    case 'b': return "1-bit signless integer";
    case 'w': return "32-bit signless integer";
    case 'l': return "64-bit signless integer";
    case 'x': return "index";
    case 'f': return "floating-point";
    case 'v': return "integer or floating-point";
    case 'j': return "signless integer or LLVM pointer";
    case 'p': return "LLVM pointer";
    case 'P': return "!cutlass.pipeline";
    case 'S': return "!cutlass.pipeline_state";
    case 'Q': return "!cutlass.seq_bar";
    case 'H': return "!cutlass.pipeline or !cutlass.seq_bar";
    case 'T': return "!cutlass.tile_scheduler";
    case 'W': return "!cutlass.work_tile";
    default: return "any type";
  }
}

static bool type_fits(const struct tide_ir *ir, char letter, tide_ir_type type) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  bool integer = record->kind == TIDE_IR_INTEGER && record->b == TIDE_IR_SIGNLESS;
  if (!type) return false;
  switch (letter) {
    case 'i': return integer || record->kind == TIDE_IR_INDEX;
    case 'n': return integer;
    case 'b': return integer && record->a == 1;
    case 'w': return integer && record->a == 32;
    case 'l': return integer && record->a == 64;
    case 'x': return record->kind == TIDE_IR_INDEX;
    case 'f': return record->kind == TIDE_IR_FLOAT;
    case 'v': return integer || record->kind == TIDE_IR_FLOAT;
    case 'j': return integer || record->kind == TIDE_IR_LLVM_POINTER;
    case 'p': return record->kind == TIDE_IR_LLVM_POINTER;
    case 'P': return record->kind == TIDE_IR_PIPELINE;
    case 'S': return record->kind == TIDE_IR_PIPELINE_STATE;
    case 'Q': return record->kind == TIDE_IR_SEQ_BAR;
    case 'H': return record->kind == TIDE_IR_PIPELINE || record->kind == TIDE_IR_SEQ_BAR;
    case 'T': return record->kind == TIDE_IR_TILE_SCHEDULER;
    case 'W': return record->kind == TIDE_IR_WORK_TILE;
    default: return true;
  }
}

static tide_ir_type operand_type(const struct tide_ir *ir, tide_ir_op op, uint32_t index) {
  return tide_ir_type_of_value(ir, tide_ir_operand(ir, op, index));
}

/* Checks one side of a signature, up to its end or the '>'. */
static struct tide_misfit check_side(const struct tide_ir *ir, tide_ir_op op, const char *letters,
                                     bool results, uint32_t count) {
  tide_ir_value first = tide_ir_op_of(ir, op)->results;
  uint32_t index = 0, least = 0;
  bool more = false, many = false;
  for (const char *letter = letters; *letter && *letter != '>'; letter++) {
    if (*letter == '*') many = true;
    else if (*letter == '?') more = true;
    else if (!more) least++;
  }
  for (const char *letter = letters; *letter && *letter != '>' && index < count; letter++) {
    if (*letter == '*') return (struct tide_misfit){TIDE_FITS, 0, 0, NULL};
    if (*letter == '?') continue;
    tide_ir_type type =
        results ? tide_ir_value_of(ir, first + index)->type : operand_type(ir, op, index);
    if (*letter >= '0' && *letter <= '9') {
      uint32_t other = (uint32_t)(*letter - '0');
      if (type != operand_type(ir, op, other))
        return (struct tide_misfit){results ? TIDE_MISFIT_SAME_RESULT : TIDE_MISFIT_SAME, index,
                                    other, NULL};
    } else if (!type_fits(ir, *letter, type)) {
      return (struct tide_misfit){results ? TIDE_MISFIT_RESULT : TIDE_MISFIT_OPERAND, index, 0,
                                  letter_text(*letter)};
    }
    index++;
  }
  bool wrong = count < least || (!many && index < count);
  return (struct tide_misfit){
      wrong ? (results ? TIDE_MISFIT_RESULTS : TIDE_MISFIT_OPERANDS) : TIDE_FITS, least, 0, NULL};
}

/* Returns the text between `prefix` and the > at the end; NULL: another text. */
static const char *text_behind(const struct tide_ir *ir, const struct tide_ir_attr_record *record,
                               const char *prefix, size_t *out_length) {
  size_t length, start = strlen(prefix);
  if (record->kind != TIDE_IR_ATTR_OPAQUE) return NULL;
  const char *text = tide_ir_string_text(ir, record->string, &length);
  if (length <= start || memcmp(text, prefix, start) != 0 || text[length - 1] != '>') return NULL;
  *out_length = length - start - 1;
  return text + start;
}

static bool is_word_of(const struct tide_ir *ir, const struct tide_ir_attr_record *record,
                       const char *prefix, const char *const *words, size_t count) {
  size_t length;
  const char *text = text_behind(ir, record, prefix, &length);
  for (size_t i = 0; text && i < count; i++)
    if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) return true;
  return false;
}

static bool are_flags(const struct tide_ir *ir, const struct tide_ir_attr_record *record,
                      enum tide_flags flags, bool llvm) {
  static const char *const prefixes[] = {"#arith.overflow<", "#llvm.overflow<", "#arith.fastmath<",
                                         "#llvm.fastmath<"};
  size_t length, wrong;
  uint32_t bits;
  const char *text =
      text_behind(ir, record, prefixes[(flags == TIDE_FLAGS_FASTMATH) * 2 + llvm], &length);
  return text && tide_flags_read(flags, text, length, &bits, &wrong);
}

/* llvm: the attribute is of an operation of that dialect. */
static bool attr_fits(const struct tide_ir *ir, enum tide_ir_want want, tide_ir_attr attr,
                      bool llvm) {
  const struct tide_ir_attr_record *record = tide_ir_attr_of(ir, attr);
  bool integer = record->kind == TIDE_IR_ATTR_INTEGER;
  switch (want) {
    case TIDE_WANT_ANY: return true;
    case TIDE_WANT_I32: return integer && tide_ir_is_integer(ir, record->type, 32);
    case TIDE_WANT_I64: return integer && tide_ir_is_integer(ir, record->type, 64);
    case TIDE_WANT_INTEGER: return integer;
    case TIDE_WANT_BOOL: return record->kind == TIDE_IR_ATTR_BOOL;
    case TIDE_WANT_UNIT: return record->kind == TIDE_IR_ATTR_UNIT;
    case TIDE_WANT_STRING: return record->kind == TIDE_IR_ATTR_STRING;
    case TIDE_WANT_SYMBOL: return record->kind == TIDE_IR_ATTR_SYMBOL && record->count;
    case TIDE_WANT_TYPE: return record->kind == TIDE_IR_ATTR_TYPE;
    case TIDE_WANT_FUNCTION:
      return record->kind == TIDE_IR_ATTR_TYPE &&
             tide_ir_type_is(ir, record->type, TIDE_IR_FUNCTION);
    case TIDE_WANT_DENSE: return record->kind == TIDE_IR_ATTR_DENSE;
    case TIDE_WANT_ARRAY: return record->kind == TIDE_IR_ATTR_ARRAY;
    case TIDE_WANT_OVERFLOW: return are_flags(ir, record, TIDE_FLAGS_OVERFLOW, llvm);
    case TIDE_WANT_FASTMATH: return are_flags(ir, record, TIDE_FLAGS_FASTMATH, llvm);
    case TIDE_WANT_LINKAGE:
      return is_word_of(ir, record, "#llvm.linkage<", tide_linkages, TIDE_WORDS(tide_linkages));
    case TIDE_WANT_CONVENTION:
      return is_word_of(ir, record, "#llvm.cconv<", tide_conventions, TIDE_WORDS(tide_conventions));
    case TIDE_WANT_CHOICE: return integer && record->integer >= 0 && record->integer <= 2;
    case TIDE_WANT_ROUNDING:
      return integer && record->integer >= 0 && record->integer < TIDE_ROUNDINGS;
  }
  return false;
}

static const char *want_text(enum tide_ir_want want) {
  static const char *const texts[] = {"anything",
                                      "32-bit signless integer",
                                      "64-bit signless integer",
                                      "integer",
                                      "bool",
                                      "unit",
                                      "string",
                                      "symbol reference",
                                      "type",
                                      "function type",
                                      "dense array",
                                      "array",
                                      "overflow flags",
                                      "fast-math flags",
                                      "linkage",
                                      "calling convention",
                                      "0, 1 or 2",
                                      "rounding mode"};
  return texts[want];
}

static uint32_t regions_of(const struct tide_ir_op_info *info, unsigned kind) {
  if (kind == TIDE_OP_SCF_IF || kind == TIDE_OP_SCF_WHILE) return 2;
  switch ((enum tide_ir_form)info->form) {
    case TIDE_FORM_MODULE:
    case TIDE_FORM_FUNCTION:
    case TIDE_FORM_GPU_MODULE:
    case TIDE_FORM_GPU_FUNC:
    case TIDE_FORM_LLVM_FUNC:
    case TIDE_FORM_LLVM_GLOBAL:
    case TIDE_FORM_FOR: return 1;
    default: return kind == TIDE_OP_ASYNC_EXEC;
  }
}

struct tide_misfit tide_ir_misfit(const struct tide_ir *ir, tide_ir_op op) {
  const struct tide_ir_op_info *info = tide_ir_op_info(ir, op);
  const struct tide_ir_op_record *record = tide_ir_op_of(ir, op);
  const char *results = info->signature;
  if (record->kind >= TIDE_IR_KINDS) return (struct tide_misfit){TIDE_FITS, 0, 0, NULL};
  while (*results++ != '>') {}
  struct tide_misfit misfit = check_side(ir, op, info->signature, false, record->operand_count);
  if (misfit.kind != TIDE_FITS) return misfit;
  misfit = check_side(ir, op, results, true, record->result_count);
  if (misfit.kind != TIDE_FITS) return misfit;
  for (const struct tide_ir_attribute_info *own = info->attributes; own->name; own++) {
    tide_ir_attr attr = tide_ir_get(ir, op, own->name);
    if (!attr && own->required)
      return (struct tide_misfit){TIDE_MISFIT_NO_ATTR, own->name, 0, NULL};
    if (attr && !attr_fits(ir, own->want, attr, info->name[0] == 'l'))
      return (struct tide_misfit){TIDE_MISFIT_ATTR, own->name, 0, want_text(own->want)};
  }
  uint32_t regions = regions_of(info, record->kind);
  uint32_t successors = info->form == TIDE_FORM_BRANCH        ? 1
                        : info->form == TIDE_FORM_COND_BRANCH ? 2
                                                              : 0;
  if (record->region_count != regions)
    return (struct tide_misfit){TIDE_MISFIT_REGIONS, regions, 0, NULL};
  if (record->successor_count != successors)
    return (struct tide_misfit){TIDE_MISFIT_SUCCESSORS, successors, 0, NULL};
  return (struct tide_misfit){TIDE_FITS, 0, 0, NULL};
}
