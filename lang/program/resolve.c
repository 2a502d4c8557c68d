/* Resolves every name in the program to a symbol, or reports it. Declarations see the declarations
 * above them; operations see all declarations, and the names of their blocks. */
#include "base/check.h"
#include "base/alloc.h"
#include "program/name_table.h"
#include "program/parse.h"

#define BIT(kind) (1u << (kind))
#define CANDIDATES_MAX 2000 /* names that a hint is searched among */

struct resolver {
  struct tide_names names;
  struct tide_program *program;
  struct tide_errors *errors;
  bool in_collective; /* `member` and `members` have values */
};

static const char *wanted_text(unsigned wanted) {
  switch (wanted) {
    case BIT(TIDE_SYMBOL_NUMBER): return "number";
    case BIT(TIDE_SYMBOL_TEXT): return "text parameter";
    case BIT(TIDE_SYMBOL_DEVICE): return "device";
    case BIT(TIDE_SYMBOL_QUEUE): return "queue";
    case BIT(TIDE_SYMBOL_QUEUE) | BIT(TIDE_SYMBOL_COLLECTIVE): return "queue";
    case BIT(TIDE_SYMBOL_TIMELINE): return "timeline";
    case BIT(TIDE_SYMBOL_TIMELINE) | BIT(TIDE_SYMBOL_COLLECTIVE): return "timeline";
    case BIT(TIDE_SYMBOL_BUFFER): return "buffer";
    case BIT(TIDE_SYMBOL_NUMBER) | BIT(TIDE_SYMBOL_TEXT): return "parameter";
    default: return "name";
  }
}

/* Finds a declaration further down; NULL: none. Called only after an error. */
static const struct tide_name *declared_later(const struct resolver *r, const char *text,
                                              size_t length) {
  for (const struct tide_declaration *d = r->program->declarations; d; d = d->next) {
    for (const struct tide_declared *n = d->names; n; n = n->next) {
      if (n->name.length == length && memcmp(r->program->text + n->name.at, text, length) == 0)
        return &n->name;
    }
  }
  return NULL;
}

static bool report_unknown(struct resolver *r, const char *text, size_t length, uint32_t line,
                           uint32_t column, unsigned wanted) {
  const struct tide_name *later = declared_later(r, text, length);
  if (later) {
    return tide_error(r->errors, TIDE_NOT_FOUND, line, column,
                      "'%.*s' is declared further down, on line %u; move that line up", (int)length,
                      text, later->line);
  }
  struct tide_suggestion suggestion;
  char hint[TIDE_SUGGESTION_MAX];
  tide_suggestion_begin(&suggestion, text, length);
  for (size_t i = 0; i < r->names.visible_count && i < CANDIDATES_MAX; i++) {
    const struct tide_symbol *s =
        &r->program->symbols[r->names.visible[r->names.visible_count - 1 - i]];
    if (wanted & BIT(s->kind)) tide_suggestion_offer(&suggestion, s->text, s->name.length);
  }
  return tide_error(r->errors, TIDE_NOT_FOUND, line, column, "unknown %s '%.*s'%s",
                    wanted_text(wanted), (int)length, text,
                    tide_suggestion_text(&suggestion, hint, sizeof hint));
}

static bool find_symbol(struct resolver *r, const char *text, size_t length, uint32_t line,
                        uint32_t column, unsigned wanted, uint32_t *out_symbol) {
  const struct tide_symbol *symbol = tide_names_find(&r->names, text, length);
  if (!symbol) return report_unknown(r, text, length, line, column, wanted);
  *out_symbol = (uint32_t)(symbol - r->program->symbols);
  if (!(wanted & BIT(symbol->kind))) {
    return tide_error(r->errors, TIDE_CORRUPT, line, column, "'%s' is %s; a %s is expected here",
                      symbol->text, tide_symbol_kind_text(symbol->kind), wanted_text(wanted));
  }
  if (*out_symbol <= TIDE_SYMBOL_MEMBERS && !r->in_collective) {
    return tide_error(r->errors, TIDE_CORRUPT, line, column,
                      "'%s' has a value only in the operations of a collective", symbol->text);
  }
  return true;
}

/* ---- expressions, texts, references ---------------------------------------------------- */

static bool resolve_code(struct resolver *r, struct tide_code code) {
  bool good = true;
  for (uint32_t i = code.at; i < code.at + code.count; i++) {
    struct tide_instruction *instruction = &r->program->code[i];
    if (instruction->verb != TIDE_VERB_NAME) continue;
    const char *text = r->program->text + instruction->place;
    uint32_t length = instruction->name;
    const struct tide_symbol *symbol = tide_names_find(&r->names, text, length);
    if (symbol && symbol->kind == TIDE_SYMBOL_NUMBER && symbol->name.line) {
      instruction->name = (uint32_t)(symbol - r->program->symbols);
      continue;
    }
    uint32_t line, column;
    tide_program_location(r->program, instruction->place, &line, &column);
    if (!find_symbol(r, text, length, line, column, BIT(TIDE_SYMBOL_NUMBER), &instruction->name)) {
      if (tide_errors_enough(r->errors)) return false;
      instruction->name = 0;
      good = false;
    }
  }
  return good;
}

static bool resolve_string(struct resolver *r, struct tide_string *string) {
  for (struct tide_string_part *part = string->parts; part; part = part->next) {
    if (!part->is_name) continue;
    if (!find_symbol(r, r->program->text + part->text.at, part->text.length, part->text.line,
                     part->text.column, BIT(TIDE_SYMBOL_NUMBER) | BIT(TIDE_SYMBOL_TEXT),
                     &part->symbol)) {
      return false;
    }
  }
  return true;
}

/* Checks the use of an array. `all`: NAME[*] is allowed; `bare`: so is NAME alone. */
static bool check_array(struct resolver *r, const struct tide_reference *reference, bool all,
                        bool bare) {
  const struct tide_symbol *symbol = &r->program->symbols[reference->symbol];
  const struct tide_name *name = &reference->name;
  if (!symbol->array && (reference->indexed || reference->all)) {
    return tide_error(r->errors, TIDE_CORRUPT, name->line, name->column,
                      "'%s' is not an array: leave the '[…]' out", symbol->text);
  }
  if (symbol->array && reference->all && !all) {
    return tide_error(r->errors, TIDE_CORRUPT, name->line, name->column,
                      "one '%s' is expected here, not all of them", symbol->text);
  }
  if (symbol->array && !reference->indexed && !reference->all && !bare) {
    return tide_error(r->errors, TIDE_CORRUPT, name->line, name->column,
                      "'%s' is an array: say which one, %s[INDEX]%s%s%s", symbol->text,
                      symbol->text, all ? " or " : "", all ? symbol->text : "", all ? "[*]" : "");
  }
  return true;
}

static bool resolve_reference(struct resolver *r, struct tide_reference *reference, unsigned wanted,
                              bool all, bool bare) {
  const struct tide_name *name = &reference->name;
  return find_symbol(r, r->program->text + name->at, name->length, name->line, name->column, wanted,
                     &reference->symbol) &&
         check_array(r, reference, all, bare) && resolve_code(r, reference->index);
}

/* ---- operations --------------------------------------------------------------------------- */

/* Resolves a name alone, and sets the form of the argument from the symbol's kind. */
static bool resolve_bare_name(struct resolver *r, struct tide_program_argument *argument) {
  struct tide_reference *reference = &argument->reference;
  unsigned wanted = BIT(TIDE_SYMBOL_BUFFER) | BIT(TIDE_SYMBOL_FILE) | BIT(TIDE_SYMBOL_NUMBER) |
                    BIT(TIDE_SYMBOL_TEXT);
  if (!resolve_reference(r, reference, wanted, true, false)) return false;
  enum tide_symbol_kind kind = r->program->symbols[reference->symbol].kind;
  if (kind == TIDE_SYMBOL_NUMBER) {
    argument->form = TIDE_FORM_EXPRESSION;
    return resolve_code(r, argument->value);
  }
  if (kind != TIDE_SYMBOL_TEXT) return true;
  struct tide_string_part *part = tide_arena_get(&r->program->arena, 1, sizeof *part);
  if (!part) return tide_error_no_memory(r->errors);
  *part = (struct tide_string_part){
      .text = reference->name, .is_name = true, .symbol = reference->symbol};
  argument->form = TIDE_FORM_STRING;
  argument->string = (struct tide_string){
      .parts = part, .line = argument->line, .column = argument->column, .given = true};
  return true;
}

static bool resolve_argument(struct resolver *r, struct tide_program_argument *argument) {
  switch (argument->form) {
    case TIDE_FORM_EXPRESSION: return resolve_code(r, argument->value);
    case TIDE_FORM_STRING: return resolve_string(r, &argument->string);
    case TIDE_FORM_REFERENCE: break;
  }
  struct tide_reference *reference = &argument->reference;
  if (argument->value.count) return resolve_bare_name(r, argument);
  /* With only a slice, `name[offset, size]`, the buffer is no array. */
  return resolve_reference(r, reference, BIT(TIDE_SYMBOL_BUFFER), true, false) &&
         resolve_code(r, argument->offset) && resolve_code(r, argument->size);
}

static bool resolve_timepoints(struct resolver *r, struct tide_point_clause *points, bool wait) {
  bool good = true;
  for (struct tide_point_clause *p = points; p; p = p->next) {
    unsigned wanted = BIT(TIDE_SYMBOL_TIMELINE) | (wait ? BIT(TIDE_SYMBOL_COLLECTIVE) : 0);
    good = resolve_reference(r, &p->timeline, wanted, true, false) && good;
    good = resolve_code(r, p->value) && good;
  }
  return good;
}

static bool resolve_memory(struct resolver *r, struct tide_operation_statement *operation) {
  bool good = true;
  for (struct tide_program_argument *a = operation->arguments; a; a = a->next)
    good = resolve_reference(r, &a->reference, BIT(TIDE_SYMBOL_BUFFER), true, false) && good;
  return good;
}

static bool resolve_takes(struct resolver *r, struct tide_operation_statement *operation,
                          bool collective) {
  struct tide_symbol *symbols = r->program->symbols;
  uint32_t line = operation->base.line, column = operation->base.column;
  bool good = true;
  for (struct tide_program_argument *a = operation->takes; a; a = a->next) {
    bool known = resolve_reference(r, &a->reference, BIT(TIDE_SYMBOL_BUFFER), true, false);
    if (known) symbols[a->reference.symbol].taken = true;
    good = known && good;
  }
  good = resolve_code(r, operation->after) && good;
  if (collective)
    return tide_error(r->errors, TIDE_CORRUPT, line, column,
                      "a collective takes nothing: its parts start together");
  if (operation->passable)
    return tide_error(r->errors, TIDE_CORRUPT, line, column,
                      "what takes is never 'passable': it starts at its turn");
  if (good) symbols[operation->target.symbol].takes = true;
  return good;
}

static bool resolve_operation(struct resolver *r, struct tide_operation_statement *operation) {
  bool memory =
      operation->base.kind == TIDE_STATEMENT_ALLOC || operation->base.kind == TIDE_STATEMENT_FREE;
  bool host = !memory && operation->base.kind != TIDE_STATEMENT_OPERATION;
  unsigned wanted = host     ? BIT(TIDE_SYMBOL_HOST)
                    : memory ? BIT(TIDE_SYMBOL_QUEUE)
                             : BIT(TIDE_SYMBOL_QUEUE) | BIT(TIDE_SYMBOL_COLLECTIVE);
  bool good = resolve_reference(r, &operation->target, wanted, false, false);
  if (memory) return resolve_memory(r, operation) && good;
  bool collective =
      good && r->program->symbols[operation->target.symbol].kind == TIDE_SYMBOL_COLLECTIVE;
  if (collective && operation->passable) {
    good = tide_error(r->errors, TIDE_CORRUPT, operation->base.line, operation->base.column,
                      "a collective is never 'passable'");
  }
  if (operation->takes) good = resolve_takes(r, operation, collective) && good;
  r->in_collective = collective;
  for (struct tide_program_argument *a = operation->arguments; a; a = a->next)
    good = resolve_argument(r, a) && good;
  good = resolve_timepoints(r, operation->waits, true) && good;
  good = resolve_timepoints(r, operation->signals, false) && good;
  good = resolve_code(r, operation->cost) && good;
  good = resolve_string(r, &operation->label) && good;
  r->in_collective = false;
  return good;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void resolve_statements(struct resolver *r, struct tide_statement *first);

static void resolve_for(struct resolver *r, struct tide_for_statement *loop) {
  size_t visible = r->names.visible_count;
  resolve_code(r, loop->from);
  resolve_code(r, loop->to);
  resolve_code(r, loop->step);
  tide_names_add(&r->names, &loop->name, TIDE_SYMBOL_NUMBER, false, true, &loop->symbol);
  resolve_statements(r, loop->body);
  tide_names_leave(&r->names, visible);
}

static void resolve_if(struct resolver *r, struct tide_if_statement *choice) {
  for (;;) { /* iterates: a chain of `else if` may be long */
    resolve_code(r, choice->condition);
    resolve_statements(r, choice->then);
    struct tide_statement *otherwise = choice->otherwise;
    if (!otherwise || otherwise->kind != TIDE_STATEMENT_IF || otherwise->next ||
        tide_errors_enough(r->errors)) {
      resolve_statements(r, otherwise);
      return;
    }
    choice = TIDE_CONTAINER(otherwise, struct tide_if_statement, base);
  }
}

static void resolve_let(struct resolver *r, struct tide_let_statement *let) {
  resolve_code(r, let->value);
  tide_names_add(&r->names, &let->name, TIDE_SYMBOL_NUMBER, false, true, &let->symbol);
}

static void resolve_require(struct resolver *r, struct tide_require_statement *require) {
  resolve_code(r, require->condition);
  resolve_string(r, &require->message);
}

static void resolve_statements(struct resolver *r, struct tide_statement *first) {
  size_t visible = r->names.visible_count;
  for (struct tide_statement *s = first; s && !tide_errors_enough(r->errors); s = s->next) {
    switch (s->kind) {
      case TIDE_STATEMENT_FOR:
        resolve_for(r, TIDE_CONTAINER(s, struct tide_for_statement, base));
        break;
      case TIDE_STATEMENT_IF:
        resolve_if(r, TIDE_CONTAINER(s, struct tide_if_statement, base));
        break;
      case TIDE_STATEMENT_LET:
        resolve_let(r, TIDE_CONTAINER(s, struct tide_let_statement, base));
        break;
      case TIDE_STATEMENT_REQUIRE:
        resolve_require(r, TIDE_CONTAINER(s, struct tide_require_statement, base));
        break;
      default:
        resolve_operation(r, TIDE_CONTAINER(s, struct tide_operation_statement, base));
        break;
    }
  }
  tide_names_leave(&r->names, visible);
}

/* ---- declarations ---------------------------------------------------------------------------- */

static enum tide_symbol_kind kind_of(const struct tide_declaration *d) {
  switch (d->kind) {
    case TIDE_DECLARE_PARAM: return d->text.given ? TIDE_SYMBOL_TEXT : TIDE_SYMBOL_NUMBER;
    case TIDE_DECLARE_DEVICE: return TIDE_SYMBOL_DEVICE;
    case TIDE_DECLARE_QUEUE: return TIDE_SYMBOL_QUEUE;
    case TIDE_DECLARE_TIMELINE: return TIDE_SYMBOL_TIMELINE;
    case TIDE_DECLARE_BUFFER:
    case TIDE_DECLARE_SCRATCH: return TIDE_SYMBOL_BUFFER;
    case TIDE_DECLARE_FILE: return TIDE_SYMBOL_FILE;
    case TIDE_DECLARE_COLLECTIVE: return TIDE_SYMBOL_COLLECTIVE;
    case TIDE_DECLARE_LET:
    case TIDE_DECLARE_REQUIRE: break;
  }
  return TIDE_SYMBOL_NUMBER;
}

static void resolve_declaration(struct resolver *r, struct tide_declaration *d) {
  resolve_code(r, d->value);
  resolve_code(r, d->capacity);
  resolve_string(r, &d->text);
  for (struct tide_option *o = d->options; o; o = o->next) {
    resolve_code(r, o->value);
    resolve_string(r, &o->text);
  }
  if (d->kind == TIDE_DECLARE_QUEUE)
    resolve_reference(r, &d->device, BIT(TIDE_SYMBOL_DEVICE), false, true);
  for (struct tide_member *m = d->members; m; m = m->next)
    resolve_reference(r, &m->queue, BIT(TIDE_SYMBOL_QUEUE), true, true);
  for (struct tide_declared *n = d->names; n; n = n->next) {
    resolve_code(r, n->count);
    tide_names_add(&r->names, &n->name, kind_of(d), n->array, false, &n->symbol);
  }
}

bool tide_program_resolve(struct tide_program *program, struct tide_errors *errors) {
  struct resolver r = {.program = program, .errors = errors};
  if (tide_names_init(&r.names, program, errors)) {
    for (struct tide_declaration *d = program->declarations; d && !tide_errors_enough(errors);
         d = d->next) {
      resolve_declaration(&r, d);
    }
    resolve_statements(&r, program->statements);
  }
  tide_names_fini(&r.names);
  return errors->count == 0;
}
