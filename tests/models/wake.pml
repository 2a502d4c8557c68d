/* tests/models/wake.pml: how a host thread waits for a timeline's value (src/timeline/wait.c, sleep_for and
 * wake_sleeper), and how it is woken: no wake is lost, and nobody touches a sleeper that is gone.
 *
 * Two waiters of the values 1 and 2, a signaller of both values, and a host that fails what is not
 * reached. Each waiter may have a deadline, which passes at any moment. The futex is the kernel's:
 * it compares and falls asleep in one step, and a wake finds whoever sleeps by then.
 *
 * Broken on purpose, and must then fail:
 *   BROKEN_LOOK     the value is compared before the guard is taken, and not again under it
 *   BROKEN_ORDER    the wake comes before the word is set
 *   BROKEN_SLEEP    the futex does not compare the word
 *   BROKEN_DEADLINE who gives up does not ask whether the node is still in the list
 *   BROKEN_REUSE    who wakes looks into the sleeper after the word was set
 */
#define WAITERS 2

byte value;         /* of the timeline; guarded */
bool failed;        /* guarded */
bool guard;         /* the lock */
bool queued[WAITERS]; /* the node is in the list; guarded */
bool word[WAITERS];   /* the sleeper's */
bool asleep[WAITERS]; /* in the futex */
bool there[WAITERS];  /* the sleeper's frame is there */
bool back[WAITERS];   /* the waiter has returned */

#define awaited(i) ((i) + 1)

inline lock() { atomic { !guard; guard = true } }
inline unlock() { guard = false }

/* Under no lock: `taken` says whose nodes were taken off. */
inline fire(i) {
  if
  :: taken[i] ->
#ifdef BROKEN_ORDER
       asleep[i] = false;
       assert(there[i]);
       word[i] = true
#else
       assert(there[i]); /* the node and the word lie in the sleeper */
       word[i] = true;
#ifdef BROKEN_REUSE
       assert(there[i]);
#endif
       asleep[i] = false /* the wake: by address, whether the sleeper is there or not */
#endif
  :: else
  fi
}

inline take_off(i, when) {
  if
  :: queued[i] && (when) -> queued[i] = false; taken[i] = true
  :: else
  fi
}

proctype signaller() {
  bool taken[WAITERS];
  byte next = 1;
  do
  :: next <= WAITERS ->
       lock();
       if
       :: !failed -> value = next
       :: else
       fi;
       take_off(0, value >= awaited(0));
       take_off(1, value >= awaited(1));
       unlock();
       fire(0);
       fire(1);
       taken[0] = false;
       taken[1] = false;
       next++
  :: else -> break
  od
}

proctype failer() {
  bool taken[WAITERS];
  lock();
  failed = true;
  take_off(0, true);
  take_off(1, true);
  unlock();
  fire(0);
  fire(1)
}

proctype waiter(byte i; bool deadline) {
  bool mine, done;
  there[i] = true;
#ifdef BROKEN_LOOK
  done = value >= awaited(i) || failed;
  lock();
#else
  lock();
  done = value >= awaited(i) || failed;
#endif
  if
  :: !done -> queued[i] = true
  :: else
  fi;
  unlock();
  do
  :: done -> break
  :: !done && word[i] -> break
  :: !done && !word[i] ->
       /* the futex */
#ifdef BROKEN_SLEEP
       asleep[i] = true;
#else
       atomic {
         if
         :: word[i]
         :: else -> asleep[i] = true
         fi
       };
#endif
       if
       :: !asleep[i]
       :: deadline ->
            atomic { asleep[i] = false; deadline = false };
            if
            :: word[i] -> break
            :: else
            fi;
            lock();
            mine = queued[i];
            queued[i] = false;
            unlock();
#ifdef BROKEN_DEADLINE
            break
#else
            if
            :: mine -> break
            :: else /* it was taken off: the wake is on its way */
            fi
#endif
       fi
  od;
  there[i] = false;
  back[i] = true
}

init {
  bool first, second;
  if
  :: first = true
  :: first = false
  fi;
  if
  :: second = true
  :: second = false
  fi;
  atomic {
    run waiter(0, first);
    run waiter(1, second);
    run signaller();
    if
    :: run failer()
    :: skip
    fi
  };
  back[0] && back[1]; /* else: an invalid end state */
}
