/* Shrinks a failing order.
 *
 *   the whole order, replayed --> the shortest prefix that fails (binary search)
 *     --> its last pick let Y overtake X's: does one pair alone, after=X:Y, fail?
 *
 * Only picks that let a submission overtake an earlier one can matter, so a prefix ends behind such
 * a pick. All runs have seed 0: after the record, submissions go as they come. */
#include "tool/vulkan_explore.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS_MOST 40
#define NARROWING_MOST 8
#define KINDS_MOST 16
#define LIMIT_LEAST_NS 5000000000ull
#define LIMIT_FACTOR 10 /* times the slowest run that ended */

#define FAILING "failing.order"

/* The kept failure. */
static struct {
  unsigned failures;
  char *kinds[KINDS_MOST]; /* the kinds of its findings */
  size_t kind_count;
  struct tide_vulkan_order order;
} kept;

/* ---- the failure to look for ----------------------------------------------------- */

/* True for findings about the order itself, which are no failure. */
static bool is_of_order(const char *kind) {
  return strcmp(kind, "order") == 0 || strcmp(kind, "diverged") == 0;
}

static bool has_kind(const char *kind) {
  for (size_t i = 0; i < kept.kind_count; i++)
    if (strcmp(kept.kinds[i], kind) == 0) return true;
  return false;
}

static void keep_kinds(const struct tide_vulkan_reports *reports) {
  for (size_t i = 0; i < reports->count; i++)
    for (size_t k = 0; k < reports->list[i].line_count; k++) {
      const struct tide_vulkan_line *line = &reports->list[i].lines[k];
      if (line->kind != TIDE_VULKAN_LINE_FINDING || is_of_order(line->word)) continue;
      if (kept.kind_count == KINDS_MOST || has_kind(line->word)) continue;
      char *copy = strdup(line->word);
      if (copy) kept.kinds[kept.kind_count++] = copy;
    }
}

static size_t count_overtaking(const struct tide_vulkan_order *order) {
  size_t count = 0;
  for (size_t i = 0; i < order->pick_count; i++) count += tide_vulkan_pick_overtakes(order, i);
  return count;
}

/* Cuts off half a line at the end: a killed process may have left one. */
static size_t cut_torn_line(const char *text, size_t length) {
  while (length && text[length - 1] != '\n') length--;
  return length;
}

bool tide_vulkan_read_order(const char *run, uint64_t process, struct tide_vulkan_order *order) {
  struct tide_diag diag = {.status = TIDE_OK};
  size_t length;
  char *text = tide_vulkan_read(run, process, "order", &length);
  if (!text) return false;
  enum tide_status status =
      tide_vulkan_order_parse(order, text, cut_torn_line(text, length), &diag);
  free(text);
  if (status != TIDE_OK)
    tide_tool_error("%llu.order:%u:%u: %s", (unsigned long long)process, diag.line, diag.column,
                    diag.text);
  return status == TIDE_OK;
}

/* Reads an order. False, also: no submission of it overtakes another one. */
static bool read_overtaking(const char *run, uint64_t process, struct tide_vulkan_order *order) {
  if (!tide_vulkan_read_order(run, process, order)) return false;
  if (count_overtaking(order)) return true;
  tide_vulkan_order_fini(order);
  return false;
}

void tide_vulkan_shrink_keep(struct tide_vulkan_exploration *e,
                             const struct tide_vulkan_outcome *outcome,
                             const struct tide_vulkan_reports *reports) {
  uint64_t processes[TIDE_VULKAN_PROCESSES_MOST], process = 0;
  char run[TIDE_VULKAN_PATH_MOST], from[TIDE_VULKAN_PATH_MOST + 32], to[TIDE_VULKAN_PATH_MOST];
  size_t matching = 0, count;
  e->shrunk.seed = outcome->seed;
  if (!outcome->seed) {
    e->shrunk.why = "it fails in the order as submissions came, too";
    return;
  }
  kept.failures = outcome->failures & ~(unsigned)TIDE_VULKAN_FINDING;
  keep_kinds(reports);
  count = tide_vulkan_list(tide_vulkan_path(&e->directory, "run", run), "order", processes);
  for (size_t i = 0; i < count && matching < 2; i++) {
    struct tide_vulkan_order order;
    if (!read_overtaking(run, processes[i], &order)) continue;
    tide_vulkan_order_fini(&kept.order);
    kept.order = order;
    process = processes[i];
    matching++;
  }
  if (matching == 0) e->shrunk.why = "no submission overtook another: timing takes part";
  else if (matching > 1) e->shrunk.why = "several processes submitted: only one order is replayed";
  if (matching != 1) return;
  snprintf(from, sizeof from, "%s/%llu.order", run, (unsigned long long)process);
  if (!tide_vulkan_copy_file(from, tide_vulkan_path(&e->directory, FAILING, to)))
    e->shrunk.why = "its order could not be kept";
}

void tide_vulkan_shrink_fini(struct tide_vulkan_exploration *e) {
  for (size_t i = 0; i < kept.kind_count; i++) free(kept.kinds[i]);
  kept.kind_count = 0;
  tide_vulkan_order_fini(&kept.order);
  free(e->shrunk.account);
  e->shrunk.account = NULL;
}

/* ---- does it fail again? --------------------------------------------------------- */

/* True if the run fails like the kept one: they share a failure flag or a kind of finding. */
static bool fails_alike(const struct tide_vulkan_outcome *outcome,
                        const struct tide_vulkan_reports *reports) {
  if (outcome->failures & kept.failures) return true;
  for (size_t i = 0; i < reports->count; i++)
    for (size_t k = 0; k < reports->list[i].line_count; k++) {
      const struct tide_vulkan_line *line = &reports->list[i].lines[k];
      if (line->kind == TIDE_VULKAN_LINE_FINDING && has_kind(line->word)) return true;
    }
  return false;
}

/* Returns the limit of a run, by the slowest run: a hang is found sooner than by the user's
 * limit. */
static uint64_t run_limit(const struct tide_vulkan_exploration *e) {
  uint64_t limit = e->slowest_ns * LIMIT_FACTOR;
  if (limit < LIMIT_LEAST_NS) limit = LIMIT_LEAST_NS;
  return e->job->limit_ns && e->job->limit_ns < limit ? e->job->limit_ns : limit;
}

/* Runs once more. The caller gets the reports if `out_reports` is given. False: stop. */
static bool try_again(struct tide_vulkan_exploration *e, struct tide_vulkan_extra extra,
                      bool *out_fails, struct tide_vulkan_reports *out_reports) {
  struct tide_vulkan_outcome outcome;
  struct tide_vulkan_reports reports;
  extra.has_seed = true;
  extra.seed = 0;
  tide_tool_progress("seed %llu: looking for the cause, run %u of at most %d",
                     (unsigned long long)e->shrunk.seed, ++e->shrunk.runs, RUNS_MOST);
  bool good = tide_vulkan_explore_once(e, &extra, run_limit(e), &outcome, &reports);
  *out_fails = good && fails_alike(&outcome, &reports);
  free(outcome.account);
  if (out_reports && *out_fails) *out_reports = reports;
  else tide_vulkan_reports_free(&reports);
  return good;
}

/* ---- the pair -------------------------------------------------------------------- */

/* True if the text contains "submission N", and not as part of a longer number. */
static bool names_submission(const char *text, uint64_t number) {
  char word[40];
  int length = snprintf(word, sizeof word, "submission %llu", (unsigned long long)number);
  for (const char *at = text; (at = strstr(at, word)); at += length)
    if (!isdigit((unsigned char)at[length])) return true;
  return false;
}

/* Prints the findings about the order; if there are none, the lines that name the pair. */
static size_t print_lines(const struct tide_vulkan_shrunk *shrunk,
                          const struct tide_vulkan_reports *reports, bool of_order, FILE *to) {
  size_t count = 0;
  for (size_t i = 0; i < reports->count; i++)
    for (size_t k = 0; k < reports->list[i].line_count; k++) {
      const struct tide_vulkan_line *line = &reports->list[i].lines[k];
      bool is_finding = line->kind == TIDE_VULKAN_LINE_FINDING;
      bool is_order = is_finding && strcmp(line->word, "order") == 0;
      bool names_pair = (is_finding || line->kind == TIDE_VULKAN_LINE_TEXT) &&
                        (names_submission(line->text, shrunk->first) ||
                         names_submission(line->text, shrunk->later));
      if (of_order ? !is_order : !names_pair) continue;
      fprintf(to, "%s\n", line->text);
      count++;
    }
  return count;
}

static char *make_account(const struct tide_vulkan_shrunk *shrunk,
                          const struct tide_vulkan_reports *reports) {
  char *account = NULL;
  size_t length;
  FILE *to = open_memstream(&account, &length);
  if (!to) return NULL;
  if (!print_lines(shrunk, reports, true, to)) print_lines(shrunk, reports, false, to);
  if (fclose(to) == 0) return account;
  free(account);
  return NULL;
}

/* True if the pair changed places. If something orders the pair, the layer lets the held one go. */
static bool went_before(const struct tide_vulkan_reports *reports) {
  for (size_t i = 0; i < reports->count; i++)
    for (size_t k = 0; k < reports->list[i].line_count; k++) {
      const struct tide_vulkan_line *line = &reports->list[i].lines[k];
      if (line->kind == TIDE_VULKAN_LINE_FINDING && strcmp(line->word, "order") == 0) return true;
    }
  return false;
}

/* Holds `held` until `until` has gone; otherwise submissions go as they come. If that fails, the
 * two are the pair. False: stop. */
static bool try_pair(struct tide_vulkan_exploration *e, uint64_t held, uint64_t until,
                     bool *out_fails) {
  struct tide_vulkan_shrunk *shrunk = &e->shrunk;
  struct tide_vulkan_extra extra = {.has_after = true, .held = held, .until = until};
  struct tide_vulkan_reports reports = {.list = NULL};
  *out_fails = false;
  shrunk->is_cut_short = shrunk->runs >= RUNS_MOST;
  if (shrunk->is_cut_short) return true;
  if (!try_again(e, extra, out_fails, &reports)) return false;
  if (!*out_fails) return true;
  *out_fails = went_before(&reports);
  if (!*out_fails) {
    tide_vulkan_reports_free(&reports);
    return true;
  }
  free(shrunk->account);
  shrunk->end = TIDE_VULKAN_SHRINK_PAIR;
  shrunk->first = held;
  shrunk->later = until;
  shrunk->account = make_account(shrunk, &reports);
  tide_vulkan_reports_free(&reports);
  return true;
}

/* Narrows the pair. The overtaken submission also held up those behind it in its queue. One of
 * these, the nearest that came before the other one, may be the cause. False: stop. */
static bool narrow_pair(struct tide_vulkan_exploration *e) {
  uint64_t first = e->shrunk.first, later = e->shrunk.later;
  bool fails = false;
  for (uint64_t held = later - 1; held > first && later - held <= NARROWING_MOST && !fails; held--)
    if (!try_pair(e, held, later, &fails)) return false;
  return true;
}

/* Tries each submission that the pick overtook, alone. False: stop. */
static bool find_pair(struct tide_vulkan_exploration *e, const struct tide_vulkan_pick *pick) {
  for (size_t i = 0; i < pick->candidate_count; i++) {
    uint64_t overtaken = kept.order.candidates[pick->candidates_at + i];
    bool fails;
    if (overtaken >= pick->first) continue;
    if (!try_pair(e, overtaken, pick->first, &fails)) return false;
    if (fails) return narrow_pair(e);
  }
  return true;
}

/* ---- the prefix ------------------------------------------------------------------ */

static void write_prefix(FILE *to, size_t count) {
  fputs("tidemark-vulkan-order 1\n", to);
  for (size_t i = 0; i < count; i++) {
    const struct tide_vulkan_pick *pick = &kept.order.picks[i];
    fprintf(to, "pick %llu of", (unsigned long long)pick->first);
    for (size_t k = 0; k < pick->candidate_count; k++)
      fprintf(to, " %llu", (unsigned long long)kept.order.candidates[pick->candidates_at + k]);
    fputc('\n', to);
  }
}

/* Saves the prefix beside the runs' files, or in the current directory. */
static void save_prefix(struct tide_vulkan_exploration *e) {
  struct tide_vulkan_shrunk *shrunk = &e->shrunk;
  char *temporary;
  int length = snprintf(shrunk->order, sizeof shrunk->order, "%s/tidemark-seed-%llu.order",
                        e->job->save ? e->job->save : ".", (unsigned long long)shrunk->seed);
  bool fits = length < (int)sizeof shrunk->order && tide_tool_need_folders(shrunk->order);
  int descriptor = fits ? tide_tool_begin_file(shrunk->order, &temporary) : -1;
  FILE *to = descriptor < 0 ? NULL : fdopen(dup(descriptor), "w");
  if (to) write_prefix(to, shrunk->prefix);
  bool good = to && fclose(to) == 0;
  if (descriptor < 0 || !tide_tool_end_file(shrunk->order, descriptor, temporary, good))
    shrunk->order[0] = 0;
}

/* Finds the shortest prefix that fails. `ends` are the lengths to choose from; the last one fails.
 * False: stop. */
static bool find_prefix(struct tide_vulkan_exploration *e, const char *order, const size_t *ends,
                        size_t count) {
  size_t good = 0, bad = count; /* indices of `ends` */
  while (bad - good > 1) {
    size_t middle = good + (bad - good) / 2;
    struct tide_vulkan_extra extra = {
        .has_prefix = true, .prefix = ends[middle - 1], .replay = order};
    bool fails;
    e->shrunk.is_cut_short = e->shrunk.runs >= RUNS_MOST;
    if (e->shrunk.is_cut_short) break;
    if (!try_again(e, extra, &fails, NULL)) return false;
    if (fails) bad = middle;
    else good = middle;
  }
  e->shrunk.prefix = ends[bad - 1];
  return true;
}

static bool shrink_order(struct tide_vulkan_exploration *e, const char *order, size_t *ends) {
  size_t count = 0;
  bool fails;
  for (size_t i = 0; i < kept.order.pick_count; i++)
    if (tide_vulkan_pick_overtakes(&kept.order, i)) ends[count++] = i + 1;
  e->shrunk.picks = kept.order.pick_count;
  if (!try_again(e, (struct tide_vulkan_extra){.replay = order}, &fails, NULL)) return false;
  if (!fails) {
    e->shrunk.end = TIDE_VULKAN_SHRINK_NOT_REPRODUCED;
    return true;
  }
  if (!find_prefix(e, order, ends, count)) return false;
  if (!find_pair(e, &kept.order.picks[e->shrunk.prefix - 1])) return false;
  if (e->shrunk.end == TIDE_VULKAN_SHRINK_PAIR) return true;
  e->shrunk.end = TIDE_VULKAN_SHRINK_PREFIX;
  save_prefix(e);
  return true;
}

bool tide_vulkan_shrink(struct tide_vulkan_exploration *e) {
  char order[TIDE_VULKAN_PATH_MOST];
  if (e->shrunk.why) return true;
  if (!kept.failures && !kept.kind_count) {
    e->shrunk.why = "all its findings are about the order itself";
    return true;
  }
  size_t *ends = calloc(kept.order.pick_count, sizeof *ends);
  if (!ends) return false;
  bool good = shrink_order(e, tide_vulkan_path(&e->directory, FAILING, order), ends);
  free(ends);
  return good;
}
