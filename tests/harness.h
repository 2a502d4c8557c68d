/* tests/harness.h: what a test program is made of.
 *
 *   #include "harness.h"
 *
 *   TEST(merge_keeps_the_larger) {
 *     CHECK(…);
 *     CHECK_EQ_U64(got, want);
 *   }
 *
 *   TEST_MAIN(CASE(merge_keeps_the_larger), CASE(…))
 *
 * Each case runs in a child process of its own: a crash, a hang (60 s, then it is
 * killed) or a descriptor or thread left behind fails that case alone. A program
 * prints one line a case, `PASS name`, `FAIL name: why` or `SKIP name: why`, and
 * exits 0, or 1 when one failed. A case that no table lists does not compile
 * (unused function).
 *
 *   PROGRAM [--filter TEXT] [--no-fork] [--list] [NAME…]
 *
 * --no-fork is for debuggers; it stops at the first failure. A check that fails ends
 * its case at once, from whichever thread.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test_case {
  const char *name;
  void (*run)(void);
  const void *given; /* what test_given() answers in this case */
  unsigned seconds;  /* until it counts as hung; 0 = 60 */
};

#define TEST(name) static void case_##name(void)
#define CASE(name)                                                                                 \
  { #name, case_##name, NULL, 0 }
#define CASE_SECONDS(name, seconds)                                                                \
  { #name, case_##name, NULL, (seconds) }

#define TEST_MAIN(...)                                                                             \
  int main(int argc, char **argv) {                                                                \
    static const struct test_case cases[] = {__VA_ARGS__};                                         \
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases);                             \
  }

/* For programs that make their table themselves (one suite over many devices). */
int test_main(int argc, char **argv, const struct test_case *cases, size_t count);

const void *test_given(void);
/* What is open and running now may be left behind, as by a driver that stays loaded. */
void test_begin_again(void);
/* The time limits are scaled by $TEST_SLOWDOWN (sanitizers); so may a case's own sizes be. */
unsigned test_slowdown(void);

/* What must come after another thread's wait has begun waits until that thread sleeps, and never
 * for a time. The thread writes its number first (0: it has not begun); the other one waits until
 * it sleeps, in the kernel or in the library. */
void test_thread_begins(uint32_t *out_thread);
void test_await_asleep(const uint32_t *thread);

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...) test_skip(__VA_ARGS__)
#define CHECK(what)                                                                                \
  do {                                                                                             \
    if (!(what)) FAIL("not true: %s", #what);                                                      \
  } while (0)
#define CHECK_EQ_U64(got, want) test_eq_u64(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_EQ_STR(got, want) test_eq_str(__FILE__, __LINE__, #got, (got), (want))
/* For enum tide_status: says both names. */
#define CHECK_STATUS(got, want)                                                                    \
  test_status(__FILE__, __LINE__, #got, (unsigned)(got), (unsigned)(want))
#define CHECK_OK(got) CHECK_STATUS(got, 0)

void test_eq_u64(const char *file, int line, const char *what, uint64_t got, uint64_t want);
void test_eq_str(const char *file, int line, const char *what, const char *got, const char *want);
void test_status(const char *file, int line, const char *what, unsigned got, unsigned want);

#endif
