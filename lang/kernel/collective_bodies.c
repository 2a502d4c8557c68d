/* Collective bodies: allreduce, allgather, broadcast.
 *
 * N parts run side by side over the same buffers. Each buffer is cut into as many slices as there
 * are parts, and part p touches slice p of every buffer and nothing else. Parts share no byte, so
 * no part waits for another. */
#include "kernel/builtin_bodies.h"
#include "kernel/wide.h"

#include <string.h>

#define MEMBERS_MOST 8
#define PARTS_MOST 65536

struct slices {
  unsigned char *members[MEMBERS_MOST]; /* each at its slice; NULL: absent */
  size_t size;                          /* bytes of one slice */
};

/* Finds slice `part` of `parts` of every member. False unless all members present have the same
 * size, a multiple of `unit`. */
static bool cut_slice(const struct tide_argument *members, int64_t part, int64_t parts, size_t unit,
                      struct slices *out_slices) {
  if (parts < 1 || parts > PARTS_MOST || part < 0 || part >= parts) return false;
  const struct tide_argument *model = NULL;
  for (size_t i = 0; i < MEMBERS_MOST; i++) {
    if (!tide_argument_of(&members[i], unit)) return false;
    if (!members[i].data) continue;
    if (!model) model = &members[i];
    if (members[i].size != model->size) return false;
  }
  uint64_t units = model ? model->size / unit : 0;
  uint64_t each = units / (uint64_t)parts, rest = units % (uint64_t)parts, p = (uint64_t)part;
  uint64_t start = each * p + (p < rest ? p : rest), count = each + (p < rest);
  for (size_t i = 0; i < MEMBERS_MOST; i++)
    out_slices->members[i] =
        members[i].data ? (unsigned char *)members[i].data + start * unit : NULL;
  out_slices->size = count * unit;
  return true;
}

/* Sums block by block, so that the running sum stays in the cache. */
TIDE_INLINE void sum_slices(const struct slices *slices) {
  enum { BLOCK = 1024 };
  uint32_t sum[BLOCK];
  size_t words = slices->size / sizeof(uint32_t);
  for (size_t at = 0; at < words; at += BLOCK) {
    size_t count = words - at < BLOCK ? words - at : BLOCK;
    memset(sum, 0, count * sizeof sum[0]);
    for (size_t m = 0; m < MEMBERS_MOST; m++) {
      if (!slices->members[m]) continue;
      const tide_any_u32 *from = (const tide_any_u32 *)slices->members[m] + at;
      for (size_t i = 0; i < count; i++) sum[i] += from[i];
    }
    for (size_t m = 0; m < MEMBERS_MOST; m++)
      if (slices->members[m])
        memcpy(slices->members[m] + at * sizeof sum[0], sum, count * sizeof sum[0]);
  }
}

enum tide_status tide_body_allreduce(void *arguments) {
  const struct tide_argument *a = arguments;
  struct slices slices;
  if (!cut_slice(a + 2, a[0].integer, a[1].integer, sizeof(uint32_t), &slices)) return TIDE_INVALID;
  sum_slices(&slices);
  return TIDE_OK;
}

static void copy_slices(const struct slices *slices, size_t source) {
  for (size_t i = 0; i < MEMBERS_MOST; i++)
    if (i != source && slices->members[i] && slices->size)
      memmove(slices->members[i], slices->members[source], slices->size);
}

enum tide_status tide_body_allgather(void *arguments) {
  const struct tide_argument *a = arguments;
  struct slices slices;
  if (!cut_slice(a + 2, a[0].integer, a[1].integer, 1, &slices)) return TIDE_INVALID;
  if (a[0].integer >= MEMBERS_MOST || !slices.members[a[0].integer]) return TIDE_INVALID;
  copy_slices(&slices, (size_t)a[0].integer);
  return TIDE_OK;
}

enum tide_status tide_body_broadcast(void *arguments) {
  const struct tide_argument *a = arguments;
  int64_t root = a[2].integer;
  struct slices slices;
  if (!cut_slice(a + 3, a[0].integer, a[1].integer, 1, &slices)) return TIDE_INVALID;
  if (root < 0 || root >= MEMBERS_MOST || !slices.members[root]) return TIDE_INVALID;
  copy_slices(&slices, (size_t)root);
  return TIDE_OK;
}
