/* layer/recorded_order.h: reading PID.order (protocol.h), for the layer to replay it and for the
 * tool to minimise it. The file may come from anywhere: all sizes are bounded, and an error names
 * its line. */
#ifndef TIDE_LAYER_RECORDED_ORDER_H
#define TIDE_LAYER_RECORDED_ORDER_H

#include "tidemark/base.h"

#define TIDE_VULKAN_FILE_MOST ((size_t)16 << 20) /* bytes */
#define TIDE_VULKAN_ORDER_LINE_MOST ((size_t)64 << 10)
#define TIDE_VULKAN_PICKS_MOST ((size_t)1 << 20)
#define TIDE_VULKAN_CANDIDATES_MOST ((size_t)1 << 22) /* all picks together */

struct tide_vulkan_pick {
  uint64_t first; /* the submission that went first: one of the candidates */
  size_t candidates_at, candidate_count;
};

struct tide_vulkan_order {
  struct tide_vulkan_pick *picks;
  size_t pick_count, pick_capacity;
  uint64_t *candidates;
  size_t candidate_count, candidate_capacity;
};

/* Reads a whole order. TIDE_CORRUPT, with the line in `diag`: the text is no order, or not a whole
 * one; TIDE_FULL: the order exceeds the bounds above; TIDE_NOMEM. On an error the order is
 * empty. */
enum tide_status tide_vulkan_order_parse(struct tide_vulkan_order *order, const char *text,
                                         size_t length, struct tide_diag *diag);
/* Frees the memory of an order. An empty one (all zero) is fine. */
void tide_vulkan_order_fini(struct tide_vulkan_order *order);
/* True if a submission that had come earlier could have gone instead. */
bool tide_vulkan_pick_overtakes(const struct tide_vulkan_order *order, size_t pick);

#endif
