/* Operations of programs that take. Each queue has one medium, since a queue of a taker runs one
 * operation at a time. The pieces of an argument become runs of pages. Each run carries the tags of
 * all pieces in it. The body gets the consumer's view of the pages instead of the buffer. */
#include "base/check.h"
#include "base/alloc.h"
#include "base/text.h"
#include "tidemark/kernel.h"
#include "tidemark/run.h"
#include "wic/medium.h"

#include <unistd.h>

#define RUNS TIDE_MEDIUM_BATCH

struct taker {
  struct tide_medium *medium;
  const struct tide_platform *platform;
};

/* A run of an argument's pages, and the pieces that lie in it. */
struct run {
  size_t first, last; /* pages, `last` included */
  uint32_t tag_count;
  struct tide_tag tags[TIDE_REQUEST_TAGS];
  enum tide_status status; /* the first failure of a tag that found no slot */
};

/* An argument with at least one piece that has not arrived yet. */
struct loading {
  const struct tide_taken_argument *taken;
  size_t run_count;
  struct run runs[RUNS];
  struct tide_request requests[RUNS];
};

/* ---- runs of pages -------------------------------------------------------------------- */

static bool is_there(const struct tide_taken_piece *piece) {
  return tide_timeline_query(piece->timeline) >= piece->value;
}

/* Adds a tag to a run; blocks until the tag is reached when the run has no free tag slot. */
static void add_tag(struct run *run, struct tide_tag tag) {
  for (uint32_t i = 0; i < run->tag_count; i++) {
    if (run->tags[i].timeline != tag.timeline) continue;
    if (run->tags[i].value < tag.value) run->tags[i].value = tag.value;
    return;
  }
  if (run->tag_count < TIDE_REQUEST_TAGS) {
    run->tags[run->tag_count++] = tag;
    return;
  }
  enum tide_status status = tide_timeline_wait(tag.timeline, tag.value, TIDE_FOREVER);
  if (run->status == TIDE_OK) run->status = status;
}

/* Merges run `at` + 1 into run `at`. */
static void merge_runs(struct loading *l, size_t at) {
  struct run *a = &l->runs[at], *b = &l->runs[at + 1];
  if (b->first < a->first) a->first = b->first;
  if (b->last > a->last) a->last = b->last;
  for (uint32_t i = 0; i < b->tag_count; i++) add_tag(a, b->tags[i]);
  if (a->status == TIDE_OK) a->status = b->status;
  for (size_t i = at + 1; i + 1 < l->run_count; i++) l->runs[i] = l->runs[i + 1];
  l->run_count--;
}

/* Frees a run slot: merges the two neighbours that span the fewest pages together. */
static void make_room(struct loading *l) {
  size_t best = 0;
  for (size_t i = 1; i + 1 < l->run_count; i++)
    if (l->runs[i + 1].last - l->runs[i].first < l->runs[best + 1].last - l->runs[best].first)
      best = i;
  merge_runs(l, best);
}

/* Inserts a run in the order of pages and merges it with runs that share a page with it. */
static void add_run(struct loading *l, struct run run) {
  size_t at = 0;
  if (l->run_count == RUNS) make_room(l);
  while (at < l->run_count && l->runs[at].first <= run.first) at++;
  for (size_t i = l->run_count++; i > at; i--) l->runs[i] = l->runs[i - 1];
  l->runs[at] = run;
  if (at && l->runs[at - 1].last >= run.first) merge_runs(l, --at);
  while (at + 1 < l->run_count && l->runs[at].last >= l->runs[at + 1].first) merge_runs(l, at);
}

/* Extends the runs over all pages: a page that no piece covers joins the run before it. */
static void close_gaps(struct loading *l, size_t pages) {
  l->runs[0].first = 0;
  for (size_t i = 0; i + 1 < l->run_count; i++) l->runs[i].last = l->runs[i + 1].first - 1;
  l->runs[l->run_count - 1].last = pages - 1;
}

static void lay_out(struct loading *l, const struct tide_argument *argument, size_t page) {
  l->run_count = 0;
  for (size_t i = 0; i < l->taken->piece_count; i++) {
    const struct tide_taken_piece *piece = &l->taken->pieces[i];
    struct run run = {.first = (size_t)piece->offset / page,
                      .last = (size_t)(piece->offset + piece->size - 1) / page,
                      .tag_count = 1,
                      .tags = {{piece->timeline, piece->value}}};
    add_run(l, run);
  }
  close_gaps(l, (size_t)(argument->size + page - 1) / page);
}

/* ---- one argument ------------------------------------------------------------------------- */

static enum tide_status load_argument(struct taker *taker, struct loading *l,
                                      struct tide_argument *argument) {
  size_t page = taker->medium->region.page;
  lay_out(l, argument, page);
  for (size_t i = 0; i < l->run_count; i++) {
    const struct run *run = &l->runs[i];
    size_t from = run->first * page, end = (run->last + 1) * page;
    if (end > argument->size) end = (size_t)argument->size;
    struct tide_request *request = &l->requests[i];
    *request = (struct tide_request){.bytes = end - from,
                                     .tag_count = run->tag_count,
                                     .source = (const char *)argument->data + from};
    memcpy(request->tags, run->tags, sizeof run->tags);
  }
  enum tide_status status;
  /* The pages of the previous operation are released shortly. */
  while ((status = tide_medium_request(taker->medium, l->requests, l->run_count)) == TIDE_FULL)
    taker->platform->yield(taker->platform->self);
  if (status == TIDE_OK) argument->data = (void *)(uintptr_t)l->requests[0].data;
  else l->run_count = 0;
  return status;
}

/* Records the status in each piece that starts in the run. The first of them gets the run's stall
 * times. */
static void note_stall(struct loading *l, const struct tide_request *request, const struct run *run,
                       enum tide_status status, size_t page) {
  bool told = !request->stalled;
  for (size_t i = 0; i < l->taken->piece_count; i++) {
    struct tide_taken_piece *piece = &l->taken->pieces[i];
    size_t first = (size_t)piece->offset / page;
    if (first < run->first || first > run->last) continue;
    piece->status = status;
    if (told) continue;
    piece->stalled = request->stalled;
    piece->resumed = request->resumed;
    told = true;
  }
}

/* Returns the status of a run that the body never read: TIDE_OK unless the timeline of an unreached
 * tag has failed. */
static enum tide_status tags_status(const struct run *run) {
  for (uint32_t i = 0; i < run->tag_count; i++) {
    const struct tide_tag *tag = &run->tags[i];
    if (tide_timeline_query(tag->timeline) >= tag->value) continue;
    enum tide_status status = tide_timeline_status(tag->timeline);
    if (status != TIDE_OK) return status;
  }
  return TIDE_OK;
}

static enum tide_status finish_argument(struct taker *taker, struct loading *l) {
  enum tide_status first = TIDE_OK;
  for (size_t i = 0; i < l->run_count; i++) {
    struct tide_request *request = &l->requests[i];
    enum tide_status status = tide_request_finish(taker->medium, request, NULL);
    TIDE_ASSERT(status != TIDE_INVALID);
    if (status == TIDE_CANCELLED) status = tags_status(&l->runs[i]);
    if (status == TIDE_OK) status = l->runs[i].status;
    note_stall(l, request, &l->runs[i], status, taker->medium->region.page);
    if (first == TIDE_OK) first = status;
  }
  return first;
}

/* ---- the source --------------------------------------------------------------------------- */

static bool all_there(const struct tide_taken_argument *argument) {
  for (size_t i = 0; i < argument->piece_count; i++)
    if (!is_there(&argument->pieces[i])) return false;
  return true;
}

static enum tide_status call_taken(void *self, struct tide_taken *taken) {
  struct taker *taker = self;
  _Alignas(16) struct tide_argument arguments[TIDE_PARAMS_MAX];
  struct loading *loading[TIDE_PARAMS_MAX];
  size_t count = 0;
  enum tide_status status = TIDE_OK;
  memcpy(arguments, taken->arguments, taken->body->param_count * sizeof *arguments);
  for (size_t i = 0; i < taken->taken_count && status == TIDE_OK; i++) {
    if (all_there(&taken->taken[i])) continue;
    struct loading *l = tide_alloc(taker->medium->allocator, 1, sizeof *l);
    if (!l) status = TIDE_NOMEM;
    if (!l) break;
    l->taken = &taken->taken[i];
    loading[count++] = l;
    status = load_argument(taker, l, &arguments[l->taken->argument]);
  }
  if (status == TIDE_OK) status = taken->body->class_.host(arguments);
  for (size_t i = 0; i < count; i++) {
    enum tide_status came = finish_argument(taker, loading[i]);
    if (came != TIDE_OK) status = came; /* the body has read zeros */
    tide_free(taker->medium->allocator, loading[i], 1, sizeof *loading[i]);
  }
  return status;
}

static enum tide_status say_why(struct tide_diag *diag, enum tide_status status) {
  switch (status) {
    case TIDE_DENIED:
      return tide_diag_set(diag, status,
                           "no right to use userfaultfd; it takes root, CAP_SYS_PTRACE, "
                           "vm.unprivileged_userfaultfd = 1 or access to /dev/userfaultfd");
    case TIDE_UNSUPPORTED:
      return tide_diag_set(diag, status, "this kernel has no userfaultfd with minor faults (5.14)");
    case TIDE_FULL: return tide_diag_set(diag, status, "no descriptors are left");
    default: return tide_diag_set(diag, status, "%s", tide_status_text(status));
  }
}

/* Opens the medium of a queue. Half of its places suffices for one operation's runs: each piece may
 * use one more, partly filled page, and the pages of a batch are contiguous. */
static enum tide_status open_taker(void *self, struct tide_context *context, const char *label,
                                   uint64_t bytes, uint32_t pieces, void **out_taker,
                                   struct tide_diag *diag) {
  uint64_t half = bytes / (uint64_t)sysconf(_SC_PAGESIZE) + pieces + 1;
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .label = label,
                                      .engine = TIDE_MEDIUM_MONITOR,
                                      .requests = 2 * RUNS * (uint32_t)TIDE_PARAMS_MAX};
  (void)self;
  if (half > TIDE_MEDIUM_PAGES / 4)
    return tide_diag_set(diag, TIDE_FULL, "%llu bytes are too many to be taken at once",
                         (unsigned long long)bytes);
  params.pages = 4 * (uint32_t)half; /* twice: pages of a finished operation are not free at once */
  struct taker *taker = tide_alloc(tide_context_allocator(context), 1, sizeof *taker);
  if (!taker) return tide_diag_set(diag, TIDE_NOMEM, "out of memory");
  taker->platform = tide_context_platform(context);
  enum tide_status status = tide_medium_create(context, &params, &taker->medium);
  if (status == TIDE_OK) *out_taker = taker;
  else tide_free(tide_context_allocator(context), taker, 1, sizeof *taker);
  return status == TIDE_OK ? TIDE_OK : say_why(diag, status);
}

static void close_taker(void *self) {
  struct taker *taker = self;
  const struct tide_allocator *allocator = taker->medium->allocator;
  tide_medium_destroy(taker->medium);
  tide_free(allocator, taker, 1, sizeof *taker);
}

const struct tide_take_source *tide_medium_takes(void) {
  static const struct tide_take_source source = {open_taker, call_taken, close_taker, NULL};
  return &source;
}
