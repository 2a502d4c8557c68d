/* tool/view_page.h: the page of `tidemark view`, and what hands it out. */
#ifndef TIDE_TOOL_VIEW_PAGE_H
#define TIDE_TOOL_VIEW_PAGE_H

#include "tidemark/base.h"

/* Grows as it is appended to. Begins as zeros; the caller frees `data`. */
struct tide_view_bytes {
  char *data;
  size_t size, capacity;
  bool failed; /* there was no memory */
};

/* Appends the page with the program of `path`; NULL: with the examples. False: told why. */
bool tide_view_make_page(struct tide_view_bytes *page, const char *path);

/* Hands the page out on 127.0.0.1 until SIGINT or SIGTERM. Port 0: one that is free. Prints the
 * address; `open` also opens a browser, where there is a screen. False: told why. */
bool tide_view_serve(uint16_t port, bool open, const char *path);

#endif
