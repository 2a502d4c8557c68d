/* wic/fiber_switch.h: leaving one stack for another.
 *
 * What is kept is what a function call keeps: the registers that belong to the caller, and how the
 * processor rounds. All else is on the stack, or the compiler's to save, since it sees a call. So
 * there is nothing for the kernel to do, unlike with swapcontext, which sets the signal mask. */
#ifndef TIDE_WIC_FIBER_SWITCH_H
#define TIDE_WIC_FIBER_SWITCH_H

#include <stddef.h>

#if !defined(TIDE_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define TIDE_FIBER_UCONTEXT
#endif

/* Where somebody who left goes on. */
#ifdef TIDE_FIBER_UCONTEXT
#include <ucontext.h>
struct tide_fiber_domain {
  ucontext_t context;
  void (*entry)(void *passed);
  void *passed;
};
#else
struct tide_fiber_domain {
  void *stack; /* what was kept lies here */
};
#endif

/* Leaves from here, which *from remembers, to *to. When somebody comes back to *from, on whichever
 * thread, the call returns what they passed. */
void *tide_fiber_swap(struct tide_fiber_domain *from, struct tide_fiber_domain *to, void *passed);
/* Who goes to this place finds an empty stack and calls entry(passed), which must not return. */
void tide_fiber_domain_init(struct tide_fiber_domain *place, void *stack, size_t bytes,
                            void (*entry)(void *passed));
/* Rounding and exceptions as a program finds them. */
void tide_fiber_plain_floats(void);

#endif
