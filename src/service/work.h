/* service/work.h: what clients have done: channels, buffers, bodies.
 *
 * A *line* is a client's channel: a queue of the one device. Each command of it is a *job*, which
 * holds on to the buffers that it names until the scheduler says that it is over, however it went.
 * A *store* is a buffer: memory of the service's own, with one reference for each client that has a
 * name for it, and each job. Everyone who has a name is charged its size.
 *
 * What becomes free on other threads is only marked there (under the scheduler's lock), and goes on
 * the serving thread: tide_work_reap. */
#ifndef TIDE_SERVICE_WORK_H
#define TIDE_SERVICE_WORK_H

#include "service/served.h"
#include "tidemark/channel.h"

/* ---- store.c ---- */

/* Its memory is there from the beginning, or comes when a command's turn has come. */
enum tide_store_state {
  TIDE_STORE_TO_MAKE,
  TIDE_STORE_NAMELESS, /* to be made, for queued commands alone: nobody will be given it */
  TIDE_STORE_MADE,
  TIDE_STORE_FAILED
};
struct tide_store {
  struct tide_service *service;
  struct tide_store *next_dead;
  struct tide_mapping mapping;
  struct tide_served *maker; /* who is charged until it is gone; NULL: gone, or not yet */
  struct tide_link link;     /* of the maker */
  bool orphan;
  uint32_t references; /* atomic */
  uint32_t state;      /* atomic */
  uint32_t status;     /* why it failed */
};
/* Without its memory. */
enum tide_status tide_store_begin(struct tide_service *service, uint64_t size,
                                  struct tide_store **out_store);
/* Its memory, once. Any thread. TIDE_NOMEM, TIDE_FULL: it has failed. */
enum tide_status tide_store_make(struct tide_store *store);
/* It will not be made; nothing when it was. */
void tide_store_fail(struct tide_store *store, enum tide_status status);
/* TIDE_OK: its memory is there; TIDE_BUSY: not yet; else why it failed. */
enum tide_status tide_store_status(const struct tide_store *store);
/* Nobody will be given it any more: its descriptor is needed no longer. */
void tide_store_close_name(struct tide_store *store);
/* Any thread; under whatever lock. */
void tide_store_drop(struct tide_store *store);
/* On the serving thread: those that nobody holds any more go. */
void tide_stores_reap(struct tide_service *service);
/* The client is not charged for it any more. */
void tide_store_discharge(struct tide_served *client, const struct tide_store *store);
/* Its maker goes. */
void tide_stores_orphan(struct tide_served *client);
/* One more of this size is within the client's quotas. TIDE_INVALID: no bytes; TIDE_FULL. */
enum tide_status tide_store_check_quota(struct tide_served *client, uint64_t size);
/* Charges it to the client for a name. `made`: until it is gone. */
enum tide_status tide_store_claim(struct tide_served *client, struct tide_entry *entry,
                                  struct tide_store *store, bool writable, bool made);

/* ---- bodies.c ---- */

/* NULL: there is none of that number. */
const struct tide_body *tide_service_body(const struct tide_service *service, uint32_t number);
/* TIDE_INVALID: a body takes what clients cannot give, or there are too many. */
enum tide_status tide_service_check_bodies(const struct tide_body_set *bodies,
                                           struct tide_diag *diag);

/* ---- line.c ---- */

struct tide_job {
  struct tide_line *line;
  struct tide_job *next; /* of the free ones */
  const struct tide_body *body, *other;
  struct tide_argument arguments[2][TIDE_WIRE_ARGUMENTS];
  struct tide_store *stores[2 * TIDE_WIRE_ARGUMENTS]; /* of the buffers among them, in order */
  uint32_t store_count, body_stores;                  /* the first ones are `body`'s */
  uint8_t late[2];         /* a bit for each buffer that was not made when it was queued: its
                              argument is the offset */
  struct tide_store *made; /* what it makes */
};
#define TIDE_LINE_DECREASES 16u
struct tide_line {
  struct tide_service *service;
  struct tide_link link;            /* of its client, or of the service's closing ones */
  struct tide_served *client;       /* who is charged; NULL: gone */
  struct tide_queue *queue;         /* NULL: what was left is cancelled */
  struct tide_published *published; /* where its count of commands that are over is shown */
  uint32_t place;
  uint32_t capacity;
  uint8_t priority;         /* its base */
  uint64_t submitted, over; /* `over` under the scheduler's lock */
  uint64_t close_by;        /* the deadline for what was queued; then it is cancelled */
  struct tide_job *jobs, *free;
  uint32_t used_jobs; /* from here on they were never used */
  struct {
    uint64_t number;
    struct tide_point cancel;
  } decreases[TIDE_LINE_DECREASES];
};

enum tide_status tide_line_create(struct tide_served *client, struct tide_entry *entry,
                                  const struct tide_wire_view *view);
/* What is queued runs; then it goes. At `close_by` what has not started is cancelled. */
void tide_line_close(struct tide_line *line, uint64_t close_by);
enum tide_status tide_line_submit(struct tide_served *client, struct tide_line *line,
                                  const struct tide_wire_view *view);
/* A command that makes the store's memory, and then keeps `device`. */
enum tide_status tide_line_allocate(struct tide_line *line, struct tide_store *store,
                                    struct tide_point device);
/* A command that was refused before it came to the queue. It counts as one that is over, and those
 * behind it do not run. */
void tide_line_skip(struct tide_line *line, enum tide_status cause);
/* Nobody is charged for them any more. */
void tide_lines_orphan(const struct tide_served *client);
/* On the serving thread: lines that are over go. True: some are left. */
bool tide_lines_reap(struct tide_service *service);
/* The service ends: all are cancelled, and this blocks until they are over. */
void tide_lines_end(struct tide_service *service);

/* ---- stats.c ---- */

/* TIDE_DENIED: it is no admin, and not of the service's own user. */
enum tide_status tide_stats_call(struct tide_served *client, const struct tide_wire_view *view,
                                 struct tide_wire_message *answer);

/* ---- allocate.c ---- */

/* ALLOCATE. *later: it is answered when its turn has come. */
enum tide_status tide_allocate(struct tide_served *client, const struct tide_wire_view *view,
                               bool *later);
/* Its turn has come, or it was never to come: `status`. */
void tide_allocate_over(struct tide_served *client, const struct tide_pending *pending,
                        enum tide_status status);

/* The message is about to be sent: its descriptor, or why there is none. */
void tide_allocate_open(struct tide_served *client, struct tide_outgoing *next);
/* It has been. */
void tide_allocate_sent(struct tide_served *client, const struct tide_outgoing *sent);

/* ---- work.c ---- */

/* The client goes: what it has queued runs, then its channels and buffers go. */
void tide_work_abandon(struct tide_served *client);
void tide_work_free(struct tide_served *client, struct tide_entry *entry,
                    enum tide_entry_kind kind);
/* Promises that this channel's commands keep. */
enum tide_status tide_work_create_future(struct tide_served *client, struct tide_entry *channel,
                                         const struct tide_future_params *params,
                                         struct tide_future **out_future);
/* A buffer that was granted. */
enum tide_status tide_work_redeem(struct tide_served *client, const struct tide_grant *grant,
                                  struct tide_entry *entry, struct tide_wire_message *answer,
                                  int *out_descriptor);
/* The commands that are about channels and buffers. */
enum tide_status tide_work_call(struct tide_served *client, const struct tide_wire_view *view,
                                struct tide_wire_message *answer, int *out_descriptor);

#endif
