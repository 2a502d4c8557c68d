/* Axes: their names and the lease that hands them out. */
#include "causal/tracker.h"
#include "base/atomic.h"
#include "tidemark/causal.h"

const char *tide_domain_name(unsigned domain) {
  static const char *const names[TIDE_DOMAIN_COUNT] = {
      [TIDE_DOMAIN_QUEUE] = "queue",       [TIDE_DOMAIN_COLLECTIVE] = "collective",
      [TIDE_DOMAIN_HOST] = "host",         [TIDE_DOMAIN_STORAGE] = "storage",
      [TIDE_DOMAIN_NETWORK] = "network",   [TIDE_DOMAIN_KERNEL] = "kernel",
      [TIDE_DOMAIN_EXTERNAL] = "external",
  };
  return domain < TIDE_DOMAIN_COUNT ? names[domain] : NULL;
}

void tide_lease_init(struct tide_lease *lease, uint16_t machine) {
  lease->machine = machine;
  for (unsigned domain = 0; domain < TIDE_DOMAIN_COUNT; domain++) {
    lease->next[domain] = 1;
    lease->end[domain] = tide_domain_name(domain) ? TIDE_ORDINAL_MAX + 1 : 1;
  }
}

/* The check against the end and the step are one exchange, so that threads that race for the last
 * ordinal cannot push `next` past the end. */
enum tide_status tide_lease_take(struct tide_lease *lease, enum tide_domain domain,
                                 tide_axis *out_axis) {
  if (!tide_domain_name((unsigned)domain)) return TIDE_INVALID;
  uint64_t *next = &lease->next[domain];
  uint64_t ordinal = tide_load_relaxed(next);
  do {
    if (ordinal >= lease->end[domain] || ordinal > TIDE_ORDINAL_MAX) return TIDE_EXHAUSTED;
  } while (!tide_compare_exchange(next, &ordinal, ordinal + 1));
  *out_axis = tide_axis_make(lease->machine, domain, ordinal);
  return TIDE_OK;
}

void tide_lease_return(struct tide_lease *lease, tide_axis axis) {
  uint64_t *next = &lease->next[tide_axis_domain(axis)];
  uint64_t newest = tide_axis_ordinal(axis) + 1;
  (void)tide_compare_exchange(next, &newest, newest - 1);
}
