/* Values in shared memory: written by the service, read by anybody who may. */
#include "service/values.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Processes share the word, so the futex is not a private one. */
static void sleep_on(const uint32_t *word, uint32_t seen, uint64_t deadline) {
  struct timespec t = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, deadline == TIDE_FOREVER ? NULL : &t, NULL,
          FUTEX_BITSET_MATCH_ANY);
}

static void wake_all(uint32_t *word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void begin(struct tide_values_place *place) {
  tide_store_ordered(&place->word, place->word + 1);
}

static void end(struct tide_values_place *place) {
  tide_store_ordered(&place->word, place->word + 1);
}

void tide_values_open(struct tide_values_place *place, uint32_t generation, uint64_t initial) {
  begin(place);
  tide_store_ordered(&place->generation, 0u);
  tide_store_release(&place->lowest, UINT64_MAX);
  tide_store_release(&place->value, initial);
  tide_store_release(&place->returned, 0);
  tide_store_release(&place->closed, 0u);
  tide_store_release(&place->runs, 0u);
  tide_store_ordered(&place->generation, generation);
  end(place);
}

static void add_broken(struct tide_values_place *place, uint64_t value, uint32_t status) {
  uint32_t runs = place->runs;
  struct tide_values_run *newest = &place->run[(runs + TIDE_VALUES_RUNS - 1) % TIDE_VALUES_RUNS];
  if (runs && newest->status == status && newest->last + 1 == value) {
    tide_store_release(&newest->last, value);
    return;
  }
  struct tide_values_run *run = &place->run[runs % TIDE_VALUES_RUNS];
  tide_store_release(&run->first, value);
  tide_store_release(&run->last, value);
  tide_store_release(&run->status, status);
  /* Once it wraps, it stays above the number of those that are kept. */
  tide_store_release(&place->runs, runs + 1 ? runs + 1 : TIDE_VALUES_RUNS + 1);
}

void tide_values_publish(struct tide_values_place *place, const struct tide_values_news *news) {
  begin(place);
  if (news->status) add_broken(place, news->ended, news->status);
  tide_store_release(&place->lowest, news->lowest); /* before the value: see the readers */
  tide_store_release(&place->value, news->value);
  tide_store_release(&place->returned, news->returned);
  if (news->closed) tide_store_release(&place->closed, 1u);
  end(place);
}

void tide_values_wake(struct tide_values_place *place) { wake_all(&place->word); }

void tide_values_fail(struct tide_values *values, uint32_t places, enum tide_status status) {
  tide_store_ordered(&values->status, (uint32_t)status);
  for (uint32_t i = 0; i < places; i++) {
    if (!tide_load_relaxed(&values->places[i].generation)) continue;
    begin(&values->places[i]);
    end(&values->places[i]);
    wake_all(&values->places[i].word);
  }
}

/* Why a value at or above the lowest broken one is what it is. The word was seen even. */
static enum tide_status look_closer(const struct tide_values_place *place, uint64_t value,
                                    uint64_t reached) {
  uint32_t runs = tide_load_acquire(&place->runs);
  uint32_t kept = runs < TIDE_VALUES_RUNS ? runs : TIDE_VALUES_RUNS;
  for (uint32_t i = 0; i < kept; i++) {
    const struct tide_values_run *run = &place->run[i];
    if (tide_load_acquire(&run->first) <= value && value <= tide_load_acquire(&run->last))
      return (enum tide_status)tide_load_acquire(&run->status);
  }
  bool closed = tide_load_acquire(&place->closed) != 0;
  if (runs > TIDE_VALUES_RUNS) return closed ? TIDE_CANCELLED : TIDE_BUSY;
  if (reached >= value) return TIDE_OK;
  return closed ? TIDE_CANCELLED : TIDE_TIMEOUT;
}

static enum tide_status look_at(const struct tide_values_place *place, uint32_t generation,
                                uint64_t value) {
  uint32_t here = tide_load_acquire(&place->generation);
  if (here > generation) return TIDE_NOT_FOUND;
  if (here < generation) return TIDE_TIMEOUT; /* the service has not come to it yet */
  uint64_t reached = tide_load_acquire(&place->value);
  if (value < tide_load_acquire(&place->lowest)) {
    if (reached < value) return tide_load_acquire(&place->closed) ? TIDE_CANCELLED : TIDE_TIMEOUT;
    return tide_load_acquire(&place->generation) == generation ? TIDE_OK : TIDE_NOT_FOUND;
  }
  return look_closer(place, value, reached);
}

enum tide_status tide_values_look(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value) {
  const struct tide_values_place *at = &values->places[place];
  for (unsigned tries = 0; tries < 1000; tries++) {
    uint32_t word = tide_load_ordered(&at->word);
    enum tide_status status = look_at(at, generation, value);
    if (status == TIDE_OK) return status; /* it stays so */
    if (word & 1 || tide_load_ordered(&at->word) != word) {
      tide_pause();
      continue;
    }
    uint32_t end_of_service = tide_load_acquire(&values->status);
    if ((status == TIDE_TIMEOUT || status == TIDE_BUSY) && end_of_service)
      return (enum tide_status)end_of_service;
    return status;
  }
  return TIDE_TIMEOUT; /* it is being written all the time; whoever waits looks again */
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum tide_status tide_values_wait(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value, uint64_t deadline) {
  const struct tide_values_place *at = &values->places[place];
  for (;;) {
    uint32_t word = tide_load_ordered(&at->word);
    enum tide_status status = tide_values_look(values, place, generation, value);
    if (status != TIDE_TIMEOUT || deadline == TIDE_NOW) return status;
    if (deadline != TIDE_FOREVER && now() >= deadline) return TIDE_TIMEOUT;
    if (!(word & 1)) sleep_on(&at->word, word, deadline);
  }
}
