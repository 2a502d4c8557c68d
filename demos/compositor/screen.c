/* Composing: all of it is queued with the service, and nobody's CPU waits. Per frame:
 *
 *      copy   the backdrop, when the file of the frame that was in this buffer is written
 *      over   each layer, when its point has ended: it is drawn if that was kept, and is missing
 *             if it broke. Its buffer is free after that, as its renderer was promised
 *      hash   what the honest ones have drawn
 *      flush  now the CPU may look at it
 */
#include "browser.h"

#define HASH 8

void open_screen(struct browser *b) {
  const struct scene *scene = b->me->scene;
  struct tide_session *session = b->me->session;
  uint64_t size = (uint64_t)scene->width * scene->height * 4;
  struct tide_session_channel_params screen = {
      .struct_size = sizeof screen, .label = "screen", .operations = 128, .priority = 12};
  struct tide_session_channel_params urgent = {
      .struct_size = sizeof urgent, .label = "urgent", .operations = 128, .priority = 12};
  must(b->me, tide_session_create_channel(session, &screen, &b->screen), "a channel");
  must(b->me, tide_session_create_channel(session, &urgent, &b->urgent), "a channel");
  must(b->me, tide_session_create_channel_future(session, b->screen, NULL, &b->visible),
       "a timeline");
  must(b->me, tide_session_create_future(session, NULL, &b->written), "a timeline");
  must(b->me, tide_session_create_buffer(session, size, &b->backdrop), "a buffer");
  paint_backdrop(scene, tide_session_buffer_data(session, b->backdrop, NULL));
  must(b->me, tide_session_create_buffer(session, WINDOWS * HASH, &b->hashes), "a buffer");
  for (unsigned i = 0; i < WINDOWS; i++) {
    must(b->me, tide_session_create_buffer(session, size, &b->frames[i]), "a buffer");
    b->shown[i] = tide_session_buffer_data(session, b->frames[i], NULL);
  }
}

static void queue(struct browser *b, const struct tide_session_operation *operation) {
  b->me->report->waits += operation->wait_count;
  must(b->me, tide_session_submit(b->me->session, b->screen, operation), "a command");
}

static struct tide_point promise(struct browser *b, struct tide_point timeline) {
  struct tide_point point;
  must(b->me, tide_session_promise(b->me->session, timeline, now() + PROMISE, &point), "a promise");
  return point;
}

/* Where a layer lies in a frame, or a frame as a whole. */
static struct tide_session_argument part(const struct browser *b, uint64_t frame, int who) {
  const struct scene *scene = b->me->scene;
  struct tide_session_argument all = {b->frames[frame % WINDOWS], 0,
                                      (uint64_t)scene->width * scene->height * 4};
  if (who < 0) return all;
  all.offset = layer_offset(scene, (enum who)who);
  all.size = layer_size(scene, (enum who)who);
  return all;
}

/* ---- one frame --------------------------------------------------------------------------- */

static void begin(struct browser *b, uint64_t frame) {
  struct tide_point is_written = at(b->written, frame - WINDOWS);
  struct tide_session_argument arguments[] = {part(b, frame, -1), part(b, frame, -1)};
  arguments[0].buffer = b->backdrop;
  struct tide_session_operation copy = {.body = TIDE_SESSION_COPY,
                                        .arguments = arguments,
                                        .argument_count = 2,
                                        .waits = &is_written,
                                        .wait_count = frame > WINDOWS};
  queue(b, &copy);
}

/* The buffers that the renderer was promised back by now; false: it has them. */
static bool give(struct layer *layer, uint64_t frame, struct tide_point *out_point) {
  uint64_t until = layer->allowed < frame ? layer->allowed : frame;
  if (!layer->ready || until <= layer->given) return false;
  layer->given = until;
  *out_point = at(layer->returned, until);
  return true;
}

/* A layer that is known to come is waited for, by the service. Either way what counts is how its
 * point stands when the command's turn has come. */
static void put_layer(struct browser *b, enum who who, uint64_t frame) {
  struct layer *layer = &b->layers[who];
  const struct ticket *ticket = ticket_of(b, who, frame);
  struct tide_point back[2];
  size_t backs = 0;
  if (!layer->ready || !ticket || (ticket->known && ticket->status != TIDE_OK)) return;
  if (!ticket->known && layer->gone) return;
  struct tide_session_argument arguments[] = {part(b, frame, (int)who), part(b, frame, (int)who)};
  arguments[0].buffer = layer->windows[frame % WINDOWS];
  arguments[0].offset = 0;
  /* A page may forget its point once it has its buffer back: not before the nested one has it. */
  if (who != PAGE) backs += give(layer, frame, &back[backs]);
  if (who == ADVERT) backs += give(&b->layers[PAGE], frame, &back[backs]);
  struct tide_session_operation over = {.flags = TIDE_DESPITE_BROKEN,
                                        .body = TIDE_SESSION_OVER,
                                        .arguments = arguments,
                                        .argument_count = 2,
                                        .waits = &ticket->point,
                                        .wait_count = ticket->known,
                                        .retires = back,
                                        .retire_count = backs,
                                        .choose = &ticket->point,
                                        .otherwise = TIDE_SESSION_NOTHING};
  queue(b, &over);
}

static void hash(struct browser *b, uint64_t frame) {
  struct tide_session_argument arguments[] = {
      part(b, frame, PHOTO), {b->hashes, frame % WINDOWS * HASH, HASH}, {.offset = frame}};
  struct tide_session_operation operation = {
      .body = TIDE_SESSION_HASH, .arguments = arguments, .argument_count = 3};
  queue(b, &operation);
}

/* What was not given back yet, of layers that are missing, is now. */
static void end(struct browser *b, uint64_t frame) {
  struct tide_session_argument all = part(b, frame, -1);
  struct tide_point retires[1 + LAYERS];
  struct tide_session_operation flush = {
      .body = TIDE_SESSION_FLUSH, .arguments = &all, .argument_count = 1, .retires = retires};
  retires[flush.retire_count++] = promise(b, b->visible);
  for (int who = 0; who < LAYERS; who++)
    flush.retire_count += give(&b->layers[who], frame, &retires[flush.retire_count]);
  queue(b, &flush);
}

void compose(struct browser *b, uint64_t frame) {
  promise(b, b->written);
  begin(b, frame);
  for (int who = 0; who < LAYERS; who++) put_layer(b, (enum who)who, frame);
  hash(b, frame);
  end(b, frame);
}

/* ---- what became of it ---------------------------------------------------------------------- */

/* A frame that nobody had promised counts as missing; so does one that came too late. */
static void count_layers(struct browser *b, uint64_t frame) {
  for (int who = 0; who < LAYERS; who++) {
    struct report *report = &b->me->reports[who];
    struct ticket *ticket = ticket_of(b, (enum who)who, frame);
    bool shown = b->layers[who].ready && ticket &&
                 tide_session_query(b->me->session, ticket->point) == TIDE_OK;
    if (shown) report->shown++;
    else report->missing++;
  }
  struct ticket *page = ticket_of(b, PAGE, frame);
  if (page && page->own) (void)!tide_session_destroy(b->me->session, page->point);
}

void finish(struct browser *b, uint64_t frame) {
  struct party *me = b->me;
  char path[4096];
  must(me, await(me, at(b->visible, frame)), "a frame");
  count_layers(b, frame);
  const uint64_t *hashes = tide_session_buffer_data(me->session, b->hashes, NULL);
  me->report->hash = me->report->hash * 0x9e3779b97f4a7c15u + hashes[frame % WINDOWS];
  frame_path(me->scene->folder, frame, path, sizeof path);
  if (!write_png(path, me->scene->width, me->scene->height, b->shown[frame % WINDOWS]))
    give_up(me, "%s cannot be written", path);
  must(me, tide_session_fulfil(me->session, at(b->written, frame)), "a file that is written");
  me->report->frames = frame;
}
