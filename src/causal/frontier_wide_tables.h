/* causal/frontier_wide_tables.h: what to do with four lanes of which only some hold an entry, by
 * four bits that say which. */
#ifndef TIDE_CAUSAL_FRONTIER_WIDE_TABLES_H
#define TIDE_CAUSAL_FRONTIER_WIDE_TABLES_H

#include <stdint.h>

struct tide_wide_lanes {
  uint64_t pack[4];   /* pushes those that hold an entry together */
  uint64_t packed[4]; /* all ones in as many first lanes */
  uint64_t spread[4]; /* takes them back apart; the others get the last lane */
  uint64_t place[4];  /* the numbers of the lanes that hold an entry */
};

/* A lane of 64 bits as the two of 32 bits that there are instructions for. */
#define P(lane) ((uint64_t)(2 * (lane) + 1) << 32 | 2 * (lane))
#define ALL UINT64_MAX

static const struct tide_wide_lanes tide_wide_lanes[16] __attribute__((aligned(64))) = {
    {{P(3), P(3), P(3), P(3)}, {0, 0, 0, 0}, {P(3), P(3), P(3), P(3)}, {3, 3, 3, 3}},
    {{P(0), P(3), P(3), P(3)}, {ALL, 0, 0, 0}, {P(0), P(3), P(3), P(3)}, {0, 3, 3, 3}},
    {{P(1), P(3), P(3), P(3)}, {ALL, 0, 0, 0}, {P(3), P(0), P(3), P(3)}, {1, 3, 3, 3}},
    {{P(0), P(1), P(3), P(3)}, {ALL, ALL, 0, 0}, {P(0), P(1), P(3), P(3)}, {0, 1, 3, 3}},
    {{P(2), P(3), P(3), P(3)}, {ALL, 0, 0, 0}, {P(3), P(3), P(0), P(3)}, {2, 3, 3, 3}},
    {{P(0), P(2), P(3), P(3)}, {ALL, ALL, 0, 0}, {P(0), P(3), P(1), P(3)}, {0, 2, 3, 3}},
    {{P(1), P(2), P(3), P(3)}, {ALL, ALL, 0, 0}, {P(3), P(0), P(1), P(3)}, {1, 2, 3, 3}},
    {{P(0), P(1), P(2), P(3)}, {ALL, ALL, ALL, 0}, {P(0), P(1), P(2), P(3)}, {0, 1, 2, 3}},
    {{P(3), P(3), P(3), P(3)}, {ALL, 0, 0, 0}, {P(3), P(3), P(3), P(0)}, {3, 3, 3, 3}},
    {{P(0), P(3), P(3), P(3)}, {ALL, ALL, 0, 0}, {P(0), P(3), P(3), P(1)}, {0, 3, 3, 3}},
    {{P(1), P(3), P(3), P(3)}, {ALL, ALL, 0, 0}, {P(3), P(0), P(3), P(1)}, {1, 3, 3, 3}},
    {{P(0), P(1), P(3), P(3)}, {ALL, ALL, ALL, 0}, {P(0), P(1), P(3), P(2)}, {0, 1, 3, 3}},
    {{P(2), P(3), P(3), P(3)}, {ALL, ALL, 0, 0}, {P(3), P(3), P(0), P(1)}, {2, 3, 3, 3}},
    {{P(0), P(2), P(3), P(3)}, {ALL, ALL, ALL, 0}, {P(0), P(3), P(1), P(2)}, {0, 2, 3, 3}},
    {{P(1), P(2), P(3), P(3)}, {ALL, ALL, ALL, 0}, {P(3), P(0), P(1), P(2)}, {1, 2, 3, 3}},
    {{P(0), P(1), P(2), P(3)}, {ALL, ALL, ALL, ALL}, {P(0), P(1), P(2), P(3)}, {0, 1, 2, 3}},
};

#undef P
#undef ALL
#endif
