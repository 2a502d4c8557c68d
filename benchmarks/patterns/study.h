/* All that a report measures: the grid with all ways, on two devices and shared; data that is ready
 * beforehand; how waiting goes on; and warps up to a million threads. ./bench wic takes a part. */
#ifndef PATTERNS_STUDY_H
#define PATTERNS_STUDY_H

#include "grid.h"
#include "scale.h"

/* What a cell is for. */
enum purpose {
  GRID,   /* the ten patterns' grid; with 16 consumers on two devices the policies, too */
  ALONE,  /* one consumer with a core of its own, and little work: all ways, with the policies */
  READY,  /* the producer is done before the consumers start: the WIC paper's scenario 1 */
  CURVES, /* how waiting goes on, with work beside the consumers */
};

#define STUDY_SCALES 8
#define STUDY_MODES 5

struct study_cell {
  enum purpose purpose;
  struct cell cell;
};

struct study_scale {
  struct scale scale;
  struct scale_outcome outcome; /* of median time */
};

struct study {
  const struct pattern *patterns[16];
  size_t pattern_count;
  uint64_t seed;
  bool quick;      /* a small part of everything, one round */
  uint32_t rounds; /* of each cell; 0: up to three, fewer where they take long */
  bool baseline;   /* two devices, without policies and curves: what ./bench wic needs */
  /* Called now and then; NULL: nobody looks. */
  void (*progress)(const struct study *s, const char *what);
  /* Filled. */
  struct study_cell *cells;
  size_t count, done;
  struct study_scale scales[STUDY_SCALES][STUDY_MODES];
  size_t scale_count; /* rows that are filled */
  bool two_devices;
  const char *missing[GRID_WAYS]; /* of ways[i]: why it cannot be had here; NULL: it can */
  uint32_t wrong;                 /* runs that were wrong */
  char said[240];                 /* about the first of them */
  double expected_s, took_s;
};

/* 0 .. STUDY_MODES - 1: "polling" is the base of the others. */
extern const char *const study_modes[STUDY_MODES];

/* Looks what there is here, and lays out all cells. False: there is no memory. */
bool study_plan(struct study *s);
/* After study_plan. */
void study_measure(struct study *s);
void study_free(struct study *s);

#endif
