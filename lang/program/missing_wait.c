/* Finds a wait clause that suffices for all iterations of a statement.
 *
 * The needed values are known for the iterations with findings. A clause is guessed from them: a
 * constant, or a linear expression of a name, perhaps divided, or of two names; likewise the index
 * of the timeline. A walk through the plan refutes the guesses that would wait for a value which
 * only a later step signals. */
#include "base/text.h"
#include "program/findings.h"

#define OVER_MOST 32
#define TIMES_MOST 8
#define FORMS 24
#define LARGE ((int64_t)1 << 30) /* larger numbers are not fitted: nothing below overflows */

/* ---- forms ---------------------------------------------------------------------- */

struct forms {
  struct tide_wait_form list[FORMS];
  uint64_t excess[FORMS]; /* ascending */
  size_t count;
};

static bool is_large(int64_t value) { return value > LARGE || value < -LARGE; }

/* Evaluates a form without its `plus` and `modulo`. */
static int64_t slope_of(const struct tide_wait_form *form, const int64_t *values) {
  int64_t first = 0, second = 0;
  if (form->name != TIDE_PLAN_NONE) first = values[form->name];
  if (form->second != TIDE_PLAN_NONE) second = values[form->second];
  if (is_large(first) || is_large(second)) return 2 * LARGE;
  return first * form->times / form->over + second * form->second_times;
}

static int64_t evaluate_form(const struct tide_wait_form *form, const int64_t *values) {
  int64_t value = slope_of(form, values) + form->plus;
  return form->modulo ? value % form->modulo : value;
}

static void add_form(struct forms *forms, const struct tide_wait_form *form, uint64_t excess) {
  size_t at = forms->count;
  while (at > 0 && forms->excess[at - 1] > excess) at--;
  if (at == FORMS) return;
  if (forms->count < FORMS) forms->count++;
  for (size_t i = forms->count - 1; i > at; i--) {
    forms->list[i] = forms->list[i - 1];
    forms->excess[i] = forms->excess[i - 1];
  }
  forms->list[at] = *form;
  forms->excess[at] = excess;
}

struct fit {
  const struct tide_plan *plan;
  const struct tide_wait_sample *samples;
  size_t count;
  int64_t *values; /* by symbol */
  struct tide_span span;
};

/* True if no sample has a large value of a name. */
static bool is_fit(const struct fit *fit, size_t name) {
  for (size_t i = 0; i < fit->count; i++)
    if (is_large(fit->samples[i].site->values[name])) return false;
  return true;
}

static const int64_t *values_of(struct fit *fit, const struct tide_site *site) {
  for (size_t i = 0; i < site->name_count; i++)
    fit->values[site->names[i].symbol] = site->values[i];
  return fit->values;
}

/* ---- values ---------------------------------------------------------------------- */

/* Adds a form with the least `plus` that covers all samples. */
static void fit_value(struct fit *fit, struct tide_wait_form form, struct forms *forms) {
  int64_t plus = -2 * LARGE;
  uint64_t excess = 0;
  for (size_t i = 0; i < fit->count; i++) {
    int64_t slope = slope_of(&form, values_of(fit, fit->samples[i].site));
    int64_t value = (int64_t)fit->samples[i].needed.value;
    if (is_large(slope)) return;
    if (value - slope > plus) plus = value - slope;
  }
  form.plus = plus;
  for (size_t i = 0; i < fit->count; i++)
    excess += (uint64_t)(evaluate_form(&form, values_of(fit, fit->samples[i].site)) -
                         (int64_t)fit->samples[i].needed.value);
  add_form(forms, &form, excess);
}

/* Returns the value's increase for one more of a name, while another one stays; 0: not known. */
static int64_t increase_of(const struct fit *fit, size_t name, size_t other) {
  for (size_t i = 1; i < fit->count; i++) {
    const struct tide_wait_sample *a = &fit->samples[i - 1], *b = &fit->samples[i];
    int64_t step = b->site->values[name] - a->site->values[name];
    int64_t up = (int64_t)b->needed.value - (int64_t)a->needed.value;
    if (b->site->values[other] != a->site->values[other] || !step || up % step) continue;
    return up / step;
  }
  return 0;
}

/* Adds the forms of two names, as the iterations of nested loops are counted. An outer name stays
 * mostly, so its increase follows from the samples in which the inner one returns. */
static void fit_pair(struct fit *fit, size_t inner, size_t outer, struct forms *forms) {
  const struct tide_site *first = fit->samples[0].site;
  int64_t by_inner = increase_of(fit, inner, outer), by_outer = 0;
  for (size_t i = 1; i < fit->count && by_inner && !by_outer; i++) {
    const struct tide_site *site = fit->samples[i].site;
    int64_t step = site->values[outer] - first->values[outer];
    int64_t up = (int64_t)(fit->samples[i].needed.value - fit->samples[0].needed.value) -
                 by_inner * (site->values[inner] - first->values[inner]);
    if (step && up % step == 0 && !is_large(up)) by_outer = up / step;
  }
  struct tide_wait_form form = {
      first->names[outer].symbol, first->names[inner].symbol, by_outer, 1, by_inner, 0, 0};
  if (by_outer) fit_value(fit, form, forms);
}

static void fit_values(struct fit *fit, struct forms *forms) {
  const struct tide_site *site = fit->samples[0].site;
  struct tide_wait_form form = {TIDE_PLAN_NONE, TIDE_PLAN_NONE, 1, 1, 0, 0, 0};
  forms->count = 0;
  fit_value(fit, form, forms);
  for (size_t i = 0; i < site->name_count; i++) {
    if (!is_fit(fit, i)) continue;
    form.name = site->names[i].symbol;
    for (form.over = 1; form.over <= OVER_MOST; form.over++) fit_value(fit, form, forms);
    form.over = 1;
    for (form.times = 2; form.times <= TIMES_MOST; form.times++) fit_value(fit, form, forms);
    form.times = 1;
    for (size_t outer = i + 1; outer < site->name_count; outer++)
      if (is_fit(fit, outer)) fit_pair(fit, i, outer, forms);
  }
}

/* ---- indices --------------------------------------------------------------------- */

static int64_t index_of(const struct fit *fit, size_t sample) {
  return (int64_t)(fit->samples[sample].needed.timeline - fit->span.first);
}

/* Adds a form that gives the index of every sample. */
static void fit_index(struct fit *fit, struct tide_wait_form form, struct forms *forms) {
  form.plus = index_of(fit, 0) - slope_of(&form, values_of(fit, fit->samples[0].site));
  if (form.modulo) form.plus = (form.plus % form.modulo + form.modulo) % form.modulo;
  if (is_large(form.plus)) return;
  for (size_t i = 0; i < fit->count; i++)
    if (evaluate_form(&form, values_of(fit, fit->samples[i].site)) != index_of(fit, i)) return;
  add_form(forms, &form, 0);
}

static void fit_indices(struct fit *fit, struct forms *forms) {
  const struct tide_site *site = fit->samples[0].site;
  struct tide_wait_form form = {TIDE_PLAN_NONE, TIDE_PLAN_NONE, 1, 1, 0, 0, 0};
  forms->count = 0;
  fit_index(fit, form, forms);
  for (int ring = 0; ring < 2; ring++) {
    form.modulo = ring ? fit->span.count : 0;
    for (size_t i = 0; i < site->name_count; i++) {
      form.name = site->names[i].symbol;
      if (is_fit(fit, i)) fit_index(fit, form, forms);
    }
  }
}

/* ---- clauses --------------------------------------------------------------------- */

/* Finds the symbol of a timeline; TIDE_PLAN_NONE: it has no name in the text. */
static uint32_t symbol_of(const struct tide_plan *plan, uint32_t timeline) {
  uint32_t collective = plan->timelines[timeline].collective;
  for (uint32_t i = 0; i < plan->program->symbol_count; i++) {
    enum tide_symbol_kind kind = plan->program->symbols[i].kind;
    struct tide_span span = plan->spans[i];
    if (kind == TIDE_SYMBOL_COLLECTIVE && span.first == collective) return i;
    if (kind == TIDE_SYMBOL_TIMELINE && timeline - span.first < span.count) return i;
  }
  return TIDE_PLAN_NONE;
}

bool tide_missing_wait_guess(const struct tide_plan *plan, const struct tide_wait_sample *samples,
                             size_t count, int64_t *values, struct tide_missing_wait *out_wait) {
  struct fit fit = {plan, samples, count, values, {0, 0}};
  struct forms value_forms, index_forms;
  uint32_t symbol = symbol_of(plan, samples[0].needed.timeline);
  out_wait->count = 0;
  if (symbol == TIDE_PLAN_NONE) return false;
  bool collective = plan->program->symbols[symbol].kind == TIDE_SYMBOL_COLLECTIVE;
  fit.span = collective ? (struct tide_span){samples[0].needed.timeline, 1} : plan->spans[symbol];
  for (size_t i = 0; i < count; i++)
    if (samples[i].needed.timeline - fit.span.first >= fit.span.count ||
        samples[i].needed.value > (uint64_t)LARGE)
      return false;
  out_wait->symbol = symbol;
  out_wait->span = fit.span;
  out_wait->array = plan->program->symbols[symbol].array;
  fit_values(&fit, &value_forms);
  fit_indices(&fit, &index_forms);
  for (size_t v = 0; v < value_forms.count; v++)
    for (size_t i = 0; i < index_forms.count && out_wait->count < TIDE_WAIT_GUESSES; i++)
      out_wait->guesses[out_wait->count++] = (struct tide_wait_guess){
          index_forms.list[i], value_forms.list[v], value_forms.excess[v], false, false};
  return out_wait->count > 0;
}

void tide_missing_wait_try(const struct tide_plan *plan, const uint64_t *reached,
                           struct tide_missing_wait *wait) {
  for (size_t i = 0; i < wait->count; i++) {
    struct tide_wait_guess *guess = &wait->guesses[i];
    if (guess->refuted) continue;
    int64_t index = evaluate_form(&guess->index, plan->values);
    int64_t value = evaluate_form(&guess->value, plan->values);
    guess->negative |= value < 0;
    guess->refuted = index < 0 || (uint64_t)index >= wait->span.count;
    if (!guess->refuted && value > 0)
      guess->refuted = (uint64_t)value > reached[wait->span.first + (uint64_t)index];
  }
}

/* ---- text ------------------------------------------------------------------------- */

static void print_term(const struct tide_plan *plan, uint32_t name, int64_t times, int64_t over,
                       struct tide_text *text) {
  tide_text_format(text, "%s", plan->program->symbols[name].text);
  if (times != 1) tide_text_format(text, "*%lld", (long long)times);
  if (over != 1) tide_text_format(text, "/%lld", (long long)over);
}

static void print_form(const struct tide_plan *plan, const struct tide_wait_form *form,
                       struct tide_text *text) {
  if (form->name == TIDE_PLAN_NONE) {
    tide_text_format(text, "%lld", (long long)form->plus);
    return;
  }
  bool brackets = form->modulo && form->plus;
  if (brackets) tide_text_format(text, "(");
  print_term(plan, form->name, form->times, form->over, text);
  if (form->second != TIDE_PLAN_NONE) {
    tide_text_format(text, " + ");
    print_term(plan, form->second, form->second_times, 1, text);
  }
  if (form->plus)
    tide_text_format(text, " %c %lld", form->plus < 0 ? '-' : '+',
                     (long long)(form->plus < 0 ? -form->plus : form->plus));
  if (brackets) tide_text_format(text, ")");
  if (form->modulo) tide_text_format(text, "%%%lld", (long long)form->modulo);
}

bool tide_missing_wait_print(const struct tide_plan *plan, const struct tide_missing_wait *wait,
                             struct tide_text *text) {
  for (size_t i = 0; i < wait->count; i++) {
    const struct tide_wait_guess *guess = &wait->guesses[i];
    if (guess->refuted) continue;
    tide_text_format(text, "%s", plan->program->symbols[wait->symbol].text);
    if (wait->array) {
      tide_text_format(text, "[");
      print_form(plan, &guess->index, text);
      tide_text_format(text, "]");
    }
    tide_text_format(text, " >= %s", guess->negative ? "max(0, " : "");
    print_form(plan, &guess->value, text);
    if (guess->negative) tide_text_format(text, ")");
    return true;
  }
  return false;
}
