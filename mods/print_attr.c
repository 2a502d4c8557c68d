/* Prints types and attributes. */
#include "mods/print.h"
#include "mods/decimal.h"
#include "mods/float_bits.h"
#include "base/alloc.h"
#include "base/text.h"

static bool is_full(const struct tide_printer *printer) {
  return printer->most && printer->put > printer->most;
}

static uint32_t item_at(const struct tide_printer *printer, uint32_t items, uint32_t index) {
  return tide_ir_item(printer->ir, items, index);
}

static void put_types(struct tide_printer *printer, uint32_t items, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    if (i > first) tide_puts(printer, ", ");
    tide_put_type(printer, item_at(printer, items, i));
  }
}

static void put_function(struct tide_printer *printer, const struct tide_ir_type_record *type) {
  uint32_t results = type->count - type->a;
  tide_puts(printer, "(");
  put_types(printer, type->items, 0, type->a);
  tide_puts(printer, ") -> ");
  bool one = results == 1 && !tide_ir_type_is(printer->ir, item_at(printer, type->items, type->a),
                                              TIDE_IR_FUNCTION);
  if (!one) tide_puts(printer, "(");
  put_types(printer, type->items, type->a, type->count);
  if (!one) tide_puts(printer, ")");
}

/* Prints an llvm type. Inside !llvm.…<> the nested types omit the dialect's name. */
static void put_llvm(struct tide_printer *printer, tide_ir_type number, bool inside) {
  const struct tide_ir_type_record *type = tide_ir_type_of(printer->ir, number);
  const char *dialect = inside ? "" : "!llvm.";
  if (is_full(printer)) return;
  switch (type->kind) {
    case TIDE_IR_LLVM_POINTER:
      tide_putf(printer, "%sptr", dialect);
      if (type->a) tide_putf(printer, "<%u>", type->a);
      break;
    case TIDE_IR_LLVM_VOID: tide_putf(printer, "%svoid", dialect); break;
    case TIDE_IR_LLVM_ARRAY:
      tide_putf(printer, "%sarray<%u x ", dialect, type->b);
      put_llvm(printer, type->a, true);
      tide_puts(printer, ">");
      break;
    case TIDE_IR_LLVM_STRUCT:
      tide_putf(printer, "%sstruct<%s(", dialect, type->a ? "packed " : "");
      for (uint32_t i = 0; i < type->count; i++) {
        if (i) tide_puts(printer, ", ");
        put_llvm(printer, item_at(printer, type->items, i), true);
      }
      tide_puts(printer, ")>");
      break;
    case TIDE_IR_LLVM_FUNCTION:
      tide_putf(printer, "%sfunc<", dialect);
      put_llvm(printer, item_at(printer, type->items, type->count - 1), true);
      tide_puts(printer, " (");
      for (uint32_t i = 0; i + 1 < type->count; i++) {
        if (i) tide_puts(printer, ", ");
        put_llvm(printer, item_at(printer, type->items, i), true);
      }
      if (type->a) tide_puts(printer, type->count > 1 ? ", ..." : "...");
      tide_puts(printer, ")>");
      break;
    default: tide_put_type(printer, number); break;
  }
}

void tide_put_type(struct tide_printer *printer, tide_ir_type number) {
  static const char *const floats[] = {"f16", "bf16", "tf32", "f32", "f64"};
  static const char *const signs[] = {"i", "si", "ui"};
  static const char *const schedulers[] = {"streamk", "static_persistent", "data_parallel"};
  const struct tide_ir_type_record *type = tide_ir_type_of(printer->ir, number);
  if (is_full(printer)) return;
  switch ((enum tide_ir_type_kind)type->kind) {
    case TIDE_IR_TYPE_NONE: tide_puts(printer, number ? "none" : "<<unknown>>"); break;
    case TIDE_IR_INTEGER: tide_putf(printer, "%s%u", signs[type->b], type->a); break;
    case TIDE_IR_INDEX: tide_puts(printer, "index"); break;
    case TIDE_IR_FLOAT: tide_puts(printer, floats[type->a]); break;
    case TIDE_IR_FUNCTION: put_function(printer, type); break;
    case TIDE_IR_VECTOR:
      tide_putf(printer, "vector<%ux", type->b);
      tide_put_type(printer, type->a);
      tide_puts(printer, ">");
      break;
    case TIDE_IR_LLVM_POINTER:
    case TIDE_IR_LLVM_ARRAY:
    case TIDE_IR_LLVM_STRUCT:
    case TIDE_IR_LLVM_VOID:
    case TIDE_IR_LLVM_FUNCTION: put_llvm(printer, number, false); break;
    case TIDE_IR_PIPELINE: tide_putf(printer, "!cutlass.pipeline<%u>", type->a); break;
    case TIDE_IR_PIPELINE_STATE: tide_puts(printer, "!cutlass.pipeline_state"); break;
    case TIDE_IR_SEQ_BAR: tide_putf(printer, "!cutlass.seq_bar<%u, %u>", type->a, type->b); break;
    case TIDE_IR_TILE_SCHEDULER:
      tide_putf(printer, "!cutlass.tile_scheduler<%s>", schedulers[type->a]);
      break;
    case TIDE_IR_WORK_TILE: tide_puts(printer, "!cutlass.work_tile"); break;
    case TIDE_IR_OPAQUE: {
      size_t length;
      const char *text = tide_ir_string_text(printer->ir, type->a, &length);
      tide_put(printer, text, length);
      break;
    }
  }
}

/* ---- attributes ---- */

static void put_hex(struct tide_printer *printer, uint64_t bits) {
  int shift = 60;
  while (shift && !(bits >> shift)) shift -= 4;
  tide_puts(printer, "0x");
  for (; shift >= 0; shift -= 4) tide_put(printer, &"0123456789ABCDEF"[bits >> shift & 15], 1);
}

static void put_float(struct tide_printer *printer, const struct tide_ir_attr_record *attr) {
  char text[64];
  uint32_t format = tide_ir_type_of(printer->ir, attr->type)->a;
  if (__builtin_isfinite(attr->number)) {
    size_t length = tide_decimal_print(attr->number, format == TIDE_IR_F32, text, sizeof text);
    tide_put(printer, text, length);
  } else {
    put_hex(printer, tide_float_narrow(format, attr->number));
  }
  tide_puts(printer, " : ");
  tide_put_type(printer, attr->type);
}

static void put_dense(struct tide_printer *printer, tide_ir_attr number,
                      const struct tide_ir_attr_record *attr) {
  bool bools = tide_ir_is_integer(printer->ir, attr->type, 1);
  bool floats = tide_ir_type_is(printer->ir, attr->type, TIDE_IR_FLOAT);
  tide_puts(printer, "array<");
  tide_put_type(printer, attr->type);
  for (uint32_t i = 0; i < attr->count / 2; i++) {
    int64_t value = tide_ir_attr_element(printer->ir, number, i);
    tide_puts(printer, i ? ", " : ": ");
    if (bools) {
      tide_puts(printer, value ? "true" : "false");
    } else if (floats) {
      char text[64];
      double wide;
      memcpy(&wide, &value, sizeof wide);
      bool single = tide_ir_type_of(printer->ir, attr->type)->a == TIDE_IR_F32;
      if (__builtin_isfinite(wide))
        tide_put(printer, text, tide_decimal_print(wide, single, text, sizeof text));
      else put_hex(printer, tide_float_narrow(tide_ir_type_of(printer->ir, attr->type)->a, wide));
    } else {
      tide_putf(printer, "%lld", (long long)value);
    }
  }
  tide_puts(printer, ">");
}

static void put_text(struct tide_printer *printer, const struct tide_ir_attr_record *attr) {
  size_t length;
  const char *text = tide_ir_string_text(printer->ir, attr->string, &length);
  tide_put(printer, text, length);
  if (!attr->type) return;
  tide_puts(printer, " : ");
  tide_put_type(printer, attr->type);
}

static void put_list(struct tide_printer *printer, const struct tide_ir_attr_record *attr) {
  bool symbols = attr->kind == TIDE_IR_ATTR_SYMBOL;
  if (!symbols) tide_puts(printer, "[");
  for (uint32_t i = 0; i < attr->count; i++) {
    if (i) tide_puts(printer, symbols ? "::" : ", ");
    if (symbols) tide_put_symbol(printer, item_at(printer, attr->items, i));
    else tide_put_attr(printer, item_at(printer, attr->items, i));
  }
  if (!symbols) tide_puts(printer, "]");
}

void tide_put_attr(struct tide_printer *printer, tide_ir_attr number) {
  const struct tide_ir_attr_record *attr = tide_ir_attr_of(printer->ir, number);
  if (is_full(printer)) return;
  switch ((enum tide_ir_attr_kind)attr->kind) {
    case TIDE_IR_ATTR_UNIT: tide_puts(printer, "unit"); break;
    case TIDE_IR_ATTR_BOOL: tide_puts(printer, attr->integer ? "true" : "false"); break;
    case TIDE_IR_ATTR_INTEGER:
      tide_putf(printer, "%lld : ", (long long)attr->integer);
      tide_put_type(printer, attr->type);
      break;
    case TIDE_IR_ATTR_FLOAT: put_float(printer, attr); break;
    case TIDE_IR_ATTR_STRING: tide_put_string(printer, attr->string); break;
    case TIDE_IR_ATTR_TYPE: tide_put_type(printer, attr->type); break;
    case TIDE_IR_ATTR_SYMBOL:
    case TIDE_IR_ATTR_ARRAY: put_list(printer, attr); break;
    case TIDE_IR_ATTR_DENSE: put_dense(printer, number, attr); break;
    case TIDE_IR_ATTR_DICTIONARY:
      if (!attr->count) tide_puts(printer, "{}");
      tide_put_dict(printer, "", number, NULL);
      break;
    case TIDE_IR_ATTR_OPAQUE: put_text(printer, attr); break;
  }
}

static bool is_bare(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool later = (c >= '0' && c <= '9') || c == '.' || c == '$';
    if (!letter && !(i && later)) return false;
  }
  return length > 0;
}

static bool is_hidden(const uint32_t *hidden, uint32_t name) {
  for (; hidden && *hidden; hidden++)
    if (*hidden == name) return true;
  return false;
}

void tide_put_dict(struct tide_printer *printer, const char *before, tide_ir_attr dictionary,
                   const uint32_t *hidden) {
  const struct tide_ir_attr_record *attr = tide_ir_attr_of(printer->ir, dictionary);
  bool any = false;
  for (uint32_t i = 0; dictionary && i < attr->count; i += 2) {
    uint32_t name = item_at(printer, attr->items, i), value = item_at(printer, attr->items, i + 1);
    size_t length;
    if (is_hidden(hidden, name)) continue;
    tide_putf(printer, "%s", any ? ", " : before);
    if (!any) tide_puts(printer, "{");
    any = true;
    const char *text = tide_ir_string_text(printer->ir, name, &length);
    if (is_bare(text, length)) tide_puts(printer, text);
    else tide_put_string(printer, name);
    if (tide_ir_attr_of(printer->ir, value)->kind == TIDE_IR_ATTR_UNIT) continue;
    tide_puts(printer, " = ");
    tide_put_attr(printer, value);
  }
  if (any) tide_puts(printer, "}");
}

void tide_put_symbol(struct tide_printer *printer, tide_ir_string string) {
  size_t length;
  const char *text = tide_ir_string_text(printer->ir, string, &length);
  tide_puts(printer, "@");
  if (is_bare(text, length)) tide_puts(printer, text);
  else tide_put_string(printer, string);
}

void tide_put_string(struct tide_printer *printer, tide_ir_string string) {
  static const char digits[] = "0123456789ABCDEF";
  size_t length;
  const char *text = tide_ir_string_text(printer->ir, string, &length);
  tide_puts(printer, "\"");
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '\\') {
      tide_puts(printer, "\\\\");
    } else if (c >= ' ' && c < 127 && c != '"') {
      tide_put(printer, text + i, 1);
    } else {
      tide_putf(printer, "\\%c%c", digits[c >> 4], digits[c & 15]);
    }
  }
  tide_puts(printer, "\"");
}
