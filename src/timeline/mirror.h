/* timeline/mirror.h: the backing of a timeline whose value lives elsewhere, its *home*: in another
 * process, or on another machine.
 *
 * The model. The home tells its state from time to time: the reached value, from where on it has
 * failed, the newest reached record, and the pending ones. The mirror takes a state in as a join:
 * the highest reached value and the lowest failed one stay, and a reached value is not pending.
 * So a state may come twice, late or out of order, and states in between may be missing.
 *
 *        home     1 2 3 4 5 | 6 7        5 is reached, 6 and 7 are pending
 *        mirror   1 - - 4 - |            4 was the newest record that came; 5 is not known yet
 *
 * What a mirror knows is true and late. A signaller may have finished long before its value arrives
 * here, so an elided wait may have to wait for its record at the start.
 *
 * Locks. The guard is the scheduler's lock from the start.
 *
 * What teaches. A reached record tells the tracker that its signaller, and all that it lists, have
 * finished, but for axes of this machine: their epochs are this context's own to tell. A promise, a
 * failure and an external value teach nothing.
 *
 * Ownership. A mirror is freed with its timeline, which the caller owns. Records that are passed in
 * are copied. A pending record that finds no memory, or no room beside TIDE_MIRROR_PENDING lower
 * ones, is not known: its waiters wait for the value, and import nothing.
 *
 * Machines. The lease of the home's context has another machine number than this context's, also in
 * another process of one computer: an axis with this number is an axis of this context.
 *
 * Threads. One thread at a time takes states in; any thread uses the timeline. */
#ifndef TIDE_TIMELINE_MIRROR_H
#define TIDE_TIMELINE_MIRROR_H

#include "timeline/timeline_state.h"

/* Most pending records that a mirror keeps. */
#define TIDE_MIRROR_PENDING 64u

/* A record of the home. A tracked one has a frontier that lists its signaller. */
struct tide_mirror_record {
  uint64_t value;
  tide_axis axis; /* 0: external; then the rest is not used */
  uint64_t epoch;
  const struct tide_frontier *frontier;
};

/* A state of the home. Values lie in the order newest <= reached < pending; fail_from > reached.
 * The pending records are all above `after` and the reached value up to the last one that is told:
 * those up to `after` were told before. If one of these has not come, the others are not kept. */
struct tide_mirror_state {
  uint64_t reached;
  uint64_t fail_from;                       /* UINT64_MAX: nothing has failed */
  enum tide_status status;                  /* of the failure */
  const struct tide_failure *cause;         /* its first cause; NULL: it is not known */
  struct tide_mirror_record newest;         /* the newest reached tracked record; value 0: none */
  const struct tide_mirror_record *pending; /* ascending, the lowest first */
  size_t pending_count;
  uint64_t after;
};

/* Creates a timeline of scope system at value 0 on a mirror, with one owner, the caller.
 * TIDE_NOMEM. */
enum tide_status tide_mirror_create(struct tide_context *context, const char *label,
                                    struct tide_timeline **out_timeline);
/* Takes in a state of the home. Registers the axes that its records list, as far as there is
 * memory. The waiters that are due are appended to `fired`, which the caller runs without a lock.
 * TIDE_CORRUPT, with a diag: a state that no home can have; nothing was learned. */
enum tide_status tide_mirror_take(struct tide_timeline *timeline,
                                  const struct tide_mirror_state *state, struct tide_fired *fired,
                                  struct tide_diag *diag);
/* Fails all values that are not reached here: the home is lost, or gone. Later states change
 * nothing. The waiters are appended to `fired`. */
void tide_mirror_lose(struct tide_timeline *timeline, const struct tide_failure *why,
                      struct tide_fired *fired);

#endif
