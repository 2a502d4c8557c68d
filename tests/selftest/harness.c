/* The harness' own test: each case but the first and last must be seen to fail, and
 * tests/cases/harness.sh looks whether it is, and why. Not run by ./test directly. */
#include "harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int zero;
static const char two_lines[] = "one\ntwo";

static void *check_in_thread(void *argument) {
  CHECK_EQ_U64(2 + (uint64_t)zero, 3);
  return argument;
}

static void *sleep_in_thread(void *argument) {
  pause();
  return argument;
}

static void start(void *(*entry)(void *)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, entry, NULL) == 0);
  pthread_detach(thread);
}

TEST(good) { CHECK(1); }
TEST(check) { CHECK(zero); }
TEST(text) { CHECK_EQ_STR(two_lines, "three"); }
TEST(status) { CHECK_OK(7); }
TEST(crash) { abort(); }
TEST(hang) {
  for (;;) pause();
}
TEST(descriptor) { CHECK(dup(1) >= 0); }
TEST(thread_left) { start(sleep_in_thread); }
TEST(thread_check) {
  start(check_in_thread);
  for (;;) pause();
}
TEST(early_exit) { exit(0); }
TEST(exit_status) { exit(3); }
TEST(skipped) { SKIP("because of %s", "reasons"); }

TEST_MAIN(CASE(good), CASE(check), CASE(text), CASE(status), CASE(crash), CASE_SECONDS(hang, 1),
          CASE(descriptor), CASE(thread_left), CASE(thread_check), CASE(early_exit),
          CASE(exit_status), CASE(skipped))
