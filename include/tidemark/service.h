/* tidemark/service.h: sync points between processes that don't trust each other.
 *
 * The model. A *service* owns a device, channels and all points of its domain. *Sessions* are its
 * clients, in other processes. A session makes promises, keeps them, waits for those of others and
 * queues commands on its channels, as with point.h and channel.h, and by the same names; a
 * struct tide_point that a session gave is a name of this session alone.
 *
 *      session A                     service                       session B
 *      promise p      --- ring --->  p is promised
 *      grant p        --- ring --->  token
 *                     <-- socket --  token          (any way it likes)  ---->  redeem
 *      submit, retires p  - ring ->  runs, p retires
 *                                    value of p --- shared memory --->  wait: returns
 *
 * Commands go through shared memory: a call that queues something is some tens of nanoseconds, and
 * no system call unless the service sleeps. The values that a session may read lie in shared
 * memory, mapped read-only: asking whether a point has retired is two loads, waiting for it one
 * futex.
 *
 * A point is handed over by a *token*, 128 random bits: its holder may wait for the timeline's
 * points, and nothing else. Guessing one is hopeless, and trying ends the connection.
 *
 * Errors. Errors that the session can know are returned at once. Those that only the service finds
 * are told later, through `refused` of the session, with the number of the call. The points that
 * the call was to make or to keep break with the same status: no waiter for one of them is left
 * behind, whether it came before the refusal or after it. Behind a command that failed, or was
 * refused, no command of its channel runs until tide_session_recover, but those with
 * TIDE_DESPITE_BROKEN.
 *
 * When the service ends, or is killed, everything answers TIDE_LOST within a tenth of a second.
 * When a client ends, or is killed, its promises that are not queued break with TIDE_OWNER_DIED.
 *
 * Threads: a session may be used by several threads. Calls (`call`, `refused`) run within
 * tide_session_dispatch, or within a blocking call of this session, one at a time, without a lock.
 *
 * Source: "Trustable Future Sync Points", whose calls docs/points.md maps to those of point.h and
 * channel.h; docs/service.md.
 */
#ifndef TIDEMARK_SERVICE_H
#define TIDEMARK_SERVICE_H

#include "tidemark/body.h"
#include "tidemark/point.h"
#include "tidemark/queue.h"
#include "tidemark/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the service ------------------------------------------------------------------- */

struct tide_service;

enum tide_service_event_kind {
  TIDE_SERVICE_CONNECTED = 1,
  TIDE_SERVICE_TURNED_AWAY, /* before it was a client: `status` says why */
  TIDE_SERVICE_GONE,        /* TIDE_OK: it went, or died, and its ring was read; else it was let go
                               for that */
  TIDE_SERVICE_REFUSED,     /* a command of a client failed */
  TIDE_SERVICE_PACED /* too many commands of its uid failed: rings of this uid with such commands
                        are left alone at times. The uid's further refusals are counted and not
                        told, until it has made up for them */
};
struct tide_service_event {
  enum tide_service_event_kind kind;
  enum tide_status status;
  uint64_t time;   /* ns of the monotonic clock */
  uint64_t client; /* its number, never used again; 0: none yet */
  uint32_t uid, pid;
  const char *label;
  const char *what; /* REFUSED, PACED: the command's name; NULL else */
  uint64_t sequence;
};

struct tide_service_params {
  size_t struct_size;
  const char *socket; /* path of the socket */
  const char *policy; /* text, see docs/service.md; NULL: everybody has the defaults */
  size_t policy_length;
  uint32_t domain;  /* 0: 1 */
  uint32_t workers; /* of the device; 0: as tide_cpu_params */
  /* What commands of clients can do beside enum tide_session_body: the first one's number is
   * TIDE_SESSION_BODIES. Parameters are buffers and integers, TIDE_SESSION_ARGUMENTS_MAX at most,
   * the optional ones last; of class_, `name` and `host` are used. Clients may write into their
   * buffers while a body runs: it must believe no byte twice. Outlives the service. NULL: nothing
   * else. tidemark/kernel.h has a table. */
  const struct tide_body_set *bodies;
  /* Of everything but shared memory, for as long as the service lives. Any thread. NULL: malloc.
   * A failure refuses the client, or the command, that needed the memory: TIDE_NOMEM. */
  const struct tide_allocator *allocator;
  /* Called on the service's thread, which serves no client meanwhile: it must not block. */
  void (*event)(void *user, const struct tide_service_event *event);
  void *user;
};

/* Listens from now on, and serves once it runs. The diag says what is wrong with the policy, or
 * with the socket (TIDE_IO): another service holds the file SOCKET.lock locked, which lies beside
 * the socket for as long as a service has the path. TIDE_INVALID: no socket is named, or a body is
 * not one for clients; TIDE_NOMEM; TIDE_FULL: no descriptors. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_service_create(const struct tide_service_params *params, struct tide_service **out_service,
                    struct tide_diag *diag);
/* Writes a sentence, with a newline, for each limit that is less than the quotas of all clients,
 * and of those that leave beside them, come to: of address space (RLIMIT_AS), memory (the
 * machine's, or memory.max of its control group) and descriptors (RLIMIT_NOFILE). Where one is
 * reached clients, and their commands, are refused. Cut where it does not fit; returns the whole
 * length, 0 when all quotas fit. */
TIDE_API size_t tide_service_shortages(const struct tide_service *service, char *buffer,
                                       size_t size);
/* Serves on this thread until it is stopped. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_service_run(struct tide_service *service);
/* From any thread, or a signal handler: run returns. */
TIDE_API void tide_service_stop(struct tide_service *service);
/* All clients are told TIDE_LOST; the socket and its lock go, unless other files have their names
 * now. No thread is in run. Blocks while bodies run. NULL is fine. */
TIDE_API void tide_service_destroy(struct tide_service *service);

/* ---- sessions ------------------------------------------------------------------------ */

struct tide_session;

struct tide_session_params {
  size_t struct_size;
  const char *socket;
  const char *label;  /* for people; copied, cut at 31 bytes */
  uint64_t deadline;  /* absolute, for all that connecting takes; 0: 5 s from now */
  uint64_t patience;  /* ns that a call which blocks, and takes no deadline, waits for the service's
                         answer; 0: 30 s; TIDE_FOREVER */
  uint32_t trust_uid; /* whose service it may be, besides root's and this process's own user's */
  /* A command that had been taken by the ring was refused: the `sequence`th of this session,
   * counted from 1. NULL: they are only counted. */
  void (*refused)(void *user, uint64_t sequence, const char *what, enum tide_status status);
  void *user;
};

/* TIDE_LOST: no service listens there; TIDE_DENIED: the service's policy, the permissions of the
 * path, or a service of another user's, who is not trusted (nothing is sent to it); TIDE_FULL: the
 * service is full; TIDE_MISMATCH: another version; TIDE_TIMEOUT; TIDE_INVALID: no socket is named.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_connect(const struct tide_session_params *params, struct tide_session **out_session,
                     struct tide_diag *diag);
/* Outstanding calls come with TIDE_CANCELLED first. What is owed breaks as if it had died. Nobody
 * else uses the session. NULL is fine. */
TIDE_API void tide_session_close(struct tide_session *session);
/* TIDE_OK; TIDE_LOST; or why the service has ended the connection: TIDE_DENIED, after too many
 * wrong tokens, TIDE_CORRUPT. */
TIDE_API enum tide_status tide_session_status(struct tide_session *session);
/* Readable when there is something to dispatch. */
TIDE_API int tide_session_descriptor(const struct tide_session *session);
/* Runs what has come; waits until something has, or the deadline has passed: TIDE_TIMEOUT.
 * TIDE_LOST. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_dispatch(struct tide_session *session,
                                                                uint64_t deadline);
/* How many commands were given to the service so far: the number of the newest one. */
TIDE_API uint64_t tide_session_sequence(struct tide_session *session);
/* How many of them were refused that nobody asked about, as far as the service has said. */
TIDE_API uint64_t tide_session_refusals(struct tide_session *session);
/* Blocks until the service has executed all that was given to it before. TIDE_TIMEOUT, TIDE_LOST.
 */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_sync(struct tide_session *session,
                                                            uint64_t deadline);

/* What all calls below may answer besides what they say: TIDE_LOST; TIDE_FULL: the ring is full and
 * the service does not come to it, or a quota; TIDE_NOT_FOUND: no such name in this session; those
 * that block and take no deadline: TIDE_TIMEOUT, when no answer came within the session's patience
 * (the service is stopped, or has much to do). The object that such a call was to make is destroyed
 * as soon as the service has made it. */

/* ---- future timelines ------------------------------------------------------------------- */

/* *out_timeline: its name, with value `initial`. TIDE_FULL: the quota. Blocks for the service's
 * answer. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_create_future(struct tide_session *session, const struct tide_future_params *params,
                           struct tide_point *out_timeline);
/* The same, for promises that commands of this channel keep. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_create_channel_future(struct tide_session *session, struct tide_point channel,
                                   const struct tide_future_params *params,
                                   struct tide_point *out_timeline);
/* Promises the next value; no round trip. Others may name it once the service has executed that:
 * tell them after tide_session_sync, or after any answer. TIDE_FULL: as many are promised as there
 * is room for; TIDE_EXHAUSTED. A deadline as of tide_future_promise. When the service refuses (the
 * timeline's channel has gone: TIDE_CANCELLED), this value and all later ones are broken; not so
 * after TIDE_FULL and TIDE_VALUE, which leave the timeline as it was. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_promise(struct tide_session *session,
                                                               struct tide_point timeline,
                                                               uint64_t deadline,
                                                               struct tide_point *out_point);
/* Keeps it; no round trip. TIDE_VALUE: it has ended well; its own error when it is broken; what the
 * service finds comes as a refusal. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_fulfil(struct tide_session *session,
                                                              struct tide_point point);
/* Gives it up; no round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_break(struct tide_session *session, struct tide_point point, enum tide_status cause);
/* The name goes: of a future timeline, a compound, a channel, a buffer, or what was redeemed. What
 * is owed on it breaks with TIDE_CANCELLED. No round trip: what it took of the quotas comes free
 * once the service has come to it, and all that was queued on it has ended. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_destroy(struct tide_session *session,
                                                               struct tide_point object);

/* ---- compounds: as in point.h ------------------------------------------------------------- */

/* No round trip. A compound that the service cannot make is broken from its beginning. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_promise_compound(struct tide_session *session, uint64_t deadline,
                              struct tide_point *out_point);
/* At most TIDE_SESSION_PARTS parts at once. No round trip: what the service finds (TIDE_DEADLOCK …)
 * comes as a refusal. A refused definition leaves the compound undefined: it may be defined
 * otherwise before its deadline. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_all(struct tide_session *session,
                                                           struct tide_point compound,
                                                           const struct tide_point *parts,
                                                           size_t count);
/* The same with ANY. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_any(struct tide_session *session,
                                                           struct tide_point compound,
                                                           const struct tide_point *parts,
                                                           size_t count);
/* Checked here; TIDE_CORRUPT with the column. At most 2048 bytes. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_expression(struct tide_session *session, struct tide_point compound, const char *text,
                        size_t length, const struct tide_point *parts, size_t count,
                        struct tide_diag *diag);
#define TIDE_SESSION_PARTS 96

/* ---- asking and waiting ---------------------------------------------------------------------- */

/* TIDE_OK: retired; TIDE_TIMEOUT: not yet; its error when it is broken. Two loads, mostly. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_query(struct tide_session *session,
                                                             struct tide_point point);
/* Where the point's timeline shows how far it is: a place in shared memory, for tidemark/shared.h.
 * It is looked up once, here, and then read by any thread without a name, a lock or this session:
 *
 *      tide_shared_value(out->shared, out->slot)                           one load
 *      tide_shared_look(out->shared, out->slot, out->generation, value)    some: is it good?
 *
 * What look answers: TIDE_OK, TIDE_TIMEOUT and errors are as of query; TIDE_NOT_FOUND: from there
 * on values broke one by one, ask query; TIDE_CANCELLED: the timeline is over (what is good stays
 * so until its owner uses the place again); TIDE_LOST: the service has ended in order.
 *
 * *out->shared is the session's, to be read only; it stays mapped until tide_session_close,
 * whatever becomes of the name, the timeline, its owner or the service. But:
 * - once the timeline is over, the value may be that of its owner's next one at this place: look
 *   knows them apart;
 * - a service that is killed leaves all as it is, and others who may read this memory can hold up
 *   who sleeps on it: tide_session_wait notices both, tide_shared_wait does not.
 *
 * TIDE_BUSY: a compound or stand-in that the service has not come to (tide_session_sync);
 * TIDE_CANCELLED: its place is another's already; TIDE_LOST. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_view(struct tide_session *session,
                                                            struct tide_point point,
                                                            struct tide_shared_point *out);
/* All four states; asks the service unless it has ended. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_state(struct tide_session *session,
                                                             struct tide_point point,
                                                             enum tide_point_state *out_state,
                                                             enum tide_status *out_status);
/* Blocks until it has ended: TIDE_OK: retired; its error; TIDE_TIMEOUT: the deadline; TIDE_LOST. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_wait(struct tide_session *session, struct tide_point point, uint64_t deadline);

typedef void (*tide_session_call)(void *user, enum tide_status status);
/* Calls back once the point has ended. *out_wait (may be NULL) is for forget. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_when_complete(struct tide_session *session, struct tide_point point,
                           tide_session_call call, void *user, uint32_t *out_wait);
/* As tide_point_when_schedulable, but all errors come through the call. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_when_schedulable(struct tide_session *session, struct tide_point point,
                              const struct tide_point *assumed, size_t assumed_count,
                              tide_session_call call, void *user, uint32_t *out_wait);
/* True: the call will not run. */
TIDE_API bool tide_session_forget(struct tide_session *session, uint32_t wait);
/* As tide_client_trust, for this session's own waits. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_trust(struct tide_session *session,
                                                             uint32_t domain);

/* ---- handing over -------------------------------------------------------------------------------
 */

struct tide_token {
  unsigned char bytes[16];
};
enum tide_rights {
  TIDE_RIGHT_WAIT = 0, /* of a timeline: to wait for its points */
  TIDE_RIGHT_READ = 0, /* of a buffer: commands may read it, and it may be mapped for reading */
  TIDE_RIGHT_WRITE = 1 /* of a buffer: to write it, too */
};
/* Whoever has the token may redeem it, as often as they like, as long as the object has its name
 * and this session lives. One's own objects only: TIDE_DENIED. TIDE_FULL: the quota. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_grant(struct tide_session *session,
                                                             struct tide_point object,
                                                             enum tide_rights rights,
                                                             struct tide_token *out_token);
/* *out_object: a name in this session; for a point, set its `value`. TIDE_NOT_FOUND: no such token,
 * or not any more; too many of these end the connection. TIDE_BUSY: a buffer that has not been made
 * yet: its `device` point tells. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_redeem(struct tide_session *session,
                                                              const struct tide_token *token,
                                                              struct tide_point *out_object);

/* ---- two services
 * ----------------------------------------------------------------------------------
 *
 * Who has a session with each carries points across: a *stand-in* here stands for a point there. It
 * learns there what becomes of the point (when_schedulable, when_complete), and reports it here.
 * The policy says who may speak for which domain, and which domains are believed: of others, only
 * the end counts. */

/* Promises a point that stands for one of `domain`, to end, or to be reported scheduled by a domain
 * that is trusted, before the deadline. No round trip: TIDE_DENIED comes as a refusal, and the
 * point is broken with it from its beginning. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_stand_in(struct tide_session *session,
                                                                uint32_t domain, uint64_t deadline,
                                                                struct tide_point *out_point);
/* How it stands there. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_report(struct tide_session *session,
                                                              struct tide_point stand_in,
                                                              enum tide_point_state state,
                                                              enum tide_status status);

/* ---- buffers -----------------------------------------------------------------------------------
 */

/* Zeroed memory of the service's, mapped here too; *out_buffer is its name (value 0). TIDE_FULL:
 * the quota; TIDE_INVALID: no bytes. Whoever has a name for it is charged all of it. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_create_buffer(struct tide_session *session,
                                                                     uint64_t size,
                                                                     struct tide_point *out_buffer);
/* Where it is mapped; read-only when it was granted so. As long as it has its name. NULL: no such
 * buffer, or, of one that was allocated, not yet: then what has come is read first, and calls may
 * run. */
TIDE_API void *tide_session_buffer_data(struct tide_session *session, struct tide_point buffer,
                                        uint64_t *out_size);

/* ---- channels
 * ------------------------------------------------------------------------------------ */

struct tide_session_channel_params {
  size_t struct_size;
  const char *label;   /* copied, cut at 31 bytes */
  uint32_t operations; /* capacity; 0: 64 */
  uint8_t priority;    /* base priority, cut to what the policy allows; 0: 8 */
};
/* NULL params are the defaults. *out_channel: its name. TIDE_FULL: the quota. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_create_channel(struct tide_session *session,
                            const struct tide_session_channel_params *params,
                            struct tide_point *out_channel);

/* What a command of any service may do, and its arguments in order. Buffers' sizes are those of the
 * ranges. Higher numbers are the service's table (tide_service_params.bodies), which its clients
 * have to know: that of `tidemark serve` is enum tide_kernel_session_body in tidemark/kernel.h. */
enum tide_session_body {
  TIDE_SESSION_NOTHING = 0,
  TIDE_SESSION_COPY = 1,  /* from, to: of one size */
  TIDE_SESSION_FLUSH = 2, /* 1 to 8 ranges: what was written before is visible to everybody */
  TIDE_SESSION_BODIES = 3 /* the number of the service's first one */
};
#define TIDE_SESSION_BODIES_MAX 256  /* with these */
#define TIDE_SESSION_ARGUMENTS_MAX 8 /* of a body */
struct tide_session_argument {
  struct tide_point buffer; /* all zero: a number, which is in `offset` */
  uint64_t offset, size;
};
struct tide_session_operation {
  uint32_t flags; /* TIDE_MAY_BE_PASSED, TIDE_DESPITE_BROKEN, TIDE_RECOVER */
  uint32_t body;  /* enum tide_session_body, or of the service's table */
  const struct tide_session_argument *arguments;
  size_t argument_count;
  const struct tide_point *waits; /* as in tide_operation_points: at most 32 of each */
  size_t wait_count;
  const struct tide_point *retires; /* promises of this channel's timelines */
  size_t retire_count;
  const struct tide_point *cancel; /* once it is retired, the operation is cancelled; or NULL */
  const struct tide_point *choose; /* at its turn: retired: `body`, else `otherwise`; or NULL */
  uint32_t otherwise;
  const struct tide_session_argument *otherwise_arguments;
  size_t otherwise_count;
};
/* No round trip. TIDE_FULL: as many are unfinished as the channel has room for. What only the
 * service finds (TIDE_DEADLOCK, TIDE_DENIED …) comes as a refusal, and what it was to retire breaks
 * with it.
 *
 * Failure goes down the channel, as in channel.h: commands behind a failed one do not run, but
 * those with TIDE_DESPITE_BROKEN, and the points that they retire break with its status. A refused
 * command counts as a failed one, for this session may have queued others behind it. The session
 * learns of a failure from its points, and from tide_session_channel_stats.
 *
 * Points of a redeemed timeline that is gone, as when its owner has died, count as broken: with
 * TIDE_DESPITE_BROKEN they are not waited for, without it the wait is refused (TIDE_NOT_FOUND). A
 * choice by them takes `otherwise`. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_submit(struct tide_session *session, struct tide_point channel,
                    const struct tide_session_operation *operation);
/* Commands behind this place run, whatever has failed, or was refused, before it. A command of the
 * channel like others: an operation with TIDE_RECOVER is one, too. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_recover(struct tide_session *session,
                                                               struct tide_point channel);
/* How many of the channel's operations are over, one way or another. */
TIDE_API uint64_t tide_session_channel_over(struct tide_session *session,
                                            struct tide_point channel);
/* An upload as a service, of several points: `from` goes into `to` through the channel; `source` is
 * kept when `from` may be written again, `device` when other channels may read `to`, `host` when
 * whoever has mapped it may. Three commands. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_upload(struct tide_session *session, struct tide_point channel,
                    const struct tide_session_argument *from,
                    const struct tide_session_argument *to, const struct tide_point *source,
                    const struct tide_point *device, const struct tide_point *host);

/* A flush as a service, of two points: what was written to these ranges before, by commands of this
 * channel or by whoever submits it, may be read by other devices once `device` is kept, and by
 * whoever has mapped them once `host` is. Either may be NULL. At most 8 ranges; TIDE_INVALID: none.
 * The device of this service is made of this machine's processors, and all memory is coherent: a
 * flush copies nothing, it only orders. Who keeps the points apart is right elsewhere, too. A
 * command for each point. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_flush(struct tide_session *session, struct tide_point channel,
                   const struct tide_session_argument *ranges, size_t count,
                   const struct tide_point *device, const struct tide_point *host);
/* An allocation as a service, of two points: a zeroed buffer as of tide_session_create_buffer is
 * made when the command's turn comes in its channel. `device`, a promise of the channel, is kept
 * when commands may use it; `host` (may be NULL), a promise of a timeline that is no channel's,
 * when its memory has come to this process, for tide_session_buffer_data. *out_buffer is its name
 * from here on: commands that run after `device` may be queued with it at once; one that runs
 * before fails with TIDE_INVALID. It is charged when the service takes the command. When it cannot
 * be made both points break, with TIDE_FULL (a quota), TIDE_NOMEM, or the command's error; the name
 * has gone then, and is charged no more. Takes one of the answers that may be awaited. No round
 * trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_allocate(struct tide_session *session, struct tide_point channel, uint64_t size,
                      const struct tide_point *device, const struct tide_point *host,
                      struct tide_point *out_buffer);

/* As in channel.h; no round trip, so that all but TIDE_NOT_FOUND comes as a refusal. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_increase_priority_until(struct tide_session *session, struct tide_point channel,
                                     struct tide_point target, uint8_t level);
/* *out_cancel: for tide_session_cancel_decrease, which takes the newest 16 of a channel. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_decrease_priority_until(struct tide_session *session, struct tide_point channel,
                                     struct tide_point dependency, uint32_t amount,
                                     struct tide_point *out_cancel);
/* As in channel.h. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_cancel_decrease(struct tide_session *session,
                                                                       struct tide_point cancel);
/* As in channel.h. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_cancel_priority_decreases(struct tide_session *session, struct tide_point channel);

/* ---- asking about everybody: for the service's own user, and whom the policy calls admin --------
 */

struct tide_session_client_stats {
  char label[32];
  uint64_t client; /* its number */
  uint32_t uid, pid;
  bool trusted;
  uint64_t promised, kept, broken, missed; /* as tide_client_stats */
  uint32_t timelines, parts, channels, grants, waits;
  uint64_t bytes;             /* of buffers */
  uint64_t commands, refused; /* taken so far; and of these refused */
  uint64_t spent;             /* ns of the serving thread */
  uint64_t rounds;            /* of the serving thread in which its ring was read */
  uint64_t paced; /* how often its ring was left alone, for too many refusals of its uid */
};
/* The index-th of those who are connected. TIDE_NOT_FOUND: there are no more; TIDE_DENIED. Blocks,
 * as the next ones. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_client_stats(struct tide_session *session, uint32_t index,
                          struct tide_session_client_stats *out_stats);
struct tide_session_channel_stats {
  char label[32];
  uint8_t base, priority;   /* its own; what the arbiter goes by now */
  uint64_t submitted, over; /* refused ones are over */
  uint32_t capacity;
  enum tide_status failure; /* as tide_queue_failure */
};
/* The index-th channel of the client of that number. TIDE_NOT_FOUND: no more; it is gone. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_channel_stats(struct tide_session *session, uint64_t client, uint32_t index,
                           struct tide_session_channel_stats *out_stats);
enum tide_session_timeline_kind {
  TIDE_SESSION_FUTURE = 1,
  TIDE_SESSION_COMPOUND, /* a timeline of one value */
  TIDE_SESSION_STAND_IN  /* the same */
};
struct tide_session_timeline_stats {
  char label[32];
  enum tide_session_timeline_kind kind;
  uint32_t timeline, generation; /* its owner's name for it */
  uint64_t value, newest;        /* reached; the last one promised */
  uint64_t owed;                 /* promised, and not queued (of a compound: not defined) */
  uint64_t queued;               /* queued or defined, and not over */
  uint64_t broken;
  uint64_t oldest_deadline; /* of the oldest that is owed; TIDE_FOREVER; 0: nothing is */
  uint32_t capacity;        /* promises at a time */
  uint32_t parts;           /* of a compound that is defined and has not settled */
  bool cut;                 /* thousands are open: the numbers above are what was counted of them */
};
/* The next timeline of the client of that number: *place is 0 for the first, and moves on.
 * TIDE_NOT_FOUND: no more; it is gone. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_timeline_stats(struct tide_session *session, uint64_t client, uint32_t *place,
                            struct tide_session_timeline_stats *out_stats);
/* Who waits for whom, as tide_context_diagnose; cut where it does not fit. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_diagnose(struct tide_session *session, char *buffer, size_t size, size_t *out_length);

#ifdef __cplusplus
}
#endif
#endif
