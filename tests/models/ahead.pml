/* tests/models/ahead.pml: operations that are given to devices before they may start (src/sched/ahead.h,
 * include/tidemark/backend.h, "Running ahead"): none starts too early, and all are published.
 *
 * Two devices of one group, each with one hardware queue and one queue. Four operations:
 *
 *     0  queue 0
 *     1  queue 1  waits for 0
 *     2  queue 0  waits for 1; not in order: it depends on 0 through 1 alone
 *     3  queue 1  in order: it depends on 1; its wait for 0 is elided, since 1 waits for 0
 *
 * Steps of the scheduler are atomic: it has one lock. For each device, a backend takes an operation,
 * submits it, and returns it as out or refused. The device starts submissions in order. One thread
 * reports ends, one cancels an operation at any moment, one may lose a device at any moment, and one
 * calls `release` without the lock. A submission's number is its place in its queue; the number of
 * an operation that is not submitted stays unused.
 *
 * Broken on purpose, and must then fail:
 *   BROKEN_GIVEN    a native wait may name a submission that is only given
 *   BROKEN_CANCEL   a given operation may be cancelled
 *   BROKEN_PLACE    a failed operation is skipped before its predecessors and its waits are published
 *   BROKEN_PUBLISH  an end is published before the awaited operation is
 *   BROKEN_CERTIFY  the native waits for a lost device are released at the loss
 *   BROKEN_RELEASE  they are never released
 *   BROKEN_INPLACE  they are released at tide_device_certify, all at once
 */
#define OPERATIONS 4
#define DEVICE(o) ((o) % 2) /* also the queue */
#define NUMBER(o) ((o) / 2 + 1)
#define IS_SECOND(o) ((o) >= 2) /* of its queue: its predecessor is o - 2 */
#define WAITS(o) ((o) == 1 || (o) == 2) /* for o - 1 */

/* States for the scheduler. */
#define ENTERED 0
#define GIVEN 1
#define OUT 2
#define DONE 3

/* States on the device. */
#define ABSENT 0
#define SUBMITTED 1
#define RUNNING 2
#define OVER 3

#ifdef BROKEN_GIVEN
#define AWAITABLE GIVEN
#else
#define AWAITABLE OUT
#endif
#ifdef BROKEN_CANCEL
#define CANCELLABLE GIVEN
#else
#define CANCELLABLE ENTERED
#endif

/* The scheduler's, under the lock. */
byte state[OPERATIONS];
bool failed[OPERATIONS], cancelled[OPERATIONS], published[OPERATIONS];
bool native[OPERATIONS]; /* the device keeps the operation's wait */
bool lost[2], certified[2];
byte release[2]; /* native waits up to this number are to be released */

/* The devices'. */
byte on_device[OPERATIONS];
bool halted[2];
byte released[2];

byte i; /* within a step of the scheduler; else 0 */

/* ---- the scheduler, under the lock -------------------------------------------------------- */

/* A lost device breaks the records of its operations at once; else publication does. */
#define has_broken(o) (failed[o] && (published[o] || lost[DEVICE(o)]))

#define may_go(o)                                                                                  \
  (state[o] == ENTERED && !published[o] && !failed[o] && !lost[DEVICE(o)] &&                       \
   (!IS_SECOND(o) || published[o - 2] || state[o - 2] >= OUT) &&                                   \
   (!WAITS(o) || published[o - 1] || (state[o - 1] >= AWAITABLE && !failed[o - 1])))

#define is_in_place(o)                                                                             \
  ((!IS_SECOND(o) || published[o - 2]) && (!WAITS(o) || published[o - 1]))

#ifdef BROKEN_PUBLISH
#define may_publish(o) (!IS_SECOND(o) || published[o - 2])
#else
#define may_publish(o) is_in_place(o)
#endif

#ifdef BROKEN_PLACE
#define may_skip(o) true
#else
#define may_skip(o) is_in_place(o)
#endif

/* True if the operation's end was reported, or it has failed and was not given or was refused. */
#define is_publishable(o)                                                                          \
  ((state[o] == DONE && may_publish(o)) ||                                                         \
   (state[o] == ENTERED && failed[o] && may_skip(o) &&                                             \
    (!lost[DEVICE(o)] || certified[DEVICE(o)])))

inline check_failed(o) {
  if
  :: WAITS(o) && has_broken(o - 1) -> failed[o] = true
  :: o == 3 && has_broken(0) -> failed[o] = true /* elision drops the wait, never the failure */
  :: else
  fi
}

inline publish(o) {
  assert(o == 0 || published[0]);
  assert(!IS_SECOND(o) || published[1]);
  assert(on_device[o] == ABSENT || on_device[o] == OVER || certified[DEVICE(o)]);
  published[o] = true;
#ifndef BROKEN_RELEASE
  if
  :: certified[DEVICE(o)] && release[DEVICE(o)] < NUMBER(o) -> release[DEVICE(o)] = NUMBER(o)
  :: else
  fi
#endif
}

/* One pass is enough: each operation depends on earlier ones only. */
inline settle() {
  do
  :: i < OPERATIONS ->
       if
       :: !published[i] ->
            check_failed(i);
            if
            :: is_publishable(i) -> publish(i)
            :: else
            fi
       :: else
       fi;
       i++
  :: else -> break
  od;
  i = 0
}

inline give(o) {
  /* A predecessor that does not run keeps no waits. This operation may have elided them. */
  assert(!IS_SECOND(o) || published[o - 2] || on_device[o - 2] != ABSENT);
  state[o] = GIVEN;
  native[o] = WAITS(o) && !published[o - 1];
  settle()
}

inline commit(o, new_state, has_failed) {
  if
  :: !lost[DEVICE(o)] ->
       state[o] = new_state;
       failed[o] = failed[o] || has_failed;
       settle()
  :: else /* the scheduler ignores returned work of a lost device */
  fi
}

/* ---- the threads --------------------------------------------------------------------------- */

proctype backend(byte d) {
  byte o = d;
  do
  :: o < OPERATIONS ->
       if
       :: d_step { may_go(o) -> give(o) };
          if
          :: d_step {
               assert(!native[o] || on_device[o - 1] != ABSENT); /* its submission is out */
               if
               :: !halted[d] -> on_device[o] = SUBMITTED
               :: else
               fi
             };
             d_step { commit(o, OUT, false) }
          :: d_step { commit(o, ENTERED, true) } /* refused */
          fi
       :: published[o]
       fi;
       o = o + 2
  :: else -> break
  od
}

/* A native timeline reaches a number when all submissions up to it are over. Operations wait only
 * for the first submission of a hardware queue. */
#define is_reached(o) (on_device[o] == OVER || released[DEVICE(o)] >= NUMBER(o))

#define may_start(o)                                                                               \
  (on_device[o] == SUBMITTED && !halted[DEVICE(o)] &&                                              \
   (!IS_SECOND(o) || on_device[o - 2] != SUBMITTED) &&                                             \
   (o != 3 || on_device[1] != RUNNING) && /* a barrier */                                          \
   (!native[o] || is_reached(o - 1)))

inline start(o) {
  assert(!cancelled[o]);
  assert(o == 0 || on_device[0] == OVER || published[0]);
  assert(!IS_SECOND(o) || on_device[1] == OVER || published[1]);
  on_device[o] = RUNNING
}

proctype device(byte d) {
end:
  do
  :: d_step { may_start(d) -> start(d) }
  :: d_step { may_start(d + 2) -> start((d + 2)) }
  :: d_step { on_device[d] == RUNNING && !halted[d] -> on_device[d] = OVER }
  :: d_step { on_device[d + 2] == RUNNING && !halted[d] -> on_device[d + 2] = OVER }
  od
}

/* True if the native timeline has reached the operation's number, and its end is not reported. */
#define has_ended(o)                                                                               \
  (state[o] == OUT && on_device[o] == OVER && !lost[DEVICE(o)] &&                                  \
   (!IS_SECOND(o) || (state[o - 2] != OUT && on_device[o - 2] != RUNNING)))

proctype reporter(byte d) {
end:
  do
  :: d_step { has_ended(d) -> state[d] = DONE; settle() }
  :: d_step { has_ended(d + 2) -> state[d + 2] = DONE; settle() }
  od
}

proctype canceller(byte o) {
  d_step {
    if
    :: !published[o] && state[o] <= CANCELLABLE ->
         assert(on_device[o] == ABSENT);
         failed[o] = true;
         cancelled[o] = true;
         settle()
    :: else /* TIDE_BUSY, or the operation has ended */
    fi
  }
}

inline lose(d) {
  lost[d] = true;
  failed[d] = failed[d] || !published[d];
  failed[d + 2] = failed[d + 2] || !published[d + 2];
#ifdef BROKEN_CERTIFY
  release[d] = NUMBER(d + 2);
#endif
  settle()
}

inline end_submission(o) {
  if
  :: !published[o] && state[o] != ENTERED -> state[o] = DONE
  :: else
  fi
}

inline certify(d) {
  certified[d] = true;
  end_submission(d);
  end_submission((d + 2));
#ifdef BROKEN_INPLACE
  release[d] = NUMBER(d + 2);
#endif
  settle()
}

proctype loser(byte d) {
  d_step { lose(d) };
  halted[d] = true; /* no submission of the device touches memory any more */
  d_step { certify(d) }
}

proctype releaser(byte d) {
end:
  do
  :: d_step { released[d] < release[d] -> assert(certified[d]); released[d] = release[d] }
  od
}

init {
  atomic {
    run backend(0);
    run backend(1);
    run device(0);
    run device(1);
    run reporter(0);
    run reporter(1);
    run releaser(0);
    run releaser(1);
    if
    :: run canceller(0)
    :: run canceller(1)
    :: run canceller(2)
    :: run canceller(3)
    :: skip
    fi;
    if
    :: run loser(0)
    :: run loser(1)
    :: skip
    fi
  };
  published[0] && published[1] && published[2] && published[3] /* else: an invalid end state */
}
