/* mods/ops.h: the kinds of operations. One table, mods/ops_table.h, describes them all. */
#ifndef TIDE_MODS_OPS_H
#define TIDE_MODS_OPS_H

#include "tidemark/base.h"

enum tide_ir_kind {
  TIDE_OP_NONE,
#define OP(name, text, signature, traits, effects, form, attributes) TIDE_OP_##name,
#include "mods/ops_table.h"
#undef OP
  TIDE_IR_KINDS /* kinds from here on: names that the table does not have, numbered in each ir */
};

enum tide_ir_trait {
  TIDE_IR_TERMINATOR = 1, /* ends its block; no other operation may end one */
  TIDE_IR_ISOLATED = 2,   /* regions use no value from outside */
  TIDE_IR_SYMBOL = 4,     /* has a sym_name, unique in its symbol table */
  TIDE_IR_SYMBOL_TABLE = 8,
  TIDE_IR_ONE_BLOCK = 16,     /* each region has at most one block */
  TIDE_IR_OPEN = 32,          /* blocks need no terminator */
  TIDE_IR_CALLABLE = 64,      /* function_type; the entry block's arguments are its inputs */
  TIDE_IR_SYMBOL_MAYBE = 128, /* may have a sym_name */
  TIDE_IR_MODS_NAME = 256     /* from "MODS Async Dispatch"; MLIR 19 has no such operation */
};

/* Effects of an operation besides its results. */
enum tide_ir_effect {
  TIDE_IR_PURE = 0,
  TIDE_IR_READS = 1,
  TIDE_IR_WRITES = 2, /* kept even if its results are unused */
  TIDE_IR_ANY = 3,
  TIDE_IR_RECURSIVE = 4 /* the effects of the operations in its regions */
};

/* Custom forms: forms.c reads them, print_forms.c prints them. */
enum tide_ir_form {
  TIDE_FORM_GENERIC,  /* no custom form */
  TIDE_FORM_PLAIN,    /* attr-dict */
  TIDE_FORM_RESULT,   /* attr-dict `:` type */
  TIDE_FORM_OPERANDS, /* (operands `:` types)? attr-dict */
  TIDE_FORM_BINARY,   /* operands attr-dict `:` type of all */
  TIDE_FORM_CAST,     /* operand attr-dict `:` type `to` type */
  TIDE_FORM_CASTS,
  TIDE_FORM_CUTLASS, /* operands attr-dict? (`:` types (`->` types)?)? region? */
  TIDE_FORM_MODULE,
  TIDE_FORM_FUNCTION,
  TIDE_FORM_GPU_MODULE,
  TIDE_FORM_GPU_FUNC,
  TIDE_FORM_DIMENSION,
  TIDE_FORM_CALL,
  TIDE_FORM_CONSTANT,
  TIDE_FORM_COMPARE,
  TIDE_FORM_SELECT,
  TIDE_FORM_FOR,
  TIDE_FORM_IF,
  TIDE_FORM_WHILE,
  TIDE_FORM_CONDITION,
  TIDE_FORM_BRANCH,
  TIDE_FORM_COND_BRANCH,
  TIDE_FORM_LLVM_FUNC,
  TIDE_FORM_LLVM_GLOBAL,
  TIDE_FORM_ADDRESS,
  TIDE_FORM_LLVM_CONSTANT,
  TIDE_FORM_LLVM_COMPARE,
  TIDE_FORM_SELECT_LLVM,
  TIDE_FORM_LOAD,
  TIDE_FORM_STORE,
  TIDE_FORM_GEP,
  TIDE_FORM_BULK_WAIT
};

/* Constraints on the attributes that belong to an operation. */
enum tide_ir_want {
  TIDE_WANT_ANY,
  TIDE_WANT_I32,
  TIDE_WANT_I64,
  TIDE_WANT_INTEGER,
  TIDE_WANT_BOOL,
  TIDE_WANT_UNIT,
  TIDE_WANT_STRING,
  TIDE_WANT_SYMBOL,
  TIDE_WANT_TYPE,
  TIDE_WANT_FUNCTION, /* a type attribute: a function type */
  TIDE_WANT_DENSE,    /* array<i32: …> */
  TIDE_WANT_ARRAY,
  TIDE_WANT_OVERFLOW,   /* #arith.overflow<…>, of an operation of llvm #llvm.overflow<…> */
  TIDE_WANT_FASTMATH,   /* #arith.fastmath<…>, of an operation of llvm #llvm.fastmath<…> */
  TIDE_WANT_LINKAGE,    /* #llvm.linkage<…> */
  TIDE_WANT_CONVENTION, /* #llvm.cconv<…> */
  TIDE_WANT_CHOICE,     /* 0, 1 or 2: a visibility, or an unnamed_addr */
  TIDE_WANT_ROUNDING
};

struct tide_ir_attribute_info {
  uint32_t name; /* enum tide_ir_name; 0 ends the list */
  enum tide_ir_want want;
  bool required;
};

struct tide_ir_op_info {
  const char *name;
  const char *signature;
  uint16_t traits;
  uint8_t effects; /* bits of enum tide_ir_effect */
  uint8_t form;
  const struct tide_ir_attribute_info
      *attributes; /* the operation's own; others are allowed, too */
};

/* Indexed by kind, below TIDE_IR_KINDS. */
extern const struct tide_ir_op_info tide_ir_ops[TIDE_IR_KINDS];

/* True if an attribute of that name is one of the operation's own. Elsewhere the name has no
 * meaning, and no word in a custom form. */
static inline bool tide_ir_owns(unsigned kind, uint32_t name) {
  const struct tide_ir_attribute_info *own = tide_ir_ops[kind].attributes;
  while (own->name && own->name != name) own++;
  return own->name != 0;
}

#endif
