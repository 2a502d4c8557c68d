/* service/user.h: the connections of one uid, together.
 *
 * The kernel vouches for a uid; a connection costs its owner nothing to close and to open again. So
 * a limit that must hold against the owner belongs to the uid: the number of connections, and the
 * time charged for refusals (pace.c). A uid's record outlives its connections until that time has
 * passed.
 *
 * Used by the serving thread only. */
#ifndef TIDE_SERVICE_USER_H
#define TIDE_SERVICE_USER_H

#include "base/list.h"
#include "service/policy.h"

struct tide_served;
struct tide_service;

struct tide_user {
  struct tide_link link; /* links the service's users */
  uint32_t uid;
  const struct tide_policy_rule *rule;
  uint32_t clients;             /* connections that have said hello */
  uint32_t hellos;              /* connections that have not */
  uint32_t leaving;             /* connections with a hung-up peer */
  struct tide_served *draining; /* the leaving client that is read now; NULL: none */
  uint64_t refused_until;       /* the end of the time that refusals are charged */
  bool is_told;                 /* the event log has the pause; reset after refused_until */
};

/* The most records of uids without a connection. */
#define TIDE_USERS_KEPT 256u

/* Returns the uid's record; makes one if there is none. NULL: no memory. */
struct tide_user *tide_user_find(struct tide_service *service, uint32_t uid);
/* Frees the record unless the uid has connections or charged time left. The end of any connection
 * of the uid calls this: a caller that uses the record across such an end must count in it. */
void tide_user_release(struct tide_service *service, struct tide_user *user);
/* Frees all records. There are no connections left. */
void tide_users_free(struct tide_service *service);

#endif
