/* What a service that is idle again still holds of the memory of those who were there. */
#include "service_raw.h"

#define CLIENTS 16u
#define CHANNELS 15u
#define COMMANDS 200u
#define KEPT 16384ull /* KiB that may stay */

/* KiB of the process that no file and no other process shares with it. */
static uint64_t own_memory(pid_t process) {
  char name[64], line[256];
  unsigned long long kib = 0;
  snprintf(name, sizeof name, "/proc/%d/status", (int)process);
  FILE *file = fopen(name, "re");
  if (!file) SKIP("%s: %s", name, strerror(errno));
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "RssAnon: %llu kB", &kib) == 1) break;
  fclose(file);
  if (!kib) SKIP("%s has no RssAnon", name);
  return kib;
}

/* Queues much, all of it behind a promise that only its own end breaks. */
static struct tide_session *queue_much(const struct rig *r) {
  struct tide_session *s = rig_connect(r, "much");
  struct tide_future_params large = {.struct_size = sizeof large, .capacity = COMMANDS};
  struct tide_session_channel_params params = {.struct_size = sizeof params, .operations = 256};
  struct tide_point timeline, gate, channel, line, point;
  CHECK_OK(tide_session_create_future(s, NULL, &timeline));
  CHECK_OK(tide_session_promise(s, timeline, TIDE_FOREVER, &gate));
  for (unsigned i = 0; i < CHANNELS; i++) {
    CHECK_OK(tide_session_create_channel(s, &params, &channel));
    CHECK_OK(tide_session_create_channel_future(s, channel, &large, &line));
    for (unsigned k = 0; k < COMMANDS; k++) {
      CHECK_OK(tide_session_promise(s, line, TIDE_FOREVER, &point));
      struct tide_session_operation o = {
          .waits = &gate, .wait_count = 1, .retires = &point, .retire_count = 1};
      CHECK_OK(tide_session_submit(s, channel, &o));
    }
    CHECK_OK(tide_session_sync(s, rig_in(20000)));
  }
  return s;
}

static void rush(const struct rig *r, uint64_t before) {
  struct tide_session *sessions[CLIENTS];
  for (unsigned i = 0; i < CLIENTS; i++) sessions[i] = queue_much(r);
  uint64_t most = own_memory(r->server);
  if (most < before + 4 * KEPT)
    FAIL("%llu KiB at the most, %llu before: nothing could stay", (unsigned long long)most,
         (unsigned long long)before);
  for (unsigned i = 0; i < CLIENTS; i++) tide_session_close(sessions[i]);
}

/* The memory goes back to the system, however often that happens. */
TEST(an_idle_service_gives_memory_back) {
  struct rig r;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  SKIP("the sanitizer's allocator keeps what is freed");
#endif
#ifndef __GLIBC__
  SKIP("this C library has no call for it");
#endif
  rig_open(&r, NULL);
  tide_session_close(rig_connect(&r, "first"));
  uint64_t before = own_memory(r.server), now = 0;
  for (int i = 0; i < 2; i++) {
    rush(&r, before);
    for (unsigned tries = 0; tries < 1500; tries++) {
      now = own_memory(r.server);
      if (now <= before + KEPT) break;
      usleep(20000);
    }
    if (now > before + KEPT)
      FAIL("%llu KiB stay of %llu before", (unsigned long long)now, (unsigned long long)before);
  }
  struct tide_session *s = rig_connect(&r, "last");
  check_victim(s);
  tide_session_close(s);
  rig_close(&r);
}

TEST_MAIN(CASE(an_idle_service_gives_memory_back))
