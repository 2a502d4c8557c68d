#include "mods/intern.h"
#include "base/array.h"
#include "base/alloc.h"

struct tide_ir_text_block {
  struct tide_ir_text_block *next;
  size_t size, used;
  char bytes[];
};

uint32_t tide_ir_give_up(struct tide_ir *ir, enum tide_status status) {
  if (ir->status == TIDE_OK) ir->status = status;
  return 0;
}

/* ---- hashing ---- */

static uint32_t finish_hash(uint64_t hash) {
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return (uint32_t)(hash ^ (hash >> 32));
}

static uint32_t hash_bytes(const char *bytes, size_t length) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ length, word;
  for (; length >= 8; bytes += 8, length -= 8) {
    memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 29;
  }
  word = 0;
  for (size_t i = 0; i < length; i++) word = word << 8 | (unsigned char)bytes[i];
  return finish_hash((hash ^ word) * 0xff51afd7ed558ccdu);
}

static uint64_t hash_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 29;
}

static uint64_t hash_items(const uint32_t *items, size_t count) {
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++) hash = hash_word(hash, items[i]);
  return hash;
}

static void insert_entry(struct tide_ir_hash *table, uint32_t hash, uint32_t entry) {
  uint32_t at = hash & (table->capacity - 1);
  while (table->slots[at]) at = (at + 1) & (table->capacity - 1);
  table->slots[at] = entry;
}

/* Grows the table if another entry needs it. `hash_of` returns the hash of a present entry. */
static bool make_room(struct tide_ir *ir, struct tide_ir_hash *table,
                      uint32_t (*hash_of)(const struct tide_ir *ir, uint32_t entry)) {
  if (table->count * 4ull < table->capacity * 3ull) return true;
  struct tide_ir_hash larger = {.capacity = table->capacity ? table->capacity * 2 : 64,
                                .count = table->count};
  larger.slots =
      larger.capacity ? tide_alloc(ir->allocator, larger.capacity, sizeof *larger.slots) : NULL;
  if (!larger.slots) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (uint32_t i = 0; i < table->capacity; i++)
    if (table->slots[i]) insert_entry(&larger, hash_of(ir, table->slots[i]), table->slots[i]);
  tide_free(ir->allocator, table->slots, table->capacity, sizeof *table->slots);
  *table = larger;
  return true;
}

/* ---- strings ---- */

static const struct tide_ir_string_record *string_of(const struct tide_ir *ir,
                                                     tide_ir_string string) {
  return tide_chunks_at(&ir->tables->strings, string);
}

static uint32_t string_hash_of(const struct tide_ir *ir, uint32_t entry) {
  return string_of(ir, entry)->hash;
}

static char *keep_bytes(struct tide_ir *ir, const char *bytes, size_t length) {
  struct tide_ir_tables *tables = ir->tables;
  struct tide_ir_text_block *block = tables->blocks;
  if (!block || block->size - block->used < length + 1) {
    size_t size = length + 1 > TIDE_IR_TEXT_BLOCK ? length + 1 : TIDE_IR_TEXT_BLOCK;
    block = tide_alloc_unset(ir->allocator, 1, sizeof *block + size);
    if (!block) return NULL;
    *block = (struct tide_ir_text_block){.next = tables->blocks, .size = size};
    tables->blocks = block;
    tables->block_memory += sizeof *block + size;
  }
  char *kept = block->bytes + block->used;
  if (length) memcpy(kept, bytes, length);
  kept[length] = 0;
  block->used += length + 1;
  return kept;
}

static tide_ir_string new_string(struct tide_ir *ir, const char *bytes, size_t length,
                                 uint32_t hash) {
  const char *kept = keep_bytes(ir, bytes, length);
  uint32_t string = kept ? tide_chunks_add(&ir->tables->strings, 1, true) : 0;
  if (!string) return tide_ir_give_up(ir, TIDE_NOMEM);
  *(struct tide_ir_string_record *)tide_chunks_at(&ir->tables->strings, string) =
      (struct tide_ir_string_record){kept, (uint32_t)length, hash};
  insert_entry(&ir->tables->string_hash, hash, string);
  ir->tables->string_hash.count++;
  return string;
}

tide_ir_string tide_ir_intern(struct tide_ir *ir, const char *bytes, size_t length) {
  struct tide_ir_hash *table = &ir->tables->string_hash;
  if (length > TIDE_IR_TEXT_MAX) return tide_ir_give_up(ir, TIDE_FULL);
  if (!make_room(ir, table, string_hash_of)) return 0;
  uint32_t hash = hash_bytes(bytes, length), at = hash & (table->capacity - 1);
  for (; table->slots[at]; at = (at + 1) & (table->capacity - 1)) {
    const struct tide_ir_string_record *record = string_of(ir, table->slots[at]);
    if (record->hash == hash && record->length == length &&
        (length == 0 || memcmp(record->bytes, bytes, length) == 0))
      return table->slots[at];
  }
  return new_string(ir, bytes, length, hash);
}

tide_ir_string tide_ir_intern_text(struct tide_ir *ir, const char *text) {
  return tide_ir_intern(ir, text, strlen(text));
}

const char *tide_ir_string_text(const struct tide_ir *ir, tide_ir_string string,
                                size_t *out_length) {
  const struct tide_ir_string_record *record = string_of(ir, string);
  if (out_length) *out_length = record->length;
  return string ? record->bytes : "";
}

/* ---- items ---- */

/* Stores the items behind one another and returns the first's number; 1 for no items. */
static uint32_t keep_items(struct tide_ir *ir, const uint32_t *items, size_t count) {
  if (!count) return 1;
  uint32_t first = count < 0x40000000u ? tide_chunks_add(&ir->items, (uint32_t)count, false) : 0;
  if (!first) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (size_t i = 0; i < count; i++)
    *(uint32_t *)tide_chunks_at(&ir->items, first + (uint32_t)i) = items[i];
  return first;
}

static bool same_items(const struct tide_ir *ir, uint32_t first, const uint32_t *items,
                       size_t count) {
  for (size_t i = 0; i < count; i++)
    if (tide_ir_item(ir, first, (uint32_t)i) != items[i]) return false;
  return true;
}

static uint64_t hash_kept(const struct tide_ir *ir, uint32_t first, uint32_t count) {
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++) hash = hash_word(hash, tide_ir_item(ir, first, i));
  return hash;
}

/* ---- types ---- */

static uint32_t type_hash(uint32_t kind, uint32_t a, uint32_t b, uint64_t items) {
  return finish_hash(hash_word(hash_word(items, (uint64_t)kind << 32 | a), b));
}

static uint32_t type_hash_of(const struct tide_ir *ir, uint32_t entry) {
  const struct tide_ir_type_record *type = tide_ir_type_of(ir, entry);
  return type_hash(type->kind, type->a, type->b, hash_kept(ir, type->items, type->count));
}

static uint32_t parts_of_text(const struct tide_ir *ir, tide_ir_string string) {
  size_t length;
  tide_ir_string_text(ir, string, &length);
  return (uint32_t)(length / 16);
}

/* Adds up, without overflow. */
static uint32_t add_parts(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t parts_of_type(const struct tide_ir *ir, const struct tide_ir_type_record *type) {
  uint32_t parts = 1;
  if (type->kind == TIDE_IR_VECTOR || type->kind == TIDE_IR_LLVM_ARRAY)
    return add_parts(parts, tide_ir_type_of(ir, type->a)->parts);
  if (type->kind == TIDE_IR_OPAQUE) return add_parts(parts, parts_of_text(ir, type->a));
  for (uint32_t i = 0; i < type->count; i++) /* all items of types are types */
    parts = add_parts(parts, tide_ir_type_of(ir, tide_ir_item(ir, type->items, i))->parts);
  return parts;
}

/* Adds up sizes. Saturates. */
static uint64_t bytes_of_type(const struct tide_ir *ir, const struct tide_ir_type_record *type) {
  uint64_t bytes = 0;
  switch (type->kind) {
    case TIDE_IR_LLVM_VOID:
    case TIDE_IR_FUNCTION:
    case TIDE_IR_LLVM_FUNCTION: return 0;
    case TIDE_IR_INTEGER: return (type->a + 7) / 8;
    case TIDE_IR_VECTOR:
    case TIDE_IR_LLVM_ARRAY:
      if (__builtin_mul_overflow(tide_ir_type_of(ir, type->a)->bytes, (uint64_t)type->b, &bytes))
        bytes = UINT64_MAX;
      return bytes;
    case TIDE_IR_LLVM_STRUCT:
      for (uint32_t i = 0; i < type->count; i++)
        if (__builtin_add_overflow(
                bytes, tide_ir_type_of(ir, tide_ir_item(ir, type->items, i))->bytes, &bytes))
          bytes = UINT64_MAX;
      return bytes;
    default: return 1;
  }
}

static tide_ir_type find_type(struct tide_ir *ir, uint32_t kind, uint32_t a, uint32_t b,
                              const uint32_t *items, size_t count) {
  struct tide_ir_hash *table = &ir->tables->type_hash;
  if (!make_room(ir, table, type_hash_of)) return 0;
  uint32_t hash = type_hash(kind, a, b, hash_items(items, count));
  for (uint32_t at = hash & (table->capacity - 1); table->slots[at];
       at = (at + 1) & (table->capacity - 1)) {
    const struct tide_ir_type_record *type = tide_ir_type_of(ir, table->slots[at]);
    if (type->kind == kind && type->a == a && type->b == b && type->count == count &&
        same_items(ir, type->items, items, count))
      return table->slots[at];
  }
  uint32_t first = keep_items(ir, items, count);
  tide_ir_type type = first ? tide_chunks_add(&ir->types, 1, true) : 0;
  if (!type) return tide_ir_give_up(ir, TIDE_NOMEM);
  struct tide_ir_type_record record = {
      .kind = kind, .a = a, .b = b, .items = first, .count = (uint32_t)count};
  record.parts = parts_of_type(ir, &record);
  record.bytes = bytes_of_type(ir, &record);
  *(struct tide_ir_type_record *)tide_chunks_at(&ir->types, type) = record;
  insert_entry(table, hash, type);
  table->count++;
  return type;
}

tide_ir_type tide_ir_type_get(struct tide_ir *ir, enum tide_ir_type_kind kind, uint32_t a,
                              uint32_t b) {
  return find_type(ir, kind, a, b, NULL, 0);
}

tide_ir_type tide_ir_type_with(struct tide_ir *ir, enum tide_ir_type_kind kind, uint32_t a,
                               const uint32_t *items, size_t count) {
  return find_type(ir, kind, a, 0, items, count);
}

/* ---- attributes ---- */

static bool has_items(uint32_t kind) {
  return kind == TIDE_IR_ATTR_SYMBOL || kind == TIDE_IR_ATTR_ARRAY || kind == TIDE_IR_ATTR_DENSE ||
         kind == TIDE_IR_ATTR_DICTIONARY;
}

static uint32_t attr_hash(uint32_t kind, tide_ir_type type, uint64_t payload) {
  return finish_hash(hash_word(hash_word(payload, kind), type));
}

static uint64_t payload_of(const struct tide_ir *ir, const struct tide_ir_attr_record *attr) {
  return has_items(attr->kind) ? hash_kept(ir, attr->items, attr->count) : (uint64_t)attr->integer;
}

static uint32_t attr_hash_of(const struct tide_ir *ir, uint32_t entry) {
  const struct tide_ir_attr_record *attr = tide_ir_attr_of(ir, entry);
  return attr_hash(attr->kind, attr->type, payload_of(ir, attr));
}

static uint32_t parts_of_attr(const struct tide_ir *ir, const struct tide_ir_attr_record *attr) {
  uint32_t parts = add_parts(1, tide_ir_type_of(ir, attr->type)->parts);
  bool pairs = attr->kind == TIDE_IR_ATTR_DICTIONARY;
  if (attr->kind == TIDE_IR_ATTR_STRING || attr->kind == TIDE_IR_ATTR_OPAQUE)
    return add_parts(parts, parts_of_text(ir, attr->string));
  if (attr->kind == TIDE_IR_ATTR_DENSE || attr->kind == TIDE_IR_ATTR_SYMBOL)
    return add_parts(parts, attr->count);
  if (attr->kind != TIDE_IR_ATTR_ARRAY && !pairs) return parts;
  for (uint32_t i = pairs; i < attr->count; i += 1 + pairs)
    parts = add_parts(parts, tide_ir_attr_of(ir, tide_ir_item(ir, attr->items, i))->parts);
  return parts;
}

static tide_ir_attr add_attr(struct tide_ir *ir, uint32_t hash, struct tide_ir_attr_record record) {
  record.parts = parts_of_attr(ir, &record);
  tide_ir_attr attr = tide_chunks_add(&ir->attrs, 1, true);
  if (!attr) return tide_ir_give_up(ir, TIDE_NOMEM);
  *(struct tide_ir_attr_record *)tide_chunks_at(&ir->attrs, attr) = record;
  insert_entry(&ir->tables->attr_hash, hash, attr);
  ir->tables->attr_hash.count++;
  return attr;
}

static tide_ir_attr intern_plain(struct tide_ir *ir, uint32_t kind, tide_ir_type type,
                                 int64_t integer) {
  struct tide_ir_hash *table = &ir->tables->attr_hash;
  if (!make_room(ir, table, attr_hash_of)) return 0;
  uint32_t hash = attr_hash(kind, type, (uint64_t)integer);
  for (uint32_t at = hash & (table->capacity - 1); table->slots[at];
       at = (at + 1) & (table->capacity - 1)) {
    const struct tide_ir_attr_record *attr = tide_ir_attr_of(ir, table->slots[at]);
    if (attr->kind == kind && attr->type == type && attr->integer == integer)
      return table->slots[at];
  }
  return add_attr(ir, hash,
                  (struct tide_ir_attr_record){.kind = kind, .type = type, .integer = integer});
}

static tide_ir_attr with_items(struct tide_ir *ir, uint32_t kind, tide_ir_type type,
                               const uint32_t *items, size_t count) {
  struct tide_ir_hash *table = &ir->tables->attr_hash;
  if (!make_room(ir, table, attr_hash_of)) return 0;
  uint32_t hash = attr_hash(kind, type, hash_items(items, count));
  for (uint32_t at = hash & (table->capacity - 1); table->slots[at];
       at = (at + 1) & (table->capacity - 1)) {
    const struct tide_ir_attr_record *attr = tide_ir_attr_of(ir, table->slots[at]);
    if (attr->kind == kind && attr->type == type && attr->count == count &&
        same_items(ir, attr->items, items, count))
      return table->slots[at];
  }
  uint32_t first = keep_items(ir, items, count);
  if (!first) return 0;
  struct tide_ir_attr_record record = {.kind = kind, .type = type};
  record.items = first;
  record.count = (uint32_t)count;
  return add_attr(ir, hash, record);
}

tide_ir_attr tide_ir_attr_unit(struct tide_ir *ir) { return ir->tables->unit; }
tide_ir_attr tide_ir_attr_bool(struct tide_ir *ir, bool value) {
  return value ? ir->tables->yes : ir->tables->no;
}
tide_ir_attr tide_ir_attr_integer(struct tide_ir *ir, tide_ir_type type, int64_t value) {
  return intern_plain(ir, TIDE_IR_ATTR_INTEGER, type, value);
}
tide_ir_attr tide_ir_attr_i32(struct tide_ir *ir, int32_t value) {
  return intern_plain(ir, TIDE_IR_ATTR_INTEGER, ir->tables->i32, value);
}
tide_ir_attr tide_ir_attr_i64(struct tide_ir *ir, int64_t value) {
  return intern_plain(ir, TIDE_IR_ATTR_INTEGER, ir->tables->i64, value);
}
tide_ir_attr tide_ir_attr_float(struct tide_ir *ir, tide_ir_type type, double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return intern_plain(ir, TIDE_IR_ATTR_FLOAT, type, bits);
}
tide_ir_attr tide_ir_attr_string(struct tide_ir *ir, const char *bytes, size_t length) {
  return intern_plain(ir, TIDE_IR_ATTR_STRING, 0, tide_ir_intern(ir, bytes, length));
}
tide_ir_attr tide_ir_attr_text(struct tide_ir *ir, const char *text) {
  return tide_ir_attr_string(ir, text, strlen(text));
}
tide_ir_attr tide_ir_attr_type(struct tide_ir *ir, tide_ir_type type) {
  return intern_plain(ir, TIDE_IR_ATTR_TYPE, type, 0);
}
tide_ir_attr tide_ir_attr_opaque(struct tide_ir *ir, const char *text, size_t length,
                                 tide_ir_type type) {
  return intern_plain(ir, TIDE_IR_ATTR_OPAQUE, type, tide_ir_intern(ir, text, length));
}
tide_ir_attr tide_ir_attr_symbol(struct tide_ir *ir, const tide_ir_string *path, size_t count) {
  return with_items(ir, TIDE_IR_ATTR_SYMBOL, 0, path, count);
}
tide_ir_attr tide_ir_attr_array(struct tide_ir *ir, const tide_ir_attr *items, size_t count) {
  return with_items(ir, TIDE_IR_ATTR_ARRAY, 0, items, count);
}

tide_ir_attr tide_ir_attr_dense(struct tide_ir *ir, tide_ir_type element, const int64_t *items,
                                size_t count) {
  uint32_t few[32] = {0}, *halves = few;
  if (count > 16) halves = tide_alloc_unset(ir->allocator, count, 2 * sizeof *halves);
  if (!halves) return tide_ir_give_up(ir, TIDE_NOMEM);
  for (size_t i = 0; i < count; i++) {
    halves[2 * i] = (uint32_t)items[i];
    halves[2 * i + 1] = (uint32_t)((uint64_t)items[i] >> 32);
  }
  tide_ir_attr attr = with_items(ir, TIDE_IR_ATTR_DENSE, element, halves, 2 * count);
  if (halves != few) tide_free(ir->allocator, halves, count, 2 * sizeof *halves);
  return attr;
}

int64_t tide_ir_attr_element(const struct tide_ir *ir, tide_ir_attr dense, uint32_t index) {
  const struct tide_ir_attr_record *attr = tide_ir_attr_of(ir, dense);
  if (attr->kind != TIDE_IR_ATTR_DENSE || index >= attr->count / 2) return 0;
  return (int64_t)((uint64_t)tide_ir_item(ir, attr->items, 2 * index + 1) << 32 |
                   tide_ir_item(ir, attr->items, 2 * index));
}

/* ---- dictionaries ---- */

static int compare_names(const struct tide_ir *ir, tide_ir_string a, tide_ir_string b) {
  const struct tide_ir_string_record *x = string_of(ir, a), *y = string_of(ir, b);
  uint32_t shorter = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->bytes, y->bytes, shorter);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Insertion sort by name; names are at even indices. A later entry replaces an earlier one with its
 * name. Quadratic, but the parser rejects dictionaries of more than a few hundred entries. */
static size_t sort_pairs(const struct tide_ir *ir, uint32_t *pairs,
                         const struct tide_ir_named *items, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    size_t at = kept;
    int order = 1;
    while (at && (order = compare_names(ir, pairs[2 * (at - 1)], items[i].name)) > 0) at--;
    if (at && order == 0) {
      pairs[2 * (at - 1) + 1] = items[i].value;
      continue;
    }
    memmove(pairs + 2 * (at + 1), pairs + 2 * at, (kept - at) * 2 * sizeof *pairs);
    pairs[2 * at] = items[i].name;
    pairs[2 * at + 1] = items[i].value;
    kept++;
  }
  return kept;
}

tide_ir_attr tide_ir_attr_dictionary(struct tide_ir *ir, const struct tide_ir_named *items,
                                     size_t count) {
  uint32_t few[32], *pairs = few;
  if (count > 16) pairs = tide_alloc_unset(ir->allocator, count, 2 * sizeof *pairs);
  if (!pairs) return tide_ir_give_up(ir, TIDE_NOMEM);
  size_t kept = sort_pairs(ir, pairs, items, count);
  tide_ir_attr attr = kept ? with_items(ir, TIDE_IR_ATTR_DICTIONARY, 0, pairs, 2 * kept) : 0;
  if (pairs != few) tide_free(ir->allocator, pairs, count, 2 * sizeof *pairs);
  return attr;
}

tide_ir_attr tide_ir_attr_empty(struct tide_ir *ir) {
  return with_items(ir, TIDE_IR_ATTR_DICTIONARY, 0, NULL, 0);
}

tide_ir_attr tide_ir_attr_find(const struct tide_ir *ir, tide_ir_attr dictionary,
                               tide_ir_string name) {
  const struct tide_ir_attr_record *attr = tide_ir_attr_of(ir, dictionary);
  if (!dictionary || attr->kind != TIDE_IR_ATTR_DICTIONARY) return 0;
  for (uint32_t i = 0; i < attr->count; i += 2)
    if (tide_ir_item(ir, attr->items, i) == name) return tide_ir_item(ir, attr->items, i + 1);
  return 0;
}

/* ---- kinds ---- */

static tide_ir_string kind_name(const struct tide_ir *ir, uint32_t kind) {
  if (kind >= TIDE_IR_KINDS) return ir->tables->others[kind - TIDE_IR_KINDS];
  return TIDE_IR_NAME_COUNT - 1 + kind; /* interned behind the attribute names, in order */
}

static uint32_t kind_hash_of(const struct tide_ir *ir, uint32_t kind) {
  return string_of(ir, kind_name(ir, kind))->hash;
}

const char *tide_ir_op_name(const struct tide_ir *ir, tide_ir_op op) {
  unsigned kind = tide_ir_op_kind(ir, op);
  if (kind < TIDE_IR_KINDS) return tide_ir_ops[kind].name;
  return tide_ir_string_text(ir, kind_name(ir, kind), NULL);
}

/* The table's operations follow the attribute names in the strings, in order, so a string's number
 * gives the kind. All other names are found through `kind_hash`. */
uint16_t tide_ir_kind(struct tide_ir *ir, const char *name, size_t length) {
  struct tide_ir_tables *tables = ir->tables;
  tide_ir_string string = tide_ir_intern(ir, name, length);
  uint32_t kind = string - (TIDE_IR_NAME_COUNT - 1);
  if (string >= TIDE_IR_NAME_COUNT && kind < TIDE_IR_KINDS) return (uint16_t)kind;
  struct tide_ir_hash *table = &tables->kind_hash;
  if (!string || !make_room(ir, table, kind_hash_of)) return 0;
  uint32_t hash = string_of(ir, string)->hash, at = hash & (table->capacity - 1);
  for (; table->slots[at]; at = (at + 1) & (table->capacity - 1))
    if (kind_name(ir, table->slots[at]) == string) return (uint16_t)table->slots[at];
  kind = TIDE_IR_KINDS + (uint32_t)tables->other_count;
  if (kind > UINT16_MAX) return (uint16_t)tide_ir_give_up(ir, TIDE_FULL);
  if (!tide_array_reserve(ir->allocator, &tables->others, &tables->other_capacity,
                          tables->other_count + 1, sizeof *tables->others))
    return (uint16_t)tide_ir_give_up(ir, TIDE_NOMEM);
  tables->others[tables->other_count++] = string;
  insert_entry(table, hash, kind);
  table->count++;
  return (uint16_t)kind;
}

/* ---- the tables ---- */

static bool intern_names(struct tide_ir *ir) {
  static const char *const names[] = {
#define NAME(name, text) text,
      TIDE_IR_NAMES(NAME)
#undef NAME
  };
  bool good = true;
  for (uint32_t i = 0; i < TIDE_IR_NAME_COUNT - 1; i++)
    good = good && tide_ir_intern_text(ir, names[i]) == i + 1;
  for (uint32_t kind = 1; kind < TIDE_IR_KINDS; kind++)
    good = good && tide_ir_intern_text(ir, tide_ir_ops[kind].name) == TIDE_IR_NAME_COUNT - 1 + kind;
  return good;
}

bool tide_ir_tables_init(struct tide_ir *ir) {
  struct tide_ir_tables *tables = tide_alloc(ir->allocator, 1, sizeof *tables);
  if (!tables) return false;
  ir->tables = tables;
  if (!tide_chunks_init(&tables->strings, ir->allocator, sizeof(struct tide_ir_string_record)) ||
      !intern_names(ir))
    return false;
  tables->index = tide_ir_type_get(ir, TIDE_IR_INDEX, 0, 0);
  tables->i1 = tide_ir_integer(ir, 1);
  tables->i32 = tide_ir_integer(ir, 32);
  tables->i64 = tide_ir_integer(ir, 64);
  tables->unit = intern_plain(ir, TIDE_IR_ATTR_UNIT, 0, 0);
  tables->yes = intern_plain(ir, TIDE_IR_ATTR_BOOL, tables->i1, 1);
  tables->no = intern_plain(ir, TIDE_IR_ATTR_BOOL, tables->i1, 0);
  return ir->status == TIDE_OK;
}

static void free_hash(struct tide_ir *ir, struct tide_ir_hash *table) {
  tide_free(ir->allocator, table->slots, table->capacity, sizeof *table->slots);
}

void tide_ir_tables_fini(struct tide_ir *ir) {
  struct tide_ir_tables *tables = ir->tables;
  if (!tables) return;
  while (tables->blocks) {
    struct tide_ir_text_block *block = tables->blocks;
    tables->blocks = block->next;
    tide_free(ir->allocator, block, 1, sizeof *block + block->size);
  }
  tide_chunks_fini(&tables->strings);
  free_hash(ir, &tables->string_hash);
  free_hash(ir, &tables->type_hash);
  free_hash(ir, &tables->attr_hash);
  free_hash(ir, &tables->kind_hash);
  tide_free(ir->allocator, tables->others, tables->other_capacity, sizeof *tables->others);
  tide_free(ir->allocator, tables, 1, sizeof *tables);
  ir->tables = NULL;
}

size_t tide_ir_tables_memory(const struct tide_ir *ir) {
  const struct tide_ir_tables *tables = ir->tables;
  size_t slots = (size_t)tables->string_hash.capacity + tables->type_hash.capacity +
                 tables->attr_hash.capacity + tables->kind_hash.capacity + tables->other_capacity;
  return sizeof *tables + tide_chunks_memory(&tables->strings) + tables->block_memory +
         slots * sizeof(uint32_t);
}
