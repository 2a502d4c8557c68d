/* service/work.h: the objects behind clients' commands: channels, buffers, bodies.
 *
 * A *line* is a client's channel: a queue of the service's device. Each of its commands is a *job*,
 * which holds references to its buffers until the scheduler reports that it is over, with success
 * or not. A *store* is a buffer: memory of the service's own, with one reference for each client
 * that has a name for it, and for each job. Every client with a name is charged the store's size.
 *
 * An object that becomes free on another thread is only marked there (under the scheduler's lock),
 * and is freed on the serving thread: tide_lines_reap, tide_stores_reap. */
#ifndef TIDE_SERVICE_WORK_H
#define TIDE_SERVICE_WORK_H

#include "service/served.h"
#include "tidemark/channel.h"

/* ---- store.c ---- */

/* A store's memory exists from the start, or is made when its ALLOCATE command runs. */
enum tide_store_state {
  TIDE_STORE_TO_MAKE,
  TIDE_STORE_NAMELESS, /* not made yet; for queued commands alone, no client will be given it */
  TIDE_STORE_MADE,
  TIDE_STORE_FAILED
};
struct tide_store {
  struct tide_service *service;
  struct tide_store *next_dead;
  struct tide_mapping mapping;
  struct tide_served *maker; /* charged until the store is freed; NULL: gone, or none yet */
  struct tide_link link;     /* links the maker's stores */
  bool orphan;
  uint32_t references; /* atomic */
  uint32_t state;      /* atomic */
  uint32_t status;     /* the error of a FAILED one */
};
/* Makes a store without its memory. */
enum tide_status tide_store_begin(struct tide_service *service, uint64_t size,
                                  struct tide_store **out_store);
/* Makes the store's memory, once. Any thread. TIDE_NOMEM, TIDE_FULL: the store has failed. */
enum tide_status tide_store_make(struct tide_store *store);
/* Marks a store as failed: it will not be made. No effect if it was made. */
void tide_store_fail(struct tide_store *store, enum tide_status status);
/* Returns TIDE_OK once the memory exists; TIDE_BUSY: not yet; else the error. */
enum tide_status tide_store_status(const struct tide_store *store);
/* Closes the descriptor, at once or when the store is made: no client will be given the store. */
void tide_store_close_name(struct tide_store *store);
/* Drops a reference. Any thread, under any lock. */
void tide_store_drop(struct tide_store *store);
/* Frees the stores without references. On the serving thread. */
void tide_stores_reap(struct tide_service *service);
/* Stops charging the client for the store. */
void tide_store_discharge(struct tide_served *client, const struct tide_store *store);
/* Detaches the client from the stores that it made: the client ends. */
void tide_stores_orphan(struct tide_served *client);
/* Checks that one more store of this size is within the client's quotas. TIDE_INVALID: size 0;
 * TIDE_FULL. */
enum tide_status tide_store_check_quota(struct tide_served *client, uint64_t size);
/* Names the store and charges it to the client. `made`: until the store is freed. */
enum tide_status tide_store_claim(struct tide_served *client, struct tide_entry *entry,
                                  struct tide_store *store, bool writable, bool made);

/* ---- bodies.c ---- */

/* Returns NULL if no body has that number. */
const struct tide_body *tide_service_body(const struct tide_service *service, uint32_t number);
/* TIDE_INVALID: a body takes an argument that no client can give, or there are too many bodies. */
enum tide_status tide_service_check_bodies(const struct tide_body_set *bodies,
                                           struct tide_diag *diag);

/* ---- line.c ---- */

struct tide_job {
  struct tide_line *line;
  struct tide_job *next; /* the next free one */
  const struct tide_body *body, *other;
  struct tide_argument arguments[2][TIDE_WIRE_ARGUMENTS];
  struct tide_store *stores[2 * TIDE_WIRE_ARGUMENTS]; /* the arguments' buffers */
  uint32_t store_count, body_stores;                  /* the first ones are `body`'s */
  uint8_t late[2]; /* a bit for each buffer that was not made when the job was queued: its argument
                      holds the offset */
  struct tide_store *made; /* the store that an ALLOCATE makes; else NULL */
};
#define TIDE_LINE_DECREASES 16u
struct tide_line {
  struct tide_service *service;
  struct tide_link link;            /* links its client's lines, or the service's closing ones */
  struct tide_served *client;       /* the charged client; NULL: gone */
  struct tide_queue *queue;         /* NULL: the rest was cancelled */
  struct tide_published *published; /* shows the count of commands that are over */
  uint32_t place;
  uint32_t capacity;
  uint8_t priority;         /* the base priority */
  uint64_t submitted, over; /* `over`: under the scheduler's lock */
  uint64_t close_by;        /* queued commands are cancelled at this time, once closed */
  struct tide_job *jobs, *free;
  uint32_t used_jobs; /* the jobs from here on were never used */
  struct {
    uint64_t number;
    struct tide_point cancel;
  } decreases[TIDE_LINE_DECREASES];
};

enum tide_status tide_line_create(struct tide_served *client, struct tide_entry *entry,
                                  const struct tide_wire_view *view);
/* Closes a line: queued commands run, then it is freed. At `close_by` all that have not started are
 * cancelled. */
void tide_line_close(struct tide_line *line, uint64_t close_by);
enum tide_status tide_line_submit(struct tide_served *client, struct tide_line *line,
                                  const struct tide_wire_view *view);
/* Queues a command that makes the store's memory and then keeps `device`. */
enum tide_status tide_line_allocate(struct tide_line *line, struct tide_store *store,
                                    struct tide_point device);
/* Skips a command that was refused before it was queued. It counts as one that is over; the
 * commands behind it do not run. */
void tide_line_skip(struct tide_line *line, enum tide_status cause);
/* Stops charging the client for its lines. */
void tide_lines_orphan(const struct tide_served *client);
/* Frees the lines that are over. True: some are left. On the serving thread. */
bool tide_lines_reap(struct tide_service *service);
/* Cancels all lines and blocks until they are over: the service ends. */
void tide_lines_end(struct tide_service *service);

/* ---- stats.c ---- */

/* Frees the diagnosis that a client is reading. */
void tide_diagnosis_drop(struct tide_service *service);
/* TIDE_DENIED: the client is no admin, and not of the service's own user. */
enum tide_status tide_stats_call(struct tide_served *client, const struct tide_wire_view *view,
                                 struct tide_wire_message *answer);

/* ---- allocate.c ---- */

/* Executes ALLOCATE. *later: the answer comes when the memory is made, or failed. */
enum tide_status tide_allocate(struct tide_served *client, const struct tide_wire_view *view,
                               bool *later);
/* Answers an ALLOCATE that has ended with `status`. */
void tide_allocate_over(struct tide_served *client, const struct tide_pending *pending,
                        enum tide_status status);

/* Opens the descriptor of a message that is about to be sent, or gives the message an error. */
void tide_allocate_open(struct tide_served *client, struct tide_outgoing *next);
/* Keeps the host's promise after the send. */
void tide_allocate_sent(struct tide_served *client, const struct tide_outgoing *sent);

/* ---- work.c ---- */

/* Closes all channels and drops all buffers of a client that ends: its queued commands still
 * run. */
void tide_work_abandon(struct tide_served *client);
void tide_work_free(struct tide_served *client, struct tide_entry *entry,
                    enum tide_entry_kind kind);
/* Makes a future timeline for promises that this channel's commands keep. */
enum tide_status tide_work_create_future(struct tide_served *client, struct tide_entry *channel,
                                         const struct tide_future_params *params,
                                         struct tide_future **out_future);
/* Names a granted buffer. */
enum tide_status tide_work_redeem(struct tide_served *client, const struct tide_grant *grant,
                                  struct tide_entry *entry, struct tide_wire_message *answer,
                                  int *out_descriptor);
/* Executes a command about channels, buffers or statistics. */
enum tide_status tide_work_call(struct tide_served *client, const struct tide_wire_view *view,
                                struct tide_wire_message *answer, int *out_descriptor);

#endif
