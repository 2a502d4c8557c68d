/* wic/medium.h: the state that the interrupter, the monitor and the activator share.
 *
 * Pages. A medium has twice as many pages as *places*: page `place` and page `place + half` are
 * companions, P and P'. Runs of places are allocated on one *side* or the other. After a run is
 * finished, its pages on that side are *used*: still mapped, so a load from them would not fault.
 * Used pages are dropped before they are allocated again. If no page of the side is allocated, one
 * call drops the whole side; else only the run is dropped.
 *
 * A request is called a *message* here, from the allocation of its pages until its last reference
 * is dropped. References belong to the consumer, to each tag with a pending callback, and to
 * each thread that is mapping the pages.
 *
 *        WAITING --tags reached--> AVAILABLE --mapped--> MAPPED
 *           |                          (by the monitor: after a fault)
 *           +--tag failed, deadline, close--> FAILED
 *
 * Locks: `giving` (a mutex) serialises the allocation of pages; `lock` (a spin lock, taken under
 * it) guards all else. No system call is made under `lock`. Tag callbacks run without either. */
#ifndef TIDE_WIC_MEDIUM_H
#define TIDE_WIC_MEDIUM_H

#include "base/counter.h"
#include "base/label.h"
#include "base/list.h"
#include "base/lock.h"
#include "tidemark/wic.h"
#include "wic/pages.h"
#include "wic/region.h"
#include "wic/tags.h"

#include <pthread.h>

/* The most failed messages that may show zeros of their own at a time. Each may cost the process
 * two of its 65530 mappings. */
#define TIDE_MEDIUM_BLANKS 4096

/* Owner values of a page that no message has. DOUBTED: since the last message left the page, the
 * monitor has woken the threads stalled there, so a fault that is read from now on is a stray
 * one. */
#define TIDE_NO_MESSAGE UINT32_MAX
#define TIDE_NO_MESSAGE_DOUBTED (UINT32_MAX - 1)

enum tide_message_state {
  TIDE_MESSAGE_FREE,
  TIDE_MESSAGE_WAITING,
  TIDE_MESSAGE_AVAILABLE,
  TIDE_MESSAGE_MAPPED,
  TIDE_MESSAGE_FAILED
};

struct tide_stalled;

struct tide_message_tag {
  struct tide_timepoint called;
  struct tide_message *message;
};

struct tide_message {
  struct tide_message_tag tags[TIDE_REQUEST_TAGS];
  struct tide_node due;
  struct tide_link link; /* entry of the free, ready or ahead list */
  struct tide_medium *medium;
  const void *source;
  size_t bytes;
  uint64_t generation;
  uint32_t page, pages, run;  /* run: the first place of its batch */
  uint32_t tag_count, untold; /* the number of tags, and of pending tag callbacks */
  uint32_t holds;
  uint32_t state, status;
  bool faulted, blank, finished;
  bool mapping;                    /* the monitor is mapping the pages ahead of any known fault */
  uint64_t stalled_at, resumed_at; /* when a load first faulted before the data came, and when the
                                      data came or failed; 0: never */
  /* Owned by stall.c. */
  struct tide_stalled *stalled;
  bool threads;  /* plain threads sleep until `turn` changes */
  uint32_t turn; /* atomic, waited on; changes under the lock */
};

/* The pages of one request call lie in one run, which is freed with the last of them. */
struct tide_batch {
  uint32_t pages, left;
  uint32_t next; /* the next place in the rest list */
};

struct tide_medium {
  struct tide_context *context;
  struct tide_owned owned;
  const struct tide_platform *platform;
  const struct tide_allocator *allocator;
  enum tide_medium_engine engine;
  void (*stray)(void *user, const void *address);
  void *user;
  char label[TIDE_LABEL_SIZE];
  struct tide_region region;

  pthread_mutex_t giving;
  uint32_t side; /* the side on which runs are allocated now; changes under both locks */

  struct tide_lock lock;
  struct tide_pages *runs;    /* an allocator of places */
  uint32_t half;              /* the number of places; half the number of pages */
  uint64_t *used[2];          /* per side, one bit for each place */
  struct tide_batch *batches; /* indexed by a run's first place */
  /* The rest list, oldest first: free runs with used pages on the current side. Keeping them out of
   * `runs` lets a side be used up, and taken back, as a whole. */
  uint32_t rest_first, rest_last; /* places, or TIDE_PAGES_NONE */
  uint32_t given[2];              /* per side, the number of allocated pages */
  uint32_t *owner;                /* the index of each page's message, or TIDE_NO_MESSAGE… */
  struct tide_message *messages;
  uint32_t message_count;
  struct tide_link free;
  struct tide_link ready; /* faulted and available messages: the monitor maps them next */
  struct tide_link
      ahead; /* available messages without a fault: mapped when the monitor is awake anyway */
  struct tide_counter due; /* the waiting messages' deadlines */
  uint32_t closed;         /* the status that the medium was closed with; 0: open */
  uint32_t blanks; /* failed messages with zeros in private mappings, not in pages of the region */
  struct tide_medium_info info;
  struct tide_tags tags;

  pthread_t monitor;
  int bell;
  bool stopping, rung;
  uint64_t asleep_until;
  bool pinned;
  uint32_t cpu;
  uint64_t linger; /* ns */
  /* Used by the monitor alone. */
  bool lingers;
  uint64_t looks_from; /* faults are not read before this time */
};

/* Takes and returns the medium's lock; the caller releases it. */
struct tide_lock *tide_medium_enter(struct tide_medium *medium);
static inline size_t tide_message_at(const struct tide_medium *medium,
                                     const struct tide_message *message) {
  return (size_t)message->page * medium->region.page;
}
static inline size_t tide_message_size(const struct tide_medium *medium,
                                       const struct tide_message *message) {
  return (size_t)message->pages * medium->region.page;
}

/* Records when the wait of a stalled message ends. The caller holds the lock. */
static inline void tide_message_note_end(struct tide_message *message) {
  const struct tide_platform *platform = message->medium->platform;
  if (message->stalled_at) message->resumed_at = platform->now(platform->self);
}

/* ---- interrupter.c ---- */
/* Drops one reference; the last one frees the message and its pages. Call without the lock. */
void tide_message_done_with(struct tide_message *message);
/* Finishes a message that its consumer has left, cancels its pending tags and waits until it is
 * free. Called when the medium is destroyed. */
void tide_message_forget(struct tide_message *message);
/* Marks pages that no message has as used, since they are mapped. The caller holds the lock. */
void tide_medium_note_used(struct tide_medium *medium, uint32_t page, uint32_t count);
/* Moves all runs of the rest list to `runs`. The caller holds the lock. */
void tide_medium_wake_rested(struct tide_medium *medium);

/* ---- activator.c ---- */
/* The callback of a tag's timepoint. */
void tide_message_tag_called(struct tide_timepoint *tag, enum tide_status status);
/* Maps the pages of the ready messages, in batches. Call without locks. */
void tide_medium_activate(struct tide_medium *medium);
/* Fails the messages that are past their deadlines. Call without locks. */
void tide_medium_expire(struct tide_medium *medium);
/* Fails a waiting message. False: the message of this generation is no longer waiting. Call without
 * locks. */
bool tide_message_fail(struct tide_message *message, uint64_t generation, enum tide_status status);

/* Wakes the threads that are still stalled on a message that was finished before its pages were
 * mapped: their loads are retried, and are stray. The caller holds a reference. */
void tide_message_wake(struct tide_message *message);

/* ---- monitor.c ---- */
/* Sets *out_until to the time until which the monitor may sleep, unless the bell rings or a fault
 * comes. False: the monitor must end. */
bool tide_monitor_plan(struct tide_medium *medium, uint64_t *out_until);
/* Does the monitor's pending work: tags, faults, ready messages, deadlines. */
void tide_monitor_work(struct tide_medium *medium);

/* ---- host.c ---- */
void tide_giving_take(struct tide_medium *medium);
void tide_giving_give(struct tide_medium *medium);
enum tide_status tide_monitor_start(struct tide_medium *medium);
void tide_monitor_stop(struct tide_medium *medium);
void tide_monitor_ring(struct tide_medium *medium);

/* ---- monitor.c ---- */
enum tide_fault_answer {
  TIDE_FAULT_WAITS,   /* the mapper of the message ends the fault */
  TIDE_FAULT_OLD,     /* the fault is already resolved */
  TIDE_FAULT_MAP,     /* the page must be mapped; a reference to the message is held for that */
  TIDE_FAULT_DOUBTED, /* no request has the page, unless the fault is an old one */
  TIDE_FAULT_STRAY    /* no request has the page */
};
/* Classifies a fault on this page. The caller holds the lock. */
enum tide_fault_answer tide_medium_judge(struct tide_medium *medium, size_t page,
                                         struct tide_message **out_message);
/* Resolves a fault as classified: maps, wakes or reports. TIDE_FAULT_WAITS and TIDE_FAULT_OLD need
 * no action. Call without the lock. */
void tide_medium_answer(struct tide_medium *medium, size_t page, struct tide_message *message,
                        enum tide_fault_answer answer);
/* Reports an access to a page that no request has: calls the program's `stray`; without one, writes
 * a message and aborts. */
void tide_medium_say_stray(struct tide_medium *medium, const char *what, size_t page,
                           const void *address, const char *why);
/* True if the caller must ring the bell, after releasing the lock, for the monitor to see new work.
 * The caller holds the lock. */
bool tide_monitor_call(struct tide_medium *medium);

#endif
