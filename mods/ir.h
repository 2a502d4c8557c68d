/* mods/ir.h: a program as operations, blocks and regions, in the manner of MLIR.
 *
 * The model. An *operation* has a kind (mods/ops.h), operands, results, attributes, regions and, if
 * it ends a block, successors. A *region* is a list of blocks, a *block* has arguments and a list
 * of operations. A *value* is a result of an operation or an argument of a block. All of them are
 * 32-bit numbers, 0 = none, that stay good until the ir is destroyed; what stands behind a number
 * lies in arrays of chunks that never move, so pointers to records stay good, too.
 *
 * Types, attributes and strings are *interned*: equal ones have equal numbers. An operation's
 * attributes are one interned dictionary, sorted by name.
 *
 * A *location* is 0 (unknown), the offset of a byte of the text plus 1, or the number of a
 * `loc(…)` that the text gave; tide_ir_where turns it into file, line and column.
 *
 * Where memory ends, or a limit is hit, a call gives 0 and the ir remembers it (`status`): all
 * calls take 0 for what they are given and then give 0, so that a builder asks once, at the end.
 *
 * Replacing: tide_ir_replace_all(old, new) lets whoever uses `old` use `new`, in constant time: the
 * old value forwards to the new one. Nothing may ask for the old value's type after that; its
 * operation is to be erased. Read operands by tide_ir_operand, which follows.
 *
 * An ir is used by one thread at a time. It refers to the text it was parsed from, which outlives
 * it.
 *
 * Source: "MLIR Language Reference".
 */
#ifndef TIDE_MODS_IR_H
#define TIDE_MODS_IR_H

#include "mods/ops.h"
#include "mods/names.h"
#include "mods/chunks.h"
#include "tidemark/mods.h"

typedef uint32_t tide_ir_op;
typedef uint32_t tide_ir_block;
typedef uint32_t tide_ir_region;
typedef uint32_t tide_ir_value;
typedef uint32_t tide_ir_type;
typedef uint32_t tide_ir_attr;
typedef uint32_t tide_ir_string;
typedef uint32_t tide_ir_location;

#define TIDE_IR_OPERANDS_MAX 4000 /* of one operation; so many results, arguments, blocks, too */
#define TIDE_IR_REGIONS_MAX 255
#define TIDE_IR_DEPTH_MAX                                                                          \
  128 /* of regions in regions, and of types or attributes in one another                          \
       */
#define TIDE_IR_TEXT_MAX 0x7ffffff0u

/* ---- records ------------------------------------------------------------------------ */

struct tide_ir_op_record {
  tide_ir_op prev, next; /* in the block; 0 at its ends */
  tide_ir_block block;   /* 0: in none */
  uint16_t kind;         /* enum tide_ir_kind; from TIDE_IR_KINDS on: a name nobody knows */
  uint16_t operand_count, result_count;
  uint8_t region_count, successor_count;
  uint32_t operands;       /* the first, in ir->slots; successors follow the operands */
  tide_ir_value results;   /* the first; the others follow */
  tide_ir_attr attributes; /* a dictionary; 0: an empty one */
  tide_ir_region regions;  /* the first; the others follow */
  tide_ir_location location;
};

struct tide_ir_value_record {
  tide_ir_type type; /* 0: forwards to `owner` */
  uint32_t owner;    /* the operation; or the block, with TIDE_IR_ARGUMENT */
  uint32_t uses;     /* operand slots that hold it */
  uint32_t name;     /* where it is written in the text, behind the %; 0: it is a number */
};
#define TIDE_IR_ARGUMENT 0x80000000u

struct tide_ir_block_record {
  tide_ir_block prev, next;
  tide_ir_region region;
  tide_ir_op first, last;
  tide_ir_value arguments; /* the first; the others follow */
  uint32_t argument_count;
  tide_ir_string name; /* without ^; 0: none */
};

struct tide_ir_region_record {
  tide_ir_block first, last;
  tide_ir_op parent;
};

enum tide_ir_type_kind {
  TIDE_IR_TYPE_NONE, /* `none` */
  TIDE_IR_INTEGER,   /* a = bits 1..64, b = enum tide_ir_sign */
  TIDE_IR_INDEX,
  TIDE_IR_FLOAT,        /* a = enum tide_ir_float */
  TIDE_IR_FUNCTION,     /* items = inputs then results; a = number of inputs */
  TIDE_IR_VECTOR,       /* a = element, b = length */
  TIDE_IR_LLVM_POINTER, /* a = address space */
  TIDE_IR_LLVM_ARRAY,   /* a = element, b = length */
  TIDE_IR_LLVM_STRUCT,  /* items; a = packed */
  TIDE_IR_LLVM_VOID,
  TIDE_IR_LLVM_FUNCTION, /* items = inputs then the result; a = variadic */
  TIDE_IR_PIPELINE,      /* a = stages */
  TIDE_IR_PIPELINE_STATE,
  TIDE_IR_SEQ_BAR,        /* a = depth, b = length */
  TIDE_IR_TILE_SCHEDULER, /* a = enum tide_ir_scheduler */
  TIDE_IR_WORK_TILE,
  TIDE_IR_OPAQUE /* any other: a = its text */
};
enum tide_ir_sign { TIDE_IR_SIGNLESS, TIDE_IR_SIGNED, TIDE_IR_UNSIGNED };
enum tide_ir_float { TIDE_IR_F16, TIDE_IR_BF16, TIDE_IR_TF32, TIDE_IR_F32, TIDE_IR_F64 };
enum tide_ir_scheduler { TIDE_IR_STREAMK, TIDE_IR_STATIC_PERSISTENT, TIDE_IR_DATA_PARALLEL };

struct tide_ir_type_record {
  uint32_t kind; /* enum tide_ir_type_kind */
  uint32_t a, b;
  uint32_t items; /* the first of `count`, in ir->items */
  uint32_t count;
};

enum tide_ir_attr_kind {
  TIDE_IR_ATTR_UNIT,
  TIDE_IR_ATTR_BOOL,       /* integer = 0, 1 */
  TIDE_IR_ATTR_INTEGER,    /* integer, sign-extended; type */
  TIDE_IR_ATTR_FLOAT,      /* number; type */
  TIDE_IR_ATTR_STRING,     /* string */
  TIDE_IR_ATTR_TYPE,       /* type */
  TIDE_IR_ATTR_SYMBOL,     /* items = strings: @a::@b */
  TIDE_IR_ATTR_ARRAY,      /* items = attributes */
  TIDE_IR_ATTR_DENSE,      /* array<T: …>; type = element; items = pairs: low, high 32 bits */
  TIDE_IR_ATTR_DICTIONARY, /* items = pairs: name (string), attribute; sorted by name's text */
  TIDE_IR_ATTR_OPAQUE /* any other, #dialect<…>, dense<…> …: string; type if `: T` followed */
};

struct tide_ir_attr_record {
  uint32_t kind;
  tide_ir_type type;
  union {
    int64_t integer;
    double number;
    tide_ir_string string;
    struct {
      uint32_t items, count; /* in ir->items */
    };
  };
};

/* ---- the ir -------------------------------------------------------------------------- */

struct tide_ir_tables; /* interning; mods/intern.h */

struct tide_ir {
  const struct tide_allocator *allocator;
  struct tide_chunks ops, values, blocks, regions, slots; /* records; slots: operands */
  struct tide_chunks types, attrs, items;                 /* interned */
  struct tide_ir_tables *tables;
  tide_ir_op module; /* the builtin.module; 0: nothing parsed or built */
  enum tide_status status;
  uint64_t op_count; /* that live */

  const char *text; /* what was parsed */
  size_t length;
  const char *file;
  uint32_t first_line;         /* of the text, in the file; 1-based */
  struct tide_ir_lines *lines; /* made when first asked for */

  const struct tide_mods_sink *sink; /* of diagnostics; NULL: nobody listens */
  uint32_t errors, warnings;         /* how many there were */
};

enum tide_status tide_ir_create(const struct tide_allocator *allocator, struct tide_ir **out_ir);
void tide_ir_destroy(struct tide_ir *ir); /* NULL is fine */
/* Bytes that it holds, without the text. */
size_t tide_ir_memory(const struct tide_ir *ir);

static inline struct tide_ir_op_record *tide_ir_op_of(const struct tide_ir *ir, tide_ir_op op) {
  return tide_chunks_at(&ir->ops, op);
}
static inline struct tide_ir_block_record *tide_ir_block_of(const struct tide_ir *ir,
                                                            tide_ir_block block) {
  return tide_chunks_at(&ir->blocks, block);
}
static inline struct tide_ir_region_record *tide_ir_region_of(const struct tide_ir *ir,
                                                              tide_ir_region region) {
  return tide_chunks_at(&ir->regions, region);
}
static inline struct tide_ir_value_record *tide_ir_value_of(const struct tide_ir *ir,
                                                            tide_ir_value value) {
  return tide_chunks_at(&ir->values, value);
}
static inline const struct tide_ir_type_record *tide_ir_type_of(const struct tide_ir *ir,
                                                                tide_ir_type type) {
  return tide_chunks_at(&ir->types, type);
}
static inline const struct tide_ir_attr_record *tide_ir_attr_of(const struct tide_ir *ir,
                                                                tide_ir_attr attr) {
  return tide_chunks_at(&ir->attrs, attr);
}
/* Item `index` of a type or an attribute that has items. */
static inline uint32_t tide_ir_item(const struct tide_ir *ir, uint32_t items, uint32_t index) {
  return *(const uint32_t *)tide_chunks_at(&ir->items, items + index);
}

/* ---- strings, types, attributes ------------------------------------------------------- */

tide_ir_string tide_ir_intern(struct tide_ir *ir, const char *bytes, size_t length);
tide_ir_string tide_ir_intern_text(struct tide_ir *ir, const char *text);
/* The name of a value, as written, without %; NULL: it has none. Not terminated. */
const char *tide_ir_value_name(const struct tide_ir *ir, tide_ir_value value, size_t *out_length);
/* Terminated; "" for 0. */
const char *tide_ir_string_text(const struct tide_ir *ir, tide_ir_string string,
                                size_t *out_length);

tide_ir_type tide_ir_type_get(struct tide_ir *ir, enum tide_ir_type_kind kind, uint32_t a,
                              uint32_t b);
tide_ir_type tide_ir_type_with(struct tide_ir *ir, enum tide_ir_type_kind kind, uint32_t a,
                               const uint32_t *items, size_t count);
static inline tide_ir_type tide_ir_integer(struct tide_ir *ir, unsigned bits) {
  return tide_ir_type_get(ir, TIDE_IR_INTEGER, bits, TIDE_IR_SIGNLESS);
}
bool tide_ir_is_integer(const struct tide_ir *ir, tide_ir_type type, unsigned bits); /* 0: any */
bool tide_ir_type_is(const struct tide_ir *ir, tide_ir_type type, enum tide_ir_type_kind kind);
tide_ir_type tide_ir_function_type(struct tide_ir *ir, const tide_ir_type *inputs,
                                   size_t input_count, const tide_ir_type *results,
                                   size_t result_count);

tide_ir_attr tide_ir_attr_unit(struct tide_ir *ir);
tide_ir_attr tide_ir_attr_bool(struct tide_ir *ir, bool value);
tide_ir_attr tide_ir_attr_integer(struct tide_ir *ir, tide_ir_type type, int64_t value);
tide_ir_attr tide_ir_attr_i32(struct tide_ir *ir, int32_t value);
tide_ir_attr tide_ir_attr_i64(struct tide_ir *ir, int64_t value);
tide_ir_attr tide_ir_attr_float(struct tide_ir *ir, tide_ir_type type, double value);
tide_ir_attr tide_ir_attr_string(struct tide_ir *ir, const char *bytes, size_t length);
tide_ir_attr tide_ir_attr_text(struct tide_ir *ir, const char *text);
tide_ir_attr tide_ir_attr_type(struct tide_ir *ir, tide_ir_type type);
tide_ir_attr tide_ir_attr_symbol(struct tide_ir *ir, const tide_ir_string *path, size_t count);
tide_ir_attr tide_ir_attr_array(struct tide_ir *ir, const tide_ir_attr *items, size_t count);
tide_ir_attr tide_ir_attr_dense(struct tide_ir *ir, tide_ir_type element, const int64_t *items,
                                size_t count);
/* Text as it is printed: "#nvvm.…", "dense<0> : vector<4xi32>"; type 0: none. */
tide_ir_attr tide_ir_attr_opaque(struct tide_ir *ir, const char *text, size_t length,
                                 tide_ir_type type);
struct tide_ir_named {
  tide_ir_string name; /* of tide_ir_intern, or enum tide_ir_name */
  tide_ir_attr value;
};
/* In any order; of two with one name the later one counts. 0 for none at all. */
tide_ir_attr tide_ir_attr_dictionary(struct tide_ir *ir, const struct tide_ir_named *items,
                                     size_t count);
/* An empty dictionary as a value, `{}`. */
tide_ir_attr tide_ir_attr_empty(struct tide_ir *ir);
/* In a dictionary; 0: it is not there. */
tide_ir_attr tide_ir_attr_find(const struct tide_ir *ir, tide_ir_attr dictionary,
                               tide_ir_string name);
/* Of a dense array of integers. */
int64_t tide_ir_attr_element(const struct tide_ir *ir, tide_ir_attr dense, uint32_t index);

/* ---- what an operation has -------------------------------------------------------------- */

tide_ir_attr tide_ir_get(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name);
/* value 0 takes it away. */
void tide_ir_set(struct tide_ir *ir, tide_ir_op op, tide_ir_string name, tide_ir_attr value);
/* An integer or bool attribute; `fallback` where there is none. */
int64_t tide_ir_get_integer(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                            int64_t fallback);
bool tide_ir_has(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name);
/* A string attribute, or the last name of a symbol; NULL: none. */
const char *tide_ir_get_text(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name);

tide_ir_value tide_ir_operand(const struct tide_ir *ir, tide_ir_op op, uint32_t index);
static inline tide_ir_value tide_ir_result(const struct tide_ir *ir, tide_ir_op op,
                                           uint32_t index) {
  return tide_ir_op_of(ir, op)->results + index;
}
tide_ir_region tide_ir_region_at(const struct tide_ir *ir, tide_ir_op op, uint32_t index);
/* The first block of that region; 0: it has none. */
tide_ir_block tide_ir_body(const struct tide_ir *ir, tide_ir_op op, uint32_t region_index);
/* Successor `index`: its block, and which operands go to its arguments. */
tide_ir_block tide_ir_successor(const struct tide_ir *ir, tide_ir_op op, uint32_t index,
                                uint32_t *out_first_operand, uint32_t *out_count);
/* "arith.addi", also of operations that the table does not know. */
const char *tide_ir_op_name(const struct tide_ir *ir, tide_ir_op op);
const struct tide_ir_op_info *tide_ir_op_info(const struct tide_ir *ir, tide_ir_op op);
static inline unsigned tide_ir_op_kind(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_op_of(ir, op)->kind;
}
tide_ir_op tide_ir_parent(const struct tide_ir *ir, tide_ir_op op); /* 0: none */
/* The nearest operation around it (not itself) of that kind; 0: none. */
tide_ir_op tide_ir_ancestor(const struct tide_ir *ir, tide_ir_op op, enum tide_ir_kind kind);
tide_ir_op tide_ir_terminator(const struct tide_ir *ir, tide_ir_block block); /* the last; or 0 */

/* Values. */
tide_ir_value tide_ir_resolve(const struct tide_ir *ir, tide_ir_value value);
tide_ir_type tide_ir_type_of_value(const struct tide_ir *ir, tide_ir_value value);
tide_ir_op tide_ir_defining_op(const struct tide_ir *ir, tide_ir_value value); /* 0: an argument */
tide_ir_block tide_ir_argument_block(const struct tide_ir *ir,
                                     tide_ir_value value); /* 0: a result */
uint32_t tide_ir_value_index(const struct tide_ir *ir,
                             tide_ir_value value); /* among its siblings */
/* Is it defined by arith.constant or llvm.mlir.constant with an integer or bool? */
bool tide_ir_constant(const struct tide_ir *ir, tide_ir_value value, int64_t *out_value);

/* ---- building and changing ---------------------------------------------------------------- */

struct tide_ir_op_params {
  uint16_t kind;
  tide_ir_location location;
  const tide_ir_value *operands;
  size_t operand_count;
  const tide_ir_type *results;
  size_t result_count;
  tide_ir_attr attributes; /* a dictionary */
  uint32_t region_count;   /* made empty */
  /* Blocks; successor i takes the successor_counts[i] operands that end the operand list. */
  const tide_ir_block *successors;
  const uint32_t *successor_counts;
  size_t successor_count;
};
/* In no block yet. */
tide_ir_op tide_ir_op_create(struct tide_ir *ir, const struct tide_ir_op_params *params);
/* A kind for a name that the table does not have, or the table's. */
uint16_t tide_ir_kind(struct tide_ir *ir, const char *name, size_t length);
tide_ir_block tide_ir_block_create(struct tide_ir *ir, const tide_ir_type *arguments, size_t count);
void tide_ir_block_append(struct tide_ir *ir, tide_ir_region region, tide_ir_block block);
static inline tide_ir_value tide_ir_argument(const struct tide_ir *ir, tide_ir_block block,
                                             uint32_t index) {
  return tide_ir_block_of(ir, block)->arguments + index;
}
/* Before `before`; 0: at the end of the block. */
void tide_ir_insert(struct tide_ir *ir, tide_ir_block block, tide_ir_op before, tide_ir_op op);
void tide_ir_remove(struct tide_ir *ir, tide_ir_op op); /* out of its block; it lives on */
/* With all in its regions. Its results must have no users left outside of it. */
void tide_ir_erase(struct tide_ir *ir, tide_ir_op op);
void tide_ir_set_operand(struct tide_ir *ir, tide_ir_op op, uint32_t index, tide_ir_value value);
void tide_ir_replace_all(struct tide_ir *ir, tide_ir_value old_value, tide_ir_value new_value);
/* Moves all blocks of one region to the end of another. */
void tide_ir_region_take(struct tide_ir *ir, tide_ir_region to, tide_ir_region from);
/* Moves all operations of a block from `first` on to the end of another block. */
void tide_ir_move_tail(struct tide_ir *ir, tide_ir_op first, tide_ir_block to);

/* Where and with which location the next operations are built. */
struct tide_ir_builder {
  struct tide_ir *ir;
  tide_ir_block block;
  tide_ir_op before; /* 0: at the end */
  tide_ir_location location;
};
/* Creates and inserts. */
tide_ir_op tide_ir_build(struct tide_ir_builder *builder, enum tide_ir_kind kind,
                         const tide_ir_value *operands, size_t operand_count,
                         const tide_ir_type *results, size_t result_count, tide_ir_attr attributes,
                         uint32_t region_count);
/* The first result of arith.constant. */
tide_ir_value tide_ir_build_integer(struct tide_ir_builder *builder, tide_ir_type type,
                                    int64_t value);

/* ---- walking -------------------------------------------------------------------------------- */

/* All operations in and with `root`, parents before children, in the order of the text; no
 * recursion. `for (op = root; op; op = tide_ir_walk_next(ir, root, op, true))`. With into = false
 * what is in `op` is left out. The operation may change, but must be in its block when the next one
 * is asked for. */
tide_ir_op tide_ir_walk_next(const struct tide_ir *ir, tide_ir_op root, tide_ir_op op, bool into);
/* Does `a` stand before `b`, in one block? Walks the block from a on: for pairs that are rare. */
bool tide_ir_before(const struct tide_ir *ir, tide_ir_op a, tide_ir_op b);
/* The one of the operations around `op` (or itself) that stands in that block; 0: none. */
tide_ir_op tide_ir_in_block(const struct tide_ir *ir, tide_ir_op op, tide_ir_block block);
/* The operation of that symbol name, among those directly in `table`'s first region; 0: none. */
tide_ir_op tide_ir_symbol(const struct tide_ir *ir, tide_ir_op table, tide_ir_string name);

/* ---- locations and diagnostics ----------------------------------------------------------------
 */

struct tide_ir_place {
  const char *file;      /* "<unknown>" when nothing is known */
  uint32_t line, column; /* 1-based; 0: unknown */
  const char
      *source; /* that line of our text, `source_length` bytes; NULL: it is not of our text */
  size_t source_length;
};
struct tide_ir_place tide_ir_where(struct tide_ir *ir, tide_ir_location location);
tide_ir_location tide_ir_location_of(const struct tide_ir *ir, tide_ir_op op);

/* To the sink, with the format of tide_text_format. All give false, so that `return
 * tide_ir_error(…)` reads well. The `op` ones say "'arith.addi' op " first. A note belongs to what
 * came before it. */
bool tide_ir_error(struct tide_ir *ir, tide_ir_location location, const char *format, ...)
    TIDE_PRINTF(3, 4);
bool tide_ir_op_error(struct tide_ir *ir, tide_ir_op op, const char *format, ...) TIDE_PRINTF(3, 4);
bool tide_ir_op_warning(struct tide_ir *ir, tide_ir_op op, const char *format, ...)
    TIDE_PRINTF(3, 4);
bool tide_ir_op_remark(struct tide_ir *ir, tide_ir_op op, const char *format, ...)
    TIDE_PRINTF(3, 4);
bool tide_ir_note(struct tide_ir *ir, tide_ir_location location, const char *format, ...)
    TIDE_PRINTF(3, 4);
/* "!cutlass.pipeline<4>", for messages: one of a few buffers that take turns, cut if very long. */
struct tide_ir_type_text {
  char text[160];
};
struct tide_ir_type_text tide_ir_type_name(const struct tide_ir *ir, tide_ir_type type);

/* ---- the passes: parse.c, verify.c, fold.c, print_operation.c
 * -------------------------------------------
 */

struct tide_ir_parse_params {
  const char *text; /* any bytes; outlives the ir */
  size_t length;
  const char *file;    /* for diagnostics; outlives the ir */
  uint32_t first_line; /* 0 is 1 */
  bool any_operation;  /* operations that the table does not know are taken */
};
/* TIDE_OK: ir->module is there. TIDE_CORRUPT: errors were told. TIDE_FULL, TIDE_NOMEM. */
enum tide_status tide_ir_parse(struct tide_ir *ir, const struct tide_ir_parse_params *params);

enum tide_ir_partial { TIDE_IR_PARTIAL_REFUSED, TIDE_IR_PARTIAL_MBARRIER };
struct tide_ir_verify_params {
  enum tide_ir_partial partial; /* what a mask that leaves out participants is */
};
/* NULL params: the defaults. TIDE_OK or TIDE_CORRUPT, with errors told. */
enum tide_status tide_ir_verify(struct tide_ir *ir, const struct tide_ir_verify_params *params);

/* Drops what may be dropped: throttles of profile 0, unused smid reads. Gives how many went. */
uint64_t tide_ir_fold(struct tide_ir *ir);

/* Puts a throttle of profile 1 at the end of each tile's loop of a window where the pipeline is
 * deep enough, by its stages and its loop; says of each why, or why not, as a remark. Gives how
 * many came. */
uint64_t tide_ir_throttle(struct tide_ir *ir);

struct tide_ir_out {
  void (*write)(void *self, const char *bytes, size_t size);
  void *self;
};
struct tide_ir_print_params {
  bool generic;   /* MLIR's generic form, values numbered as MLIR does */
  bool locations; /* with loc(…) */
};
/* Any operation, with all in it; ir->module for the whole. */
enum tide_status tide_ir_print(struct tide_ir *ir, tide_ir_op op,
                               const struct tide_ir_print_params *params,
                               const struct tide_ir_out *out);
void tide_ir_print_attr(struct tide_ir *ir, tide_ir_attr attr, const struct tide_ir_out *out);

#endif
