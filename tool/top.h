/* tool/top.h: what `tidemark top` shows. */
#ifndef TIDE_TOOL_TOP_H
#define TIDE_TOOL_TOP_H

#include "tidemark/service.h"

#include <stdio.h>

/* Of each client, so many channels, and so many timelines; the others are only counted. */
struct tide_top_view {
  struct tide_session *session;
  uint32_t rows;
  bool json;
};

/* One table, or one JSON object. The service's answer where it does not tell us: TIDE_DENIED,
 * TIDE_LOST. */
enum tide_status tide_top_print(const struct tide_top_view *view, FILE *to);

#endif
