/* Two plain executors on one thread of their own, as a user might write them. In order: takes one
 * operation, runs it, hands it back. Not in order: takes as many as it gets, runs them in a random
 * order, and hands them back in another, some later than others. */
#ifndef TESTS_CONFORMANCE_FAKE_H
#define TESTS_CONFORMANCE_FAKE_H

#include "tidemark/backend.h"

/* Opens a device on such an executor, which the device owns. */
struct tide_device *fake_device(struct tide_context *context, bool in_order, uint32_t depth);

#endif
