/* The browser listens to the renderers. It believes none of them: what they say is looked at before
 * it is used, and only a frame that the service knows to come in finite time, or to have broken,
 * is waited for. */
#include "browser.h"

#include <stdlib.h>
#include <unistd.h>

#define AHEAD_MOST 16       /* frames that anybody may have promised */
#define GUEST_TIME 6000000u /* ns that a frame waits for whom nobody needs */
#define PRIORITY 12         /* what it lends; the service cuts it to what the browser has */

struct ticket *ticket_of(struct browser *b, enum who who, uint64_t frame) {
  enum who by = b->layers[who].swapped_by;
  if (frame > b->layers[by].promised) return NULL;
  struct ticket *ticket = &b->layers[by].tickets[frame];
  return by == who || ticket->nested ? ticket : NULL;
}

/* It died, or does what nobody should. What it has drawn stays, what it owes breaks. */
static void drop(struct browser *b, enum who who) {
  if (b->links[who] >= 0) close(b->links[who]);
  b->links[who] = -1;
  b->layers[who].gone = true;
}

/* ---- what becomes of promises ------------------------------------------------------------ */

static void on_schedulable(void *user, enum tide_status status) {
  struct ticket *ticket = user;
  ticket->known = true;
  ticket->status = status;
}

static void on_end(void *user, enum tide_status status) {
  struct ticket *ticket = user;
  ticket->browser->awaited--;
  ticket->browser->me->reports[ticket->who].ended[status]++;
}

/* Seed 001: wait until it is schedulable, and only then have the service wait for it. */
static void ask_about(struct browser *b, struct ticket *ticket) {
  struct tide_session *session = b->me->session;
  must(b->me,
       tide_session_when_schedulable(session, ticket->point, NULL, 0, on_schedulable, ticket, NULL),
       "to ask about a frame");
  b->awaited++;
  must(b->me, tide_session_when_complete(session, ticket->point, on_end, ticket, NULL),
       "to ask about a frame");
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Its timeline and its buffers, which must have their size; and a timeline for it. */
static bool take_hello(struct browser *b, enum who who, const struct message *hello) {
  struct tide_session *session = b->me->session;
  struct layer *layer = &b->layers[who];
  struct tide_future_params params = {
      .struct_size = sizeof params, .label = who_names[who], .capacity = 64};
  struct message welcome = {.kind = WELCOME};
  if (layer->ready || tide_session_redeem(session, &hello->tokens[0], &layer->drawn) != TIDE_OK)
    return false;
  for (unsigned i = 0; i < WINDOWS; i++) {
    uint64_t size = 0;
    if (tide_session_redeem(session, &hello->tokens[1 + i], &layer->windows[i]) != TIDE_OK ||
        !tide_session_buffer_data(session, layer->windows[i], &size) ||
        size != layer_size(b->me->scene, who))
      return false;
  }
  must(b->me, tide_session_create_channel_future(session, b->screen, &params, &layer->returned),
       "a timeline");
  must(b->me, tide_session_grant(session, layer->returned, TIDE_RIGHT_WAIT, &welcome.tokens[0]),
       "a token");
  layer->ready = true;
  return send_message(b->links[who], &welcome);
}

static struct ticket *next_ticket(struct browser *b, enum who who) {
  struct layer *layer = &b->layers[who];
  if (layer->promised == b->me->scene->frames || layer->promised == b->composing + AHEAD_MOST)
    return NULL;
  return &layer->tickets[layer->promised + 1];
}

static bool take_promises(struct browser *b, enum who who, uint64_t value) {
  struct layer *layer = &b->layers[who];
  while (layer->ready && layer->promised < value) {
    struct ticket *ticket = next_ticket(b, who);
    if (!ticket) return false;
    ticket->point = at(layer->drawn, ++layer->promised);
    ask_about(b, ticket);
  }
  return layer->ready;
}

/* One frame of a page and what is nested in it, as one point. */
static bool take_swap(struct browser *b, enum who who, const struct message *message) {
  struct layer *layer = &b->layers[who];
  struct ticket *ticket = next_ticket(b, who);
  if (!layer->ready || !ticket || message->value != layer->promised + 1) return false;
  b->me->report->wakes += b->me->flowing; /* the service answers */
  if (tide_session_redeem(b->me->session, &message->tokens[0], &ticket->point) != TIDE_OK)
    return false;
  ticket->point.value = 1;
  ticket->own = true;
  ticket->nested = message->nested;
  layer->promised++;
  ask_about(b, ticket);
  return true;
}

static bool take(struct browser *b, enum who who, const struct message *message) {
  switch (message->kind) {
    case HELLO: return take_hello(b, who, message);
    case PROMISED: return take_promises(b, who, message->value);
    case SWAP: return take_swap(b, who, message);
    default: return false;
  }
}

static void hear_all(struct browser *b) {
  for (int who = 0; who < LAYERS; who++) {
    struct message message;
    enum heard heard = NOTHING_YET;
    while (b->links[who] >= 0 && (heard = hear_message(b->links[who], &message)) == HEARD)
      if (!take(b, (enum who)who, &message)) heard = HUNG_UP, drop(b, (enum who)who);
    if (heard == HUNG_UP) drop(b, (enum who)who);
  }
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* How far a renderer may draw. Who runs far ahead is not told one by one. */
static uint64_t may_draw(const struct browser *b, enum who who) {
  const struct layer *layer = &b->layers[who];
  uint64_t ahead = layer_ahead(who), until = b->layers[layer->swapped_by].promised;
  if (until > b->composing + ahead) until = b->composing + ahead;
  if (!layer->ready || layer->gone || until <= layer->allowed) return layer->allowed;
  bool few = until - layer->allowed < (ahead + 1) / 2 && until != b->me->scene->frames;
  return few ? layer->allowed : until;
}

/* Tells renderers that they may draw further: a buffer goes back as a promise, long before the
 * frame that it holds has been composed (use case 3). True: it told somebody. */
static bool give_back(struct browser *b) {
  bool tells[LAYERS] = {false}, any = false;
  struct tide_point point;
  for (int who = 0; who < LAYERS; who++) {
    struct layer *layer = &b->layers[who];
    for (uint64_t until = may_draw(b, (enum who)who); layer->allowed < until; layer->allowed++) {
      must(b->me, tide_session_promise(b->me->session, layer->returned, now() + PROMISE, &point),
           "a promise");
      tells[who] = any = true;
    }
  }
  if (any) tell(b->me);
  for (int who = 0; who < LAYERS; who++) {
    struct message message = {.kind = RETURNED, .value = b->layers[who].allowed};
    if (tells[who] && !send_message(b->links[who], &message)) drop(b, (enum who)who);
  }
  return any;
}

/* ---- frames ------------------------------------------------------------------------------------
 */

/* Nothing more will be known about this frame of it. */
static bool is_settled(struct browser *b, enum who who, uint64_t frame) {
  const struct ticket *ticket = ticket_of(b, who, frame);
  const struct layer *layer = &b->layers[who];
  if (ticket ? ticket->known : frame <= b->layers[layer->swapped_by].promised) return true;
  return layer->gone || b->layers[layer->swapped_by].gone;
}

static bool all_settled(struct browser *b, uint64_t frame) {
  for (int who = 0; who < HOSTILE; who++)
    if (!is_settled(b, (enum who)who, frame)) return false;
  return true;
}

static void listen_until(struct browser *b, uint64_t deadline) {
  /* What blocks for the service runs its calls, too: what is waited for may be there by now. */
  if (give_back(b)) deadline = TIDE_NOW;
  listen_to(b->me, b->links, LAYERS, deadline);
  hear_all(b);
}

/* Until the frame's layers are known to come, or not to. Whom nobody needs gets a little time: what
 * he has not queued by then is decided when the frame is composed (use case 5). */
static void gather(struct browser *b, uint64_t frame) {
  uint64_t patience = now() + PATIENCE, guest = now() + GUEST_TIME;
  while (!all_settled(b, frame) && now() < patience) listen_until(b, patience);
  for (int who = 0; who < HOSTILE; who++) {
    if (is_settled(b, (enum who)who, frame)) continue;
    give_up(b->me, "frame %u of %s does not come", (unsigned)frame, who_names[who]);
  }
  while (b->me->scene->hostile && !is_settled(b, HOSTILE, frame) && now() < guest)
    listen_until(b, guest);
}

/* Whoever is needed now and not done gets a priority that it has not itself (use case 2). */
static void boost(struct browser *b, uint64_t frame) {
  for (int who = 0; who < HOSTILE; who++) {
    const struct layer *layer = &b->layers[who];
    const struct ticket *ticket = ticket_of(b, (enum who)who, frame);
    if (!ticket || ticket->status != TIDE_OK || layer->gone || !layer->ready) continue;
    struct tide_point point = at(layer->drawn, frame);
    if (tide_session_query(b->me->session, point) != TIDE_TIMEOUT) continue;
    must(b->me, tide_session_increase_priority_until(b->me->session, b->urgent, point, PRIORITY),
         "to lend priority");
    b->me->report->boosts++;
  }
}

static void open_browser(struct browser *b, const int links[LAYERS]) {
  size_t frames = (size_t)b->me->scene->frames + 1;
  party_open(b->me);
  open_screen(b);
  for (int who = 0; who < LAYERS; who++) {
    struct layer *layer = &b->layers[who];
    b->links[who] = links[who];
    layer->gone = links[who] < 0;
    layer->swapped_by = who == ADVERT ? PAGE : (enum who)who;
    layer->tickets = calloc(frames, sizeof *layer->tickets);
    if (!layer->tickets) give_up(b->me, "no memory");
    for (size_t i = 0; i < frames; i++)
      layer->tickets[i] = (struct ticket){.browser = b, .who = (enum who)who};
  }
}

/* The hostile one is seen to its end, and so is what it has promised. */
static void await_ends(struct browser *b) {
  uint64_t patience = now() + PATIENCE;
  while ((b->awaited || b->links[HOSTILE] >= 0) && now() < patience) listen_until(b, patience);
}

void run_browser(struct party *me, const int links[LAYERS]) {
  struct browser b = {.me = me};
  uint64_t frames = me->scene->frames;
  open_browser(&b, links);
  for (uint64_t frame = 1; frame <= frames; frame++) {
    gather(&b, frame);
    me->flowing = true;
    boost(&b, frame);
    compose(&b, frame);
    b.composing = frame;
    if (frame > WINDOWS) finish(&b, frame - WINDOWS);
  }
  for (uint64_t frame = frames < WINDOWS ? 1 : frames - WINDOWS + 1; frame <= frames; frame++)
    finish(&b, frame);
  await_ends(&b);
  party_close(me); /* calls that are left come now */
  for (int who = 0; who < LAYERS; who++) {
    drop(&b, (enum who)who);
    free(b.layers[who].tickets);
  }
}
