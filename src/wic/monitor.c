/* The monitor: reads faults and enforces deadlines. Its thread is in host.c. */
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
  /* Not through stderr's buffer: a stalled thread may hold its lock. */
  char line[256];
  int length = snprintf(line, sizeof line, "tidemark: medium '%s': %s %zu, %p, %s\n", medium->label,
                        what, page, address, why);
  (void)!write(STDERR_FILENO, line, (size_t)length);
  abort();
}

static bool is_unowned(uint32_t owner) { return owner >= TIDE_NO_MESSAGE_DOUBTED; }

/* Reports a stray load. `giving` keeps the pages from being allocated meanwhile. */
static void resolve_stray(struct tide_medium *medium, size_t page) {
  size_t offset = page * medium->region.page;
  tide_giving_take(medium);
  struct tide_lock *lock = tide_medium_enter(medium);
  bool stray = is_unowned(medium->owner[page]);
  medium->info.strays += stray;
  if (stray) tide_medium_note_used(medium, (uint32_t)page, 1);
  tide_lock_give(lock);
  if (stray) {
    tide_medium_say_stray(medium, "a load from page", page, medium->region.reader + offset,
                          "which no request has: it was finished, or never asked for");
    tide_region_map(&medium->region, offset, medium->region.page);
  }
  tide_giving_give(medium);
  /* A request has the page by now: the load is retried, and waits for the data. */
  if (!stray) tide_region_wake(&medium->region, offset, medium->region.page);
}

/* Classifies a fault on a page that no request has. A fault that was read may be old: its thread
 * was woken since, and the request finished. So the first such fault only makes the stalled threads
 * retry. A fault that is read after that is stray, if still no request has the page. In the fibers
 * engine each thread handles its own fault, which is never old. */
static enum tide_fault_answer judge_unowned(const struct tide_medium *medium, uint32_t owner) {
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
  /* A message without references is being freed: no new reference may be taken. */
  if (is_unowned(index) || !medium->messages[index].holds) return judge_unowned(medium, index);
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
      /* Other engines, and a message in no list: the mapping is imminent. */
      if (medium->engine != TIDE_MEDIUM_MONITOR || !first || message->mapping)
        return TIDE_FAULT_WAITS;
      if (!tide_list_empty(&message->link)) tide_list_remove(&message->link);
      message->holds++;
      tide_list_push_back(&medium->ready, &message->link);
      return TIDE_FAULT_WAITS;
    case TIDE_MESSAGE_FAILED:
      if (!message->blank) return TIDE_FAULT_WAITS; /* the zeros are about to be mapped */
      return TIDE_FAULT_OLD;
    default: /* the page was mapped just now, or dropped with its side */
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
  if (answer == TIDE_FAULT_STRAY) resolve_stray(medium, page);
}

static enum tide_fault_answer serve_fault(struct tide_medium *medium, size_t page) {
  struct tide_message *message = NULL;
  struct tide_lock *lock = tide_medium_enter(medium);
  enum tide_fault_answer answer = tide_medium_judge(medium, page, &message);
  tide_lock_give(lock);
  tide_medium_answer(medium, page, message, answer);
  return answer;
}

/* How long the monitor of the direct engine leaves faults unread. There the signaller ends the
 * fault. The monitor only detects stray loads, maps pages that the system has reclaimed, and
 * counts. Waking it for each fault would cost more than the fault. */
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
  /* After the loop: several of the faults just read may be old ones of the same page. */
  for (size_t i = 0; i < doubted; i++) doubt_page(medium, pages[i]);
}

/* ---- the loop --------------------------------------------------------------------------- */

/* Clears `rung` in the section that reads the pending work, so that later work rings again. */
bool tide_monitor_plan(struct tide_medium *medium, uint64_t *out_until) {
  struct tide_lock *lock = tide_medium_enter(medium);
  bool stop = medium->stopping;
  medium->rung = false;
  bool busy = !tide_list_empty(&medium->ready);
  /* Carriers linger instead in the fibers engine. */
  medium->lingers = medium->linger && medium->info.requests > 0 && !medium->region.signals;
  *out_until = medium->asleep_until = busy ? 0 : tide_counter_least(&medium->due);
  tide_lock_give(lock);
  return !stop;
}

/* The monitor plans again before it sleeps: no thread need ring the bell until then. */
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
