/* Failures on demand of all that the service, or a client, asks its system for: memory, shared
 * memory, mappings, descriptors, threads. The programs of this folder are linked so that these
 * calls (see meson.build) pass through failing.c. Calls are counted in one process, which
 * failing_watch names; another process says which call fails. */
#ifndef TESTS_ATTACKS_FAILING_H
#define TESTS_ATTACKS_FAILING_H

#include "tidemark/base.h"

#include <sys/types.h>

/* Before the fork of the watched process. */
void failing_share(void);
/* From here on the calls of this process are counted; 0: of none. */
void failing_watch(pid_t process);
/* The nth call from now on fails, once. */
void failing_arm(uint64_t nth);
/* The nth call from now on fails, and all later ones, but those that take connections. */
void failing_arm_for_good(uint64_t nth);
/* No call fails any more. Returns the name of the call that failed, or NULL. */
const char *failing_disarm(void);
/* The allocations that the watched allocator has given and not taken back. */
int64_t failing_held(void);
/* Counts, fails, and fills what is given back. */
const struct tide_allocator *failing_allocator(void);

#endif
