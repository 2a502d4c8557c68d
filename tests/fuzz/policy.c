/* The policy's text: it is refused with a place inside of it, or what it says is within bounds. */
#include "base/check.h"
#include "service/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct tide_policy_rule *rule) {
  TIDE_ASSERT(rule->refusals >= 1 && rule->refusals <= 1u << 20);
  const struct tide_wire_limits *l = &rule->limits;
  TIDE_ASSERT(l->priority >= 1 && l->priority <= 15);
  TIDE_ASSERT(l->cells >= 64 && l->cells <= 1u << 16 && (l->cells & (l->cells - 1)) == 0);
  TIDE_ASSERT(l->handles >= 1 && l->handles <= 1u << 16 && l->timelines >= 1 && l->waits >= 1);
  TIDE_ASSERT(l->promises >= 1 && l->operations >= 1 && l->channels <= 1024);
  TIDE_ASSERT(l->bytes <= 1ull << 40);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tide_policy policy;
  struct tide_diag diag = {.status = TIDE_OK};
  uint32_t lines = 1;
  for (size_t i = 0; i < size; i++) lines += data[i] == '\n';
  tide_policy_init(&policy);
  enum tide_status status = tide_policy_read(&policy, (const char *)data, size, &diag);
  TIDE_ASSERT(status == TIDE_OK || status == TIDE_CORRUPT || status == TIDE_FULL);
  if (status != TIDE_OK) {
    TIDE_ASSERT(diag.status == status && diag.text[0]);
    TIDE_ASSERT(diag.line >= 1 && diag.line <= lines);
    TIDE_ASSERT(diag.column >= 1 && diag.column <= size + 1);
  }
  check_rule(&policy.all);
  TIDE_ASSERT(policy.count <= TIDE_POLICY_UIDS && policy.clients >= 1 && policy.clients <= 4096);
  for (uint32_t i = 0; i < policy.count; i++) {
    check_rule(&policy.rules[i]);
    TIDE_ASSERT(tide_policy_find(&policy, policy.rules[i].uid) == &policy.rules[i]);
  }
  return 0;
}
