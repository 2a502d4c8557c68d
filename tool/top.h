/* tool/top.h: the table of `tidemark top`. */
#ifndef TIDE_TOOL_TOP_H
#define TIDE_TOOL_TOP_H

#include "tidemark/service.h"

#include <stdio.h>

/* The settings of a table. `rows`: the most channels, and timelines, of each client; the rest is
 * only counted. */
struct tide_top_view {
  struct tide_session *session;
  uint32_t rows;
  bool json;
};

/* Prints one table, or one JSON object. Returns the service's answer if it refuses: TIDE_DENIED,
 * TIDE_LOST. */
enum tide_status tide_top_print(const struct tide_top_view *view, FILE *to);

#endif
