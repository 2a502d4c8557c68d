/* The uids' records; see user.h. */
#include "base/alloc.h"
#include "service/served.h"

static void free_user(struct tide_service *service, struct tide_user *user) {
  tide_list_remove(&user->link);
  tide_free(service->context->allocator, user, 1, sizeof *user);
}

static bool is_idle(const struct tide_user *user) {
  return !user->clients && !user->hellos && !user->leaving;
}

/* Frees all idle records without charged time left. Keeps fewer than TIDE_USERS_KEPT of the others;
 * the record with the least charged time goes first. */
static void forget_users(struct tide_service *service) {
  uint64_t now = tide_service_now();
  uint32_t kept = 0;
  struct tide_user *nearest = NULL;
  struct tide_link *link = service->users.next;
  while (link != &service->users) {
    struct tide_user *user = TIDE_CONTAINER(link, struct tide_user, link);
    link = link->next;
    if (!is_idle(user)) continue;
    if (user->refused_until <= now) {
      free_user(service, user);
      continue;
    }
    kept++;
    if (!nearest || user->refused_until < nearest->refused_until) nearest = user;
  }
  if (kept >= TIDE_USERS_KEPT) free_user(service, nearest);
}

struct tide_user *tide_user_find(struct tide_service *service, uint32_t uid) {
  for (struct tide_link *link = service->users.next; link != &service->users; link = link->next) {
    struct tide_user *user = TIDE_CONTAINER(link, struct tide_user, link);
    if (user->uid == uid) return user;
  }
  forget_users(service);
  struct tide_user *user = tide_alloc(service->context->allocator, 1, sizeof *user);
  if (!user) return NULL;
  user->uid = uid;
  user->rule = tide_policy_find(&service->policy, uid);
  tide_list_push_back(&service->users, &user->link);
  return user;
}

void tide_user_release(struct tide_service *service, struct tide_user *user) {
  if (is_idle(user) && user->refused_until <= tide_service_now()) free_user(service, user);
}

void tide_users_free(struct tide_service *service) {
  while (!tide_list_empty(&service->users))
    free_user(service, TIDE_CONTAINER(service->users.next, struct tide_user, link));
}
