/* tool/view_page.h: the page of `tidemark view`, and its server. */
#ifndef TIDE_TOOL_VIEW_PAGE_H
#define TIDE_TOOL_VIEW_PAGE_H

#include "tidemark/base.h"

/* A growing buffer. Begins as zeros; the caller frees `data`. */
struct tide_view_bytes {
  char *data;
  size_t size, capacity;
  bool failed; /* out of memory */
};

/* Appends the page with the program of `path`; NULL: with the examples. False: the reason has been
 * printed. */
bool tide_view_make_page(struct tide_view_bytes *page, const char *path);

/* Serves the page on 127.0.0.1 until SIGINT or SIGTERM. Port 0: any free one. Prints the address;
 * `open` also opens a browser, if there is a display. False: the reason has been printed. */
bool tide_view_serve(uint16_t port, bool open, const char *path);

#endif
