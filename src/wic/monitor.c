/* The monitor: it reads faults, and watches deadlines. Its thread is host.c's. */
#include "base/check.h"
#include "wic/medium.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the bell ------------------------------------------------------------------------ */

bool tide_monitor_call(struct tide_medium *medium) {
  bool sooner = tide_counter_least(&medium->due) < medium->asleep_until;
  if (medium->rung || (!sooner && tide_list_empty(&medium->ready) && !medium->stopping))
    return false;
  medium->rung = true;
  return true;
}

/* ---- faults ----------------------------------------------------------------------------- */

void tide_medium_say_stray(struct tide_medium *medium, const char *what, size_t page,
                           const void *address, const char *why) {
  if (medium->stray) {
    medium->stray(medium->user, address);
    return;
  }
  /* Not by stderr's buffer: whoever is stalled may hold its lock. */
  char line[256];
  int length = snprintf(line, sizeof line, "tidemark: medium '%s': %s %zu, %p, %s\n", medium->label,
                        what, page, address, why);
  (void)!write(STDERR_FILENO, line, (size_t)length);
  abort();
}

static bool is_nobodys(uint32_t owner) { return owner >= TIDE_NO_MESSAGE_DOUBTED; }

/* Nobody is given these pages meanwhile. */
static void take_stray(struct tide_medium *medium, size_t page) {
  size_t offset = page * medium->region.page;
  tide_giving_take(medium);
  struct tide_lock *lock = tide_medium_enter(medium);
  bool stray = is_nobodys(medium->owner[page]);
  medium->info.strays += stray;
  if (stray) tide_medium_note_used(medium, (uint32_t)page, 1);
  tide_lock_give(lock);
  if (stray) {
    tide_medium_say_stray(medium, "a load from page", page, medium->region.reader + offset,
                          "which no request has: it was finished, or never asked for");
    tide_region_map(&medium->region, offset, medium->region.page);
  }
  tide_giving_give(medium);
  /* Else it is a request's since: the load comes again, and waits for that. */
  if (!stray) tide_region_wake(&medium->region, offset, medium->region.page);
}

/* A fault that was read may be old: whoever had it was let go since, and has finished. So who is
 * stalled on a page that no request has is told to try again, and only a fault that is read after
 * that is a stray one, if the page is nobody's still. Who is told of its own fault need not ask
 * twice. */
static enum tide_fault_answer judge_nobodys(const struct tide_medium *medium, uint32_t owner) {
  bool sure = owner == TIDE_NO_MESSAGE_DOUBTED || medium->engine == TIDE_MEDIUM_FIBERS;
  return sure ? TIDE_FAULT_STRAY : TIDE_FAULT_DOUBTED;
}
static void doubt_page(struct tide_medium *medium, size_t page) {
  struct tide_lock *lock = tide_medium_enter(medium);
  if (medium->owner[page] == TIDE_NO_MESSAGE) medium->owner[page] = TIDE_NO_MESSAGE_DOUBTED;
  tide_lock_give(lock);
}

enum tide_fault_answer tide_medium_judge(struct tide_medium *medium, size_t page,
                                         struct tide_message **out_message) {
  uint32_t index = medium->owner[page];
  /* One that nobody holds is being given back: it is not to be held once more. */
  if (is_nobodys(index) || !medium->messages[index].holds) return judge_nobodys(medium, index);
  struct tide_message *message = &medium->messages[index];
  bool first = !message->faulted;
  *(first ? &medium->info.faults : &medium->info.duplicates) += 1;
  message->faulted = true;
  *out_message = message;
  switch (message->state) {
    case TIDE_MESSAGE_WAITING:
      medium->info.stalled += first;
      if (first) message->stalled_at = medium->platform->now(medium->platform->self);
      return TIDE_FAULT_WAITS;
    case TIDE_MESSAGE_AVAILABLE:
      /* Of other engines, and of what is not listed: somebody is about to map it. */
      if (medium->engine != TIDE_MEDIUM_MONITOR || !first || message->mapping)
        return TIDE_FAULT_WAITS;
      if (!tide_list_empty(&message->link)) tide_list_remove(&message->link);
      message->holds++;
      tide_list_push_back(&medium->ready, &message->link);
      return TIDE_FAULT_WAITS;
    case TIDE_MESSAGE_FAILED:
      if (!message->blank) return TIDE_FAULT_WAITS; /* zeros are on their way */
      return TIDE_FAULT_OLD;
    default: /* it was mapped just now, or dropped with its side */
      message->holds++;
      return TIDE_FAULT_MAP;
  }
}

void tide_medium_answer(struct tide_medium *medium, size_t page, struct tide_message *message,
                        enum tide_fault_answer answer) {
  size_t offset = page * medium->region.page;
  if (answer == TIDE_FAULT_MAP) {
    tide_region_map(&medium->region, offset, medium->region.page);
    tide_message_done_with(message);
  }
  if (answer == TIDE_FAULT_DOUBTED) tide_region_wake(&medium->region, offset, medium->region.page);
  if (answer == TIDE_FAULT_STRAY) take_stray(medium, page);
}

static enum tide_fault_answer serve_fault(struct tide_medium *medium, size_t page) {
  struct tide_message *message = NULL;
  struct tide_lock *lock = tide_medium_enter(medium);
  enum tide_fault_answer answer = tide_medium_judge(medium, page, &message);
  tide_lock_give(lock);
  tide_medium_answer(medium, page, message, answer);
  return answer;
}

/* Of the direct engine whoever signals ends the fault, and the monitor looks for strays, and what
 * the system has taken away; and it counts. A thread that is woken for each fault just for that
 * would cost more than the fault. */
#define NAP 1000000 /* ns */

static void serve_faults(struct tide_medium *medium) {
  size_t offsets[TIDE_UFFD_BATCH];
  size_t count = tide_region_faults(&medium->region, offsets);
  size_t pages[TIDE_UFFD_BATCH], doubted = 0;
  for (size_t i = 0; i < count; i++) {
    size_t page = offsets[i] / medium->region.page;
    if (serve_fault(medium, page) == TIDE_FAULT_DOUBTED) pages[doubted++] = page;
  }
  if (count && medium->engine == TIDE_MEDIUM_DIRECT && !medium->lingers)
    medium->looks_from = medium->platform->now(medium->platform->self) + NAP;
  /* Not before: several of those that were read may be old ones of one page. */
  for (size_t i = 0; i < doubted; i++) doubt_page(medium, pages[i]);
}

/* ---- a turn -------------------------------------------------------------------------------- */

/* What there was to do before it is known, so that whoever comes later rings. */
bool tide_monitor_plan(struct tide_medium *medium, uint64_t *out_until) {
  struct tide_lock *lock = tide_medium_enter(medium);
  bool stop = medium->stopping;
  medium->rung = false;
  bool busy = !tide_list_empty(&medium->ready);
  /* Of fibers their carriers do. */
  medium->lingers = medium->linger && medium->info.requests > 0 && !medium->region.signals;
  *out_until = medium->asleep_until = busy ? 0 : tide_counter_least(&medium->due);
  tide_lock_give(lock);
  return !stop;
}

/* It plans again before it sleeps, so until then nobody need ring. */
static void set_awake(struct tide_medium *medium) {
  struct tide_lock *lock = tide_medium_enter(medium);
  medium->rung = true;
  tide_lock_give(lock);
}

void tide_monitor_work(struct tide_medium *medium) {
  set_awake(medium);
  tide_tags_serve(medium);
  if (!medium->region.signals) serve_faults(medium);
  tide_medium_activate(medium);
  tide_medium_expire(medium);
}
