/* mods/intern.h: one number for each string, type and attribute. */
#ifndef TIDE_MODS_INTERN_H
#define TIDE_MODS_INTERN_H

#include "mods/ir.h"

/* Open addressing. A slot is 0 or the number of an entry. */
struct tide_ir_hash {
  uint32_t *slots;
  uint32_t capacity; /* a power of two; 0: empty */
  uint32_t count;
};

struct tide_ir_string_record {
  const char *bytes; /* terminated */
  uint32_t length;
  uint32_t hash;
};

#define TIDE_IR_TEXT_BLOCK 65536

struct tide_ir_text_block;

struct tide_ir_tables {
  struct tide_chunks strings;
  struct tide_ir_hash string_hash, type_hash, attr_hash;
  struct tide_ir_text_block *blocks; /* the strings' bytes */
  size_t block_memory;
  /* Names of operations that the table does not have; the index is kind - TIDE_IR_KINDS. */
  tide_ir_string *others;
  size_t other_count, other_capacity;
  struct tide_ir_hash kind_hash; /* kinds of `others`, by name */
  tide_ir_type index, i1, i32, i64;
  tide_ir_attr unit, yes, no;
};

bool tide_ir_tables_init(struct tide_ir *ir);
void tide_ir_tables_fini(struct tide_ir *ir);
size_t tide_ir_tables_memory(const struct tide_ir *ir);
/* Records the first failure in ir->status. Returns 0. */
uint32_t tide_ir_give_up(struct tide_ir *ir, enum tide_status status);

#endif
