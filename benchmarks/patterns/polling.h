/* The loop of the WIC paper's Algorithm 1, and what belongs to it: the way `spin`, and what other
 * ways build on. */
#ifndef PATTERNS_POLLING_H
#define PATTERNS_POLLING_H

#include "exchange.h"

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

/* Until the word is at least that, which is true; false: the run is over. `waiting` may be NULL. */
bool polling_wait(struct exchange *x, _Atomic uint32_t *word, uint32_t value,
                  struct waiting *waiting);
void *polling_room(struct exchange *x, struct message m);
void polling_give(struct exchange *x, struct message m, size_t length);
const void *polling_take(struct exchange *x, struct message m);
bool polling_taken(struct exchange *x, struct message m);

#endif
