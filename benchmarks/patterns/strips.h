/* A field of rows that two devices share: N + 1 strips of the producer's, with the N consumers'
 * strips between them. A step makes each row from itself and the rows beside it, so each step the
 * devices exchange the rows at their borders, and only these. */
#ifndef PATTERNS_STRIPS_H
#define PATTERNS_STRIPS_H

#include "gpu.h"

/* The new row from three old ones; at its two ends what is missing is the end itself. */
typedef void strips_kernel(const float *above, const float *row, const float *below, float *out,
                           uint32_t width);

/* With `split` each border row is a message of its own, otherwise both of a strip are one. */
void *strips_create(const struct settings *settings, strips_kernel *kernel, bool split);
void strips_destroy(void *state);
bool strips_produce(struct run *r);
bool strips_consume(struct run *r, uint32_t index);
bool strips_check(const struct settings *settings, void *state, char *said, size_t size);

/* On a GPU, for gpu.h. */
size_t strips_gpu_size(const struct settings *settings);
void strips_gpu_load(const void *state, uint32_t consumer, void *block);
void strips_gpu_store(void *state, uint32_t consumer, const void *block);

#endif
