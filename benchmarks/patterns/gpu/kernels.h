/* What host and GPU agree on: the kernels' arguments, and a consumer's block of memory. */
#ifndef PATTERNS_GPU_KERNELS_H
#define PATTERNS_GPU_KERNELS_H

#include <stdint.h>

/* How warps wait: see wic/gpu_wait.h. */
enum gpu_way { GPU_PARKED, GPU_POLLED, GPU_FIRST, GPU_SPLIT };

enum gpu_pattern { GPU_SRS, GPU_KMN, GPU_GEM, GPU_C2D, GPU_STN };

/* Phases of a launch: before the data is needed, and after. */
enum { GPU_BEFORE = 1, GPU_AFTER = 2 };

/* As struct slot of exchange.h lies in memory. */
struct gpu_slot {
  uint32_t given, taken, parked_list, length;
  uint32_t unused[12];
};

struct gpu_arguments {
  uint64_t slots, memory; /* addresses: of all messages' slots, and of their places */
  uint64_t blocks;        /* of the consumers' memory on the device */
  uint64_t over;          /* of the host's word: all shall end */
  uint64_t limit;         /* ns that a launch may wait */
  uint32_t pattern, way;
  uint32_t consumers, warps; /* in all; those of a block */
  uint32_t down, up;         /* messages a consumer and cycle */
  uint32_t place, bytes;     /* from one message's place to the next; of a message */
  uint32_t block_size;
  uint32_t from, to, phases; /* messages to each consumer: those of this launch */
  uint32_t c1_ns, c2_ns;     /* how long its work before and after each shall take */
  uint32_t bulk;             /* data is copied to shared memory */
  uint32_t tally;            /* where in a block struct gpu_tally is, always 0: for the reader */
};

/* A block begins with what its consumer has to say. */
struct gpu_tally {
  uint64_t checks, waits, waited; /* looks at tags; waits; ns from the need for data to it */
  uint32_t failed;                /* its data did not come: nothing in the block is good */
  uint32_t done;                  /* messages that were taken */
};

struct gpu_srs {
  struct gpu_tally tally;
  uint64_t counts[256];
  uint32_t pass[256], height, unused;
  uint8_t edges[]; /* 64 times height */
};

#define GPU_AXES 8
#define GPU_CENTRES 8
struct gpu_sums {
  double sums[GPU_CENTRES * GPU_AXES];
  uint32_t counts[GPU_CENTRES];
};
struct gpu_kmn {
  struct gpu_tally tally;
  float centres[GPU_CENTRES * GPU_AXES];
  struct gpu_sums sums;
  uint64_t moved;
  uint32_t pass, points;
  uint8_t members[]; /* in even and in odd iterations */
};

#define GPU_ROWS 8
#define GPU_DEPTH 32
struct gpu_gem {
  struct gpu_tally tally;
  float a[2][GPU_ROWS * GPU_DEPTH], scaled[GPU_ROWS * GPU_DEPTH];
  uint32_t columns, unused;
  float sums[]; /* of both halves, rows times columns each */
};

#define GPU_STRIP 4 /* rows of a consumer's strip */
struct gpu_strip {
  struct gpu_tally tally;
  uint32_t width, unused;
  float rows[]; /* at even and at odd steps */
};

/* How much waiting warps slow others on their multiprocessor. */
struct gpu_interference {
  uint64_t tag; /* the word that the waiting wait for; the last worker sets it */
  uint64_t over, limit;
  uint64_t results; /* two numbers a block: clocks of its workers in all, and of looks at the tag */
  uint32_t way, workers, waiters, rounds;
};

#endif
