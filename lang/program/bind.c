/* Binds operations to bodies, and arguments to parameters. */
#include "base/check.h"
#include "base/alloc.h"
#include "program/lex.h"
#include "program/name_table.h"
#include "program/plan.h"

struct binder {
  struct tide_plan *plan;
  struct tide_errors *errors;
  const struct tide_body_set *sets;
  size_t set_count;
  /* The current operation. */
  const struct tide_operation_statement *operation;
  const struct tide_body *body;
  struct tide_bound *params;
  size_t position; /* the next positional parameter */
  bool named;      /* a named argument has come */
};

static const char *kind_text(enum tide_param_kind kind) {
  switch (kind) {
    case TIDE_PARAM_IN:
    case TIDE_PARAM_OUT:
    case TIDE_PARAM_INOUT: return "a buffer";
    case TIDE_PARAM_FILE: return "a file";
    case TIDE_PARAM_INTEGER: return "a number";
    case TIDE_PARAM_TEXT: return "a text";
  }
  return "something";
}

static const char *argument_text(const struct binder *b, const struct tide_program_argument *a) {
  if (a->form == TIDE_FORM_EXPRESSION) return "a number";
  if (a->form == TIDE_FORM_STRING) return "a text";
  return tide_symbol_kind_text(b->plan->program->symbols[a->reference.symbol].kind);
}

static const struct tide_body *find_body(const struct binder *b, const char *text, size_t length,
                                         struct tide_suggestion *suggestion) {
  for (size_t s = 0; s < b->set_count; s++) {
    for (size_t i = 0; i < b->sets[s].count; i++) {
      const struct tide_body *body = &b->sets[s].bodies[i];
      if (suggestion)
        tide_suggestion_offer(suggestion, body->class_.name, strlen(body->class_.name));
      if (tide_word_equal(text, length, body->class_.name)) return body;
    }
  }
  return NULL;
}

static bool set_body(struct binder *b) {
  const struct tide_name *name = &b->operation->body;
  const char *text = b->plan->program->text + name->at;
  b->body = find_body(b, text, name->length, NULL);
  if (b->body) return true;
  struct tide_suggestion suggestion;
  char hint[TIDE_SUGGESTION_MAX];
  tide_suggestion_begin(&suggestion, text, name->length);
  (void)find_body(b, text, name->length, &suggestion);
  return tide_error(b->errors, TIDE_NOT_FOUND, name->line, name->column, "unknown body '%.*s'%s",
                    (int)name->length, text, tide_suggestion_text(&suggestion, hint, sizeof hint));
}

/* ---- arguments --------------------------------------------------------------------- */

static bool fits_param(const struct binder *b, const struct tide_param *param,
                       const struct tide_program_argument *a) {
  enum tide_symbol_kind symbol = TIDE_SYMBOL_NUMBER;
  if (a->form == TIDE_FORM_REFERENCE) symbol = b->plan->program->symbols[a->reference.symbol].kind;
  switch (param->kind) {
    case TIDE_PARAM_IN:
    case TIDE_PARAM_OUT:
    case TIDE_PARAM_INOUT: return symbol == TIDE_SYMBOL_BUFFER;
    case TIDE_PARAM_FILE: return symbol == TIDE_SYMBOL_FILE;
    case TIDE_PARAM_INTEGER: return a->form == TIDE_FORM_EXPRESSION;
    case TIDE_PARAM_TEXT: return a->form == TIDE_FORM_STRING;
  }
  return false;
}

/* Returns the body's use of its file; TIDE_IO_NONE: not known. */
static enum tide_io_verb verb_of(const struct tide_body_class *class_) {
  const struct tide_body_ops *ops = class_->ops;
  if (!ops || ops->kind != TIDE_OPS_FILE) return TIDE_IO_NONE;
  return ((const struct tide_file_ops *)(const void *)ops)->verb;
}

/* Checks that the body's use of a file, where known, agrees with the file's declared mode. */
static bool file_fits(struct binder *b, const struct tide_program_argument *a) {
  uint32_t index = b->plan->spans[a->reference.symbol].first;
  const struct tide_plan_file *file = &b->plan->files[index];
  enum tide_io_verb verb = verb_of(&b->body->class_);
  if (file->mode == TIDE_FILE_WRITE && verb == TIDE_IO_READ) {
    return tide_error(b->errors, TIDE_MISMATCH, a->line, a->column,
                      "file '%s' is declared 'write'; it cannot be read", file->label);
  }
  if (file->mode == TIDE_FILE_READ && verb == TIDE_IO_WRITE) {
    return tide_error(b->errors, TIDE_MISMATCH, a->line, a->column,
                      "file '%s' is declared 'read'; it cannot be written", file->label);
  }
  return true;
}

static bool put_argument(struct binder *b, size_t index, const struct tide_program_argument *a,
                         uint32_t element) {
  const struct tide_param *param = &b->body->params[index];
  const char *body = b->body->class_.name;
  if (b->params[index].argument) {
    return tide_error(b->errors, TIDE_MISMATCH, a->line, a->column,
                      "%s: argument '%s' is given twice", body, param->name);
  }
  if (!fits_param(b, param, a)) {
    return tide_error(b->errors, TIDE_MISMATCH, a->line, a->column,
                      "%s: argument '%s' must be %s, not %s", body, param->name,
                      kind_text(param->kind), argument_text(b, a));
  }
  if (param->kind == TIDE_PARAM_FILE && !file_fits(b, a)) return false;
  b->params[index].argument = a;
  b->params[index].element = element;
  return true;
}

static bool put_named(struct binder *b, const struct tide_program_argument *a) {
  const char *text = b->plan->program->text + a->name.at;
  struct tide_suggestion suggestion;
  char hint[TIDE_SUGGESTION_MAX];
  tide_suggestion_begin(&suggestion, text, a->name.length);
  b->named = true;
  for (size_t i = 0; i < b->body->param_count; i++) {
    const char *name = b->body->params[i].name;
    if (tide_word_equal(text, a->name.length, name)) {
      if (a->form != TIDE_FORM_REFERENCE || !a->reference.all) return put_argument(b, i, a, 0);
      return tide_error(b->errors, TIDE_MISMATCH, a->line, a->column,
                        "'[*]' is several arguments; give it without a name");
    }
    tide_suggestion_offer(&suggestion, name, strlen(name));
  }
  return tide_error(b->errors, TIDE_MISMATCH, a->name.line, a->name.column,
                    "%s has no argument '%.*s'%s", b->body->class_.name, (int)a->name.length, text,
                    tide_suggestion_text(&suggestion, hint, sizeof hint));
}

static bool put_positional(struct binder *b, const struct tide_program_argument *a) {
  uint32_t count = 1;
  if (b->named) {
    return tide_error(b->errors, TIDE_MISMATCH, a->line, a->column,
                      "arguments without a name stand before those with one");
  }
  if (a->form == TIDE_FORM_REFERENCE && a->reference.all)
    count = b->plan->spans[a->reference.symbol].count;
  if (count > b->body->param_count - b->position) {
    return tide_error(b->errors, TIDE_MISMATCH, a->line, a->column,
                      "%s takes at most %zu argument%s", b->body->class_.name, b->body->param_count,
                      b->body->param_count == 1 ? "" : "s");
  }
  for (uint32_t element = 0; element < count; element++) {
    if (!put_argument(b, b->position++, a, element)) return false;
  }
  return true;
}

static bool check_missing(struct binder *b) {
  for (size_t i = 0; i < b->body->param_count; i++) {
    const struct tide_param *param = &b->body->params[i];
    if (b->params[i].argument || param->optional) continue;
    return tide_error(b->errors, TIDE_MISMATCH, b->operation->body.line, b->operation->body.column,
                      "%s: argument '%s' (%s) is missing", b->body->class_.name, param->name,
                      kind_text(param->kind));
  }
  return true;
}

/* Expands a text without loop variables once, ahead of the walk. */
static bool fix_text(struct binder *b, struct tide_bound *bound) {
  if (!bound->argument || bound->argument->form != TIDE_FORM_STRING) return true;
  for (const struct tide_string_part *p = bound->argument->string.parts; p; p = p->next) {
    if (p->is_name && (p->symbol < TIDE_SYMBOL_FIRST || b->plan->program->symbols[p->symbol].local))
      return true;
  }
  bound->text = tide_plan_intern(b->plan, &bound->argument->string, b->errors);
  return bound->text != NULL;
}

static void bind_operation(struct binder *b, const struct tide_operation_statement *operation) {
  b->operation = operation;
  b->position = 0;
  b->named = false;
  if (!set_body(b)) return;
  TIDE_ASSERT(b->body->param_count <= TIDE_PARAMS_MAX);
  b->params = tide_arena_get(&b->plan->arena, b->body->param_count, sizeof *b->params);
  if (!b->params) {
    tide_error_no_memory(b->errors);
    return;
  }
  for (const struct tide_program_argument *a = operation->arguments; a; a = a->next) {
    if (!(a->name.length ? put_named(b, a) : put_positional(b, a))) return;
  }
  if (!check_missing(b)) return;
  for (size_t i = 0; i < b->body->param_count; i++) {
    if (!fix_text(b, &b->params[i])) return;
  }
  b->plan->bindings[operation->base.number] = (struct tide_binding){b->body, b->params};
}

/* ---- statements ------------------------------------------------------------------------ */

static bool only_scratch(struct binder *b, const struct tide_operation_statement *operation) {
  for (const struct tide_program_argument *a = operation->arguments; a; a = a->next) {
    const struct tide_plan_buffer *buffer =
        &b->plan->buffers[b->plan->spans[a->reference.symbol].first];
    if (buffer->scratch) continue;
    return tide_error(b->errors, TIDE_INVALID, a->line, a->column,
                      "'%s' is declared 'buffer' and is there all the time; "
                      "'alloc' and 'free' are for 'scratch'",
                      b->plan->program->symbols[a->reference.symbol].text);
  }
  return true;
}

static void bind_statements(struct binder *b, const struct tide_statement *first) {
  for (const struct tide_statement *s = first; s && !tide_errors_enough(b->errors); s = s->next) {
    if (s->kind == TIDE_STATEMENT_FOR) {
      bind_statements(b, TIDE_CONTAINER(s, struct tide_for_statement, base)->body);
    } else if (s->kind == TIDE_STATEMENT_OPERATION) {
      bind_operation(b, TIDE_CONTAINER(s, struct tide_operation_statement, base));
    } else if (s->kind == TIDE_STATEMENT_ALLOC || s->kind == TIDE_STATEMENT_FREE) {
      only_scratch(b, TIDE_CONTAINER(s, struct tide_operation_statement, base));
    } else if (s->kind == TIDE_STATEMENT_IF) {
      const struct tide_if_statement *choice = TIDE_CONTAINER(s, struct tide_if_statement, base);
      bind_statements(b, choice->then);
      for (const struct tide_statement *o; (o = choice->otherwise);) {
        if (o->kind != TIDE_STATEMENT_IF || o->next) {
          bind_statements(b, o);
          break;
        }
        choice = TIDE_CONTAINER(o, struct tide_if_statement,
                                base); /* iterates, since a chain may be long */
        bind_statements(b, choice->then);
      }
    }
  }
}

bool tide_plan_bind(struct tide_plan *plan, const struct tide_body_set *sets, size_t set_count,
                    struct tide_errors *errors) {
  struct binder b = {.plan = plan, .errors = errors, .sets = sets, .set_count = set_count};
  bind_statements(&b, plan->program->statements);
  return errors->count == 0;
}
