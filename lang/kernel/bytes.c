/* Bodies over plain bytes and words: fill, iota, copy, add, reduce, hash, combine. */
#include "kernel/builtin_bodies.h"
#include "kernel/wide.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define DIGEST_SIZE 8u

enum tide_status tide_body_fill(void *arguments) {
  const struct tide_argument *a = arguments;
  const struct tide_argument *out = &a[0];
  if (!tide_argument_of(out, 1)) return TIDE_INVALID;
  if (out->size) memset(out->data, (int)((uint64_t)a[1].integer & 255), out->size);
  return TIDE_OK;
}

enum tide_status tide_body_iota(void *arguments) {
  const struct tide_argument *a = arguments;
  const struct tide_argument *out = &a[0];
  if (!tide_argument_of(out, sizeof(uint64_t))) return TIDE_INVALID;
  tide_any_u64 *words = out->data;
  uint64_t start = (uint64_t)a[1].integer;
  for (size_t i = 0; i < out->size / sizeof(uint64_t); i++) words[i] = start + i;
  return TIDE_OK;
}

bool tide_copy_is_valid(const struct tide_argument *a) {
  return tide_argument_of(&a[0], 1) && tide_argument_of(&a[1], 1) && a[0].size == a[1].size;
}

enum tide_status tide_body_copy(void *arguments) {
  const struct tide_argument *a = arguments;
  const struct tide_argument *from = &a[0], *to = &a[1];
  if (!tide_copy_is_valid(a)) return TIDE_INVALID;
  if (to->size) memmove(to->data, from->data, to->size);
  return TIDE_OK;
}

TIDE_INLINE void add_words(const tide_any_u32 *x, const tide_any_u32 *y, tide_any_u32 *out,
                           size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = x[i] + y[i];
}

enum tide_status tide_body_add(void *arguments) {
  const struct tide_argument *a = arguments;
  for (int i = 0; i < 3; i++)
    if (!tide_argument_of(&a[i], sizeof(uint32_t)) || a[i].size != a[0].size) return TIDE_INVALID;
  add_words(a[0].data, a[1].data, a[2].data, a[0].size / sizeof(uint32_t));
  return TIDE_OK;
}

TIDE_INLINE uint64_t sum_words(const tide_any_u64 *words, size_t count) {
  uint64_t lanes[8] = {0};
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (size_t lane = 0; lane < 8; lane++) lanes[lane] += words[i + lane];
  for (; i < count; i++) lanes[0] += words[i];
  for (size_t lane = 1; lane < 8; lane++) lanes[0] += lanes[lane];
  return lanes[0];
}

bool tide_reduce_is_valid(const struct tide_argument *a) {
  return tide_argument_of(&a[0], sizeof(uint64_t)) && tide_argument_of(&a[1], 1) &&
         a[1].size == sizeof(uint64_t);
}

enum tide_status tide_body_reduce(void *arguments) {
  const struct tide_argument *a = arguments;
  const struct tide_argument *from = &a[0], *out = &a[1];
  if (!tide_reduce_is_valid(a)) return TIDE_INVALID;
  *(tide_any_u64 *)out->data = sum_words(from->data, from->size / sizeof(uint64_t));
  return TIDE_OK;
}

enum tide_status tide_body_hash(void *arguments) {
  const struct tide_argument *a = arguments;
  const struct tide_argument *from = &a[0], *out = &a[1];
  if (!tide_argument_of(from, 1) || !tide_argument_of(out, 1)) return TIDE_INVALID;
  if (out->size != DIGEST_SIZE) return TIDE_INVALID;
  const void *bytes = from->size ? from->data : "";
  *(tide_any_u64 *)out->data = XXH3_64bits_withSeed(bytes, from->size, (uint64_t)a[2].integer);
  return TIDE_OK;
}

/* Performs one round of XXH64's merge: the result depends on the order of the digests. */
static uint64_t fold_digest(uint64_t state, uint64_t digest) {
  const uint64_t prime1 = 0x9e3779b185ebca87u, prime2 = 0xc2b2ae3d27d4eb4fu;
  const uint64_t prime4 = 0x85ebca77c2b2ae63u;
  uint64_t round = digest * prime2;
  round = (round << 31 | round >> 33) * prime1;
  return (state ^ round) * prime1 + prime4;
}

enum tide_status tide_body_combine(void *arguments) {
  const struct tide_argument *a = arguments;
  const struct tide_argument *from = &a[0], *into = &a[1];
  if (!tide_argument_of(from, DIGEST_SIZE) || !tide_argument_of(into, 1)) return TIDE_INVALID;
  if (into->size != DIGEST_SIZE) return TIDE_INVALID;
  const tide_any_u64 *digests = from->data;
  uint64_t state = *(tide_any_u64 *)into->data;
  for (size_t i = 0; i < from->size / DIGEST_SIZE; i++) state = fold_digest(state, digests[i]);
  *(tide_any_u64 *)into->data = state;
  return TIDE_OK;
}
