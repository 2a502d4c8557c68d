/* A renderer. Per frame:
 *
 *      promise   "there will be a frame f", as many frames ahead as it may be
 *      draw      into one of two buffers, by commands that the service runs; the first waits for
 *                the browser's promise that the buffer is free, which mostly it is not yet: the
 *                renderer goes on all the same, as if it had more buffers (use case 3)
 *      lower     who runs many frames ahead lowers its own priority until the browser has used
 *                the frame, so as not to be in the way of those who are late (use case 1)
 */
#include "renderer.h"

#include <string.h>
#include <unistd.h>

#define LOWERED 2       /* levels, for each frame that it is ahead */
#define PROMISED_MOST 8 /* frames that are promised and not drawn, */
#define PROMISED_STEP 4 /* and how many more are promised at a time */

struct tide_point window_of(const struct renderer *r, uint64_t frame) {
  return r->windows[frame % WINDOWS];
}

/* ---- messages ------------------------------------------------------------------------ */

static void hear(struct renderer *r, const struct message *message) {
  struct party *me = r->me;
  if (message->kind == WELCOME && !r->returned.domain)
    must(me, tide_session_redeem(me->session, &message->tokens[0], &r->returned), "its timeline");
  else if (message->kind == RETURNED && message->value > r->allowed) r->allowed = message->value;
}

void listen_once(struct renderer *r) {
  struct message message;
  enum heard heard;
  if (!listen_to(r->me, r->links, 2, now() + PATIENCE)) give_up(r->me, "the browser is silent");
  while ((heard = hear_message(r->links[0], &message)) == HEARD) hear(r, &message);
  if (heard == HUNG_UP) give_up(r->me, "the browser is gone");
  if (r->links[1] < 0) return;
  while ((heard = hear_message(r->links[1], &message)) == HEARD)
    if (r->embedder) hear_nested(r->embedder, &message);
  if (heard == NOTHING_YET) return;
  close(r->links[1]);
  r->links[1] = -1;
  if (r->embedder) lose_nested(r->embedder);
  else give_up(r->me, "the page that it is in is gone");
}

static void say_hello(struct renderer *r) {
  struct party *me = r->me;
  struct message hello = {.kind = HELLO};
  must(me, tide_session_grant(me->session, r->drawn, TIDE_RIGHT_WAIT, &hello.tokens[0]), "a token");
  for (unsigned i = 0; i < WINDOWS; i++)
    must(me, tide_session_grant(me->session, r->windows[i], TIDE_RIGHT_READ, &hello.tokens[1 + i]),
         "a token");
  if (!send_message(r->links[0], &hello)) give_up(me, "the browser is gone");
  /* Who is nested tells its embedder of frames, and the browser of buffers. */
  memset(&hello.tokens[1], 0, sizeof hello.tokens - sizeof hello.tokens[0]);
  if (me->who == ADVERT && !send_message(r->links[1], &hello)) give_up(me, "the page is gone");
}

static void open_renderer(struct renderer *r) {
  struct party *me = r->me;
  struct tide_session *session = me->session;
  struct tide_session_channel_params params = {
      .struct_size = sizeof params, .label = who_names[me->who], .operations = 192};
  struct tide_future_params future = {
      .struct_size = sizeof future, .label = "drawn", .capacity = 32};
  must(me, tide_session_create_channel(session, &params, &r->channel), "a channel");
  must(me, tide_session_create_channel_future(session, r->channel, &future, &r->drawn),
       "a timeline");
  for (unsigned i = 0; i < WINDOWS; i++)
    must(me, tide_session_create_buffer(session, layer_size(me->scene, me->who), &r->windows[i]),
         "a buffer");
  open_painter(r);
  say_hello(r);
}

/* ---- frames ------------------------------------------------------------------------------ */

/* Promises what comes after this frame: some at a time, for telling others takes a round trip. */
static void offer(struct renderer *r, uint64_t frame) {
  struct party *me = r->me;
  struct tide_point point;
  uint64_t before = r->promised;
  if (r->promised > frame + PROMISED_MOST - PROMISED_STEP) return;
  frame += PROMISED_MOST;
  if (frame > me->scene->frames) frame = me->scene->frames;
  while (r->promised < frame) {
    must(me, tide_session_promise(me->session, r->drawn, now() + PROMISE, &point), "a promise");
    r->promised = point.value;
    if (r->embedder) offer_both(r->embedder, point.value);
  }
  struct message message = {.kind = PROMISED, .value = r->promised};
  if (r->embedder || r->promised == before) return; /* an embedder has told already */
  tell(me);
  /* A nested one promises to its embedder, and swaps with it. */
  if (!send_message(r->links[me->who == ADVERT], &message)) give_up(me, "nobody wants its frames");
}

void draw(struct renderer *r, uint64_t frame, uint32_t body,
          const struct tide_session_argument *arguments, size_t count, bool first, bool last) {
  struct party *me = r->me;
  struct tide_point is_free = at(r->returned, frame - WINDOWS);
  struct tide_point is_drawn = at(r->drawn, frame);
  struct tide_session_operation operation = {.body = body,
                                             .arguments = arguments,
                                             .argument_count = count,
                                             .waits = &is_free,
                                             .wait_count = first && frame > WINDOWS,
                                             .retires = &is_drawn,
                                             .retire_count = last};
  if (operation.wait_count) {
    me->report->waits++;
    me->report->early += tide_session_query(me->session, is_free) == TIDE_TIMEOUT;
  }
  must(me, tide_session_submit(me->session, r->channel, &operation), "a command");
}

static void lower_itself(struct renderer *r, uint64_t frame) {
  must(r->me,
       tide_session_decrease_priority_until(r->me->session, r->channel, at(r->returned, frame),
                                            LOWERED, NULL),
       "to lower itself");
  r->me->report->lowered++;
}

void run_renderer(struct party *me, int browser, int nested) {
  struct renderer r = {.me = me, .links = {browser, nested}};
  party_open(me);
  if (me->who == PAGE) r.embedder = open_embedder(&r);
  open_renderer(&r);
  offer(&r, 0);
  while (!r.returned.domain) listen_once(&r);
  me->flowing = true;
  for (uint64_t frame = 1; frame <= me->scene->frames; frame++) {
    while (r.allowed < frame) listen_once(&r);
    paint_frame(&r, frame);
    if (me->who == VIDEO) lower_itself(&r, frame);
    me->report->frames = frame;
    offer(&r, frame);
  }
  /* The renderer blocks next: a decrease that lasts on could keep the last buffer from coming. */
  if (me->who == VIDEO)
    must(me, tide_session_cancel_priority_decreases(me->session, r.channel), "to come back");
  must(me, await(me, at(r.returned, me->scene->frames)), "the last buffer");
  close_embedder(r.embedder);
  party_close(me);
}
