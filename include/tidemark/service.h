/* tidemark/service.h: sync points between processes that don't trust each other.
 *
 * The model. A *service* owns a device, channels and all points of its domain. *Sessions* are its
 * clients, in other processes. A session makes and keeps promises, waits for those of others and
 * queues commands on its channels, with functions named as in point.h and channel.h. A struct
 * tide_point that a session returned is a name of this session alone.
 *
 *      session A                     service                       session B
 *      promise p      --- ring --->  p is promised
 *      grant p        --- ring --->  token
 *                     <-- socket --  token        (by any other channel)  ---->  redeem
 *      submit, retires p  - ring ->  runs, p retires
 *                                    value of p --- shared memory --->  wait: returns
 *
 * Commands go through shared memory. A call that queues a command takes some tens of nanoseconds,
 * and no system call unless the service sleeps. The values that a session may read lie in shared
 * memory, mapped read-only: a query whether a point has retired is two loads, a wait one futex.
 *
 * A point is handed over by a *token*, 128 random bits. Its holder may wait for the timeline's
 * points, and nothing else. Guessing a token is infeasible, and repeated attempts end the
 * connection.
 *
 * Errors. A call returns errors that the session can detect. Errors that only the service detects
 * are reported later, through the session's `refused`, with the number of the call. The points that
 * the call was to create or keep break with the same status, so each waiter is notified, before or
 * after the refusal. After a command failed, or was refused, no later command of its channel runs
 * until tide_session_recover, except those with TIDE_DESPITE_BROKEN.
 *
 * When the service ends, or is killed, all calls return TIDE_LOST within a tenth of a second, but
 * for queries and waits of points that ended before. When a client ends, or is killed, its promises
 * that are not queued break with TIDE_OWNER_DIED. A client is the process that connected: children
 * that it forks do not go on in its place.
 *
 * What ended stays so. A session holds a redeemed timeline until it destroys its name for it or
 * closes. Its owner may destroy the timeline or end before: each point stays retired, or broken
 * with its cause, for all holders and on every path. A holder is charged for what the service keeps
 * of it.
 *
 * Threads: several threads may use a session. Callbacks (`call`, `refused`) run within
 * tide_session_dispatch, or within a blocking call of this session, one at a time, without a lock.
 *
 * Source: "Trustable Future Sync Points"; docs/points.md maps its calls to those of point.h and
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
  TIDE_SERVICE_TURNED_AWAY, /* turned away before it became a client: `status` gives the reason */
  TIDE_SERVICE_GONE,        /* TIDE_OK: the client ended, or died, and its ring was read; else the
                               service ended it for this reason */
  TIDE_SERVICE_REFUSED,     /* a client's command failed */
  TIDE_SERVICE_PACED /* too many commands of the client's uid failed: rings of this uid with such
                        commands are skipped at times. Further refusals of the uid are counted but
                        not reported, until the time charged for them has passed. */
};
struct tide_service_event {
  enum tide_service_event_kind kind;
  enum tide_status status;
  uint64_t time;   /* ns of the monotonic clock */
  uint64_t client; /* the client's number, never reused; 0: none yet */
  uint32_t uid, pid;
  const char *label;
  const char *what; /* REFUSED, PACED: the command's name; else NULL */
  uint64_t sequence;
};

struct tide_service_params {
  size_t struct_size;
  const char *socket; /* path of the socket */
  const char *policy; /* text, see docs/service.md; NULL: the defaults for all clients */
  size_t policy_length;
  uint32_t domain;  /* 0: 1 */
  uint32_t workers; /* workers of the device; 0: as in tide_cpu_params */
  /* Bodies for the clients' commands, in addition to enum tide_session_body; the first has the
   * number TIDE_SESSION_BODIES. Parameters are buffers and integers, at most
   * TIDE_SESSION_ARGUMENTS_MAX, the optional ones last; of class_, only `name` and `host` are used.
   * A body's TIDE_TIMEOUT or TIDE_BUSY, which would say "not yet" of a point, becomes TIDE_INVALID.
   * Clients may write into their buffers while a body runs: a body must not rely on reading the
   * same byte twice. Must outlive the service. NULL: none. tidemark/kernel.h has a table. */
  const struct tide_body_set *bodies;
  /* The allocator of everything but shared memory, while the service lives. Any thread. NULL:
   * malloc. A failed allocation refuses the client, or the command, that needed the memory:
   * TIDE_NOMEM. */
  const struct tide_allocator *allocator;
  /* Called on the service's thread, which serves no client meanwhile: it must not block. */
  void (*event)(void *user, const struct tide_service_event *event);
  void *user;
};

/* Creates a service, which listens from now on and serves in tide_service_run. TIDE_IO: the socket,
 * or another service holds the file SOCKET.lock locked (beside the socket, while a service has the
 * path); TIDE_INVALID: no socket is named, or a body is not fit for clients; TIDE_NOMEM; TIDE_FULL:
 * no descriptors left. The diag has the fault in the policy, or in the socket. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_service_create(const struct tide_service_params *params, struct tide_service **out_service,
                    struct tide_diag *diag);
/* Writes a sentence, with a newline, for each limit that is less than the sum of the quotas of all
 * clients, and of clients that leave at the same time. The limits are: address space (RLIMIT_AS),
 * memory (the machine's, or memory.max of its control group) and descriptors (RLIMIT_NOFILE). At a
 * limit, clients and their commands are refused. Cut to `size`; returns the length of the whole
 * text, 0 when all quotas fit. Not beside tide_service_run, which may change the policy. */
TIDE_API size_t tide_service_shortages(const struct tide_service *service, char *buffer,
                                       size_t size);
/* Serves on this thread until tide_service_stop or tide_service_drain. Blocks. TIDE_TIMEOUT: the
 * time of the latter is over; TIDE_IO. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_service_run(struct tide_service *service);
/* Makes tide_service_run return. From any thread, or a signal handler. */
TIDE_API void tide_service_stop(struct tide_service *service);
/* Ends the service in order. From its next round on it gives up its path, takes no client, and
 * refuses promises, compounds and stand-ins with TIDE_LOST. tide_service_run returns as soon as all
 * promises are kept or broken and all commands are over; after `time`, in ns, with TIDE_TIMEOUT; at
 * tide_service_stop, at once. From any thread, or a signal handler. */
TIDE_API void tide_service_drain(struct tide_service *service, uint64_t time);
/* Gives the service a new policy, which it follows from its next round on. Clients that connect
 * have the new limits, and connected ones keep theirs; `clients` and a uid's `connections` count
 * all of them. As long as connected clients have larger quotas than the new policy's, the quotas of
 * all may need more room than there is. From any thread, but not a signal handler; before
 * tide_service_destroy. On an error the policy before it stays: TIDE_CORRUPT and TIDE_FULL, with
 * the location; TIDE_FULL without one: the quotas need more room than the service was created with;
 * TIDE_INVALID: a trusted domain is missing; TIDE_NOMEM. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_service_set_policy(struct tide_service *service,
                                                                  const char *text, size_t length,
                                                                  struct tide_diag *diag);
/* Destroys the service. All clients get TIDE_LOST. Removes the socket and its lock, unless other
 * files have these names now. No thread may be in tide_service_run. Blocks while bodies run. NULL
 * is fine. */
TIDE_API void tide_service_destroy(struct tide_service *service);

/* ---- sessions ------------------------------------------------------------------------ */

struct tide_session;

struct tide_session_params {
  size_t struct_size;
  const char *socket;
  const char *label;  /* shown in messages; copied, cut at 31 bytes */
  uint64_t deadline;  /* absolute, for the whole connect; 0: 5 s from now */
  uint64_t patience;  /* ns that a blocking call without a deadline waits for the service's answer;
                         0: 30 s; TIDE_FOREVER */
  uint32_t trust_uid; /* accepted owner of the service, in addition to root and this process's
                         user */
  /* Called when a command that the ring had taken was refused: the `sequence`th of this session,
   * counted from 1. NULL: refusals are only counted. */
  void (*refused)(void *user, uint64_t sequence, const char *what, enum tide_status status);
  void *user;
};

/* Connects to a service. TIDE_NOT_FOUND: no service listens there, the path has no socket;
 * TIDE_LOST: the service there is gone, and left its socket; TIDE_DENIED: the service's policy,
 * the permissions of the path, or the service's user is not trusted (nothing is sent to such a
 * service); TIDE_FULL: the service is full; TIDE_MISMATCH: another version; TIDE_TIMEOUT;
 * TIDE_INVALID: no socket is named. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_connect(const struct tide_session_params *params, struct tide_session **out_session,
                     struct tide_diag *diag);
/* Closes the session. Outstanding calls come first, with TIDE_CANCELLED. Unkept promises break as
 * if the client had died. No other thread may use the session. NULL is fine. */
TIDE_API void tide_session_close(struct tide_session *session);
/* Returns TIDE_OK, TIDE_LOST, or the reason why the service has ended the connection: TIDE_DENIED,
 * after too many wrong tokens, or TIDE_CORRUPT. Until a call has read the reason: TIDE_LOST. */
TIDE_API enum tide_status tide_session_status(struct tide_session *session);
/* Returns a descriptor that is readable when there is something to dispatch. */
TIDE_API int tide_session_descriptor(const struct tide_session *session);
/* Runs the callbacks that have arrived; waits for the first one, up to the deadline. TIDE_TIMEOUT;
 * TIDE_LOST. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_dispatch(struct tide_session *session,
                                                                uint64_t deadline);
/* Returns the number of commands given to the service so far, which is the number of the newest
 * one. */
TIDE_API uint64_t tide_session_sequence(struct tide_session *session);
/* Returns the number of refused commands among those that no call awaits, as far as the service has
 * reported. */
TIDE_API uint64_t tide_session_refusals(struct tide_session *session);
/* Blocks until the service has executed all commands that were given to it before. TIDE_TIMEOUT;
 * TIDE_LOST. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_sync(struct tide_session *session,
                                                            uint64_t deadline);

/* Errors of all calls below, in addition to their own: TIDE_LOST; TIDE_FULL: a quota, or the ring
 * is full and the service does not read it; TIDE_NOT_FOUND: no such name in this session. Calls
 * that block without a deadline also return TIDE_TIMEOUT, when no answer came within the session's
 * patience (the service is stopped, or busy). The object that such a call was to create is
 * destroyed as soon as the service has created it. */

/* ---- future timelines ------------------------------------------------------------------- */

/* Creates a future timeline. *out_timeline is its name, with value `initial`. TIDE_FULL: the quota;
 * TIDE_INVALID: struct_size is missing.
 * Blocks for the service's answer. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_create_future(struct tide_session *session, const struct tide_future_params *params,
                           struct tide_point *out_timeline);
/* Creates a future timeline for promises that commands of this channel keep. Otherwise like
 * tide_session_create_future. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_create_channel_future(struct tide_session *session, struct tide_point channel,
                                   const struct tide_future_params *params,
                                   struct tide_point *out_timeline);
/* Promises the next value; no round trip. Others may use the point's name once the service has
 * executed the call: pass it on after tide_session_sync, or after any answer. A deadline as for
 * tide_future_promise. TIDE_FULL: the capacity is used up by outstanding promises; TIDE_EXHAUSTED:
 * by broken values. If the service refuses (the timeline's channel is gone: TIDE_CANCELLED), this
 * value and all later ones are broken. A refusal with TIDE_FULL or TIDE_VALUE leaves the timeline
 * unchanged. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_promise(struct tide_session *session,
                                                               struct tide_point timeline,
                                                               uint64_t deadline,
                                                               struct tide_point *out_point);
/* Keeps the promise; no round trip. TIDE_VALUE: the point is retired already; or its own error when
 * it is broken. Errors that the service detects come as a refusal. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_fulfil(struct tide_session *session,
                                                              struct tide_point point);
/* Breaks the promise with `cause`; no round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_break(struct tide_session *session, struct tide_point point, enum tide_status cause);
/* Destroys the name of a future timeline, a compound, a channel, a buffer, or a redeemed object.
 * Unkept promises on it break with TIDE_CANCELLED. No round trip: its quotas become free once the
 * service has executed the call, and everything that was queued on the object has ended. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_destroy(struct tide_session *session,
                                                               struct tide_point object);

/* ---- compounds: as in point.h ------------------------------------------------------------- */

/* Promises a compound; no round trip. A compound that the service cannot create is broken from its
 * beginning. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_promise_compound(struct tide_session *session, uint64_t deadline,
                              struct tide_point *out_point);
/* Defines the compound as all of the parts, at most TIDE_SESSION_PARTS. No round trip: errors that
 * the service detects (TIDE_DEADLOCK …) come as a refusal. A refused definition leaves the compound
 * undefined, and it may be defined again before its deadline. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_all(struct tide_session *session,
                                                           struct tide_point compound,
                                                           const struct tide_point *parts,
                                                           size_t count);
/* Defines the compound as any of the parts. Otherwise like tide_session_all. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_any(struct tide_session *session,
                                                           struct tide_point compound,
                                                           const struct tide_point *parts,
                                                           size_t count);
/* Defines the compound by an expression of at most 2048 bytes, which is checked in this call.
 * TIDE_CORRUPT, with the column. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_expression(struct tide_session *session, struct tide_point compound, const char *text,
                        size_t length, const struct tide_point *parts, size_t count,
                        struct tide_diag *diag);
#define TIDE_SESSION_PARTS 96

/* ---- queries and waits ----------------------------------------------------------------------- */

/* Returns TIDE_OK: retired; TIDE_TIMEOUT: pending; or the point's error when it is broken.
 * TIDE_NOT_FOUND: not promised, as far as the service has executed its owner's calls. Usually a few
 * loads; the service is asked when the timeline is gone, or has many runs of broken values. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_query(struct tide_session *session,
                                                             struct tide_point point);
/* Returns the location in shared memory of the state of the point's timeline, for
 * tidemark/shared.h. After this one look-up, any thread may read the state without the name, a lock
 * or this session:
 *
 *      tide_shared_value(out->shared, out->slot)                           one load
 *      tide_shared_look(out->shared, out->slot, out->generation, value)    a few: is it good?
 *
 * tide_shared_look returns TIDE_OK, TIDE_TIMEOUT and errors like tide_session_query.
 * TIDE_NOT_FOUND: from there on values broke one by one, use tide_session_query; TIDE_CANCELLED:
 * the timeline is over (good values stay good until its owner reuses the slot); TIDE_LOST: the
 * service has ended normally.
 *
 * *out->shared is the session's, and read-only. It stays mapped until tide_session_close,
 * independent of the name, the timeline, its owner and the service. But:
 * - once the timeline is over, the value may be that of its owner's next timeline in this slot:
 *   tide_shared_look distinguishes them;
 * - a killed service leaves the memory as it is, and other readers of this memory can delay its
 *   waiters: tide_session_wait detects both, tide_shared_wait does not.
 *
 * No round trip. TIDE_BUSY: a compound or stand-in that the service has not executed yet
 * (tide_session_sync); TIDE_CANCELLED: its slot is reused already; TIDE_LOST. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_view(struct tide_session *session,
                                                            struct tide_point point,
                                                            struct tide_shared_point *out);
/* Returns one of all four states. Requests it from the service, unless the point has ended.
 * Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_state(struct tide_session *session,
                                                             struct tide_point point,
                                                             enum tide_point_state *out_state,
                                                             enum tide_status *out_status);
/* Blocks until the point has ended. Returns TIDE_OK for a retired point, or the point's error;
 * TIDE_TIMEOUT: the deadline; TIDE_NOT_FOUND: not promised, as for tide_session_query; TIDE_LOST.
 * With TIDE_NOW it is tide_session_query. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_wait(struct tide_session *session, struct tide_point point, uint64_t deadline);

typedef void (*tide_session_call)(void *user, enum tide_status status);
/* Calls back once the point has ended. *out_wait (may be NULL) identifies the wait for
 * tide_session_forget. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_when_complete(struct tide_session *session, struct tide_point point,
                           tide_session_call call, void *user, uint32_t *out_wait);
/* Calls back like tide_point_when_schedulable, but with all errors through the call. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_when_schedulable(struct tide_session *session, struct tide_point point,
                              const struct tide_point *assumed, size_t assumed_count,
                              tide_session_call call, void *user, uint32_t *out_wait);
/* Cancels a callback. True: the call will not run. */
TIDE_API bool tide_session_forget(struct tide_session *session, uint32_t wait);
/* Trusts a domain like tide_client_trust, for this session's own waits. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_trust(struct tide_session *session,
                                                             uint32_t domain);

/* ---- tokens ---------------------------------------------------------------------------------- */

struct tide_token {
  unsigned char bytes[16];
};
enum tide_rights {
  TIDE_RIGHT_WAIT = 0, /* timelines: wait for points */
  TIDE_RIGHT_READ = 0, /* buffers: read in commands, and map for reading */
  TIDE_RIGHT_WRITE = 1 /* buffers: write, too */
};
/* Creates a token for an own object (else TIDE_DENIED). Any holder of the token may redeem it, any
 * number of times, as long as the object has its name and this session lives. TIDE_FULL: the quota.
 * Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_grant(struct tide_session *session,
                                                             struct tide_point object,
                                                             enum tide_rights rights,
                                                             struct tide_token *out_token);
/* Redeems a token. *out_object is a name in this session; for a point, set its `value`.
 * TIDE_NOT_FOUND: no such token, or no longer valid; too many of these end the connection.
 * TIDE_BUSY: the buffer is not created yet; its `device` point retires then; TIDE_FULL: the quota
 * of promises, of which a held timeline takes its capacity, and a compound one. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_redeem(struct tide_session *session,
                                                              const struct tide_token *token,
                                                              struct tide_point *out_object);

/* ---- stand-ins between two services ----------------------------------------------------------
 *
 * A process with a session on each service carries points across: a *stand-in* here represents a
 * point there. The process learns the state of the point there (when_schedulable, when_complete),
 * and reports it here. The policy defines the users that may report for a domain, and the domains
 * that are trusted: of the reports of others, only the end counts. */

/* Promises a stand-in for a point of `domain`. Before the deadline it must end, or a trusted domain
 * must report it scheduled. No round trip: TIDE_DENIED comes as a refusal, and the point is broken
 * with it from its beginning. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_stand_in(struct tide_session *session,
                                                                uint32_t domain, uint64_t deadline,
                                                                struct tide_point *out_point);
/* Reports the state of the point there. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_report(struct tide_session *session,
                                                              struct tide_point stand_in,
                                                              enum tide_point_state state,
                                                              enum tide_status status);

/* ---- buffers --------------------------------------------------------------------------------- */

/* Creates a buffer: zeroed memory of the service, also mapped here. *out_buffer is its name (value
 * 0). Each session with a name for it is charged its full size. TIDE_FULL: the quota; TIDE_INVALID:
 * no bytes. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_create_buffer(struct tide_session *session,
                                                                     uint64_t size,
                                                                     struct tide_point *out_buffer);
/* Returns the address of the mapping, read-only if it was granted so; valid as long as the buffer
 * has its name. NULL: no such buffer, or an allocated one that is not created yet. In the latter
 * case the call first reads arrived answers, and callbacks may run. */
TIDE_API void *tide_session_buffer_data(struct tide_session *session, struct tide_point buffer,
                                        uint64_t *out_size);

/* ---- channels -------------------------------------------------------------------------------- */

struct tide_session_channel_params {
  size_t struct_size;
  const char *label;   /* copied, cut at 31 bytes */
  uint32_t operations; /* capacity; 0: 64 */
  uint8_t priority;    /* base priority, clamped to the policy's limit; 0: 8 */
};
/* Creates a channel. *out_channel is its name. NULL params select the defaults. TIDE_FULL: the
 * quota; TIDE_INVALID: struct_size is missing. Blocks. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_create_channel(struct tide_session *session,
                            const struct tide_session_channel_params *params,
                            struct tide_point *out_channel);

/* The bodies of commands of every service, with their arguments in order. A buffer's size is
 * that of its range. Higher numbers belong to the service's table (tide_service_params.bodies),
 * which its clients must know: for `tidemark serve`, enum tide_kernel_session_body in
 * tidemark/kernel.h. */
enum tide_session_body {
  TIDE_SESSION_NOTHING = 0,
  TIDE_SESSION_COPY = 1,  /* from, to: the same size */
  TIDE_SESSION_FLUSH = 2, /* ranges, 1 to 8: earlier writes become visible to all processes */
  TIDE_SESSION_BODIES = 3 /* number of the first body of the service's table */
};
#define TIDE_SESSION_BODIES_MAX 256  /* including the ones above */
#define TIDE_SESSION_ARGUMENTS_MAX 8 /* arguments of a body */
struct tide_session_argument {
  struct tide_point buffer; /* all zero: a number, in `offset` */
  uint64_t offset, size;
};
struct tide_session_operation {
  uint32_t flags; /* TIDE_MAY_BE_PASSED, TIDE_DESPITE_BROKEN, TIDE_RECOVER */
  uint32_t body;  /* enum tide_session_body, or a number of the service's table */
  const struct tide_session_argument *arguments;
  size_t argument_count;
  const struct tide_point *waits; /* like tide_operation_points: at most 32 of each */
  size_t wait_count;
  const struct tide_point *retires; /* promises of this channel's timelines */
  size_t retire_count;
  const struct tide_point *cancel; /* when this point is retired, the operation is cancelled; NULL:
                                      none */
  const struct tide_point *choose; /* if retired when the operation would start, `body` runs, else
                                      `otherwise`; NULL: no choice */
  uint32_t otherwise;
  const struct tide_session_argument *otherwise_arguments;
  size_t otherwise_count;
};
/* Submits a command; no round trip. TIDE_FULL: the channel's capacity is used up by unfinished
 * commands. Errors that only the service detects (TIDE_DEADLOCK, TIDE_DENIED …) come as a refusal,
 * and the points that the command was to retire break with them.
 *
 * Failures propagate down the channel, as in channel.h: commands behind a failed one do not run,
 * except those with TIDE_DESPITE_BROKEN, and the points that they retire break with its status. A
 * refused command counts as a failed one, because this session may have queued others behind it.
 * The session sees a failure in its points, and in tide_session_channel_stats.
 *
 * A wait for a redeemed point that was never promised is refused (TIDE_NOT_FOUND); with
 * TIDE_DESPITE_BROKEN it is skipped. A choice by such a point takes `otherwise`, and nothing is
 * cancelled by it. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_submit(struct tide_session *session, struct tide_point channel,
                    const struct tide_session_operation *operation);
/* Submits a recovery: commands behind it run, even if one before it has failed or was refused. A
 * command of the channel like others; an operation with TIDE_RECOVER is a recovery, too. No round
 * trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_recover(struct tide_session *session,
                                                               struct tide_point channel);
/* Returns the number of the channel's operations that are over, with any outcome. */
TIDE_API uint64_t tide_session_channel_over(struct tide_session *session,
                                            struct tide_point channel);
/* Submits an upload: copies `from` into `to` through the channel, as three commands. The channel
 * keeps the point `source` when `from` may be written again, `device` when other channels may read
 * `to`, and `host` when processes that have mapped `to` may read it. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_upload(struct tide_session *session, struct tide_point channel,
                    const struct tide_session_argument *from,
                    const struct tide_session_argument *to, const struct tide_point *source,
                    const struct tide_point *device, const struct tide_point *host);

/* Submits a flush: one command for each point. Earlier writes to these ranges, by commands of this
 * channel or by the submitting process, may be read by other devices once `device` is kept, and by
 * processes that have mapped the ranges once `host` is kept. Either may be NULL. At most 8 ranges;
 * TIDE_INVALID: none. The device of this service consists of this machine's processors, and all
 * memory is coherent: a flush copies nothing, it only orders. A client that distinguishes the two
 * points is also correct on other devices. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_flush(struct tide_session *session, struct tide_point channel,
                   const struct tide_session_argument *ranges, size_t count,
                   const struct tide_point *device, const struct tide_point *host);
/* Submits an allocation: creates a zeroed buffer, as tide_session_create_buffer does, when the
 * channel reaches the command. *out_buffer is its name from now on: commands that run after
 * `device` may be queued with it at once, and one that runs before fails with TIDE_INVALID.
 *
 * `device`, a promise of the channel, is kept when commands may use the buffer. `host` (may be
 * NULL), a promise of a timeline that is no channel's, is kept when the memory has arrived in this
 * process, for tide_session_buffer_data. The buffer is charged when the service takes the command.
 *
 * If the buffer cannot be created both points break, with TIDE_FULL (a quota), TIDE_NOMEM, or the
 * command's error; the name is then gone, and no longer charged. Uses one of the session's slots
 * for outstanding answers. No round trip. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_allocate(struct tide_session *session, struct tide_point channel, uint64_t size,
                      const struct tide_point *device, const struct tide_point *host,
                      struct tide_point *out_buffer);

/* Increases a priority as in channel.h. No round trip: all errors but TIDE_NOT_FOUND come as a
 * refusal. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_increase_priority_until(struct tide_session *session, struct tide_point channel,
                                     struct tide_point target, uint8_t level);
/* Decreases a priority as in channel.h. *out_cancel is for tide_session_cancel_decrease, which
 * accepts the newest 16 of a channel. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_decrease_priority_until(struct tide_session *session, struct tide_point channel,
                                     struct tide_point dependency, uint32_t amount,
                                     struct tide_point *out_cancel);
/* Cancels a decrease, as in channel.h. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_session_cancel_decrease(struct tide_session *session,
                                                                       struct tide_point cancel);
/* Suspends decreases, as in channel.h. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_cancel_priority_decreases(struct tide_session *session, struct tide_point channel);

/* ---- inspection: for the service's own user, and admins of the policy ------------------------ */

struct tide_session_client_stats {
  char label[32];
  uint64_t client; /* the client's number */
  uint32_t uid, pid;
  bool trusted;
  uint64_t promised, kept, broken, missed; /* like tide_client_stats */
  uint32_t timelines, parts, channels, grants, waits;
  uint64_t bytes;             /* total size of its buffers */
  uint64_t commands, refused; /* commands taken so far; refused ones among them */
  uint64_t spent;             /* ns of the serving thread */
  uint64_t rounds;            /* rounds of the serving thread that read the client's ring */
  uint64_t paced; /* rounds that skipped the ring because of too many refusals of its uid */
};
/* Returns the statistics of the index-th connected client. TIDE_NOT_FOUND: no more clients;
 * TIDE_DENIED. Blocks, like the following functions. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_client_stats(struct tide_session *session, uint32_t index,
                          struct tide_session_client_stats *out_stats);
struct tide_session_channel_stats {
  char label[32];
  uint8_t base, priority;   /* base priority; effective priority now */
  uint64_t submitted, over; /* refused ones count as over */
  uint32_t capacity;
  enum tide_status failure; /* like tide_queue_failure */
};
/* Returns the statistics of the index-th channel of a client. TIDE_NOT_FOUND: no more channels, or
 * the client is gone. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_channel_stats(struct tide_session *session, uint64_t client, uint32_t index,
                           struct tide_session_channel_stats *out_stats);
enum tide_session_timeline_kind {
  TIDE_SESSION_FUTURE = 1,
  TIDE_SESSION_COMPOUND, /* a timeline with a single value */
  TIDE_SESSION_STAND_IN  /* likewise */
};
struct tide_session_timeline_stats {
  char label[32];
  enum tide_session_timeline_kind kind;
  uint32_t timeline, generation; /* the owner's name for the timeline */
  uint64_t value, newest;        /* reached value; last promised value */
  uint64_t owed;                 /* promised, and not queued (compounds: not defined) */
  uint64_t queued;               /* queued or defined, and not over */
  uint64_t broken;
  uint64_t oldest_deadline; /* deadline of the oldest promise that is not queued; TIDE_FOREVER; 0:
                               no such promise */
  uint32_t capacity;        /* maximum outstanding promises */
  uint32_t parts;           /* parts of a compound that is defined and has not settled */
  bool cut;                 /* thousands are open: the numbers above cover only some of them */
};
/* Returns the statistics of the next timeline of a client. *place is 0 for the first, and advances.
 * TIDE_NOT_FOUND: no more timelines, or the client is gone. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_timeline_stats(struct tide_session *session, uint64_t client, uint32_t *place,
                            struct tide_session_timeline_stats *out_stats);
/* Describes waits and the awaited operations, like tide_context_diagnose; cut to `size`. */
TIDE_API TIDE_MUST_CHECK enum tide_status
tide_session_diagnose(struct tide_session *session, char *buffer, size_t size, size_t *out_length);

#ifdef __cplusplus
}
#endif
#endif
