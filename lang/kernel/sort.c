/* sort: 32-bit words, in place, without memory of its own.
 *
 * A radix sort from the top byte down ("American flag"): count how often each byte value occurs,
 * swap every word into its bucket, then sort each bucket by the next byte. The recursion is at most
 * four levels deep for any input. */
#include "kernel/builtin_bodies.h"

#define BUCKETS 256
#define FEW 48 /* below this an insertion sort is faster than counting */

static void insertion_sort(tide_any_u32 *words, size_t count) {
  for (size_t i = 1; i < count; i++) {
    uint32_t word = words[i];
    size_t at = i;
    for (; at > 0 && words[at - 1] > word; at--) words[at] = words[at - 1];
    words[at] = word;
  }
}

/* Swaps each word into the bucket of its byte at `shift`. Sets ends[b] to the end of bucket b. */
static void deal_buckets(tide_any_u32 *words, size_t count, unsigned shift, size_t ends[BUCKETS]) {
  size_t heads[BUCKETS] = {0}, total = 0;
  for (size_t i = 0; i < count; i++) heads[words[i] >> shift & 255]++;
  for (size_t b = 0; b < BUCKETS; b++) {
    size_t here = heads[b];
    heads[b] = total;
    ends[b] = total += here;
  }
  for (size_t b = 0; b < BUCKETS; b++) {
    while (heads[b] < ends[b]) {
      uint32_t word = words[heads[b]];
      for (size_t to; (to = word >> shift & 255) != b;) {
        uint32_t other = words[heads[to]];
        words[heads[to]++] = word;
        word = other;
      }
      words[heads[b]++] = word;
    }
  }
}

/* Recursion ends at shift 0: four levels. */
static void radix_sort(tide_any_u32 *words, size_t count, unsigned shift) {
  size_t ends[BUCKETS], start = 0;
  deal_buckets(words, count, shift, ends);
  if (shift == 0) return;
  for (size_t b = 0; b < BUCKETS; start = ends[b++]) {
    size_t size = ends[b] - start;
    if (size > FEW) radix_sort(words + start, size, shift - 8);
    else insertion_sort(words + start, size);
  }
}

enum tide_status tide_body_sort(void *arguments) {
  const struct tide_argument *a = arguments;
  const struct tide_argument *data = &a[0];
  if (!tide_argument_of(data, sizeof(uint32_t))) return TIDE_INVALID;
  size_t count = data->size / sizeof(uint32_t);
  if (count > FEW) radix_sort(data->data, count, 24);
  else insertion_sort(data->data, count);
  return TIDE_OK;
}
