/* The policy's text, and a new policy for a service that runs. */
#include "service/policy.h"
#include "service_home.h"
#include "service_raw.h"

struct row {
  const char *text;
  unsigned line, column;
  const char *message;
};

static void check_refused(const struct row *row) {
  struct tide_policy policy;
  struct tide_diag diag = {.status = TIDE_OK};
  tide_policy_init(&policy);
  enum tide_status status = tide_policy_read(&policy, row->text, strlen(row->text), &diag);
  if (status != TIDE_CORRUPT || diag.line != row->line || diag.column != row->column ||
      strcmp(diag.text, row->message) != 0)
    FAIL("%s: %s at %u:%u: %s", row->text, tide_status_name(status), (unsigned)diag.line,
         (unsigned)diag.column, diag.text);
}

TEST(values_out_of_range) {
  static const struct row rows[] = {
      {"default priority 16", 1, 18, "priority: a number from 1 to 15 is expected, not '16'"},
      {"\ndefault priority 0", 2, 18, "priority: a number from 1 to 15 is expected, not '0'"},
      {"uid 7 handles 64K\nuid 8 handles 65537", 2, 15,
       "handles: a number from 1 to 65536 is expected, not '65537'"},
      {"uid 7 channels 1025", 1, 16, "channels: a number from 0 to 1024 is expected, not '1025'"},
      {"uid 7 cells 63", 1, 13, "cells: a number from 64 to 65536 is expected, not '63'"},
      {"uid 7 refusals 2M", 1, 16, "refusals: a number from 1 to 1048576 is expected, not '2M'"},
      {"uid 7 bytes 1025G", 1, 13,
       "bytes: a size from 0 to 1024G is expected, such as 64M, not '1025G'"},
      {"uid 7 speaks 4294967296", 1, 14,
       "speaks: a number from 0 to 4294967295 is expected, not '4294967296'"},
      {"uid 4294967296 denied", 1, 5, "a uid from 0 to 4294967295 is expected, not '4294967296'"},
      {"trust 0", 1, 7, "trust: a number from 1 to 4294967295 is expected, not '0'"},
      {"clients 4097", 1, 9, "clients: a number from 1 to 4096 is expected, not '4097'"},
      {"default waits -1", 1, 15, "waits: a number from 1 to 65536 is expected, not '-1'"},
      {"default waits", 1, 14,
       "waits: a number from 1 to 65536 is expected, not the end of the line"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_refused(&rows[i]);
}

TEST(a_uid_speaks_for_one_domain) {
  static const struct row rows[] = {
      {"uid 7 speaks 1 speaks 2", 1, 16, "speaks: one domain is expected, and line 1 has named it"},
      {"uid 7 speaks 1\nuid 8 speaks 2\nuid 7 priority 3 speaks 4", 3, 18,
       "speaks: one domain is expected, and line 1 has named it"},
      {"default speaks 1\n\ndefault speaks 2", 3, 9,
       "speaks: one domain is expected, and line 1 has named it"},
  };
  static const char good[] = "default speaks 1\nuid 7 speaks 2\nuid 8 priority 3\nuid 9 speaks 0\n";
  struct tide_policy policy;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_refused(&rows[i]);
  tide_policy_init(&policy);
  CHECK_OK(tide_policy_read(&policy, good, sizeof good - 1, NULL));
  CHECK_EQ_U64(tide_policy_find(&policy, 7)->speaks, 2);
  CHECK_EQ_U64(tide_policy_find(&policy, 8)->speaks, 1);
  CHECK_EQ_U64(tide_policy_find(&policy, 9)->speaks, 0);
  CHECK_EQ_U64(tide_policy_find(&policy, 10)->speaks, 1);
}

/* ---- a new policy ---- */

static void set_policy(struct home *h, const char *policy) {
  struct tide_diag diag = {.status = TIDE_OK};
  if (tide_service_set_policy(h->service, policy, strlen(policy), &diag) != TIDE_OK)
    FAIL("%s: %s", policy, diag.text);
}

static void check_policy_refused(struct home *h, const char *policy, enum tide_status status,
                                 const char *why) {
  struct tide_diag diag = {.status = TIDE_OK};
  CHECK_STATUS(tide_service_set_policy(h->service, policy, strlen(policy), &diag), status);
  if (!strstr(diag.text, why)) FAIL("%s: %s", policy, diag.text);
}

/* The session may have so many channels more. */
static void check_channels(struct tide_session *s, unsigned more) {
  struct tide_point channel;
  for (unsigned i = 0; i < more; i++) CHECK_OK(tide_session_create_channel(s, NULL, &channel));
  CHECK_STATUS(tide_session_create_channel(s, NULL, &channel), TIDE_FULL);
}

TEST(clients_keep_their_limits) {
  struct home h;
  home_open(&h, "default channels 2");
  struct tide_session *before = rig_connect(&h.r, "before");
  struct tide_point channel;
  CHECK_OK(tide_session_create_channel(before, NULL, &channel));
  set_policy(&h, "default channels 1");
  struct tide_session *behind = rig_connect(&h.r, "behind");
  check_channels(behind, 1);
  check_channels(before, 1);
  set_policy(&h, "default channels 2 denied");
  CHECK_STATUS(home_try(&h), TIDE_DENIED);
  check_victim(before);
  check_victim(behind);
  set_policy(&h, "default channels 2 connections 2");
  CHECK_STATUS(home_try(&h), TIDE_FULL);
  tide_session_close(behind);
  behind = rig_connect(&h.r, "last");
  check_channels(behind, 2);
  set_policy(&h, "clients 1"); /* of default quotas: less room */
  CHECK_STATUS(home_try(&h), TIDE_FULL);
  tide_session_close(behind);
  tide_session_close(before);
  home_close(&h);
}

TEST(bad_policies_change_nothing) {
  struct home h;
  home_open(&h, "default channels 3\ntrust 7\n");
  check_policy_refused(&h, "default channels 2\ntrust 7\nuid 1 priority 77", TIDE_CORRUPT,
                       "priority: a number from 1 to 15 is expected, not '77'");
  check_policy_refused(&h, "trust 7\ndefault channels 2 timelines 65536", TIDE_FULL,
                       "the service was started with");
  check_policy_refused(&h, "trust 7\ndefault channels 2 parts 65536", TIDE_FULL,
                       "the service was started with");
  check_policy_refused(&h, "default channels 2", TIDE_INVALID, "'trust 7' is missing");
  struct tide_session *s = rig_connect(&h.r, "session");
  check_channels(s, 3);
  set_policy(&h, "default channels 2\ntrust 7\ntrust 8\n");
  check_policy_refused(&h, "trust 7\ndefault channels 2", TIDE_INVALID, "'trust 8' is missing");
  CHECK_OK(tide_session_trust(s, 8));
  tide_session_close(s);
  home_close(&h);
}

/* A connection without a hello is no client yet. */
TEST(connections_take_the_new_policy) {
  struct home h;
  struct tide_wire_message message;
  home_open(&h, "");
  tide_session_close(rig_connect(&h.r, "first"));
  int socket = tide_socket_connect(h.r.path, TIDE_FOREVER);
  CHECK(socket >= 0);
  tide_session_close(rig_connect(&h.r, "next")); /* so the one before it was accepted */
  set_policy(&h, "default denied");
  struct pollfd one = {.fd = socket, .events = POLLIN};
  CHECK(poll(&one, 1, 5000 * (int)test_slowdown()) == 1);
  CHECK_OK(tide_message_receive(socket, &message, NULL, 0));
  CHECK(message.kind == TIDE_WIRE_GOODBYE);
  CHECK_STATUS((enum tide_status)message.status, TIDE_DENIED);
  close(socket);
  home_close(&h);
}

/* Policies come from several threads, while clients come and go. */
static void *change_often(void *home) {
  static const char *const policies[] = {"default channels 2", "clients 3\ndefault channels 2\n",
                                         "default connections 5", "default priority 0"};
  struct home *h = home;
  for (unsigned i = 0; i < 400; i++) {
    const char *policy = policies[i % 4];
    enum tide_status status = tide_service_set_policy(h->service, policy, strlen(policy), NULL);
    CHECK_STATUS(status, i % 4 == 3 ? TIDE_CORRUPT : TIDE_OK);
  }
  return NULL;
}

TEST(policies_from_several_threads) {
  struct home h;
  pthread_t threads[2];
  home_open(&h, "");
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, change_often, &h) == 0);
  for (int i = 0; i < 50; i++) {
    struct tide_session *s = rig_connect(&h.r, "session");
    check_victim(s);
    tide_session_close(s);
  }
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  home_close(&h);
}

TEST_MAIN(CASE(values_out_of_range), CASE(a_uid_speaks_for_one_domain),
          CASE(clients_keep_their_limits), CASE(bad_policies_change_nothing),
          CASE(connections_take_the_new_policy), CASE(policies_from_several_threads))
