/* mods/ir.h: a program as operations, blocks and regions, in the manner of MLIR.
 *
 * The model. An *operation* has a kind (mods/ops.h), operands, results, attributes, regions and, if
 * it ends a block, successors. A *region* is a list of blocks, a *block* has arguments and a list
 * of operations. A *value* is a result of an operation or an argument of a block. All of them are
 * 32-bit numbers, 0 = none, that stay valid until the ir is destroyed. The records behind the
 * numbers lie in arrays of chunks that never move, so pointers to records stay valid, too.
 *
 * Types, attributes and strings are *interned*: equal ones have equal numbers. An operation's
 * attributes are one interned dictionary, sorted by name.
 *
 * A *location* is 0 (unknown), the offset of a byte of the text plus 1, or the number of a
 * `loc(…)` in the text. tide_ir_where() turns it into file, line and column.
 *
 * When memory ends or a limit is exceeded, a call returns 0 and records the failure in `status`.
 * Every call accepts 0 as an argument and then returns 0, so a builder checks once, at the end.
 *
 * Replacing: tide_ir_replace_all(old, new) makes every use of `old` a use of `new`, in constant
 * time: the old value forwards to the new one. The old value's type is invalid from then on; erase
 * the old value's operation. Read operands by tide_ir_operand(), which follows forwards.
 *
 * One thread at a time uses an ir. An ir refers to the text it was parsed from, which must outlive
 * it.
 *
 * Source: "MLIR Language Reference". */
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

#define TIDE_IR_OPERANDS_MAX 4000 /* per operation; also limits results, block arguments */
#define TIDE_IR_REGIONS_MAX 255
#define TIDE_IR_DEPTH_MAX 128        /* nesting depth of regions, and of types or attributes */
#define TIDE_IR_PARTS_MAX (1u << 20) /* of an attribute or a type, beyond the bytes of the text */
#define TIDE_IR_ERRORS_MAX 20        /* errors, and warnings, that a sink gets */
#define TIDE_IR_TEXT_MAX 0x7ffffff0u
/* Of a type. LLVM counts a type's bits in 64 bits, and the size of a larger type wraps. The rest is
 * for padding. */
#define TIDE_IR_BYTES_LOG2 48

/* ---- records ------------------------------------------------------------------------ */

struct tide_ir_op_record {
  tide_ir_op prev, next; /* neighbours in the block; 0 at its ends */
  tide_ir_block block;   /* 0: none */
  uint16_t kind;         /* enum tide_ir_kind; from TIDE_IR_KINDS on: not in the table */
  uint16_t operand_count, result_count;
  uint8_t region_count, successor_count;
  uint32_t operands;       /* the first, in ir->slots; successors follow the operands */
  tide_ir_value results;   /* the first; the others follow */
  tide_ir_attr attributes; /* a dictionary; 0: an empty one */
  tide_ir_region regions;  /* the first; the others follow */
  tide_ir_location location;
};

struct tide_ir_value_record {
  tide_ir_type type; /* 0: this value forwards to `owner` */
  uint32_t owner;    /* the operation; or the block, with TIDE_IR_ARGUMENT */
  uint32_t uses;     /* number of operand slots that hold this value */
  uint32_t name;     /* offset of the name in the text, behind the %; 0: a number */
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
  uint32_t parts; /* how many types it has when it is spelled out; at most UINT32_MAX */
  uint64_t bytes; /* its size in memory without padding, at least; at most UINT64_MAX */
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
  uint32_t parts; /* as of a type */
  union {
    int64_t integer;
    double number;
    tide_ir_string string;
    struct {
      uint32_t items, count; /* the first of `count`, in ir->items */
    };
  };
};

/* ---- the ir -------------------------------------------------------------------------- */

struct tide_ir_tables; /* interning; mods/intern.h */

struct tide_ir {
  const struct tide_allocator *allocator;
  struct tide_chunks ops, values, blocks, regions, slots; /* records; slots: operands */
  struct tide_chunks types, attrs, items;                 /* interned */
  struct tide_chunks places; /* by value: the location of an argument that has one */
  struct tide_ir_tables *tables;
  tide_ir_op module; /* the builtin.module; 0: nothing parsed or built */
  enum tide_status status;
  uint64_t op_count; /* live operations */

  const char *text; /* the parsed text */
  size_t length;
  const char *file;
  uint32_t first_line;         /* the text's first line in the file; 1-based */
  struct tide_ir_lines *lines; /* built on first use */

  const struct tide_mods_sink *sink; /* receives diagnostics; NULL: discarded */
  uint32_t errors, warnings;         /* so far */
  uint32_t errors_max;               /* how many of either the sink gets; 0: all */
  tide_ir_location unchecked; /* the first text that is kept as it is, and not checked; 0: none */
  bool is_muted;              /* the last diagnostic was beyond errors_max */
};

/* allocator NULL: malloc. */
enum tide_status tide_ir_create(const struct tide_allocator *allocator, struct tide_ir **out_ir);
void tide_ir_destroy(struct tide_ir *ir); /* NULL: no effect */
/* Returns the bytes that the ir holds, without the text. */
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
/* Returns item `index` of a type or an attribute that has items. */
static inline uint32_t tide_ir_item(const struct tide_ir *ir, uint32_t items, uint32_t index) {
  return *(const uint32_t *)tide_chunks_at(&ir->items, items + index);
}

/* ---- strings, types, attributes ------------------------------------------------------- */

tide_ir_string tide_ir_intern(struct tide_ir *ir, const char *bytes, size_t length);
tide_ir_string tide_ir_intern_text(struct tide_ir *ir, const char *text);
/* Returns the name of a value as written, without %, not terminated. NULL: unnamed. */
const char *tide_ir_value_name(const struct tide_ir *ir, tide_ir_value value, size_t *out_length);
/* Returns the terminated text; "" for 0. */
const char *tide_ir_string_text(const struct tide_ir *ir, tide_ir_string string,
                                size_t *out_length);

tide_ir_type tide_ir_type_get(struct tide_ir *ir, enum tide_ir_type_kind kind, uint32_t a,
                              uint32_t b);
tide_ir_type tide_ir_type_with(struct tide_ir *ir, enum tide_ir_type_kind kind, uint32_t a,
                               const uint32_t *items, size_t count);
static inline tide_ir_type tide_ir_integer(struct tide_ir *ir, unsigned bits) {
  return tide_ir_type_get(ir, TIDE_IR_INTEGER, bits, TIDE_IR_SIGNLESS);
}
bool tide_ir_is_integer(const struct tide_ir *ir, tide_ir_type type,
                        unsigned bits); /* bits 0: any width */
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
/* `text` is printed as it is: "#nvvm.…", "dense<0> : vector<4xi32>". type 0: none. */
tide_ir_attr tide_ir_attr_opaque(struct tide_ir *ir, const char *text, size_t length,
                                 tide_ir_type type);
struct tide_ir_named {
  tide_ir_string name; /* from tide_ir_intern(), or enum tide_ir_name */
  tide_ir_attr value;
};
/* Interns the items, given in any order. A later item overrides an earlier one with the same name.
 * Returns 0 for no items. */
tide_ir_attr tide_ir_attr_dictionary(struct tide_ir *ir, const struct tide_ir_named *items,
                                     size_t count);
/* Returns an empty dictionary as a value, `{}`. */
tide_ir_attr tide_ir_attr_empty(struct tide_ir *ir);
/* Returns the value of `name` in a dictionary; 0: not in it. */
tide_ir_attr tide_ir_attr_find(const struct tide_ir *ir, tide_ir_attr dictionary,
                               tide_ir_string name);
/* Returns element `index` of a dense array of integers. */
int64_t tide_ir_attr_element(const struct tide_ir *ir, tide_ir_attr dense, uint32_t index);

/* Keeps the location of a block's argument. location 0: none. False: no memory. */
bool tide_ir_place_argument(struct tide_ir *ir, tide_ir_value argument, tide_ir_location location);
/* Returns the kept location; 0: none. */
tide_ir_location tide_ir_argument_place(const struct tide_ir *ir, tide_ir_value argument);

/* ---- parts of an operation --------------------------------------------------------------- */

tide_ir_attr tide_ir_get(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name);
/* value 0 removes the attribute. */
void tide_ir_set(struct tide_ir *ir, tide_ir_op op, tide_ir_string name, tide_ir_attr value);
/* Returns an integer or bool attribute; `fallback` if absent. */
int64_t tide_ir_get_integer(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name,
                            int64_t fallback);
bool tide_ir_has(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name);
/* Returns a string attribute, or the last name of a symbol; NULL: none. */
const char *tide_ir_get_text(const struct tide_ir *ir, tide_ir_op op, tide_ir_string name);

tide_ir_value tide_ir_operand(const struct tide_ir *ir, tide_ir_op op, uint32_t index);
static inline tide_ir_value tide_ir_result(const struct tide_ir *ir, tide_ir_op op,
                                           uint32_t index) {
  return tide_ir_op_of(ir, op)->results + index;
}
tide_ir_region tide_ir_region_at(const struct tide_ir *ir, tide_ir_op op, uint32_t index);
/* Returns the first block of region `region_index`; 0: the region is empty. */
tide_ir_block tide_ir_body(const struct tide_ir *ir, tide_ir_op op, uint32_t region_index);
/* Returns the block of successor `index`. The successor's arguments take the *out_count operands
 * from *out_first_operand on; both may be NULL. */
tide_ir_block tide_ir_successor(const struct tide_ir *ir, tide_ir_op op, uint32_t index,
                                uint32_t *out_first_operand, uint32_t *out_count);
/* Returns a name such as "arith.addi", also of operations that the table does not have. */
const char *tide_ir_op_name(const struct tide_ir *ir, tide_ir_op op);
const struct tide_ir_op_info *tide_ir_op_info(const struct tide_ir *ir, tide_ir_op op);
static inline unsigned tide_ir_op_kind(const struct tide_ir *ir, tide_ir_op op) {
  return tide_ir_op_of(ir, op)->kind;
}
tide_ir_op tide_ir_parent(const struct tide_ir *ir, tide_ir_op op); /* 0: none */
/* Returns the nearest operation of that kind around `op`, excluding `op`; 0: none. */
tide_ir_op tide_ir_ancestor(const struct tide_ir *ir, tide_ir_op op, enum tide_ir_kind kind);
tide_ir_op tide_ir_terminator(const struct tide_ir *ir,
                              tide_ir_block block); /* the last; 0: none */

/* Values. */
tide_ir_value tide_ir_resolve(const struct tide_ir *ir, tide_ir_value value);
tide_ir_type tide_ir_type_of_value(const struct tide_ir *ir, tide_ir_value value);
tide_ir_op tide_ir_defining_op(const struct tide_ir *ir, tide_ir_value value); /* 0: an argument */
tide_ir_block tide_ir_argument_block(const struct tide_ir *ir,
                                     tide_ir_value value); /* 0: a result */
uint32_t tide_ir_value_index(const struct tide_ir *ir,
                             tide_ir_value value); /* index among its siblings */
/* True if arith.constant or llvm.mlir.constant defines the value with an integer or bool. */
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
  uint32_t region_count;   /* number of regions, created empty */
  /* Blocks. The operand list ends with the successors' operands, successor_counts[i] for successor
   * i, in order. */
  const tide_ir_block *successors;
  const uint32_t *successor_counts;
  size_t successor_count;
};
/* Creates an operation that is in no block yet. */
tide_ir_op tide_ir_op_create(struct tide_ir *ir, const struct tide_ir_op_params *params);
/* Returns the kind of a name; adds one if the table does not have the name. */
uint16_t tide_ir_kind(struct tide_ir *ir, const char *name, size_t length);
tide_ir_block tide_ir_block_create(struct tide_ir *ir, const tide_ir_type *arguments, size_t count);
void tide_ir_block_append(struct tide_ir *ir, tide_ir_region region, tide_ir_block block);
static inline tide_ir_value tide_ir_argument(const struct tide_ir *ir, tide_ir_block block,
                                             uint32_t index) {
  return tide_ir_block_of(ir, block)->arguments + index;
}
/* Inserts `op` before `before`; 0: at the end of the block. */
void tide_ir_insert(struct tide_ir *ir, tide_ir_block block, tide_ir_op before, tide_ir_op op);
void tide_ir_remove(struct tide_ir *ir, tide_ir_op op); /* out of its block; stays alive */
/* Erases `op` with all operations in its regions. Operations outside must not use its results. */
void tide_ir_erase(struct tide_ir *ir, tide_ir_op op);
void tide_ir_set_operand(struct tide_ir *ir, tide_ir_op op, uint32_t index, tide_ir_value value);
void tide_ir_replace_all(struct tide_ir *ir, tide_ir_value old_value, tide_ir_value new_value);
/* Moves all blocks of one region to the end of another. */
void tide_ir_region_take(struct tide_ir *ir, tide_ir_region to, tide_ir_region from);
/* Moves all operations of a block from `first` on to the end of another block. */
void tide_ir_move_tail(struct tide_ir *ir, tide_ir_op first, tide_ir_block to);

/* The position and location of the operations to be built next. */
struct tide_ir_builder {
  struct tide_ir *ir;
  tide_ir_block block;
  tide_ir_op before; /* 0: at the end of the block */
  tide_ir_location location;
};
/* Creates and inserts an operation. */
tide_ir_op tide_ir_build(struct tide_ir_builder *builder, enum tide_ir_kind kind,
                         const tide_ir_value *operands, size_t operand_count,
                         const tide_ir_type *results, size_t result_count, tide_ir_attr attributes,
                         uint32_t region_count);
/* Builds an arith.constant and returns its result. */
tide_ir_value tide_ir_build_integer(struct tide_ir_builder *builder, tide_ir_type type,
                                    int64_t value);

/* ---- walking -------------------------------------------------------------------------------- */

/* Returns the operation after `op` in a walk over `root` and all operations in it, or 0. The walk
 * is not recursive. Parents come before children, in the order of the text. With into = false the
 * walk skips the regions of `op`. The operation may change, but must still be in its block for the
 * next call. `for (op = root; op; op = tide_ir_walk_next(ir, root, op, true))`. */
tide_ir_op tide_ir_walk_next(const struct tide_ir *ir, tide_ir_op root, tide_ir_op op, bool into);
/* True if `a` stands before `b` in the same block. Linear: walks the block from `a` on. */
bool tide_ir_before(const struct tide_ir *ir, tide_ir_op a, tide_ir_op b);
/* Returns `op`, or the operation around it, that stands in that block; 0: none. */
tide_ir_op tide_ir_in_block(const struct tide_ir *ir, tide_ir_op op, tide_ir_block block);
/* Returns the operation of that symbol name directly in `table`'s first region; 0: none. */
tide_ir_op tide_ir_symbol(const struct tide_ir *ir, tide_ir_op table, tide_ir_string name);

/* ---- locations and diagnostics ----------------------------------------------------------------
 */

struct tide_ir_place {
  const char *file;      /* "<unknown>" if unknown */
  uint32_t line, column; /* 1-based; 0: unknown */
  const char *source;    /* the text's line, `source_length` bytes; NULL: not in the text */
  size_t source_length;
};
struct tide_ir_place tide_ir_where(struct tide_ir *ir, tide_ir_location location);
tide_ir_location tide_ir_location_of(const struct tide_ir *ir, tide_ir_op op);

/* Report to the sink, in the format of tide_text_format. All return false, so that `return
 * tide_ir_error(…)` reads well. The `op` functions prefix the message with "'arith.addi' op ". A
 * note belongs to the diagnostic before it. */
bool tide_ir_error(struct tide_ir *ir, tide_ir_location location, const char *format, ...)
    TIDE_PRINTF(3, 4);
bool tide_ir_op_error(struct tide_ir *ir, tide_ir_op op, const char *format, ...) TIDE_PRINTF(3, 4);
bool tide_ir_op_warning(struct tide_ir *ir, tide_ir_op op, const char *format, ...)
    TIDE_PRINTF(3, 4);
bool tide_ir_op_remark(struct tide_ir *ir, tide_ir_op op, const char *format, ...)
    TIDE_PRINTF(3, 4);
bool tide_ir_note(struct tide_ir *ir, tide_ir_location location, const char *format, ...)
    TIDE_PRINTF(3, 4);
/* A type's text for messages, such as "!cutlass.pipeline<4>"; truncated if very long. */
struct tide_ir_type_text {
  char text[160];
};
struct tide_ir_type_text tide_ir_type_name(const struct tide_ir *ir, tide_ir_type type);

/* ---- the passes: parse_module.c, verify.c, fold.c, print_operation.c --------------------- */

struct tide_ir_parse_params {
  const char *text; /* any bytes; must outlive the ir */
  size_t length;
  const char *file;    /* name in diagnostics; must outlive the ir */
  uint32_t first_line; /* 0 means 1 */
  bool any_operation;  /* accept operations that the table does not have */
};
/* Returns TIDE_OK with ir->module set; TIDE_CORRUPT after reporting errors; TIDE_FULL or
 * TIDE_NOMEM. */
enum tide_status tide_ir_parse(struct tide_ir *ir, const struct tide_ir_parse_params *params);

enum tide_ir_partial { TIDE_IR_PARTIAL_REFUSED, TIDE_IR_PARTIAL_MBARRIER };
struct tide_ir_verify_params {
  enum tide_ir_partial partial; /* treatment of a mask that leaves out participants */
};
/* NULL params: the defaults. Returns TIDE_OK, or TIDE_CORRUPT after reporting errors; otherwise
 * ir->status if not TIDE_OK, TIDE_INVALID without a module. */
enum tide_status tide_ir_verify(struct tide_ir *ir, const struct tide_ir_verify_params *params);

/* Erases operations without effect: throttles of profile 0, unused smid reads. Returns how many. */
uint64_t tide_ir_fold(struct tide_ir *ir);

/* Inserts a throttle of profile 1 at the end of each tile loop in a window if the loop's pipeline
 * is deep enough, by its stages and rounds. Reports the reason for each loop as a remark. Returns
 * the number of inserted throttles. */
uint64_t tide_ir_throttle(struct tide_ir *ir);

struct tide_ir_out {
  void (*write)(void *self, const char *bytes, size_t size);
  void *self;
};
struct tide_ir_print_params {
  bool generic;   /* MLIR's generic form, values numbered as MLIR does */
  bool locations; /* prints loc(…) */
};
/* Prints an operation with its contents; ir->module for the whole. */
enum tide_status tide_ir_print(struct tide_ir *ir, tide_ir_op op,
                               const struct tide_ir_print_params *params,
                               const struct tide_ir_out *out);
/* Prints an attribute. Behind `most` bytes it may break off. */
void tide_ir_print_attr(struct tide_ir *ir, tide_ir_attr attr, size_t most,
                        const struct tide_ir_out *out);

#endif
