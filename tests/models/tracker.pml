/* tests/models/tracker.pml: how advance and wait meet without the lock (src/causal/tracker_axis.h), on a
 * machine that delays stores: each thread's stores go through a buffer, and only a read-modify-write
 * empties it before it goes on. (C11 allows at least that.)
 *
 * The waiter, under the tracker's lock, stores `least` and then looks at the epoch by an exchange
 * that changes nothing. Whoever advances raises the epoch by an exchange and then looks at `least`:
 * if somebody waits for no more than that, it takes the lock and opens. Either the one sees that its
 * epoch has finished, or the other that somebody waits.
 *
 * Broken on purpose, and must then fail:
 *   BROKEN_LOAD    the waiter looks at the epoch by a load
 *   BROKEN_STORE   whoever advances raises the epoch by a store
 *   BROKEN_EARLY   whoever advances looks at `least` first
 */
#define NOBODY 9

byte epoch;            /* memory */
byte least = NOBODY;   /* memory */
bool has_epoch, has_least; /* what is in the advancer's, and in the waiter's buffer */
byte buffered_epoch, buffered_least;
bool lock_held;
bool queued, opened;

inline lock() { atomic { !lock_held; lock_held = true } }
inline flush_epoch() {
  if
  :: has_epoch -> epoch = buffered_epoch; has_epoch = false
  :: else
  fi
}
inline flush_least() {
  if
  :: has_least -> least = buffered_least; has_least = false
  :: else
  fi
}
inline store_least(v) {
  atomic { flush_least(); buffered_least = v; has_least = true }
}

/* A buffer may empty itself at any moment. */
active proctype machine() {
end:
  do
  :: atomic { has_epoch -> flush_epoch() }
  :: atomic { has_least -> flush_least() }
  od
}

proctype advancer(byte to) {
  byte seen;
#ifdef BROKEN_EARLY
  seen = least;
#endif
#ifdef BROKEN_STORE
  atomic { flush_epoch(); buffered_epoch = to; has_epoch = true };
#else
  atomic { flush_epoch(); epoch = to };
#endif
#ifndef BROKEN_EARLY
  seen = least;
#endif
  if
  :: seen <= to ->
       lock(); /* an exchange, which empties this thread's buffer; the lock's giver emptied its own */
       atomic { flush_epoch() };
       if
       :: queued && epoch >= 1 -> queued = false; opened = true
       :: else
       fi;
       lock_held = false
  :: else
  fi
}

active proctype waiter() {
  byte seen;
  lock();
  queued = true;
  store_least(1);
#ifdef BROKEN_LOAD
  seen = epoch;
#else
  atomic { flush_least(); seen = epoch };
#endif
  if
  :: seen >= 1 ->
       queued = false;
       opened = true;
       store_least(NOBODY)
  :: else
  fi;
  atomic { flush_least(); lock_held = false }; /* a release: what came before is seen by the next */
  opened /* else: an invalid end state */
}

init { run advancer(1) }
