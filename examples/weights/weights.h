/* The work that both programs of this folder do, and that neither counts as its own: they convert a
 * file of 32-bit weights to bfloat16, one block after the other. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 16384, SLOTS = 4 }; /* weights in a block; blocks in memory */

struct slot {
  float in[BLOCK];
  uint16_t out[BLOCK];
};

struct weights {
  int from, to;
  uint64_t count, blocks;
};

/* A step of the work on one block, counted from 0. Returns 0 or an errno. */
typedef int weights_step(const struct weights *weights, uint64_t block, struct slot *slot);

/* Opens the two files that the command line names. Returns 0 or an errno. */
static inline int weights_open(struct weights *weights, int argc, char **argv) {
  struct stat info;
  if (argc != 3) return EINVAL;
  weights->from = open(argv[1], O_RDONLY);
  weights->to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (weights->from < 0 || weights->to < 0 || fstat(weights->from, &info) != 0) return errno;
  weights->count = (uint64_t)info.st_size / sizeof(float);
  weights->blocks = (weights->count + BLOCK - 1) / BLOCK;
  return 0;
}

static inline size_t weights_in(const struct weights *weights, uint64_t block) {
  uint64_t left = weights->count - block * BLOCK;
  return left < BLOCK ? (size_t)left : BLOCK;
}

/* Reads a block into the slot. */
static inline int weights_load(const struct weights *weights, uint64_t block, struct slot *slot) {
  size_t size = weights_in(weights, block) * sizeof(float);
  ssize_t got = pread(weights->from, slot->in, size, (off_t)(block * sizeof slot->in));
  return got == (ssize_t)size ? 0 : got < 0 ? errno : EIO;
}

/* Fails if a weight is infinite or no number. */
static inline int weights_check(const struct weights *weights, uint64_t block, struct slot *slot) {
  for (size_t i = 0, count = weights_in(weights, block); i < count; i++)
    if (!isfinite(slot->in[i])) return EDOM;
  return 0;
}

/* Rounds each weight to its upper half. */
static inline int weights_convert(const struct weights *weights, uint64_t block,
                                  struct slot *slot) {
  for (size_t i = 0, count = weights_in(weights, block); i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &slot->in[i], sizeof bits);
    slot->out[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  return 0;
}

/* Writes the converted block. */
static inline int weights_store(const struct weights *weights, uint64_t block, struct slot *slot) {
  size_t size = weights_in(weights, block) * sizeof(uint16_t);
  ssize_t put = pwrite(weights->to, slot->out, size, (off_t)(block * sizeof slot->out));
  return put == (ssize_t)size ? 0 : put < 0 ? errno : EIO;
}

enum stage { LOAD, CHECK, CONVERT, STORE, STAGES };

static const char *const stage_names[STAGES] = {"load", "check", "convert", "store"};
static weights_step *const stage_steps[STAGES] = {weights_load, weights_check, weights_convert,
                                                  weights_store};

#endif
