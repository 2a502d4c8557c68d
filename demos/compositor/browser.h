/* The browser from inside. */
#ifndef COMPOSITOR_BROWSER_H
#define COMPOSITOR_BROWSER_H

#include "compositor.h"

/* What is known of one frame of one layer. */
struct ticket {
  struct browser *browser;
  enum who who;
  struct tide_point point; /* all zero: not promised yet */
  bool known;              /* it will come, or it broke: see `status` */
  enum tide_status status;
  bool own;    /* a name for this frame alone, to be given back */
  bool nested; /* it is the nested layer's, too */
};

struct layer {
  bool gone, ready;
  enum who swapped_by; /* whose points its frames have: its own, or its embedder's */
  struct tide_point drawn, returned, windows[WINDOWS];
  uint64_t promised;      /* frames up to this one have a point */
  uint64_t allowed;       /* buffers of frames up to this one are promised back, and it knows */
  uint64_t given;         /* up to this one they are given back by a command that is queued */
  struct ticket *tickets; /* of all frames */
};

struct browser {
  struct party *me;
  struct layer layers[LAYERS];
  int links[LAYERS];
  struct tide_point screen, urgent; /* channels: frames, and priorities, which do not queue up */
  struct tide_point visible, written, backdrop, hashes, frames[WINDOWS];
  uint64_t composing;            /* the newest frame that is queued */
  uint64_t awaited;              /* ends of promises that were asked for and have not come */
  unsigned char *shown[WINDOWS]; /* the buffers of frames, as they are mapped here */
};

/* ---- browser.c ---- */

/* The ticket of a layer's frame; NULL: it was not promised. */
struct ticket *ticket_of(struct browser *b, enum who who, uint64_t frame);

/* ---- screen.c ---- */

void open_screen(struct browser *b);
/* Queues the frame's composition. */
void compose(struct browser *b, uint64_t frame);
/* Waits until the frame is visible, and writes it. */
void finish(struct browser *b, uint64_t frame);

#endif
