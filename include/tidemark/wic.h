/* tidemark/wic.h: consumers that wait by page fault.
 *
 * The model. A *medium* is a region of memory with two views: producers write through one,
 * consumers read through the other, and there a page is missing until its data is. A *request* is a
 * run of pages for one message, with the *tags* that say when it is there: values of timelines. A
 * load from a missing page stalls its thread by the fault, that thread alone, until the data has
 * come. The consumer is plain code that loads memory. It calls nothing and polls nothing.
 *
 *      request          --> pages, missing        room: where the producer writes
 *                                                 data: where the consumer reads
 *      consumer         load from data  ....fault, stalled.........  goes on
 *      producer               writes room, signals the tag ---^
 *      finish           --> TIDE_OK, and what the tags teach; the pages are recycled
 *
 * By the names of its source: the *interrupter* gives out runs of pages, the *monitor* knows which
 * data is available and which faults are pending, the *activator* makes pages appear and takes them
 * back.
 *
 * Engines. They differ in the thread that lets the consumer go on:
 *
 * - monitor: a thread reads each fault, looks whether the tags are reached, and maps the pages, and
 *   with them those of all other requests that are there by then; the form of the source
 * - direct: the signaller of the last tag maps the pages at once: data that is there before it is
 *   looked at costs no fault
 * - fibers: as direct, and a fiber (tidemark/fiber.h) that faults is parked, so that its thread
 * runs another; a plain thread that faults sleeps
 *
 * Pages are recycled by halves (P and P' of the source): runs are given out of one half; when all
 * of the other were finished, all its pages are taken back in one call, and the halves change
 * places.
 *
 * Failures. A request fails when a tag's timeline fails (TIDE_OWNER_DIED of a producer that died
 * …), when its deadline passes (TIDE_TIMEOUT), when it is failed by name, or when the medium is
 * closed. Then its pages read as zeros (where the system has no memory for that, or 4096 others
 * show zeros already, a producer may still write over them), the consumers that were stalled on
 * them go on, and tide_request_finish returns the cause: a consumer trusts its results only after
 * that. A failed request's room is no other's until each of its tags was reached or failed, for a
 * producer may still be writing there.
 *
 * A load from a page that no request has is an error of the program: `stray` is called; without one
 * the process ends with a message. So it never hangs. It is seen where the page is missing: pages
 * of a finished request can be read, unseen, until they are taken back.
 *
 * Forbidden, since nothing could end it: a load of data that is to come in a callback of a
 * timepoint (the tags' calls wait for that to return), in a signal handler, or as another request's
 * `source`. A medium is not destroyed in such a callback, or by `stray`.
 *
 * A child of fork has no consumers' view: a load there is a SIGSEGV. A thread that is stalled may
 * be cancelled. Of a medium for fibers no thread that loads may block SIGBUS, or be taken out of a
 * load by siglongjmp; and a handler for SIGBUS that is installed after tide_medium_create hands on
 * the signals that are not its own. The monitor has all signals blocked but those that a thread
 * raises itself.
 *
 * Requirements: userfaultfd of the kernel, with minor faults on shared memory (5.14), and the right
 * to use it: root, CAP_SYS_PTRACE, vm.unprivileged_userfaultfd = 1, or access to /dev/userfaultfd.
 * For tag pages its write protection (5.7; on arm64 6.10). Where only user-mode faults are allowed,
 * system calls that read a missing page fail with EFAULT, and so they do in a medium for fibers;
 * tide_medium_info says so.
 *
 * Threads: all functions from any thread, but one request is made and finished by one at a time.
 *
 * Source: "WIC: Hiding Producer-Consumer Synchronization Delays with Warp-Level Interrupt-based GPU
 * Communications"; docs/wic.md.
 */
#ifndef TIDEMARK_WIC_H
#define TIDEMARK_WIC_H

#include "tidemark/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tide_medium;

enum tide_medium_engine { TIDE_MEDIUM_DIRECT = 0, TIDE_MEDIUM_MONITOR = 1, TIDE_MEDIUM_FIBERS = 2 };
/* "direct", "monitor", "fibers"; "unknown" for anything else. A constant. */
TIDE_API const char *tide_medium_engine_name(enum tide_medium_engine engine);

#define TIDE_MEDIUM_BATCH 16 /* requests of one call */
#define TIDE_REQUEST_TAGS 4  /* tags of one request */
#define TIDE_MEDIUM_PAGES (1u << 20)
#define TIDE_MEDIUM_TAG_PAGES (1u << 16)

struct tide_medium_params {
  size_t struct_size;
  const char *label; /* copied, cut at 31 bytes; may be NULL */
  enum tide_medium_engine engine;
  uint32_t pages;     /* of both halves together, rounded up to an even number; 0: 16384; at most
                         TIDE_MEDIUM_PAGES. A page is the system's. */
  uint32_t requests;  /* that there may be at once; 0: 1024; at most TIDE_MEDIUM_PAGES */
  uint32_t tag_pages; /* below; 0: none; at most TIDE_MEDIUM_TAG_PAGES */
  bool paper_tree;    /* runs of pages by the segment tree of the source, not by the faster lists */
  bool pinned;        /* the monitor runs on `cpu` only: best beside the consumers */
  uint32_t cpu;
  uint32_t linger; /* ns that the monitor looks, and yields, before it sleeps, while there are
                      requests: a processor that has gone to sleep is slow to wake. 0: none */
  /* A load from a page that no request has. Called by the monitor, of fibers by whoever did it.
   * When it returns the load goes on, with whatever the page holds. Until then nobody is given
   * pages, so it must not ask for any, nor load from this medium. NULL: a message, and the end. */
  void (*stray)(void *user, const void *address);
  void *user;
};

/* NULL params are the defaults. TIDE_INVALID, also of a CPU that this process may not use;
 * TIDE_NOMEM; TIDE_DENIED: no right to use userfaultfd;
 * TIDE_UNSUPPORTED: the kernel has none, or not what this needs (with tag pages: try without);
 * TIDE_FULL: no descriptors left,
 * or 64 media for fibers. All memory is taken here. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_medium_create(struct tide_context *context, const struct tide_medium_params *params,
                   struct tide_medium **out_medium);
/* Fails all requests that are not available, and any that come later, with `status` (TIDE_OK:
 * TIDE_CANCELLED): whoever is stalled goes on. */
TIDE_API void tide_medium_close(struct tide_medium *medium, enum tide_status status);
/* All requests were finished, and nobody stores to a tag page any more. Tags that were neither
 * reached nor failed are forgotten: no producer may write any more. NULL is fine. */
TIDE_API void tide_medium_destroy(struct tide_medium *medium);

/* ---- requests ---------------------------------------------------------------------- */

struct tide_tag {
  struct tide_timeline *timeline; /* held until the request is over */
  uint64_t value;
};

struct tide_request {
  size_t bytes;                            /* >= 1 */
  struct tide_tag tags[TIDE_REQUEST_TAGS]; /* all of them must be reached */
  uint32_t tag_count;                      /* 1 .. TIDE_REQUEST_TAGS */
  uint64_t deadline;  /* absolute, ns; 0: none. What is there when it is asked for is in time. */
  const void *source; /* NULL: the producer writes to `room`; else `bytes` are copied from here once
                         the tags are reached, and it stays until the request is finished */
  /* Filled by tide_medium_request. */
  const void *data; /* to be read: on a page of its own */
  void *room;       /* the same memory, to be written before the tags are signalled */
  /* Filled by tide_request_finish: when its first load had to wait for the data, and when that had
   * come or failed; 0: none had to, or the monitor of a direct medium has not seen it. */
  uint64_t stalled, resumed;
  uint64_t private_words[2];
};

/* Gives each of `count` requests (1 .. TIDE_MEDIUM_BATCH) its pages, one behind the other. All or
 * none: TIDE_FULL: so many pages in a row, or so many requests, are not free now (finish some; what
 * was finished is free a moment later where its pages are being mapped; and more than half of all
 * pages, or than all requests, never are);
 * TIDE_INVALID: a count, a size or a tag that cannot be; TIDE_SCOPE: a timeline that the host
 * cannot wait for; or what the medium was closed with. Never allocates. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_medium_request(struct tide_medium *medium, struct tide_request *requests, size_t count);
/* The consumer has read what it wanted, and nobody loads from `data` any more. TIDE_OK: it was all
 * there; what the tags teach is merged into the position (may be NULL). TIDE_CANCELLED: the data
 * had not come, so nobody has read it, and nobody will (or the request had failed with just that).
 * Else the failure: what was read was zeros. TIDE_INVALID: it is over already. Whatever the answer,
 * the request is over. Waits while `source` is being copied. */
TIDE_API enum tide_status tide_request_finish(struct tide_medium *medium,
                                              struct tide_request *request,
                                              struct tide_position *position);
/* The data will not come. TIDE_OK: it has failed now; TIDE_VALUE: it is available, has failed, or
 * is over. TIDE_INVALID: `status` is TIDE_OK. */
TIDE_API enum tide_status tide_request_fail(struct tide_medium *medium,
                                            struct tide_request *request, enum tide_status status);

/* ---- tag pages ----------------------------------------------------------------------
 *
 * With these a producer is plain code, too (PAT of the source). It writes to the request's room,
 * then stores to the word of a page that is *armed* with a tag. The write fault stops it, alone;
 * the monitor signals the tag, whatever the engine, and the store goes on:
 *
 *      page.tag = {line, 7};   tide_medium_arm(medium, &page, 1);
 *
 *      producer   writes room, stores to page.word ..stopped.....................  goes on
 *      monitor                 signals line = 7: data appears, consumers go on --^
 *
 * So when the store is over the tag was signalled: it is as tide_timeline_signal_external, and so
 * it teaches nothing. One store: the next one is not seen, until the page is armed again.
 *
 * The store is of anything but 0, and comes after all writes to the room: an atomic store in
 * release order (or what is that on this processor), of one thread for each arming. Loads of the
 * word are not stopped: it is 0 until the store has come through. The rest of the page is of no
 * meaning, but a store there is one, too.
 *
 * Whose it is: a page belongs to whoever armed it until he disarms it, and its timeline is held as
 * long as it is armed. A producer that dies before its store is seen by nobody here: fail the
 * timeline, or give the request a deadline, as for any tag. A store goes on in any case, also after
 * tide_medium_close, or when the timeline has failed.
 *
 * A store to a page that is closed and not armed is an error, told as a stray load is. What must
 * not be: a store in a callback of a timepoint, since the monitor may be who runs it. A fiber that
 * stores keeps its carrier. A child of fork has no tag pages: a store there is a SIGSEGV. Under
 * ThreadSanitizer, which does not see that a fault is an order, __tsan_release(page.word + 1)
 * stands before the store. */
struct tide_tag_page {
  struct tide_tag tag; /* what the next store signals */
  uint64_t *word;      /* NULL: it has no page yet; arm gives it one, disarm takes it back */
};

/* Each of `count` pages (1 .. TIDE_MEDIUM_BATCH), all or none. TIDE_UNSUPPORTED: the medium has no
 * tag pages; TIDE_FULL: not so many are free; TIDE_BUSY: one is armed, or its store has not come
 * through yet (then try again in a moment); TIDE_INVALID: a count, or a word, that cannot be;
 * TIDE_SCOPE: a timeline that the host cannot signal; or what the medium was closed with. Never
 * allocates. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_medium_arm(struct tide_medium *medium, struct tide_tag_page *pages, size_t count);
/* Gives the page back. TIDE_OK: its store was signalled; TIDE_CANCELLED: there was none, and now
 * there must not be one; TIDE_BUSY: the store has not come through yet: try again; TIDE_INVALID: it
 * is not a page of this medium. Else what the signal came to: the timeline's failure, or
 * TIDE_VALUE: it was at that value already. (The store of a thread that was ended while it was
 * stopped never comes through: then whoever knows that stores in its place, and is not stopped.) */
TIDE_API enum tide_status tide_medium_disarm(struct tide_medium *medium,
                                             struct tide_tag_page *page);

/* ---- what happened -------------------------------------------------------------------- */

struct tide_medium_info {
  enum tide_medium_engine engine;
  uint32_t pages, page_bytes;
  bool user_only; /* system calls that read a missing page fail with EFAULT */
  uint32_t free_pages, largest_run, requests; /* at this moment */
  uint64_t requested;                         /* requests that were given pages */
  uint64_t faults;     /* first loads from a request that was not there; of direct: those that were
                          still pending when the monitor saw them */
  uint64_t duplicates; /* further ones on the same request */
  uint64_t stalled;    /* requests that had a fault before the data came */
  uint64_t activated, failed, timed_out;
  uint64_t recycled; /* times that a half's pages were taken back */
  uint64_t single;   /* runs that were taken back alone, since a half was not free */
  uint64_t strays;
  uint64_t stores; /* to tag pages that were armed */
};
/* As it is now, and what has happened since the beginning. */
TIDE_API void tide_medium_info(struct tide_medium *medium, struct tide_medium_info *out_info);

#ifdef __cplusplus
}
#endif
#endif
