/* A renderer that breaks every rule that it can. It has a band of the screen to itself, and nobody
 * waits for it; what it does must not be seen anywhere else. */
#include "compositor.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SHORT 3000000u /* ns: the deadline of promises that it never means to keep */

struct hostile {
  struct party *me;
  int link;
  struct tide_point channel, drawn, windows[WINDOWS];
  uint64_t allowed;
};

/* The end, whenever it comes: nothing is closed, given back or said. */
static _Noreturn void die(void) {
  raise(SIGKILL);
  _exit(9);
}

/* Tokens of its own making. */
static void guess_tokens(struct hostile *h) {
  for (unsigned i = 0; i < 2; i++) {
    struct tide_token token;
    struct tide_point nothing;
    memset(token.bytes, (int)(0x5a + i), sizeof token.bytes);
    if (tide_session_redeem(h->me->session, &token, &nothing) == TIDE_OK)
      give_up(h->me, "it has guessed a token");
    h->me->report->guesses++;
  }
}

static void submit(struct hostile *h, const struct tide_session_operation *operation) {
  if (tide_session_submit(h->me->session, h->channel, operation) != TIDE_OK) die();
}

static void draw(struct hostile *h, struct tide_point frame) {
  struct tide_session_argument arguments[] = {
      {h->windows[frame.value % WINDOWS], 0, layer_size(h->me->scene, HOSTILE)},
      {.offset = 0x80 + frame.value % 64}};
  struct tide_session_operation fill = {.body = TIDE_SESSION_FILL,
                                        .arguments = arguments,
                                        .argument_count = 2,
                                        .retires = &frame,
                                        .retire_count = 1};
  submit(h, &fill); /* without a wait: the buffer may be in use */
}

/* Its own frame must be there before its own frame is drawn. */
static void wait_for_itself(struct hostile *h, struct tide_point frame) {
  struct tide_session_operation cycle = {
      .waits = &frame, .wait_count = 1, .retires = &frame, .retire_count = 1};
  submit(h, &cycle);
}

static void fail(struct hostile *h, struct tide_point frame) {
  struct tide_session_operation failing = {
      .body = TIDE_SESSION_FAIL, .retires = &frame, .retire_count = 1};
  submit(h, &failing);
}

static void open_hostile(struct hostile *h) {
  struct tide_session *session = h->me->session;
  struct message hello = {.kind = HELLO};
  struct tide_future_params future = {
      .struct_size = sizeof future, .label = "drawn", .capacity = 1024};
  bool good =
      tide_session_create_channel(session, NULL, &h->channel) == TIDE_OK &&
      tide_session_create_channel_future(session, h->channel, &future, &h->drawn) == TIDE_OK &&
      tide_session_grant(session, h->drawn, TIDE_RIGHT_WAIT, &hello.tokens[0]) == TIDE_OK;
  for (unsigned i = 0; good && i < WINDOWS; i++)
    good = tide_session_create_buffer(session, layer_size(h->me->scene, HOSTILE), &h->windows[i]) ==
               TIDE_OK &&
           tide_session_grant(session, h->windows[i], TIDE_RIGHT_READ, &hello.tokens[1 + i]) ==
               TIDE_OK;
  if (!good || !send_message(h->link, &hello)) die();
}

static void one_frame(struct hostile *h, uint64_t frame) {
  struct tide_session *session = h->me->session;
  struct message message = {.kind = PROMISED, .value = frame};
  bool never = frame % 5 == 2;
  struct tide_point point;
  if (tide_session_promise(session, h->drawn, now() + (never ? SHORT : PROMISE), &point) != TIDE_OK)
    die();
  tell(h->me);
  if (!send_message(h->link, &message)) die();
  /* Its channel goes on, whatever failed there or was refused with the frame before. */
  if (tide_session_recover(session, h->channel) != TIDE_OK) die();
  switch (frame % 5) {
    case 2: break; /* it is never queued */
    case 3: (void)!tide_session_break(session, point, TIDE_INVALID); break;
    case 4: wait_for_itself(h, point); break;
    case 0: fail(h, point); break;
    default: draw(h, point); break;
  }
  /* A later frame that is drawn would cover what was only late: it sees each of them end. */
  (void)!await(h->me, point);
  h->me->report->frames = frame;
}

static void listen_once(struct hostile *h) {
  struct message message;
  enum heard heard;
  if (!listen_to(h->me, &h->link, 1, now() + PATIENCE)) die();
  while ((heard = hear_message(h->link, &message)) == HEARD)
    if (message.kind == RETURNED) h->allowed = message.value;
  if (heard == HUNG_UP) die();
}

void run_hostile(struct party *me, int browser) {
  struct hostile h = {.me = me, .link = browser};
  struct tide_point debt;
  uint64_t last = me->scene->frames / 2;
  party_open(me);
  guess_tokens(&h);
  open_hostile(&h);
  me->flowing = true;
  for (uint64_t frame = 1; frame <= last; frame++) {
    one_frame(&h, frame);
    while (frame < last && h.allowed < frame) listen_once(&h);
  }
  /* It owes two more, the browser has heard of it, and it is gone. */
  for (uint64_t frame = last + 1; frame <= last + 2; frame++) {
    struct message message = {.kind = PROMISED, .value = frame};
    (void)!tide_session_promise(me->session, h.drawn, now() + PROMISE, &debt);
    tell(me);
    (void)!send_message(browser, &message);
  }
  while (h.allowed < last + 2) listen_once(&h);
  die();
}
