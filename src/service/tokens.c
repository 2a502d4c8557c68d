/* Tokens: 128 random bits that cannot be guessed, for one object of one client. */
#include "base/alloc.h"
#include "service/served.h"

#include <sys/random.h>

static struct tide_grant **bucket_of(struct tide_service *service, const struct tide_token *token) {
  uint32_t word;
  memcpy(&word, token->bytes, sizeof word);
  return &service->grants[word % TIDE_GRANT_BUCKETS];
}

/* Compares all bytes, so that the time does not depend on the first difference. */
static bool same_token(const struct tide_token *a, const struct tide_token *b) {
  unsigned char difference = 0;
  for (size_t i = 0; i < sizeof a->bytes; i++) difference |= a->bytes[i] ^ b->bytes[i];
  return difference == 0;
}

struct tide_grant *tide_grant_find(struct tide_service *service, const struct tide_token *token) {
  struct tide_grant *grant = *bucket_of(service, token);
  while (grant && !same_token(&grant->token, token)) grant = grant->next;
  return grant;
}

enum tide_status tide_grant_create(struct tide_served *client, struct tide_entry *entry,
                                   bool writable, struct tide_token *out_token) {
  struct tide_service *service = client->service;
  if (client->grants >= client->limits.grants) return TIDE_FULL;
  struct tide_grant *grant = tide_alloc(service->context->allocator, 1, sizeof *grant);
  if (!grant) return TIDE_NOMEM;
  if (getrandom(&grant->token, sizeof grant->token, 0) != (ssize_t)sizeof grant->token) {
    tide_free(service->context->allocator, grant, 1, sizeof *grant);
    return TIDE_UNSUPPORTED;
  }
  struct tide_grant **at = bucket_of(service, &grant->token);
  grant->next = *at;
  *at = grant;
  grant->client = client;
  grant->entry = entry;
  grant->writable = writable;
  tide_list_push_back(&entry->grants, &grant->link);
  client->grants++;
  *out_token = grant->token;
  return TIDE_OK;
}

void tide_grants_drop(struct tide_entry *entry) {
  struct tide_link *link;
  while ((link = tide_list_pop_front(&entry->grants))) {
    struct tide_grant *grant = TIDE_CONTAINER(link, struct tide_grant, link);
    struct tide_service *service = grant->client->service;
    struct tide_grant **at = bucket_of(service, &grant->token);
    while (*at != grant) at = &(*at)->next;
    *at = grant->next;
    grant->client->grants--;
    tide_free(service->context->allocator, grant, 1, sizeof *grant);
  }
}
