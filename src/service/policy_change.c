/* The policy of a running service, and the capacity that a policy needs.
 *
 *      any thread:          text --- read, checked ---> next_policy
 *      the serving thread:  next_policy --- at the next round ---> policy
 *
 * Clients keep copies of their rules. A uid's record takes the new rule at once, for its limits are
 * those of all the uid's connections together. */
#include "base/alloc.h"
#include "service/served.h"

#include <unistd.h>

static const struct tide_allocator *allocator_of(const struct tide_service *service) {
  return service->context->allocator;
}

/* ---- capacity ---- */

/* Returns the capacity for the quotas of all clients, so that no client uses another's. As much
 * again is for leaving clients and the commands of gone ones (leave.c). */
static uint32_t room_for(const struct tide_policy *policy, uint32_t most_each) {
  uint64_t all = 2 * (uint64_t)policy->clients * most_each;
  uint32_t most = (1u << 20) - TIDE_ENDED_POINTS;
  return all > most ? most : (uint32_t)all;
}

/* Returns the capacity for the parts of leaving clients. */
static uint32_t spare_for(const struct tide_policy *policy, uint32_t most_each) {
  uint32_t some = room_for(policy, most_each) / 8;
  return some > most_each ? some : most_each;
}

struct tide_policy_room tide_policy_room(const struct tide_policy *policy) {
  uint32_t timelines = tide_policy_timelines(&policy->all.limits);
  uint32_t parts = policy->all.limits.parts;
  for (uint32_t i = 0; i < policy->count; i++) {
    const struct tide_wire_limits *limits = &policy->rules[i].limits;
    uint32_t these = tide_policy_timelines(limits);
    if (these > timelines) timelines = these;
    if (limits->parts > parts) parts = limits->parts;
  }
  struct tide_policy_room room = {.timelines = room_for(policy, timelines) + TIDE_ENDED_POINTS,
                                  .spare_parts = spare_for(policy, parts)};
  room.parts = room_for(policy, parts ? parts : 1) / 2 + 1 + room.spare_parts;
  return room;
}

/* ---- a new policy ---- */

/* The rooms are those of the first policy. */
static enum tide_status check_room(const struct tide_service *service,
                                   const struct tide_policy *policy, struct tide_diag *diag) {
  struct tide_policy_room room = tide_policy_room(policy);
  const struct tide_points *points = service->points;
  if (room.timelines <= points->slot_count && room.parts <= points->part_count) return TIDE_OK;
  return tide_diag_set(diag, TIDE_FULL,
                       "the quotas of all clients need room for %u timelines and %u parts, but the "
                       "service was started with %u and %u: start it again with this policy",
                       room.timelines, room.parts, points->slot_count, points->part_count);
}

static bool names_domain(const struct tide_policy *policy, uint32_t domain) {
  for (uint32_t i = 0; i < policy->trusted_count; i++)
    if (policy->trusted[i] == domain) return true;
  return false;
}

/* Trusts the policy's domains from now on. What they have said before goes on to count, so none is
 * taken back. */
static enum tide_status change_trust(struct tide_service *service, const struct tide_policy *policy,
                                     struct tide_diag *diag) {
  struct tide_points *points = service->points;
  uint32_t missing = 0;
  struct tide_lock *lock = tide_points_lock(points);
  for (uint32_t i = 0; i < points->trusted.count; i++)
    if (!names_domain(policy, points->trusted.list[i])) missing = points->trusted.list[i];
  tide_lock_give(lock);
  if (missing)
    return tide_diag_set(diag, TIDE_INVALID,
                         "'trust %u' is missing: a domain is trusted until the service ends",
                         missing);
  enum tide_status status = TIDE_OK;
  for (uint32_t i = 0; status == TIDE_OK && i < policy->trusted_count; i++)
    status = tide_points_trust(points, policy->trusted[i]);
  return status == TIDE_OK ? TIDE_OK : tide_diag_set(diag, status, "trust: too many domains");
}

enum tide_status tide_service_set_policy(struct tide_service *service, const char *text,
                                         size_t length, struct tide_diag *diag) {
  const struct tide_allocator *allocator = allocator_of(service);
  struct tide_policy *next = tide_alloc(allocator, 1, sizeof *next);
  uint64_t one = 1;
  if (!next) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  tide_policy_init(next);
  enum tide_status status = tide_policy_read(next, text, text ? length : 0, diag);
  if (status == TIDE_OK) status = check_room(service, next, diag);
  if (status == TIDE_OK) status = change_trust(service, next, diag);
  if (status == TIDE_OK) next = tide_exchange(&service->next_policy, next);
  tide_free(allocator, next, 1, sizeof *next); /* the refused one, or one that came too late */
  if (status == TIDE_OK) (void)!write(service->bell, &one, sizeof one);
  return status;
}

/* Gives the connection, which is no client yet, the new limits of its uid; or ends it. */
static void change_connection(struct tide_served *client) {
  *client->rule = *client->user->rule;
  client->limits = client->rule->limits;
  if (client->rule->denied) tide_served_end(client, TIDE_DENIED);
  else if (!client->rule->connections) tide_served_end(client, TIDE_FULL);
}

static void change_connections(const struct tide_link *connections) {
  struct tide_link *link = connections->next;
  while (link != connections) {
    struct tide_served *client = TIDE_CONTAINER(link, struct tide_served, link);
    link = link->next; /* the call unlinks this client only */
    change_connection(client);
  }
}

void tide_policy_follow(struct tide_service *service) {
  struct tide_policy *next = tide_exchange(&service->next_policy, NULL);
  if (!next) return;
  service->policy = *next;
  service->spare_parts = tide_policy_room(next).spare_parts; /* check_room: there are as many */
  tide_free(allocator_of(service), next, 1, sizeof *next);
  for (struct tide_link *link = service->users.next; link != &service->users; link = link->next) {
    struct tide_user *user = TIDE_CONTAINER(link, struct tide_user, link);
    user->rule = tide_policy_find(&service->policy, user->uid);
  }
  change_connections(&service->hellos);
  change_connections(&service->waiting);
}

void tide_policy_forget_next(struct tide_service *service) {
  if (service->context)
    tide_free(allocator_of(service), service->next_policy, 1, sizeof *service->next_policy);
}
