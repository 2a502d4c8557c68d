/* Sets parameters to the values of the caller. */
#include "base/alloc.h"
#include "program/name_table.h"
#include "program/parse.h"
#include "program/plan.h"

bool tide_plan_settings_known(struct tide_plan *plan, const struct tide_setting *settings,
                              size_t count, struct tide_errors *errors) {
  const struct tide_program *program = plan->program;
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    const char *name = settings[i].name;
    struct tide_suggestion suggestion;
    char hint[TIDE_SUGGESTION_MAX];
    bool known = false;
    tide_suggestion_begin(&suggestion, name, strlen(name));
    for (size_t j = 0; j < program->param_count && !known; j++) {
      known = strcmp(program->params[j].name, name) == 0;
      tide_suggestion_offer(&suggestion, program->params[j].name, strlen(program->params[j].name));
    }
    if (known) continue;
    good = tide_error(errors, TIDE_NOT_FOUND, 0, 0, "unknown parameter '%s'%s", name,
                      program->param_count ? tide_suggestion_text(&suggestion, hint, sizeof hint)
                                           : "; this program has none");
  }
  return good;
}

/* Evaluates a number as a program would write it, without names: a program of one expression. */
static bool parse_number(const struct tide_allocator *allocator, const char *value,
                         struct tide_errors *errors, int64_t *out_value) {
  struct tide_program program = {.allocator = allocator, .length = (uint32_t)strlen(value)};
  struct tide_parser parser = {.program = &program, .errors = errors};
  struct tide_code code;
  tide_arena_init(&program.arena, allocator);
  program.text = tide_arena_text(&program.arena, value, program.length);
  bool good = program.text || tide_error_no_memory(errors);
  if (good) {
    tide_lexer_init(&parser.lexer, program.text, program.length);
    tide_parser_advance(&parser);
    good = tide_parse_expression(&parser, true, &code);
    if (good && parser.token.kind != TIDE_TOKEN_END)
      good = tide_parser_expected(&parser, "the end of the number");
    for (size_t i = 0; good && i < program.code_count; i++) {
      if (program.code[i].verb == TIDE_VERB_NAME)
        good = tide_error(errors, TIDE_CORRUPT, 0, 0, "a number has no names in it");
    }
    good = good && tide_evaluate(&program, NULL, code, errors, out_value);
  }
  tide_free(allocator, program.code, program.code_capacity, sizeof *program.code);
  tide_arena_fini(&program.arena);
  return good;
}

bool tide_plan_setting(struct tide_plan *plan, const struct tide_declaration *param,
                       const char *value, struct tide_errors *errors) {
  uint32_t symbol = param->names->symbol;
  const char *name = plan->program->symbols[symbol].text;
  if (param->text.given) {
    plan->texts[symbol] = tide_arena_text(&plan->arena, value, strlen(value));
    return plan->texts[symbol] || tide_error_no_memory(errors);
  }
  struct tide_diag diag = {0};
  struct tide_report report = {.diags = &diag, .capacity = 1};
  struct tide_errors inner = {.report = &report};
  if (strlen(value) > 4096) {
    return tide_error(errors, TIDE_FULL, 0, 0, "parameter '%s': this number is too long", name);
  }
  if (parse_number(plan->allocator, value, &inner, &plan->values[symbol])) return true;
  if (inner.status == TIDE_NOMEM) return tide_error_no_memory(errors);
  return tide_error(errors, inner.status, 0, 0, "parameter '%s' cannot be '%.40s': %s", name, value,
                    diag.text);
}
