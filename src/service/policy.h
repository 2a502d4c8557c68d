/* service/policy.h: the uids that may connect, and the limits of each.
 *
 *      # lines of words; later lines win; a uid without a line of its own has those of `default`
 *      default  priority 8 timelines 128 promises 64
 *      uid 1000 trusted priority 15 bytes 256M
 *      uid 1001 denied
 *      uid 1002 speaks 7       may report the states of domain 7's points
 *      trust 7                 and its reports count before the points have ended
 *
 * A uid's line starts from the state of `default` at that line. A uid speaks for one domain: a
 * second `speaks` of it is an error, also on another line. Errors in the text come with line and
 * column, and with the values that are allowed. */
#ifndef TIDE_SERVICE_POLICY_H
#define TIDE_SERVICE_POLICY_H

#include "service/wire.h"

#define TIDE_POLICY_UIDS 64u
#define TIDE_POLICY_DOMAINS 16u
#define TIDE_POLICY_CHANGES 16u /* changes of priorities under way on one channel */

struct tide_policy_rule {
  uint32_t uid;
  bool denied;  /* may not connect */
  bool trusted; /* trusted clients' channels may wait for its promises */
  bool admin;   /* may ask about all clients */
  struct tide_wire_limits limits;
  uint32_t connections; /* at the same time */
  uint32_t refusals;    /* per second; a uid with more is paced */
  uint32_t speaks;      /* the foreign domain that it may report points of; 0: none */
  uint32_t speaks_line; /* the line of the text that says so for this uid; 0: none */
};

struct tide_policy {
  struct tide_policy_rule all; /* the `default` line; uid is not used */
  struct tide_policy_rule rules[TIDE_POLICY_UIDS];
  uint32_t count;
  uint32_t clients;                      /* the most clients of all uids at the same time */
  uint32_t trusted[TIDE_POLICY_DOMAINS]; /* foreign domains with trusted reports */
  uint32_t trusted_count;
};

/* Fills in the defaults: the policy of an empty text. */
void tide_policy_init(struct tide_policy *policy);
/* Reads the text into an initialized policy. TIDE_CORRUPT, with the location; TIDE_FULL: too many
 * uids, with the location. On an error the policy holds the lines before it. */
enum tide_status tide_policy_read(struct tide_policy *policy, const char *text, size_t length,
                                  struct tide_diag *diag);
/* Returns the number of timelines that such a client may have in the domain. Beside its own,
 * channels use some for inserted points and for decreases of priorities. */
static inline uint32_t tide_policy_timelines(const struct tide_wire_limits *limits) {
  return limits->timelines + limits->channels * (1 + TIDE_POLICY_CHANGES);
}
const struct tide_policy_rule *tide_policy_find(const struct tide_policy *policy, uint32_t uid);

#endif
