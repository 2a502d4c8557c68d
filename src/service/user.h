/* service/user.h: the connections of one uid, together.
 *
 * The uid is what the kernel vouches for; a connection costs its owner nothing to close and to open
 * again. So a limit that must hold against its owner belongs to the uid: how many connections there
 * are, and how many refusals are still to be made up for (pace.c). A uid's record outlives its
 * connections until these are.
 *
 * The serving thread's alone. */
#ifndef TIDE_SERVICE_USER_H
#define TIDE_SERVICE_USER_H

#include "base/list.h"
#include "service/policy.h"

struct tide_served;
struct tide_service;

struct tide_user {
  struct tide_link link; /* of the service's */
  uint32_t uid;
  const struct tide_policy_rule *rule;
  uint32_t clients;             /* its connections that have said hello */
  uint32_t hellos;              /* those that have not */
  uint32_t leaving;             /* and those whose peer has hung up */
  struct tide_served *draining; /* of the leaving ones, that whose ring is read; or NULL */
  uint64_t refused_until;       /* its refusals have used up the time until then */
  bool is_told;                 /* of this, in the event log; until it is made up for */
};

/* Records of uids without a connection, at most. */
#define TIDE_USERS_KEPT 256u

/* Returns the uid's record, an empty one if there was none. NULL: no memory. */
struct tide_user *tide_user_find(struct tide_service *service, uint32_t uid);
/* Frees the record unless it has connections or something to make up for. The end of any connection
 * of the uid does so: a caller that uses the record across such an end counts in it. */
void tide_user_release(struct tide_service *service, struct tide_user *user);
/* Frees all of them; there are no connections. */
void tide_users_free(struct tide_service *service);

#endif
