#include "fake_ahead.h"

#include "harness.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

enum { HARDWARE = 4, RING = 256, AT_ONCE = 4 };

struct submission {
  const struct tide_body_class *body;
  bool fails; /* some of it was recorded before it failed */
  bool started, ended;
  struct tide_submission what;
  _Alignas(16) unsigned char arguments[TIDE_ARGUMENTS_MAX];
};

/* Submissions below `first` have ended; those up to `last` exist, each at number % RING. */
struct hardware {
  uint64_t first, last;
  uint64_t reported, listening, released;
  struct submission ring[RING];
};

struct fake_ahead {
  struct fake_ahead_params params;
  struct fake_group own_group, *group; /* its lock guards all below */
  struct tide_device *device;
  struct tide_random random;
  pthread_cond_t wake; /* the submitting thread's */
  pthread_t submitting, running;
  bool kicked, stopping, asleep, held, is_lost, in_body;
  uint64_t wakes;
  struct hardware hardware[HARDWARE];
};

static struct fake_ahead *fake_of(const struct tide_device *device) {
  return tide_device_backend(device)->self;
}
static struct submission *submission_at(struct hardware *hardware, uint64_t number) {
  return &hardware->ring[number % RING];
}
static uint64_t draw(struct fake_ahead *fake, uint64_t limit) {
  return tide_random_below(&fake->random, limit);
}

/* ---- the hardware ------------------------------------------------------------------- */

/* True if the native timeline has reached the number. */
static bool is_signalled(const struct hardware *hardware, uint64_t number) {
  return number < hardware->first || number <= hardware->released;
}

static bool may_start(struct fake_ahead *fake, struct hardware *hardware, uint64_t number) {
  const struct submission *submission = submission_at(hardware, number);
  if (submission->what.barrier && hardware->first < number) return false;
  for (uint32_t i = 0; i < submission->what.wait_count; i++) {
    const struct tide_native_wait *wait = &submission->what.waits[i];
    const struct fake_ahead *other = fake_of(wait->device);
    CHECK(other->group == fake->group && wait->hardware_queue < HARDWARE);
    if (!is_signalled(&other->hardware[wait->hardware_queue], wait->submission)) return false;
  }
  return true;
}

/* Chooses a submission that may start, or has started and may end. NULL: none. */
static struct submission *choose(struct fake_ahead *fake, struct hardware **out_hardware) {
  struct submission *chosen = NULL;
  uint64_t seen = 0;
  for (uint32_t h = 0; h < HARDWARE; h++) {
    struct hardware *hardware = &fake->hardware[h];
    for (uint64_t n = hardware->first; n <= hardware->last; n++) {
      struct submission *submission = submission_at(hardware, n);
      if (submission->ended) continue;
      bool can = submission->started || (!fake->held && may_start(fake, hardware, n));
      if (can && draw(fake, ++seen) == 0) {
        chosen = submission;
        *out_hardware = hardware;
      }
      if (!submission->started) break; /* it holds back all behind it */
    }
  }
  return chosen;
}

static void start(struct fake_ahead *fake, struct submission *submission) {
  submission->started = true;
  if (!submission->body || submission->fails) return;
  fake->in_body = true;
  pthread_mutex_unlock(&fake->group->lock);
  CHECK_OK(submission->body->host(submission->arguments));
  pthread_mutex_lock(&fake->group->lock);
  fake->in_body = false;
}

static void advance_first(struct hardware *hardware) {
  while (hardware->first <= hardware->last && submission_at(hardware, hardware->first)->ended)
    hardware->first++;
}

static void end(struct fake_ahead *fake, struct hardware *hardware, struct submission *submission) {
  submission->ended = true;
  advance_first(hardware);
  if (hardware->listening && hardware->first > hardware->listening)
    pthread_cond_signal(&fake->wake);
}

static void *hardware_main(void *argument) {
  struct fake_ahead *fake = argument;
  struct fake_group *group = fake->group;
  pthread_mutex_lock(&group->lock);
  while (!fake->stopping) {
    struct hardware *hardware;
    struct submission *submission = fake->is_lost ? NULL : choose(fake, &hardware);
    if (!submission) {
      pthread_cond_wait(&group->changed, &group->lock);
      continue;
    }
    if (submission->started) end(fake, hardware, submission);
    else start(fake, submission);
    pthread_cond_broadcast(&group->changed);
  }
  pthread_mutex_unlock(&group->lock);
  return NULL;
}

/* ---- the submitting thread ----------------------------------------------------------------- */

/* Records a work, and puts it on its hardware queue unless it is refused. */
static void submit(struct fake_ahead *fake, struct tide_work *work) {
  struct tide_submission what;
  enum tide_status status = fake->params.record ? fake->params.record(work) : TIDE_OK;
  tide_work_submission(work, &what);
  pthread_mutex_lock(&fake->group->lock);
  bool refused = status != TIDE_OK && draw(fake, 2);
  struct hardware *hardware = &fake->hardware[what.hardware_queue];
  CHECK(what.hardware_queue < fake->params.hardware_queues && what.number > hardware->last);
  /* Numbers of refused works are skipped. */
  for (; !fake->is_lost && !refused && hardware->last < what.number; hardware->last++) {
    struct submission *submission = submission_at(hardware, hardware->last + 1);
    CHECK(hardware->last + 1 - hardware->first < RING);
    *submission = (struct submission){.started = true, .ended = true};
    if (hardware->last + 1 < what.number) continue;
    *submission = (struct submission){.body = work->body, .fails = status != TIDE_OK, .what = what};
    memcpy(submission->arguments, tide_work_arguments(work),
           work->has_many ? TIDE_ARGUMENTS_MAX : sizeof work->arguments.few);
  }
  advance_first(hardware);
  pthread_cond_broadcast(&fake->group->changed);
  pthread_mutex_unlock(&fake->group->lock);
  if (status != TIDE_OK && !refused) tide_work_fail(work, &(struct tide_failure){.status = status});
  work->status = refused ? status : TIDE_OK;
}

static bool has_news(struct fake_ahead *fake) {
  for (uint32_t h = 0; h < HARDWARE; h++) {
    const struct hardware *hardware = &fake->hardware[h];
    if (hardware->listening && hardware->first > hardware->listening) return true;
  }
  return fake->kicked || fake->stopping;
}

/* True: news have come. False: the device closes. */
static bool sleep_for_news(struct fake_ahead *fake) {
  pthread_mutex_lock(&fake->group->lock);
  fake->asleep = true;
  pthread_cond_broadcast(&fake->group->changed);
  while (!has_news(fake)) pthread_cond_wait(&fake->wake, &fake->group->lock);
  fake->asleep = fake->kicked = false;
  fake->wakes++;
  bool stopping = fake->stopping;
  pthread_mutex_unlock(&fake->group->lock);
  return !stopping;
}

static void report_ends(struct fake_ahead *fake) {
  for (uint32_t h = 0; h < fake->params.hardware_queues; h++) {
    struct hardware *hardware = &fake->hardware[h];
    pthread_mutex_lock(&fake->group->lock);
    uint64_t ended = hardware->first - 1, before = hardware->reported;
    bool is_lost = fake->is_lost;
    hardware->reported = ended;
    pthread_mutex_unlock(&fake->group->lock);
    if (ended > before && !is_lost) tide_device_over(fake->device, h, ended);
  }
}

static void listen_for_ends(struct fake_ahead *fake) {
  for (uint32_t h = 0; h < fake->params.hardware_queues; h++) {
    uint64_t number = tide_device_awaited(fake->device, h);
    pthread_mutex_lock(&fake->group->lock);
    fake->hardware[h].listening = number;
    pthread_mutex_unlock(&fake->group->lock);
  }
}

static void *submitting_main(void *argument) {
  struct fake_ahead *fake = argument;
  struct tide_work *works[AT_ONCE];
  do {
    size_t done = 0, count;
    report_ends(fake);
    while ((count = tide_device_exchange(fake->device, works, done, works, AT_ONCE, NULL))) {
      for (size_t i = 0; i < count; i++) submit(fake, works[i]);
      done = count;
    }
    listen_for_ends(fake);
  } while (sleep_for_news(fake));
  return NULL;
}

/* ---- the backend ------------------------------------------------------------------------------
 */

static void kick(void *self) {
  struct fake_ahead *fake = self;
  pthread_mutex_lock(&fake->group->lock);
  fake->kicked = true;
  pthread_cond_signal(&fake->wake);
  pthread_mutex_unlock(&fake->group->lock);
}

static void release(void *self, uint32_t hardware_queue, uint64_t number) {
  struct fake_ahead *fake = self;
  pthread_mutex_lock(&fake->group->lock);
  struct hardware *hardware = &fake->hardware[hardware_queue];
  if (number > hardware->released) hardware->released = number;
  pthread_cond_broadcast(&fake->group->changed);
  pthread_mutex_unlock(&fake->group->lock);
}

static enum tide_status start_threads(void *self, struct tide_device *device) {
  struct fake_ahead *fake = self;
  fake->device = device;
  CHECK(pthread_create(&fake->submitting, NULL, submitting_main, fake) == 0);
  CHECK(pthread_create(&fake->running, NULL, hardware_main, fake) == 0);
  return TIDE_OK;
}

static void stop_threads(void *self) {
  struct fake_ahead *fake = self;
  pthread_mutex_lock(&fake->group->lock);
  fake->stopping = true;
  pthread_cond_signal(&fake->wake);
  pthread_cond_broadcast(&fake->group->changed);
  pthread_mutex_unlock(&fake->group->lock);
  pthread_join(fake->submitting, NULL);
  pthread_join(fake->running, NULL);
  pthread_cond_destroy(&fake->wake);
  free(fake);
}

struct fake_ahead *fake_ahead_open(struct tide_context *context,
                                   const struct fake_ahead_params *params,
                                   struct tide_device **out_device) {
  struct fake_ahead *fake = calloc(1, sizeof *fake);
  CHECK(fake != NULL);
  fake->params = *params;
  if (!fake->params.ahead) fake->params.ahead = 8;
  if (!fake->params.hardware_queues) fake->params.hardware_queues = 2;
  fake->random.state = params->seed;
  fake->own_group = (struct fake_group)FAKE_GROUP;
  fake->group = params->group ? params->group : &fake->own_group;
  pthread_cond_init(&fake->wake, NULL);
  for (uint32_t h = 0; h < HARDWARE; h++) fake->hardware[h].first = 1;
  struct tide_backend backend = {.name = "ahead",
                                 .in_order = !params->out_of_order,
                                 .domain = TIDE_DOMAIN_QUEUE,
                                 .kick = kick,
                                 .start = start_threads,
                                 .stop = stop_threads,
                                 .ahead = fake->params.ahead,
                                 .keep_on_host = params->keep_on_host,
                                 .hardware_queues = fake->params.hardware_queues,
                                 .group = fake->group,
                                 .release = release,
                                 .self = fake};
  CHECK_OK(tide_device_open(context, &backend, "ahead", out_device));
  return fake;
}

void fake_ahead_hold(struct fake_ahead *fake, bool held) {
  pthread_mutex_lock(&fake->group->lock);
  fake->held = held;
  pthread_cond_broadcast(&fake->group->changed);
  pthread_mutex_unlock(&fake->group->lock);
}

void fake_ahead_rest(struct fake_ahead *fake) {
  pthread_mutex_lock(&fake->group->lock);
  while (!fake->asleep || fake->kicked)
    pthread_cond_wait(&fake->group->changed, &fake->group->lock);
  pthread_mutex_unlock(&fake->group->lock);
}

uint64_t fake_ahead_wakes(struct fake_ahead *fake) {
  pthread_mutex_lock(&fake->group->lock);
  uint64_t wakes = fake->wakes;
  pthread_mutex_unlock(&fake->group->lock);
  return wakes;
}

void fake_ahead_lose(struct fake_ahead *fake) {
  pthread_mutex_lock(&fake->group->lock);
  fake->is_lost = true;
  pthread_mutex_unlock(&fake->group->lock);
  tide_device_lose(fake->device, TIDE_LOST);
}

void fake_ahead_certify(struct fake_ahead *fake) {
  pthread_mutex_lock(&fake->group->lock);
  while (fake->in_body || !fake->asleep)
    pthread_cond_wait(&fake->group->changed, &fake->group->lock);
  pthread_mutex_unlock(&fake->group->lock);
  tide_device_certify(fake->device);
}
