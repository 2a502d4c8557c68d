/* Expands texts with names in them. */
#include "base/array.h"
#include "base/alloc.h"
#include "program/plan.h"

/* Appends a literal part, with its escapes replaced: \" \\ \n \t {{. */
static void expand_literal(struct tide_text *text, const char *bytes, uint32_t length) {
  for (uint32_t i = 0; i < length; i++) {
    char c = bytes[i];
    if (c == '\\' && i + 1 < length) {
      c = bytes[++i];
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
    } else if (c == '{' && i + 1 < length && bytes[i + 1] == '{') {
      i++;
    }
    tide_text_bytes(text, &c, 1);
  }
}

size_t tide_plan_expand(const struct tide_plan *plan, const struct tide_string *string,
                        char *buffer, size_t size) {
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  for (const struct tide_string_part *part = string->parts;
       part && text.length <= TIDE_PLAN_TEXT_MAX; part = part->next) {
    if (!part->is_name) {
      expand_literal(&text, plan->program->text + part->text.at, part->text.length);
    } else if (plan->program->symbols[part->symbol].kind == TIDE_SYMBOL_TEXT) {
      tide_text_format(&text, "%s", plan->texts[part->symbol]);
    } else {
      tide_text_format(&text, "%lld", (long long)plan->values[part->symbol]);
    }
  }
  return text.length;
}

static size_t hash_text(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return (size_t)(hash ^ hash >> 29);
}

static const char **slot_of(const char **slots, size_t count, const char *text) {
  size_t at = hash_text(text) & (count - 1);
  while (slots[at] && strcmp(slots[at], text) != 0) at = (at + 1) & (count - 1);
  return &slots[at];
}

static bool grow_slots(struct tide_plan *plan) {
  size_t capacity = plan->interned_capacity ? plan->interned_capacity * 2 : 16;
  const char **slots = tide_alloc(plan->allocator, capacity, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < plan->interned_capacity; i++) {
    if (plan->interned[i]) *slot_of(slots, capacity, plan->interned[i]) = plan->interned[i];
  }
  tide_free(plan->allocator, plan->interned, plan->interned_capacity, sizeof *slots);
  plan->interned = slots;
  plan->interned_capacity = capacity;
  return true;
}

const char *tide_plan_intern(struct tide_plan *plan, const struct tide_string *string,
                             struct tide_errors *errors) {
  size_t length = tide_plan_expand(plan, string, NULL, 0);
  if (length > TIDE_PLAN_TEXT_MAX) {
    tide_error(errors, TIDE_FULL, string->line, string->column,
               "with its names filled in, this text is longer than %u bytes", TIDE_PLAN_TEXT_MAX);
    return NULL;
  }
  if (!tide_array_reserve(plan->allocator, &plan->expanded, &plan->expanded_capacity, length + 1,
                          1) ||
      (plan->interned_count * 2 >= plan->interned_capacity && !grow_slots(plan))) {
    tide_error_no_memory(errors);
    return NULL;
  }
  tide_plan_expand(plan, string, plan->expanded, length + 1);
  const char **slot = slot_of(plan->interned, plan->interned_capacity, plan->expanded);
  if (*slot) return *slot;
  const char *text = tide_arena_text(&plan->arena, plan->expanded, length);
  if (!text) {
    tide_error_no_memory(errors);
    return NULL;
  }
  plan->interned_count++;
  return *slot = text;
}
