/* Sums and maxima; see priority.h. */
#include "point/priority.h"
#include "base/check.h"

static uint8_t level_of(uint8_t level) { return level < TIDE_LEVELS ? level : TIDE_LEVELS - 1; }

static void notify_change(struct tide_priority *priority) {
  if (priority->changed) priority->changed(priority);
}

void tide_priority_init(struct tide_priority *priority, uint8_t base,
                        void (*changed)(struct tide_priority *priority)) {
  *priority = (struct tide_priority){.base = level_of(base), .changed = changed};
  tide_list_init(&priority->decreases);
  tide_list_init(&priority->scopes);
}

uint8_t tide_priority_effective(const struct tide_priority *priority) {
  uint8_t level =
      priority->lower < priority->base ? (uint8_t)(priority->base - priority->lower) : 0;
  if (priority->inherited > level) level = priority->inherited;
  for (uint8_t lent = TIDE_LEVELS; lent-- > level + 1;)
    if (priority->increases[lent]) return lent;
  return level;
}

void tide_priority_set_base(struct tide_priority *priority, uint8_t base) {
  priority->base = level_of(base);
  notify_change(priority);
}

void tide_priority_inherit(struct tide_priority *priority, uint8_t level) {
  priority->inherited = level_of(level);
  notify_change(priority);
}

/* ---- increases ---- */

void tide_increase_end(struct tide_increase *increase) {
  struct tide_priority *priority = increase->of;
  if (!priority) return;
  increase->of = NULL;
  tide_dependency_unlisten(&increase->listener);
  priority->increases[increase->level]--;
  notify_change(priority);
}

static void hear_increase(struct tide_listener *listener, const struct tide_dependency_node *node,
                          struct tide_fired *fired) {
  (void)fired;
  if (node->ended) tide_increase_end(TIDE_CONTAINER(listener, struct tide_increase, listener));
}

void tide_increase_begin(struct tide_increase *increase, struct tide_priority *of,
                         uint8_t requested, uint8_t base_of_caller,
                         struct tide_dependency_node *node) {
  uint8_t level = requested < base_of_caller ? requested : base_of_caller;
  *increase = (struct tide_increase){.listener.notify = hear_increase, .level = level_of(level)};
  tide_list_init(&increase->listener.link);
  if (!node || node->ended) return;
  increase->of = of;
  of->increases[increase->level]++;
  tide_dependency_listen(node, &increase->listener);
  notify_change(of);
}

/* ---- decreases ---- */

static uint64_t covered_below(const struct tide_priority *priority) {
  uint64_t until = 0;
  for (const struct tide_link *link = priority->scopes.next; link != &priority->scopes;
       link = link->next) {
    uint64_t one = TIDE_CONTAINER(link, const struct tide_scope_of_decreases, link)->until;
    if (one > until) until = one;
  }
  return until;
}

static void sum_up(struct tide_priority *priority) {
  uint64_t below = covered_below(priority), sum = 0;
  for (const struct tide_link *link = priority->decreases.next; link != &priority->decreases;
       link = link->next) {
    const struct tide_decrease *decrease = TIDE_CONTAINER(link, const struct tide_decrease, link);
    if (decrease->number >= below) sum += decrease->amount;
  }
  priority->lower = sum;
  notify_change(priority);
}

void tide_decrease_end(struct tide_decrease *decrease) {
  struct tide_priority *priority = decrease->of;
  if (!priority) return;
  decrease->of = NULL;
  tide_dependency_unlisten(&decrease->dependency);
  tide_dependency_unlisten(&decrease->cancel);
  tide_list_remove(&decrease->link);
  if (decrease->number >= covered_below(priority)) priority->lower -= decrease->amount;
  notify_change(priority);
}

static void hear_dependency(struct tide_listener *listener, const struct tide_dependency_node *node,
                            struct tide_fired *fired) {
  (void)fired;
  if (node->ended) tide_decrease_end(TIDE_CONTAINER(listener, struct tide_decrease, dependency));
}

static void hear_cancel(struct tide_listener *listener, const struct tide_dependency_node *node,
                        struct tide_fired *fired) {
  (void)fired;
  if (node->defined || node->ended)
    tide_decrease_end(TIDE_CONTAINER(listener, struct tide_decrease, cancel));
}

void tide_decrease_begin(struct tide_decrease *decrease, struct tide_priority *of, uint32_t amount,
                         struct tide_dependency_node *dependency,
                         struct tide_dependency_node *cancel) {
  *decrease = (struct tide_decrease){
      .dependency.notify = hear_dependency, .cancel.notify = hear_cancel, .amount = amount};
  tide_list_init(&decrease->link);
  tide_list_init(&decrease->dependency.link);
  tide_list_init(&decrease->cancel.link);
  decrease->number = of->made++;
  if (!dependency || dependency->ended) return;
  if (cancel && (cancel->defined || cancel->ended)) return;
  decrease->of = of;
  tide_list_push_back(&of->decreases, &decrease->link);
  if (decrease->number >= covered_below(of)) of->lower += amount;
  tide_dependency_listen(dependency, &decrease->dependency);
  if (cancel) tide_dependency_listen(cancel, &decrease->cancel);
  notify_change(of);
}

void tide_scope_begin(struct tide_priority *priority, struct tide_scope_of_decreases *scope) {
  tide_scope_begin_over(priority, scope, priority->made);
}

void tide_scope_begin_over(struct tide_priority *priority, struct tide_scope_of_decreases *scope,
                           uint64_t until) {
  scope->until = until;
  tide_list_push_back(&priority->scopes, &scope->link);
  sum_up(priority);
}

void tide_scope_end(struct tide_priority *priority, struct tide_scope_of_decreases *scope) {
  (void)priority;
  tide_list_remove(&scope->link);
  sum_up(priority);
}
