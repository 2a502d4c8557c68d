/* tidemark/wic.h: consumers that wait by page fault.
 *
 * The model. A *medium* is a region of memory with two views. Producers write through one.
 * Consumers read through the other, where a page is missing until its data has arrived. A *request*
 * is a run of pages for one message, with *tags*, timeline values that are reached when the data
 * has arrived. A load from a missing page faults and stalls its thread, that thread alone, until
 * the data arrives. The consumer is plain code that loads memory, without calls or polling.
 *
 *      request          --> pages, missing        room: the producer's address
 *                                                 data: the consumer's address
 *      consumer         load from data  ....fault, stalled.........  goes on
 *      producer               writes room, signals the tag ---^
 *      finish           --> TIDE_OK, and the tags' knowledge; the pages are recycled
 *
 * The source names these parts: the *interrupter* allocates runs of pages, the *monitor* knows the
 * available data and the pending faults, the *activator* maps pages and takes them back.
 *
 * Engines. They differ in the thread that lets the consumer go on:
 *
 * - monitor: a thread reads each fault, checks the tags, and maps the pages. It also maps the pages
 *   of all other requests with data by then. This is the form of the source.
 * - direct: the signaller of the last tag maps the pages at once. Data that arrives before the
 *   first load causes no fault.
 * - fibers: like direct, but a fiber (tidemark/fiber.h) that faults is parked, and its thread runs
 *   another one. A plain thread that faults sleeps.
 *
 * Pages are recycled by halves (P and P' of the source). Runs are allocated from one half. When all
 * runs of the other half are finished, one call takes all its pages back, and the halves swap
 * roles.
 *
 * Failures. A request fails when a tag's timeline fails (TIDE_OWNER_DIED of a producer that died
 * …), when its deadline passes (TIDE_TIMEOUT), on tide_request_fail, or when the medium is closed.
 * Its pages then read as zeros, the stalled consumers go on, and tide_request_finish returns the
 * cause. So a consumer trusts its results only after tide_request_finish. (A producer may still
 * write over the zeros if the system has no memory for separate ones, or if 4096 other pages show
 * zeros already.) The room of a failed request is not reused until each of its tags was reached or
 * failed, because a producer may still be writing there.
 *
 * A load from a page without a request is a program error: `stray` is called; without `stray` the
 * process ends with a message. So such a load never hangs. It is detected only on missing pages:
 * pages of a finished request remain readable, undetected, until they are taken back.
 *
 * Forbidden, because nothing could end it: a load of pending data in a callback of a timepoint (the
 * tags' calls wait for that to return), in a signal handler, or as another request's `source`. A
 * medium must not be destroyed in such a callback, or by `stray`.
 *
 * A child of fork has no consumers' view: a load there is a SIGSEGV. A stalled thread may be
 * cancelled. With a medium for fibers, a thread that loads must not block SIGBUS, or leave a load
 * by siglongjmp. A handler for SIGBUS that is installed after tide_medium_create must forward the
 * signals that are not its own. The monitor blocks all signals except those that a thread raises
 * itself.
 *
 * Requirements: userfaultfd of the kernel, with minor faults on shared memory (5.14), and the right
 * to use it: root, CAP_SYS_PTRACE, vm.unprivileged_userfaultfd = 1, or access to /dev/userfaultfd.
 * Tag pages need its write protection (5.7; on arm64 6.10). If only user-mode faults are allowed,
 * system calls that read a missing page fail with EFAULT, as they always do in a medium for fibers;
 * tide_medium_info reports it.
 *
 * Threads: any thread may call every function, but only one at a time makes or finishes a request.
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
/* Returns "direct", "monitor", "fibers"; "unknown" for an unknown engine. A constant. */
TIDE_API const char *tide_medium_engine_name(enum tide_medium_engine engine);

#define TIDE_MEDIUM_BATCH 16 /* maximum requests of one call */
#define TIDE_REQUEST_TAGS 4  /* maximum tags of one request */
#define TIDE_MEDIUM_PAGES (1u << 20)
#define TIDE_MEDIUM_TAG_PAGES (1u << 16)

struct tide_medium_params {
  size_t struct_size;
  const char *label; /* copied, cut at 31 bytes; may be NULL */
  enum tide_medium_engine engine;
  uint32_t pages;     /* pages of both halves together, rounded up to an even number; 0: 16384; at
                         most TIDE_MEDIUM_PAGES. The page size is the system's. */
  uint32_t requests;  /* maximum concurrent requests; 0: 1024; at most TIDE_MEDIUM_PAGES */
  uint32_t tag_pages; /* see below; 0: none; at most TIDE_MEDIUM_TAG_PAGES */
  bool paper_tree;    /* allocate runs of pages with the segment tree of the source, not with the
                         faster lists */
  bool pinned;        /* the monitor runs on `cpu` only, preferably one next to the consumers */
  uint32_t cpu;
  uint32_t linger; /* ns that the monitor polls, and yields, before it sleeps, while there are
                      requests: a sleeping processor is slow to wake. 0: none */
  /* Called for a load from a page without a request: by the monitor, with fibers by the loading
   * thread. After the return the load goes on, with the page's contents. No pages are allocated
   * meanwhile, so it must not request any, nor load from this medium. NULL: the process ends with a
   * message. */
  void (*stray)(void *user, const void *address);
  void *user;
};

/* Creates a medium, and allocates all memory that it needs. NULL params select the defaults.
 * - TIDE_INVALID: struct_size is missing, a parameter, or a CPU that this process may not use
 * - TIDE_NOMEM
 * - TIDE_DENIED: no right to use userfaultfd
 * - TIDE_UNSUPPORTED: the kernel has no userfaultfd, or lacks a needed feature (with tag pages: try
 *   without)
 * - TIDE_FULL: no descriptors left, or 64 media for fibers */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_medium_create(struct tide_context *context, const struct tide_medium_params *params,
                   struct tide_medium **out_medium);
/* Fails all requests that are not available, and all later ones, with `status` (TIDE_OK:
 * TIDE_CANCELLED): stalled threads go on. */
TIDE_API void tide_medium_close(struct tide_medium *medium, enum tide_status status);
/* Destroys the medium. Finishes the requests that are left: those without data with TIDE_CANCELLED.
 * No thread may load from their data, or store to a tag page, any more. Tags that were neither
 * reached nor failed are dropped: no producer may write any more. NULL is fine. */
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
  uint64_t deadline;  /* absolute, ns; 0: none. Data that is present when the request is made is in
                         time. */
  const void *source; /* NULL: the producer writes to `room`; else `bytes` are copied from here once
                         the tags are reached. Must stay until the request is finished. */
  /* Filled by tide_medium_request. */
  const void *data; /* the address to read, on a page of its own */
  void *room;       /* the same memory, to be written before the tags are signalled */
  /* Filled by tide_request_finish: when the first load had to wait for the data, and when the data
   * had arrived or failed. 0: no load had to wait, or the monitor of a direct medium has not seen
   * it. */
  uint64_t stalled, resumed;
  uint64_t private_words[2];
};

/* Allocates the pages of `count` requests (1 .. TIDE_MEDIUM_BATCH), one after the other, for all or
 * none. Never allocates memory.
 * - TIDE_FULL: not enough pages in a row, or requests, are free now: finish some. Finished ones
 *   become free a moment later if their pages are being mapped. More than half of all pages, or
 *   than all requests, never fit.
 * - TIDE_INVALID: an impossible count, size or tag
 * - TIDE_SCOPE: a timeline that the host cannot wait for
 * - the status with which the medium was closed */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_medium_request(struct tide_medium *medium, struct tide_request *requests, size_t count);
/* Finishes a request. The consumer has read the data, and no thread loads from `data` any more.
 * With any result the request is then over. Blocks while `source` is being copied.
 * - TIDE_OK: all data was present; the tags' knowledge is merged into the position (may be NULL)
 * - TIDE_CANCELLED: the data had not arrived, so no load has read it, and none may (or the request
 *   had failed with this status)
 * - TIDE_INVALID: the request is over already
 * - the failure: zeros were read */
TIDE_API enum tide_status tide_request_finish(struct tide_medium *medium,
                                              struct tide_request *request,
                                              struct tide_position *position);
/* Fails a request: its data will not come. TIDE_OK: it has failed now; TIDE_VALUE: it is available,
 * has failed, or is over already; TIDE_INVALID: `status` is TIDE_OK. */
TIDE_API enum tide_status tide_request_fail(struct tide_medium *medium,
                                            struct tide_request *request, enum tide_status status);

/* ---- tag pages ----------------------------------------------------------------------
 *
 * With tag pages a producer is plain code, too (PAT of the source). It writes to the request's
 * room, then stores to the word of a page that is *armed* with a tag. The write fault stops that
 * thread alone. With every engine the monitor signals the tag, and the store goes on:
 *
 *      page.tag = {line, 7};   tide_medium_arm(medium, &page, 1);
 *
 *      producer   writes room, stores to page.word ..stopped.....................  goes on
 *      monitor                 signals line = 7: data appears, consumers go on --^
 *
 * So the tag is signalled when the store is over. The signal is that of
 * tide_timeline_signal_external, and carries no knowledge. It is for one store: the next one is not
 * detected, until the page is armed again.
 *
 * The stored value must not be 0. The store comes after all writes to the room: an atomic store in
 * release order (or its equivalent on this processor), by one thread per arming. Loads of the word
 * do not stop: it is 0 until the store has completed. The rest of the page has no meaning, but a
 * store there counts, too.
 *
 * Ownership: a page belongs to the caller that armed it, until the caller disarms it. The timeline
 * is held while the page is armed. A producer that dies before its store is not detected: fail the
 * timeline, or give the request a deadline, as for any tag. A store goes on in any case, also after
 * tide_medium_close, or when the timeline has failed.
 *
 * A store to a page that is closed and not armed is an error, reported like a stray load.
 * Forbidden: a store in a callback of a timepoint, because the monitor may be the thread that runs
 * it. A fiber that stores keeps its carrier. A child of fork has no tag pages: a store there is a
 * SIGSEGV. ThreadSanitizer does not see that a fault orders: __tsan_release(page.word + 1) goes
 * before the store. */
struct tide_tag_page {
  struct tide_tag tag; /* the tag that the next store signals */
  uint64_t *word;      /* NULL: no page yet; arm assigns one, disarm takes it back */
};

/* Arms `count` pages (1 .. TIDE_MEDIUM_BATCH), all or none. Never allocates.
 * - TIDE_UNSUPPORTED: the medium has no tag pages
 * - TIDE_FULL: not enough free tag pages
 * - TIDE_BUSY: a page is armed, or its store has not completed yet (try again in a moment)
 * - TIDE_INVALID: an impossible count or word
 * - TIDE_SCOPE: a timeline that the host cannot signal
 * - the status with which the medium was closed */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_medium_arm(struct tide_medium *medium, struct tide_tag_page *pages, size_t count);
/* Disarms the page and takes it back.
 * - TIDE_OK: its store was signalled
 * - TIDE_CANCELLED: no store came, and none may come now
 * - TIDE_BUSY: the store has not completed yet: try again
 * - TIDE_INVALID: not a page of this medium
 * - the error of the signal: the timeline's failure, or TIDE_VALUE: the value was reached already
 *
 * The store of a thread that ended while it was stopped never completes. A thread that knows this
 * stores in its place, and is not stopped. */
TIDE_API enum tide_status tide_medium_disarm(struct tide_medium *medium,
                                             struct tide_tag_page *page);

/* ---- statistics ----------------------------------------------------------------------- */

struct tide_medium_info {
  enum tide_medium_engine engine;
  uint32_t pages, page_bytes;
  bool user_only; /* system calls that read a missing page fail with EFAULT */
  uint32_t free_pages, largest_run, requests; /* current values */
  uint64_t requested;                         /* requests that got pages */
  uint64_t faults;     /* first loads from requests without data; direct: those that were still
                          pending when the monitor saw them */
  uint64_t duplicates; /* further faults on the same request */
  uint64_t stalled;    /* requests with a fault before the data came */
  uint64_t activated, failed, timed_out;
  uint64_t recycled; /* times that a half's pages were taken back */
  uint64_t single;   /* runs that were taken back alone, because a half was not free */
  uint64_t strays;
  uint64_t stores; /* stores to armed tag pages */
};
/* Copies the current state, and the counts since the medium was created. */
TIDE_API void tide_medium_info(struct tide_medium *medium, struct tide_medium_info *out_info);

#ifdef __cplusplus
}
#endif
#endif
