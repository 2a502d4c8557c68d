/* The findings of check mode, from their discovery under the lock to their report. */
#include "base/alloc.h"
#include "base/text.h"
#include "sched/check_state.h"

void tide_check_add_finding(struct tide_checker *checker, const struct tide_finding *finding) {
  if (!tide_shadow_grow(&checker->table, (void **)&checker->findings, checker->finding_count,
                        &checker->finding_capacity, sizeof *checker->findings))
    return;
  checker->findings[checker->finding_count++] = *finding;
  checker->sched->calls = true;
}

void tide_check_note(struct tide_sched *sched, const struct tide_diag *diag) {
  struct tide_finding finding = {.diag = *diag, .kind = TIDE_FINDING_OTHER, .count = 1};
  tide_check_add_finding(sched->checker, &finding);
}

/* Takes all findings out of the checker. False: none. */
static bool take_findings(struct tide_sched *sched, struct tide_finding **out_list,
                          size_t *out_count, size_t *out_capacity) {
  tide_lock_take(sched->lock, tide_sched_platform(sched));
  struct tide_checker *checker = sched->checker; /* NULL: destroyed meanwhile */
  bool any = checker && checker->finding_count > 0;
  if (any) {
    *out_list = checker->findings;
    *out_count = checker->finding_count;
    *out_capacity = checker->finding_capacity;
    checker->findings = NULL;
    checker->finding_count = checker->finding_capacity = 0;
  }
  tide_lock_give(sched->lock);
  return any;
}

void tide_check_report(struct tide_sched *sched) {
  struct tide_finding *list;
  size_t count, capacity;
  while (take_findings(sched, &list, &count, &capacity)) {
    for (size_t i = 0; i < count && sched->finding; i++)
      sched->finding(sched->finding_user, &list[i].diag);
    tide_free(sched->context->allocator, list, capacity, sizeof *list);
  }
}

void tide_check_note_limits(struct tide_checker *checker) {
  struct tide_diag diag;
  if (checker->said_full || !checker->table.out_of_memory) return;
  checker->said_full = true;
  tide_diag_set(&diag, TIDE_NOMEM, "check mode ran out of memory: from here on it finds nothing");
  tide_check_note(checker->sched, &diag);
}
