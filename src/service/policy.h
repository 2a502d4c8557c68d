/* service/policy.h: who may connect, and how much each may have.
 *
 *      # lines of words; later lines win; nobody without a line of its own differs from `default`
 *      default  priority 8 timelines 128 promises 64
 *      uid 1000 trusted priority 15 bytes 256M
 *      uid 1001 denied
 *      uid 1002 speaks 7       may say how points of domain 7 stand
 *      trust 7                 and is believed before they have ended
 *
 * A uid's line begins with what `default` says at that place. Text in, errors with line and
 * column. */
#ifndef TIDE_SERVICE_POLICY_H
#define TIDE_SERVICE_POLICY_H

#include "service/wire.h"

#define TIDE_POLICY_UIDS 64u
#define TIDE_POLICY_DOMAINS 16u
#define TIDE_POLICY_CHANGES 16u /* of priorities, under way on one channel */

struct tide_policy_rule {
  uint32_t uid;
  bool denied;  /* may not connect */
  bool trusted; /* what it promises is waited for by the service's own channels */
  bool admin;   /* may ask about everybody */
  struct tide_wire_limits limits;
  uint32_t connections; /* at a time */
  uint32_t refusals;    /* a second; who has more is paced */
  uint32_t speaks;      /* for the points of this domain, another service's; 0: none */
};

struct tide_policy {
  struct tide_policy_rule all; /* uid is not used */
  struct tide_policy_rule rules[TIDE_POLICY_UIDS];
  uint32_t count;
  uint32_t clients;                      /* of all uids at a time */
  uint32_t trusted[TIDE_POLICY_DOMAINS]; /* domains that are believed */
  uint32_t trusted_count;
};

/* What holds where nothing is said. */
void tide_policy_init(struct tide_policy *policy);
/* TIDE_CORRUPT, with the place; TIDE_FULL: too many uids, with the place. Then the policy is as it
 * was made by tide_policy_init and the lines before. */
enum tide_status tide_policy_read(struct tide_policy *policy, const char *text, size_t length,
                                  struct tide_diag *diag);
/* All timelines that such a client may have in the room: its own, and those that channels use by
 * themselves, for inserted points and for decreases of priorities. */
static inline uint32_t tide_policy_timelines(const struct tide_wire_limits *limits) {
  return limits->timelines + limits->channels * (1 + TIDE_POLICY_CHANGES);
}
const struct tide_policy_rule *tide_policy_find(const struct tide_policy *policy, uint32_t uid);

#endif
