#include "program/name_table.h"
#include "base/array.h"
#include "base/alloc.h"

const char *tide_symbol_kind_text(enum tide_symbol_kind kind) {
  switch (kind) {
    case TIDE_SYMBOL_NUMBER: return "a number";
    case TIDE_SYMBOL_TEXT: return "a text";
    case TIDE_SYMBOL_DEVICE: return "a device";
    case TIDE_SYMBOL_QUEUE: return "a queue";
    case TIDE_SYMBOL_TIMELINE: return "a timeline";
    case TIDE_SYMBOL_BUFFER: return "a buffer";
    case TIDE_SYMBOL_FILE: return "a file";
    case TIDE_SYMBOL_COLLECTIVE: return "a collective";
    case TIDE_SYMBOL_HOST: return "the host";
  }
  return "something";
}

static uint64_t hash_name(const char *text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
  return hash ^ hash >> 29;
}

/* Returns the slot of the name, or the empty slot where it would be inserted. */
static size_t slot_of(const struct tide_names *names, const char *text, size_t length) {
  size_t mask = names->slot_count - 1, slot = (size_t)hash_name(text, length) & mask;
  for (; names->slots[slot]; slot = (slot + 1) & mask) {
    const struct tide_symbol *symbol = &names->program->symbols[names->slots[slot] - 1];
    if (symbol->name.length == length && memcmp(symbol->text, text, length) == 0) break;
  }
  return slot;
}

static bool grow_slots(struct tide_names *names) {
  const struct tide_allocator *allocator = names->program->allocator;
  size_t count = names->slot_count ? names->slot_count * 2 : 64;
  uint32_t *slots = tide_alloc(allocator, count, sizeof *slots);
  if (!slots) return tide_error_no_memory(names->errors);
  tide_free(allocator, names->slots, names->slot_count, sizeof *slots);
  names->slots = slots;
  names->slot_count = count;
  for (size_t i = 0; i < names->visible_count; i++) {
    const struct tide_symbol *symbol = &names->program->symbols[names->visible[i]];
    slots[slot_of(names, symbol->text, symbol->name.length)] = names->visible[i] + 1;
  }
  return true;
}

static bool add_symbol(struct tide_names *names, struct tide_symbol symbol, uint32_t *out_symbol) {
  struct tide_program *program = names->program;
  const struct tide_allocator *allocator = program->allocator;
  if (names->visible_count * 2 >= names->slot_count && !grow_slots(names)) return false;
  if (!tide_array_reserve(allocator, &program->symbols, &program->symbol_capacity,
                          program->symbol_count + 1, sizeof *program->symbols) ||
      !tide_array_reserve(allocator, &names->visible, &names->visible_capacity,
                          names->visible_count + 1, sizeof *names->visible)) {
    return tide_error_no_memory(names->errors);
  }
  *out_symbol = (uint32_t)program->symbol_count;
  program->symbols[program->symbol_count++] = symbol;
  names->visible[names->visible_count++] = *out_symbol;
  names->slots[slot_of(names, symbol.text, symbol.name.length)] = *out_symbol + 1;
  return true;
}

bool tide_names_init(struct tide_names *names, struct tide_program *program,
                     struct tide_errors *errors) {
  static const struct {
    const char *text;
    enum tide_symbol_kind kind;
  } builtin[TIDE_SYMBOL_FIRST] = {[TIDE_SYMBOL_MEMBER] = {"member", TIDE_SYMBOL_NUMBER},
                                  [TIDE_SYMBOL_MEMBERS] = {"members", TIDE_SYMBOL_NUMBER},
                                  [TIDE_SYMBOL_THE_HOST] = {"host", TIDE_SYMBOL_HOST}};
  *names = (struct tide_names){.program = program, .errors = errors};
  for (size_t i = 0; i < TIDE_SYMBOL_FIRST; i++) {
    uint32_t symbol;
    struct tide_name name = {.length = (uint32_t)strlen(builtin[i].text)};
    if (!add_symbol(
            names,
            (struct tide_symbol){.kind = builtin[i].kind, .name = name, .text = builtin[i].text},
            &symbol)) {
      return false;
    }
  }
  return true;
}

void tide_names_fini(struct tide_names *names) {
  const struct tide_allocator *allocator = names->program->allocator;
  tide_free(allocator, names->slots, names->slot_count, sizeof *names->slots);
  tide_free(allocator, names->visible, names->visible_capacity, sizeof *names->visible);
}

const struct tide_symbol *tide_names_find(const struct tide_names *names, const char *text,
                                          size_t length) {
  size_t slot = slot_of(names, text, length);
  return names->slots[slot] ? &names->program->symbols[names->slots[slot] - 1] : NULL;
}

bool tide_names_add(struct tide_names *names, const struct tide_name *name,
                    enum tide_symbol_kind kind, bool array, bool local, uint32_t *out_symbol) {
  const char *text = names->program->text + name->at;
  const struct tide_symbol *taken = tide_names_find(names, text, name->length);
  *out_symbol = 0;
  if (taken && taken->name.line == 0) {
    return tide_error(names->errors, TIDE_CORRUPT, name->line, name->column,
                      "the name '%s' has a meaning already; choose another", taken->text);
  }
  if (taken) {
    return tide_error(names->errors, TIDE_CORRUPT, name->line, name->column,
                      "the name '%s' is taken: it is %s of line %u", taken->text,
                      tide_symbol_kind_text(taken->kind), taken->name.line);
  }
  char *copy = tide_arena_text(&names->program->arena, text, name->length);
  if (!copy) return tide_error_no_memory(names->errors);
  return add_symbol(names,
                    (struct tide_symbol){
                        .kind = kind, .name = *name, .text = copy, .array = array, .local = local},
                    out_symbol);
}

void tide_names_leave(struct tide_names *names, size_t count) {
  while (names->visible_count > count) {
    /* No entry was inserted after this one, so clearing its slot breaks no probe sequence. */
    uint32_t symbol = names->visible[--names->visible_count];
    const struct tide_symbol *s = &names->program->symbols[symbol];
    names->slots[slot_of(names, s->text, s->name.length)] = 0;
  }
}
