/* Values in shared memory: written by the service, read by clients. */
#include "service/values.h"
#include "base/atomic.h"
#include "base/check.h"
#include "timeline/shared_layout.h"

static struct tide_shared_shape shape_of(uint32_t places) {
  return (struct tide_shared_shape){.count = places};
}

static size_t region_bytes(uint32_t places) {
  struct tide_shared_shape shape = shape_of(places);
  return (tide_shared_size(&shape) + 127) / 128 * 128;
}

size_t tide_values_bytes(uint32_t places) {
  size_t region = region_bytes(places);
  return region ? region + (size_t)places * sizeof(struct tide_values_more) : 0;
}

enum tide_status tide_values_format(void *memory, uint32_t places) {
  struct tide_shared_shape shape = shape_of(places);
  return tide_shared_format(memory, region_bytes(places), &shape);
}

enum tide_status tide_values_attach(struct tide_values *out_values, void *memory, uint32_t places,
                                    bool writable) {
  struct tide_shared_params params = {
      .struct_size = sizeof params, .platform = tide_platform_linux(), .writable = writable};
  enum tide_status status =
      tide_shared_attach(&out_values->shared, memory, region_bytes(places), &params);
  if (status != TIDE_OK) return status;
  if (out_values->shared.shape.count != places || out_values->shared.shape.records)
    return TIDE_CORRUPT;
  out_values->more = (void *)((unsigned char *)memory + region_bytes(places));
  out_values->quiet = out_values->shared;
  tide_shared_set_alone(&out_values->quiet, true);
  return TIDE_OK;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The slot and the status are the service's own, so these calls have no reason to refuse them. */
static void assert_done(enum tide_status status) { TIDE_ASSERT(status != TIDE_INVALID); }

void tide_values_open(struct tide_values *values, uint32_t place, uint32_t generation,
                      uint64_t initial, uint64_t newest) {
  struct tide_values_more *more = &values->more[place];
  assert_done(tide_shared_close(&values->quiet, place)); /* the slot's previous timeline */
  tide_store_release(&more->returned, 0);
  tide_store_release(&more->runs, 0u);
  tide_store_release(&more->newest, newest);
  tide_store_release(&more->open, newest - initial);
  assert_done(tide_shared_open(&values->quiet, place, generation, initial));
}

static void add_broken(struct tide_values_more *more, uint64_t value, uint32_t status) {
  uint32_t runs = more->runs;
  struct tide_values_run *newest = &more->run[(runs + TIDE_VALUES_RUNS - 1) % TIDE_VALUES_RUNS];
  tide_store_ordered(&more->seq, more->seq + 1);
  if (runs && newest->status == status && newest->last + 1 == value) {
    tide_store_release(&newest->last, value);
  } else {
    struct tide_values_run *run = &more->run[runs % TIDE_VALUES_RUNS];
    tide_store_release(&run->first, value);
    tide_store_release(&run->last, value);
    tide_store_release(&run->status, status);
    /* After a wrap the count stays above the number of runs that are kept. */
    tide_store_release(&more->runs, runs + 1 ? runs + 1 : TIDE_VALUES_RUNS + 1);
  }
  tide_store_ordered(&more->seq, more->seq + 1);
}

void tide_values_count(struct tide_values *values, uint32_t place,
                       const struct tide_values_news *news) {
  struct tide_values_more *more = &values->more[place];
  tide_store_release(&more->returned, news->returned);
  tide_store_release(&more->open, news->open);
  if (news->newest > more->newest) tide_store_release(&more->newest, news->newest);
}

void tide_values_publish(struct tide_values *values, uint32_t place,
                         const struct tide_values_news *news) {
  struct tide_values_more *more = &values->more[place];
  if (news->status) add_broken(more, news->ended, news->status);
  assert_done(tide_shared_publish(&values->quiet, place, news->value, news->lowest));
  tide_values_count(values, place, news);
  if (news->closed) assert_done(tide_shared_fail(&values->quiet, place, 0, TIDE_CANCELLED));
}

/* A region has no code for some statuses: such a status marks the first value only, and the others
 * are shown as cancelled. */
void tide_values_end(struct tide_values *values, uint32_t place, uint64_t from,
                     enum tide_status status) {
  bool shows = tide_shared_fails((uint32_t)status);
  tide_store_release(&values->more[place].newest, UINT64_MAX); /* all of them have ended, or will */
  if (!shows) add_broken(&values->more[place], from, (uint32_t)status);
  assert_done(tide_shared_fail(&values->quiet, place, from, shows ? status : TIDE_CANCELLED));
}

void tide_values_wake(struct tide_values *values, uint32_t place) {
  assert_done(tide_shared_wake(&values->shared, place));
}

void tide_values_fail(struct tide_values *values, enum tide_status status) {
  assert_done(tide_shared_reap(&values->shared, status));
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Finds the error of a value among the kept runs. False: the runs were being written. */
static bool read_runs(const struct tide_values_more *more, uint64_t value, uint32_t *out_runs,
                      uint32_t *out_status) {
  uint32_t seq = tide_load_acquire(&more->seq);
  *out_status = TIDE_OK;
  *out_runs = tide_load_acquire(&more->runs);
  uint32_t kept = *out_runs < TIDE_VALUES_RUNS ? *out_runs : TIDE_VALUES_RUNS;
  for (uint32_t i = 0; i < kept; i++) {
    const struct tide_values_run *run = &more->run[i];
    uint64_t first = tide_load_acquire(&run->first), last = tide_load_acquire(&run->last);
    if (first <= value && value <= last) *out_status = (uint32_t)tide_load_acquire(&run->status);
  }
  return !(seq & 1) && tide_load_acquire(&more->seq) == seq;
}

/* Finds the status of a value at or above the lowest broken one, or beyond the last: the value may
 * have an error of its own. */
static enum tide_status look_closer(const struct tide_values *values, uint32_t place,
                                    uint32_t generation, uint64_t value, enum tide_status status) {
  uint32_t runs, cause;
  uint64_t reached = tide_shared_value(&values->shared, place);
  bool whole = read_runs(&values->more[place], value, &runs, &cause);
  /* The runs belong to this timeline if the slot still does: value 0 has always ended. */
  enum tide_status owned = tide_shared_look(&values->shared, place, generation, 0);
  if (owned == TIDE_CANCELLED || (owned == TIDE_OK && !whole)) return TIDE_BUSY;
  if (owned != TIDE_OK) return owned; /* the service has ended */
  if (cause) return (enum tide_status)cause;
  if (status == TIDE_CANCELLED) return TIDE_BUSY; /* perhaps it was never promised */
  if (status != TIDE_NOT_FOUND) return status;
  if (runs > TIDE_VALUES_RUNS) return TIDE_BUSY;
  return reached >= value ? TIDE_OK : TIDE_TIMEOUT;
}

/* Finds the status of a value that has not ended as far as the slot shows. */
static enum tide_status look_for_promise(const struct tide_values *values, uint32_t place,
                                         uint32_t generation, uint64_t value) {
  bool is_promised = value <= tide_load_acquire(&values->more[place].newest);
  /* The count is this timeline's if the slot is; a slot that is not open yet is still to come. */
  bool is_open = tide_shared_look(&values->shared, place, generation, 0) == TIDE_OK;
  return is_promised || !is_open ? TIDE_TIMEOUT : TIDE_NOT_FOUND;
}

enum tide_status tide_values_look(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value, bool promised) {
  enum tide_status status = tide_shared_look(&values->shared, place, generation, value);
  if (status == TIDE_OK) return status;
  if (status != TIDE_TIMEOUT) status = look_closer(values, place, generation, value, status);
  if (status != TIDE_TIMEOUT || promised) return status;
  return look_for_promise(values, place, generation, value);
}

enum tide_status tide_values_wait(const struct tide_values *values, uint32_t place,
                                  uint32_t generation, uint64_t value, bool promised,
                                  uint64_t deadline) {
  for (;;) {
    uint32_t word = tide_shared_word(&values->shared, place);
    enum tide_status status = tide_values_look(values, place, generation, value, promised);
    if (status != TIDE_TIMEOUT) return status;
    status = tide_shared_sleep(&values->shared, place, word, deadline);
    if (status != TIDE_OK) return status;
  }
}

bool tide_values_over(const struct tide_values *values, uint32_t place, uint32_t generation) {
  enum tide_status status = tide_shared_look(&values->shared, place, generation, UINT64_MAX);
  return status != TIDE_OK && status != TIDE_TIMEOUT && status != TIDE_NOT_FOUND;
}

uint64_t tide_values_returned(const struct tide_values *values, uint32_t place) {
  return tide_load_acquire(&values->more[place].returned);
}

bool tide_values_ended(const struct tide_values *values, uint32_t place, uint64_t newest) {
  const struct tide_values_more *more = &values->more[place];
  return tide_load_acquire(&more->newest) >= newest && !tide_load_acquire(&more->open);
}
