/* Two plain executors on one thread of their own, as a user might write them. In order: takes one
 * operation, runs it, hands it back. Not in order: takes as many as it gets, runs them in a random
 * order, and hands them back in another, some later than others. */
#ifndef TESTS_CONFORMANCE_FAKE_H
#define TESTS_CONFORMANCE_FAKE_H

#include "tidemark/backend.h"

struct fake;

struct fake *fake_create(const struct tide_context *context, bool in_order, uint32_t depth);
const struct tide_backend *fake_backend(const struct fake *fake);
void fake_attach(struct fake *fake, struct tide_device *device);
void fake_detach(struct fake *fake);
void fake_destroy(struct fake *fake);

#endif
