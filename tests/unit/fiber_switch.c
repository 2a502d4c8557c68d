/* Switching stacks: the processor's own way, and the portable one for all other processors. */
#include "harness.h"

#include <fenv.h>
#include <stdlib.h>

#include "wic/fiber_switch.h"

/* Where the processor's own way is the portable one, it is tested twice. */
#define own_place tide_fiber_domain
#define own_swap tide_fiber_swap
#define own_init tide_fiber_domain_init
#define own_floats tide_fiber_plain_floats

#ifndef TIDE_FIBER_UCONTEXT
#define TIDE_FIBER_UCONTEXT
#undef TIDE_WIC_FIBER_SWITCH_H
#define tide_fiber_domain portable_place
#define tide_fiber_swap portable_swap
#define tide_fiber_domain_init portable_init
#define tide_fiber_plain_floats portable_floats
#include "wic/fiber_switch.c"
#undef tide_fiber_domain
#undef tide_fiber_swap
#undef tide_fiber_domain_init
#undef tide_fiber_plain_floats
#else
#define portable_place tide_fiber_domain
#define portable_swap tide_fiber_swap
#define portable_init tide_fiber_domain_init
#define portable_floats tide_fiber_plain_floats
#endif

#define STACK 65536

struct talk {
  void *here, *there; /* places */
  int left, said;
};

/* Many values that live across a switch, so that all registers that a callee keeps are in use. */
#define HEARS(way)                                                                                 \
  static void way##_hears(void *passed) {                                                          \
    struct talk *t = passed;                                                                       \
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7;                                      \
    volatile uint64_t twin[7] = {1, 2, 3, 4, 5, 6, 7}; /* in memory, whatever happens */           \
    double x = 0.5, y = 0.25;                                                                      \
    CHECK(((uintptr_t)__builtin_frame_address(0) & 15) == 0);                                      \
    CHECK(fegetround() == FE_TONEAREST);                                                           \
    fesetround(FE_UPWARD);                                                                         \
    for (;;) {                                                                                     \
      t->said++;                                                                                   \
      CHECK(way##_swap(t->there, t->here, t) == t);                                                \
      CHECK(fegetround() == FE_UPWARD);                                                            \
      a += b, b += c, c += d, d += e, e += f, f += g, g += 1, x += y;                              \
      for (int i = 0; i < 7; i++) twin[i] += i < 6 ? twin[i + 1] : 1;                              \
      CHECK(x == 0.5 + 0.25 * t->said);                                                            \
      CHECK(a == twin[0] && b == twin[1] && c == twin[2] && d == twin[3]);                         \
      CHECK(e == twin[4] && f == twin[5] && g == twin[6]);                                         \
    }                                                                                              \
  }                                                                                                \
  TEST(way##_way) {                                                                                \
    struct way##_place here, there;                                                                \
    struct talk t = {&here, &there, 1000, 0};                                                      \
    char *stack = malloc(STACK);                                                                   \
    fesetround(FE_DOWNWARD);                                                                       \
    fesetround(FE_TONEAREST);                                                                      \
    way##_init(&there, stack, STACK - 8, way##_hears);                                             \
    fesetround(FE_DOWNWARD);                                                                       \
    for (int i = 1; i <= t.left; i++) {                                                            \
      way##_swap(&here, &there, &t);                                                               \
      CHECK(fegetround() == FE_DOWNWARD);                                                          \
      CHECK_EQ_U64((uint64_t)t.said, (uint64_t)i);                                                 \
    }                                                                                              \
    way##_floats();                                                                                \
    CHECK(fegetround() == FE_TONEAREST);                                                           \
    free(stack);                                                                                   \
  }

HEARS(own)
HEARS(portable)

TEST_MAIN(CASE(own_way), CASE(portable_way))
