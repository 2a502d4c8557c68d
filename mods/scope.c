/* Resolves names in a text to values and blocks, region by region. */
#include "mods/ir_parser.h"
#include "mods/intern.h"
#include "base/alloc.h"

/* %5 is looked up by its number as long as numbers are about as dense as names. */
#define NUMBER_SLACK 65536u
#define NOT_A_NUMBER UINT32_MAX

static struct tide_name *name_of(struct tide_scope *scope, uint32_t name) {
  return tide_chunks_at(&scope->names, name);
}

bool tide_scope_init(struct tide_parser *parser) {
  struct tide_scope *scope = &parser->scope;
  const struct tide_allocator *allocator = parser->ir->allocator;
  scope->isolated = scope->region = 1;
  return tide_chunks_init(&scope->names, allocator, sizeof(struct tide_name)) &&
         tide_chunks_init(&scope->numbers, allocator, sizeof(uint32_t)) &&
         tide_chunks_init(&scope->forwards, allocator, sizeof(struct tide_forward));
}

void tide_scope_fini(struct tide_parser *parser) {
  struct tide_scope *scope = &parser->scope;
  tide_chunks_fini(&scope->names);
  tide_chunks_fini(&scope->numbers);
  tide_chunks_fini(&scope->forwards);
  tide_free(parser->ir->allocator, scope->slots, scope->slot_count, sizeof *scope->slots);
}

/* Returns the number in %123 as printed (no leading zeros); NOT_A_NUMBER for other names. */
static uint32_t number_of(const struct tide_parser *parser, uint32_t at, uint32_t length) {
  const char *text = parser->text + at;
  uint32_t number = 0;
  if (text[0] != '%' || length > 9 || (length > 2 && text[1] == '0')) return NOT_A_NUMBER;
  for (uint32_t i = 1; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return NOT_A_NUMBER;
    number = number * 10 + (uint32_t)(text[i] - '0');
  }
  return number;
}

static uint32_t hash_of(const char *text, uint32_t length) {
  uint64_t hash = 0xcbf29ce484222325u ^ length;
  for (uint32_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
  return (uint32_t)(hash ^ hash >> 29);
}

/* True if the token at `other` is this name. */
static bool same_name(const struct tide_parser *parser, uint32_t other, const char *name,
                      uint32_t length) {
  if (other + length > parser->length || memcmp(parser->text + other, name, length) != 0)
    return false;
  struct tide_token token = tide_lex(parser->text, parser->length, other);
  return token.end - token.start == length;
}

static bool grow_slots(struct tide_parser *parser) {
  struct tide_scope *scope = &parser->scope;
  uint32_t count = scope->slot_count ? scope->slot_count * 2 : 256;
  /* The names suffice to fill the new slots, so the old ones are freed first. */
  tide_free(parser->ir->allocator, scope->slots, scope->slot_count, sizeof *scope->slots);
  scope->slots = NULL;
  scope->slot_count = 0;
  uint32_t *slots = count ? tide_alloc(parser->ir->allocator, count, sizeof *slots) : NULL;
  if (!slots) return tide_ir_give_up(parser->ir, TIDE_NOMEM);
  /* Names are inserted in order, since drop_name() removes them in reverse order. */
  for (uint32_t name = 1; name < scope->names.count; name++) {
    if (name_of(scope, name)->numbered) continue;
    uint32_t at = name_of(scope, name)->older & (count - 1);
    while (slots[at]) at = (at + 1) & (count - 1);
    slots[at] = name;
  }
  scope->slots = slots;
  scope->slot_count = count;
  return true;
}

/* Returns the newest visible name; 0: none. */
static uint32_t find_name(struct tide_parser *parser, uint32_t at, uint32_t length) {
  struct tide_scope *scope = &parser->scope;
  uint32_t number = number_of(parser, at, length);
  uint32_t from = parser->text[at] == '^' ? scope->region : scope->isolated;
  if (number != NOT_A_NUMBER && number + 1 < scope->numbers.count) {
    uint32_t name = *(uint32_t *)tide_chunks_at(&scope->numbers, number + 1);
    if (name >= from && name) return name;
  }
  if (!scope->slot_count) return 0;
  uint32_t hash = hash_of(parser->text + at, length), slot = hash & (scope->slot_count - 1);
  for (; scope->slots[slot]; slot = (slot + 1) & (scope->slot_count - 1)) {
    uint32_t name = scope->slots[slot];
    if (name >= from && name_of(scope, name)->older == hash &&
        same_name(parser, name_of(scope, name)->at, parser->text + at, length))
      return name;
  }
  return 0;
}

/* Extends `numbers` to %number. False: the number is too large; the name is hashed instead. */
static bool reach_number(struct tide_parser *parser, uint32_t number) {
  struct tide_scope *scope = &parser->scope;
  uint32_t count = scope->numbers.count;
  if (number + 1 < count) return true;
  if (number > 2 * (uint64_t)count + NUMBER_SLACK) return false;
  uint32_t more = number + 2 - count;
  return tide_chunks_add(&scope->numbers, more, false) != 0 ||
         tide_ir_give_up(parser->ir, TIDE_NOMEM);
}

static struct tide_name *add_name(struct tide_parser *parser, uint32_t at, uint32_t length) {
  struct tide_scope *scope = &parser->scope;
  uint32_t number = number_of(parser, at, length);
  bool numbered = number != NOT_A_NUMBER && reach_number(parser, number);
  if (!numbered && (scope->used + 1) * 4ull > scope->slot_count * 3ull && !grow_slots(parser))
    return NULL;
  uint32_t name = tide_chunks_add(&scope->names, 1, true);
  if (!name) {
    tide_ir_give_up(parser->ir, TIDE_NOMEM);
    return NULL;
  }
  struct tide_name *record = name_of(scope, name);
  *record = (struct tide_name){.at = at, .numbered = numbered};
  if (numbered) {
    uint32_t *place = tide_chunks_at(&scope->numbers, number + 1);
    record->older = *place;
    *place = name;
    return record;
  }
  record->older = hash_of(parser->text + at, length);
  uint32_t slot = record->older & (scope->slot_count - 1);
  while (scope->slots[slot]) slot = (slot + 1) & (scope->slot_count - 1);
  scope->slots[slot] = name;
  scope->used++;
  return record;
}

/* Removes the newest name. */
static void drop_name(struct tide_parser *parser) {
  struct tide_scope *scope = &parser->scope;
  uint32_t name = scope->names.count - 1;
  struct tide_name *record = name_of(scope, name);
  if (record->numbered) {
    struct tide_token token = tide_lex(parser->text, parser->length, record->at);
    uint32_t number = number_of(parser, record->at, token.end - token.start);
    *(uint32_t *)tide_chunks_at(&scope->numbers, number + 1) = record->older;
  } else if (scope->slot_count) { /* else grow_slots() had no memory */
    uint32_t slot = record->older & (scope->slot_count - 1);
    while (scope->slots[slot] != name) slot = (slot + 1) & (scope->slot_count - 1);
    scope->slots[slot] = 0;
    scope->used--;
  }
  scope->names.count--;
}

/* ---- regions ---- */

struct tide_scope_mark tide_scope_open(struct tide_parser *parser, bool isolated) {
  struct tide_scope *scope = &parser->scope;
  struct tide_scope_mark mark = {scope->isolated, scope->region};
  scope->region = scope->names.count;
  if (isolated) scope->isolated = scope->region;
  return mark;
}

static bool report_undeclared(struct tide_parser *parser, const struct tide_name *name) {
  if (parser->broken) return false; /* a definition may have been lost */
  if (parser->text[name->at] == '^')
    return tide_ir_error(parser->ir, name->at + 1, "reference to an undefined block");
  for (uint32_t at = name->value; at;) {
    const struct tide_forward *forward = tide_chunks_at(&parser->scope.forwards, at);
    tide_ir_error(parser->ir, forward->at + 1, "use of undeclared SSA value name");
    at = forward->next;
  }
  return false;
}

/* Adds an undefined name to the region around the closed one, which may define the name later. */
static bool hand_out(struct tide_parser *parser, struct tide_name name) {
  struct tide_token token = tide_lex(parser->text, parser->length, name.at);
  struct tide_name *outer = add_name(parser, name.at, token.end - token.start);
  if (outer) outer->value = name.value;
  return outer != NULL;
}

/* Reports the names that no region around this one can define, in the order of the text. */
static bool check_defined(struct tide_parser *parser, bool outermost) {
  struct tide_scope *scope = &parser->scope;
  bool good = true;
  for (uint32_t i = scope->region; i < scope->names.count; i++) {
    const struct tide_name *name = name_of(scope, i);
    if (!name->count && (outermost || parser->text[name->at] == '^'))
      good = report_undeclared(parser, name);
  }
  return good;
}

bool tide_scope_close(struct tide_parser *parser, struct tide_scope_mark mark) {
  struct tide_scope *scope = &parser->scope;
  bool outermost = scope->isolated == scope->region, good = check_defined(parser, outermost);
  uint32_t from = scope->region;
  struct tide_stack *kept = &parser->names; /* offset and forwards of each name to hand out */
  size_t base = kept->count;
  while (scope->names.count > from) {
    struct tide_name name = *name_of(scope, scope->names.count - 1);
    if (!name.count && !outermost && parser->text[name.at] != '^')
      good = tide_push(parser, kept, name.at) && tide_push(parser, kept, name.value) && good;
    drop_name(parser);
  }
  scope->isolated = mark.isolated;
  scope->region = mark.region;
  for (; kept->count > base; kept->count -= 2)
    good = hand_out(parser, (struct tide_name){.at = kept->data[kept->count - 2],
                                               .value = kept->data[kept->count - 1]}) &&
           good;
  return good || parser->broken;
}

/* ---- values ---- */

static tide_ir_value wrong_type(struct tide_parser *parser, uint32_t at, uint32_t length,
                                tide_ir_type type, tide_ir_value value, uint32_t prior) {
  struct tide_ir *ir = parser->ir;
  tide_ir_error(
      ir, at + 1, "use of value '%.*s' expects different type than prior uses: '%s' vs '%s'",
      (int)(length < 60 ? length : 60), parser->text + at, tide_ir_type_name(ir, type).text,
      tide_ir_type_name(ir, tide_ir_type_of_value(ir, value)).text);
  tide_ir_note(ir, prior + 1, "prior use here");
  return 0;
}

/* Returns a placeholder for a value that is defined later. */
static tide_ir_value use_early(struct tide_parser *parser, struct tide_name *name, uint32_t at,
                               uint32_t length, uint32_t index, tide_ir_type type) {
  struct tide_ir *ir = parser->ir;
  struct tide_chunks *forwards = &parser->scope.forwards;
  for (uint32_t i = name->value; i;) {
    const struct tide_forward *forward = tide_chunks_at(forwards, i);
    if (forward->index == index) {
      if (tide_ir_type_of_value(ir, forward->value) == type) return forward->value;
      return wrong_type(parser, at, length, type, forward->value, forward->at);
    }
    i = forward->next;
  }
  uint32_t number = tide_chunks_add(forwards, 1, true);
  tide_ir_value value = tide_chunks_add(&ir->values, 1, true);
  if (!number || !value) return tide_ir_give_up(ir, TIDE_NOMEM);
  tide_ir_value_of(ir, value)->type = type;
  *(struct tide_forward *)tide_chunks_at(forwards, number) =
      (struct tide_forward){name->value, at, index, value};
  name->value = number;
  return value;
}

tide_ir_value tide_scope_use(struct tide_parser *parser, uint32_t at, uint32_t length,
                             uint32_t index, tide_ir_type type) {
  uint32_t found = find_name(parser, at, length);
  struct tide_name *name = found ? name_of(&parser->scope, found) : add_name(parser, at, length);
  if (!name) return 0;
  if (!name->count) return use_early(parser, name, at, length, index, type);
  if (index >= name->count) {
    tide_ir_error(parser->ir, at + 1, "reference to invalid result number");
    return 0;
  }
  tide_ir_value value = name->value + index;
  if (tide_ir_value_of(parser->ir, value)->type != type)
    return wrong_type(parser, at, length, type, value, name->at);
  return value;
}

/* Replaces the placeholders of a name by the values of its definition. */
static bool resolve_forwards(struct tide_parser *parser, struct tide_name *name, uint32_t at,
                             uint32_t length, tide_ir_value first, uint32_t count) {
  struct tide_ir *ir = parser->ir;
  bool good = true;
  for (uint32_t i = name->value; i;) {
    const struct tide_forward *forward = tide_chunks_at(&parser->scope.forwards, i);
    if (forward->index >= count) {
      good = tide_ir_error(ir, forward->at + 1, "reference to invalid result number");
    } else if (tide_ir_type_of_value(ir, forward->value) !=
               tide_ir_value_of(ir, first + forward->index)->type) {
      tide_ir_error(ir, at + 1, "definition of SSA value '%.*s#%u' has type '%s'",
                    (int)(length < 60 ? length : 60), parser->text + at, forward->index,
                    tide_ir_type_name(ir, tide_ir_value_of(ir, first + forward->index)->type).text);
      good = tide_ir_note(ir, forward->at + 1, "previously used here with type '%s'",
                          tide_ir_type_name(ir, tide_ir_type_of_value(ir, forward->value)).text);
    } else {
      tide_ir_replace_all(ir, forward->value, first + forward->index);
    }
    i = forward->next;
  }
  return good;
}

bool tide_scope_define(struct tide_parser *parser, uint32_t at, uint32_t length,
                       tide_ir_value first, uint32_t count) {
  uint32_t found = find_name(parser, at, length);
  struct tide_name *name = found ? name_of(&parser->scope, found) : add_name(parser, at, length);
  if (!name) return false;
  if (name->count) {
    tide_ir_error(parser->ir, at + 1, "redefinition of SSA value '%.*s'",
                  (int)(length < 60 ? length : 60), parser->text + at);
    return tide_ir_note(parser->ir, name->at + 1, "previously defined here");
  }
  bool good = !found || resolve_forwards(parser, name, at, length, first, count);
  name->at = at;
  name->value = first;
  name->count = (uint16_t)count;
  if (!name->numbered && number_of(parser, at, length) == NOT_A_NUMBER)
    tide_ir_value_of(parser->ir, first)->name = at + 1;
  return good;
}

/* ---- blocks ---- */

tide_ir_block tide_scope_block(struct tide_parser *parser, uint32_t at, uint32_t length) {
  uint32_t found = find_name(parser, at, length);
  struct tide_name *name = found ? name_of(&parser->scope, found) : add_name(parser, at, length);
  if (!name) return 0;
  if (!name->value) name->value = tide_ir_block_create(parser->ir, NULL, 0);
  return name->value;
}

tide_ir_block tide_scope_define_block(struct tide_parser *parser, uint32_t at, uint32_t length) {
  tide_ir_block block = tide_scope_block(parser, at, length);
  uint32_t found = block ? find_name(parser, at, length) : 0;
  if (!found) return 0;
  struct tide_name *name = name_of(&parser->scope, found);
  if (name->count) {
    tide_ir_error(parser->ir, at + 1, "redefinition of block '%.*s'",
                  (int)(length < 60 ? length : 60), parser->text + at);
    return 0;
  }
  name->at = at;
  name->count = 1;
  return block;
}
