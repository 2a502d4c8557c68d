/* tests/models/loss.pml: the order of a loss at one member of a session (src/cluster/end_session.c, docs/processes.md)
 * against threads that start operations, tell, pull, overwrite a block and follow: no thread acts on void knowledge, and
 * none waits for ever.
 *
 * Another machine reads a block of this member. Then it tells its receipt, the value that is awaited here, and the progress
 * of its axis. It may stop at any moment: it answers nothing, and may go on reading. Two threads find a loss at any moment:
 * the transport's, and one that destroys the session; the first verdict wins. Under the lock the session falls silent and
 * takes nothing in, the unreached values of others fail, the block is quarantined if its receipt is open, and the others
 * are told. Their axes are severed under the lock, or after it. Then callbacks run. Without the lock the transport's thread
 * closes the endpoints, waits until the pulls have ended, and unmaps the memory. Any other section under the lock is one
 * step.
 *
 * The threads of this member: a receiver; a publisher; a queue with two operations, of which the first has an elided wait
 * for the value, and the second overwrites the block, since its queue knows that the reader's end comes before; a queue
 * with a failed operation that waits for the progress; a pull from the other machine; a follower of one more value, which
 * is never reached.
 *
 * Broken on purpose, and must then fail:
 *   BROKEN_VERDICT   each verdict counts
 *   BROKEN_SILENT    a publisher looks for the loss before it takes the lock
 *   BROKEN_TAKE      a receiver does
 *   BROKEN_FOLLOW    a follower does
 *   BROKEN_PULL      a pull does
 *   BROKEN_FAIL      the values do not fail
 *   BROKEN_SETTLE    an elided wait is over when its axis is severed
 *   BROKEN_SEVER     the axes are not severed
 *   BROKEN_QUARANTINE the block is not quarantined
 *   BROKEN_ORDER     the block is quarantined when the axes have been severed and the lock was given back
 *   BROKEN_AGAIN     the second operation does not look at the receipt again at its start
 *   BROKEN_CALL      callbacks run under the lock
 *   BROKEN_TELL      the others are not told
 *   BROKEN_OPEN      the endpoints stay open
 *   BROKEN_ENDPOINT  the memory is unmapped before the endpoints are closed
 *   BROKEN_UNMAP     the memory is unmapped before the pulls have ended
 */
#define THREADS 8 /* of this member */

/* The other machine. */
bool is_stopped, is_reading = true, has_sent_receipt, has_sent_value;

bool locked;

/* The session. Written under the lock. */
byte verdicts;
bool is_lost, is_told;

/* Knowledge of this member. Written under the lock. */
bool value_reached, value_failed;
bool late_followed, late_failed; /* the follower's value */
bool progress_known, is_severed;
bool receipt_over, is_quarantined;

/* Memory and transport. */
bool is_open = true, is_mapped = true;
byte pulls; /* in flight; under the lock */

byte ended; /* threads */

inline unlock() { locked = false }

/* ---- the loss ------------------------------------------------------------------------- */

inline fail_values() {
#ifdef BROKEN_FAIL
  skip
#else
  value_failed = !value_reached;
  late_failed = late_followed
#endif
}

inline sever() {
#ifdef BROKEN_SEVER
  skip
#else
  is_severed = true
#endif
}

inline quarantine() {
#ifdef BROKEN_QUARANTINE
  skip
#else
  is_quarantined = !receipt_over
#endif
}

inline tell() {
#ifdef BROKEN_TELL
  skip
#else
  is_told = true
#endif
}

/* A callback may take the lock. */
inline run_callbacks() { atomic { !locked -> skip } }

inline end_session() {
  verdicts++;
  assert(verdicts == 1);
  is_lost = true;
  fail_values();
#ifdef BROKEN_ORDER
  sever();
  unlock();
  atomic { !locked -> locked = true };
#else
  if
  :: sever()
  :: true
  fi;
#endif
  quarantine();
  tell();
#ifdef BROKEN_CALL
  run_callbacks();
#endif
  unlock();
  atomic { !locked -> sever() };
  run_callbacks()
}

inline lose() {
#ifdef BROKEN_VERDICT
  if
  :: is_lost
  :: else -> atomic { !locked -> locked = true }; end_session()
  fi
#else
  atomic { !locked -> locked = true };
  if
  :: is_lost -> unlock()
  :: else -> end_session()
  fi
#endif
}

/* It finds that the other machine is silent, or is told of a loss by a third one. */
proctype transport() {
  do
  :: is_stopped -> lose(); break
  :: lose(); break
  :: ended == THREADS - 1 -> break
  od;
  if
  :: is_lost ->
#ifdef BROKEN_ENDPOINT
       is_mapped = false;
#endif
#ifndef BROKEN_OPEN
       is_open = false;
#endif
#ifndef BROKEN_UNMAP
       pulls == 0;
#endif
       is_mapped = false
  :: else
  fi;
  ended++
}

proctype destroyer() {
  if
  :: lose()
  :: true
  fi;
  ended++
}

/* ---- the other machine ------------------------------------------------------------------ */

proctype other() {
  do
  :: atomic { is_reading && is_open -> assert(is_mapped) }
  :: atomic { is_reading -> is_reading = false; has_sent_receipt = true }
  :: atomic { !is_reading -> has_sent_value = true; break } /* and its progress */
  :: is_stopped = true; break
  od
}

/* ---- threads of this member ---------------------------------------------------------------- */

#define has_news ((has_sent_receipt && !receipt_over) || (has_sent_value && !value_reached))

inline take_in() {
  receipt_over = receipt_over || has_sent_receipt;
  progress_known = progress_known || has_sent_value;
  value_reached = value_reached || has_sent_value;
  assert(!value_reached || !value_failed) /* a failed value is never reached */
}

proctype receiver() {
  do
#ifdef BROKEN_TAKE
  :: !is_lost && has_news -> atomic { !locked -> take_in() }
#else
  :: atomic { !locked && !is_lost && has_news -> take_in() }
#endif
  :: is_lost || value_reached -> break
  od;
  ended++
}

proctype publisher() {
#ifdef BROKEN_SILENT
  if
  :: !is_lost -> atomic { !locked -> assert(!is_lost) }
  :: else
  fi;
#else
  atomic {
    !locked ->
      if
      :: !is_lost -> assert(!is_lost) /* it tells a state */
      :: else
      fi
  };
#endif
  ended++
}

#ifdef BROKEN_SETTLE
#define is_elided_wait_over (value_reached || is_severed)
#else
#define is_elided_wait_over value_reached
#endif

/* True if the receipt says that the reader has ended, or nothing is known of it any more. */
#define is_reader_over (receipt_over || is_severed)

proctype queue() {
  atomic {
    !locked && (is_elided_wait_over || value_failed) ->
      if
      :: is_elided_wait_over -> assert(!value_failed) /* the first operation starts */
      :: else                                         /* it fails */
      fi
  };
#ifdef BROKEN_AGAIN
  atomic { !locked -> assert(!is_reading) };
#else
  atomic {
    !locked && (is_quarantined || is_reader_over) ->
      if
      :: is_quarantined              /* the second operation fails */
      :: else -> assert(!is_reading) /* it overwrites the block */
      fi
  };
#endif
  ended++
}

/* The failed operation keeps its place until its frontier is over. */
proctype failing_queue() {
  atomic { !locked && (progress_known || is_severed) -> ended++ }
}

proctype puller() {
  bool is_pulling;
#ifdef BROKEN_PULL
  if
  :: !is_lost -> atomic { !locked -> is_pulling = true; pulls++ }
  :: else
  fi;
#else
  atomic {
    !locked ->
      if
      :: !is_lost -> is_pulling = true; pulls++
      :: else
      fi
  };
#endif
  if
  :: !is_pulling
  :: is_pulling ->
       if
       :: atomic { !is_stopped && is_open -> assert(is_mapped) } /* the bytes have come */
       :: !is_open                                               /* it has failed */
       fi;
       atomic { !locked -> assert(is_mapped); pulls-- }
  fi;
  ended++
}

proctype follower() {
#ifdef BROKEN_FOLLOW
  if
  :: !is_lost -> atomic { !locked -> late_followed = true }
  :: else -> late_failed = true
  fi;
#else
  atomic {
    !locked ->
      if
      :: is_lost -> late_failed = true
      :: else -> late_followed = true
      fi
  };
#endif
  late_failed || (!is_lost && ended == THREADS - 2); /* all others have left: its value is cancelled */
  ended++
}

init {
  atomic {
    run other();
    run transport();
    run destroyer();
    run receiver();
    run publisher();
    run queue();
    run failing_queue();
    run puller();
    run follower()
  };
  ended == THREADS; /* else: an invalid end state */
  assert(!is_lost || (is_told && !is_mapped))
}
