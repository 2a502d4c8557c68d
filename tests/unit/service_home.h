/* A service on a thread of this process. */
#ifndef TESTS_SERVICE_HOME_H
#define TESTS_SERVICE_HOME_H

#include "service_rig.h"

#include <pthread.h>

struct home {
  struct rig r;
  struct tide_service *service;
  pthread_t thread;
  uint32_t is_over; /* atomic: tide_service_run has returned */
  enum tide_status status;
};

static void *home_serve(void *home) {
  struct home *h = home;
  h->status = tide_service_run(h->service);
  __atomic_store_n(&h->is_over, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

__attribute__((unused)) static bool home_is_over(struct home *h) {
  return __atomic_load_n(&h->is_over, __ATOMIC_SEQ_CST);
}

/* At the path that h->r has. */
__attribute__((unused)) static void home_start(struct home *h, const char *policy) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_service_params params = {.struct_size = sizeof params,
                                       .socket = h->r.path,
                                       .policy = policy,
                                       .policy_length = strlen(policy),
                                       .workers = 1};
  h->is_over = 0;
  if (tide_service_create(&params, &h->service, &diag) != TIDE_OK) FAIL("service: %s", diag.text);
  CHECK(pthread_create(&h->thread, NULL, home_serve, h) == 0);
}

__attribute__((unused)) static void home_open(struct home *h, const char *policy) {
  snprintf(h->r.folder, sizeof h->r.folder, "/tmp/tidemark-test-XXXXXX");
  CHECK(mkdtemp(h->r.folder) != NULL);
  snprintf(h->r.path, sizeof h->r.path, "%s/socket", h->r.folder);
  home_start(h, policy);
}

/* What a client hears that connects. */
__attribute__((unused)) static enum tide_status home_try(const struct home *h) {
  struct tide_session_params params = {.struct_size = sizeof params, .socket = h->r.path};
  struct tide_session *session = NULL;
  enum tide_status status = tide_session_connect(&params, &session, NULL);
  tide_session_close(session);
  return status;
}

/* The service ends by itself, with this status. */
__attribute__((unused)) static void home_join(struct home *h, enum tide_status status) {
  CHECK(pthread_join(h->thread, NULL) == 0);
  CHECK_STATUS(h->status, status);
  tide_service_destroy(h->service);
}

__attribute__((unused)) static void home_close(struct home *h) {
  tide_service_stop(h->service);
  home_join(h, TIDE_OK);
  CHECK(rmdir(h->r.folder) == 0);
}

#endif
