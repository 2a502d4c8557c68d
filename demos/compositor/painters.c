/* What each renderer draws: some by the CPU, into memory that commands then read, some by commands
 * alone. All of it follows from the frame's number. */
#include "renderer.h"

#define HEAVY 200 /* microseconds that the video takes besides */

static struct tide_session_argument number(uint64_t value) {
  return (struct tide_session_argument){.offset = value};
}

static struct tide_session_argument whole(const struct renderer *r, struct tide_point buffer) {
  return (struct tide_session_argument){buffer, 0, layer_size(r->me->scene, r->me->who)};
}

/* Some pixels of one row. */
static struct tide_session_argument piece(const struct renderer *r, struct tide_point buffer,
                                          uint64_t x, uint64_t y, uint64_t pixels) {
  uint64_t width = r->me->scene->width;
  return (struct tide_session_argument){buffer, (y * width + x) * 4, pixels * 4};
}

static void clear(struct renderer *r, uint64_t frame) {
  struct tide_session_argument arguments[] = {whole(r, window_of(r, frame)), number(0)};
  draw(r, frame, TIDE_SESSION_FILL, arguments, 2, true, false);
}

/* ---- by the CPU -------------------------------------------------------------------------- */

/* Memory to draw this frame in, when the frame that was there has been read. */
static unsigned char *begin_staging(struct renderer *r, uint64_t frame,
                                    struct tide_point *out_staging) {
  struct party *me = r->me;
  if (frame > WINDOWS) must(me, await(me, at(r->source, frame - WINDOWS)), "its own memory");
  *out_staging = r->staging[frame % WINDOWS];
  return tide_session_buffer_data(me->session, *out_staging, NULL);
}

static struct tide_point promise_source(struct renderer *r) {
  struct tide_point point;
  must(r->me, tide_session_promise(r->me->session, r->source, now() + PROMISE, &point),
       "a promise");
  return point;
}

/* An upload, one of the service's: it says when the source was read, and when it is there. */
static void paint_by_upload(struct renderer *r, uint64_t frame) {
  struct party *me = r->me;
  struct tide_point staging, is_drawn = at(r->drawn, frame);
  paint_photo(me->scene, frame, begin_staging(r, frame, &staging));
  struct tide_point is_read = promise_source(r);
  struct tide_session_argument from = whole(r, staging), to = whole(r, window_of(r, frame));
  draw(r, frame, TIDE_SESSION_NOTHING, NULL, 0, true, false);
  must(me, tide_session_upload(me->session, r->channel, &from, &to, &is_read, &is_drawn, NULL),
       "an upload");
}

/* It paints squares, as much of the hardware likes them; a command makes rows of them. */
static void paint_by_untiling(struct renderer *r, uint64_t frame) {
  struct party *me = r->me;
  struct tide_point staging, retires[2] = {at(r->drawn, frame)};
  paint_page(me->scene, frame, begin_staging(r, frame, &staging));
  retires[1] = promise_source(r);
  struct tide_session_argument arguments[] = {whole(r, staging), whole(r, window_of(r, frame)),
                                              number(me->scene->width)};
  struct tide_session_operation operation = {.body = TIDE_SESSION_UNTILE,
                                             .arguments = arguments,
                                             .argument_count = 3,
                                             .retires = retires,
                                             .retire_count = 2};
  draw(r, frame, TIDE_SESSION_NOTHING, NULL, 0, true, false);
  must(me, tide_session_submit(me->session, r->channel, &operation), "a command");
}

/* ---- by commands ---------------------------------------------------------------------------- */

/* Noise, and a line that shows how far it is. */
static void paint_by_commands(struct renderer *r, uint64_t frame) {
  struct tide_point window = window_of(r, frame);
  struct video_place at = video_place(r->me->scene, frame);
  struct tide_session_argument noise[] = {
      piece(r, window, 0, at.top, at.rows * r->me->scene->width), number(at.noise)};
  clear(r, frame);
  draw(r, frame, TIDE_SESSION_IOTA, noise, 2, false, false);
  for (uint64_t y = 0; y < at.line_rows; y++) {
    struct tide_session_argument line[] = {
        piece(r, window, at.line_left, at.line_top + y, at.line_pixels), number(at.line_grey)};
    draw(r, frame, TIDE_SESSION_FILL, line, 2, false, false);
  }
  struct tide_session_argument time[] = {number(HEAVY)};
  draw(r, frame, TIDE_SESSION_SPIN, time, 1, false, true);
}

/* A picture that was painted once, copied to where it is now. */
static void paint_by_copies(struct renderer *r, uint64_t frame) {
  uint64_t left, top;
  sprite_place(r->me->scene, frame, &left, &top);
  clear(r, frame);
  for (uint64_t y = 0; y < SPRITE_HEIGHT; y++) {
    struct tide_session_argument row[] = {
        {r->sprite, y * SPRITE_WIDTH * 4, SPRITE_WIDTH * 4},
        piece(r, window_of(r, frame), left, top + y, SPRITE_WIDTH)};
    draw(r, frame, TIDE_SESSION_COPY, row, 2, false, y + 1 == SPRITE_HEIGHT);
  }
}

/* ---- all of them --------------------------------------------------------------------------------
 */

void open_painter(struct renderer *r) {
  struct party *me = r->me;
  struct tide_future_params future = {
      .struct_size = sizeof future, .label = "source read", .capacity = 8};
  if (me->who == ADVERT) {
    must(me,
         tide_session_create_buffer(me->session, (uint64_t)SPRITE_WIDTH * SPRITE_HEIGHT * 4,
                                    &r->sprite),
         "a buffer");
    paint_sprite(SPRITE_WIDTH, SPRITE_HEIGHT,
                 tide_session_buffer_data(me->session, r->sprite, NULL));
  }
  if (me->who != PHOTO && me->who != PAGE) return;
  must(me, tide_session_create_channel_future(me->session, r->channel, &future, &r->source),
       "a timeline");
  for (unsigned i = 0; i < WINDOWS; i++)
    must(me,
         tide_session_create_buffer(me->session, layer_size(me->scene, me->who), &r->staging[i]),
         "a buffer");
}

void paint_frame(struct renderer *r, uint64_t frame) {
  switch (r->me->who) {
    case PHOTO: paint_by_upload(r, frame); break;
    case PAGE: paint_by_untiling(r, frame); break;
    case VIDEO: paint_by_commands(r, frame); break;
    default: paint_by_copies(r, frame); break;
  }
}
