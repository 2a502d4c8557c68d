/* What the renderers share. */
#ifndef COMPOSITOR_RENDERER_H
#define COMPOSITOR_RENDERER_H

#include "compositor.h"

struct renderer {
  struct party *me;
  int links[2]; /* to the browser, and to who is nested (or to whom); -1: none */
  struct tide_point channel, drawn, returned;
  struct tide_point windows[WINDOWS];
  uint64_t promised; /* frames up to this one, and the browser, or the embedder, knows */
  uint64_t allowed;  /* up to this one the browser promises to give buffers back */
  bool gone;         /* the browser, or the embedder */
  /* Who draws with the CPU does it here, and knows from this timeline when it was read. */
  struct tide_point source, staging[WINDOWS];
  struct tide_point sprite;
  struct embedder *embedder;
};

/* ---- renderer.c ---- */

/* Queues a command on the renderer's channel. With `first`, it waits until the frame's buffer is
 * free; with `last`, the frame is drawn when it has run. */
void draw(struct renderer *r, uint64_t frame, uint32_t body,
          const struct tide_session_argument *arguments, size_t count, bool first, bool last);
/* The buffer of a frame. */
struct tide_point window_of(const struct renderer *r, uint64_t frame);
/* Waits for messages, and takes them in. */
void listen_once(struct renderer *r);

/* ---- painters.c: what each draws ---- */

void open_painter(struct renderer *r);
void paint_frame(struct renderer *r, uint64_t frame);

/* ---- embedder.c: the page, whose frames are swapped with those of the advert ---- */

struct embedder *open_embedder(struct renderer *r);
void close_embedder(struct embedder *embedder);
/* Promises a frame of both as one point, and tells the browser. */
void offer_both(struct embedder *embedder, uint64_t frame);
void hear_nested(struct embedder *embedder, const struct message *message);
void lose_nested(struct embedder *embedder);

#endif
