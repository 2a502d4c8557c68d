/* What all processes do: connect, wait, pass messages. */
#include "compositor.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

const char *const who_names[PROCESSES] = {"photo",   "video",   "page",   "advert",
                                          "hostile", "browser", "service"};

uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

struct tide_point at(struct tide_point timeline, uint64_t value) {
  timeline.value = value;
  return timeline;
}

/* ---- the layers' places ------------------------------------------------------------------ */

uint64_t layer_size(const struct scene *scene, enum who who) {
  uint32_t rows = who == HOSTILE ? scene->band : scene->height - scene->band;
  return (uint64_t)scene->width * rows * 4;
}

uint64_t layer_offset(const struct scene *scene, enum who who) {
  return who == HOSTILE ? layer_size(scene, PHOTO) : 0;
}

uint64_t layer_ahead(enum who who) { return who == VIDEO ? 6 : 2; }

/* ---- the service ---------------------------------------------------------------------------- */

void give_up(const struct party *me, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(me->report->problem, sizeof me->report->problem, format, list);
  va_end(list);
  _exit(3);
}

void must(const struct party *me, enum tide_status status, const char *what) {
  if (status != TIDE_OK) give_up(me, "%s: %s", what, tide_status_text(status));
}

static void on_refusal(void *user, uint64_t sequence, const char *what, enum tide_status status) {
  struct party *me = user;
  me->report->refused++;
  snprintf(me->report->refusal, sizeof me->report->refusal, "%s %s", what,
           tide_status_name(status));
  if (me->refused) me->refused(me->user, sequence);
}

void party_open(struct party *me) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_session_params params = {.struct_size = sizeof params,
                                       .socket = me->scene->socket,
                                       .label = who_names[me->who],
                                       .trust_uid = me->scene->trust_uid,
                                       .refused = on_refusal,
                                       .user = me};
  if (tide_session_connect(&params, &me->session, &diag) != TIDE_OK) give_up(me, "%s", diag.text);
}

void party_close(struct party *me) {
  tide_session_close(me->session);
  me->session = NULL;
}

enum tide_status await(struct party *me, struct tide_point point) {
  enum tide_status status = tide_session_query(me->session, point);
  if (status != TIDE_TIMEOUT) return status;
  me->report->wakes += me->flowing;
  return tide_session_wait(me->session, point, now() + PATIENCE);
}

void tell(struct party *me) {
  me->report->wakes += me->flowing;
  must(me, tide_session_sync(me->session, now() + PATIENCE), "the service");
}

/* ---- messages -----------------------------------------------------------------------------------
 */

bool send_message(int link, const struct message *message) {
  return send(link, message, sizeof *message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof *message;
}

enum heard hear_message(int link, struct message *out_message) {
  ssize_t got = recv(link, out_message, sizeof *out_message, MSG_DONTWAIT | MSG_TRUNC);
  if (got == (ssize_t)sizeof *out_message) return HEARD;
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? NOTHING_YET : HUNG_UP;
}

bool listen_to(struct party *me, const int *links, unsigned count, uint64_t deadline) {
  struct pollfd polls[LAYERS + 1];
  for (unsigned i = 0; i < count; i++) polls[i] = (struct pollfd){links[i], POLLIN, 0};
  polls[count] = (struct pollfd){tide_session_descriptor(me->session), POLLIN, 0};
  int ready = poll(polls, count + 1, 0);
  if (ready == 0 && deadline != TIDE_NOW) {
    uint64_t time = now(), left = deadline > time ? deadline - time : 0;
    struct timespec t = {(time_t)(left / SECOND), (long)(left % SECOND)};
    me->report->wakes += me->flowing;
    ready = ppoll(polls, count + 1, &t, NULL);
  }
  if (ready > 0 && polls[count].revents) {
    enum tide_status status = tide_session_dispatch(me->session, TIDE_NOW);
    if (status != TIDE_TIMEOUT) must(me, status, "the session");
  }
  return ready != 0;
}
