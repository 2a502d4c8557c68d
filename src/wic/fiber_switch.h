/* wic/fiber_switch.h: switching from one stack to another.
 *
 * A switch saves the state that a function call preserves: the callee-saved registers and the
 * rounding mode. All else is on the stack, or saved by the compiler, since it sees a call. So no
 * system call is needed, unlike with swapcontext, which sets the signal mask. */
#ifndef TIDE_WIC_FIBER_SWITCH_H
#define TIDE_WIC_FIBER_SWITCH_H

#include <stddef.h>

#if !defined(TIDE_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define TIDE_FIBER_UCONTEXT
#endif

/* The point at which a suspended stack resumes. */
#ifdef TIDE_FIBER_UCONTEXT
#include <ucontext.h>
struct tide_fiber_domain {
  ucontext_t context;
  void (*entry)(void *passed);
  void *passed;
};
#else
struct tide_fiber_domain {
  void *stack; /* the saved registers lie here */
};
#endif

/* Saves the current point in *from and resumes *to. Returns when another call resumes *from, on any
 * thread, with that call's `passed`. */
void *tide_fiber_swap(struct tide_fiber_domain *from, struct tide_fiber_domain *to, void *passed);
/* Prepares an empty stack: the first swap to `place` calls entry(passed), which must not return. */
void tide_fiber_domain_init(struct tide_fiber_domain *place, void *stack, size_t bytes,
                            void (*entry)(void *passed));
/* Sets the rounding mode and exception mask to a program's defaults. */
void tide_fiber_plain_floats(void);

#endif
