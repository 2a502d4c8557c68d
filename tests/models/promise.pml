/* tests/models/promise.pml: how promises end (src/point/future.c, src/timeline/pending_value.c): each exactly once,
 * whoever waits is told how, and nobody who looks without the lock takes a broken one for good.
 *
 * Two promises of one timeline, an owner that queues them (or leaves out the first) and may die at any
 * moment, a service that executes what is queued, well or not, a clock that may find any deadline
 * passed, one who waits for the first, and one who looks at it by two loads.
 *
 * Broken on purpose, and must then fail:
 *   BROKEN_DEADLINE what is queued still has its deadline
 *   BROKEN_COVER    a later retirement covers a broken promise, too
 *   BROKEN_LATER    what breaks takes those after it along
 *   BROKEN_OWNER    when the owner dies, what is queued breaks, too
 *   BROKEN_LEAVE    when the owner dies, what it promised stays promised
 *   BROKEN_TURN     queueing a broken one retires it after all
 *   BROKEN_WAKE     who breaks a promise marks it after letting go of the lock
 *   BROKEN_LOOK     who looks without the lock asks for holes first
 */
#define PROMISED 0
#define QUEUED 1
#define RETIRED 2
#define BROKEN 3

byte state[3];  /* of the promises 1 and 2; under the lock */
byte ends[3];   /* how often each ended */
bool struck[3]; /* somebody had a reason to break it */
bool due[3];    /* it has a deadline */
bool owed[3];   /* the service has yet to execute its command */
byte reached;   /* the timeline's value; read without the lock */
byte hole = 9;  /* the lowest broken value; read without the lock */
bool locked, alive = true, all_queued;
bool waiting;   /* for the first; under the lock */
byte told;      /* how it ended: RETIRED or BROKEN; 0: not told */

inline lock() { atomic { !locked; locked = true } }
inline unlock() { locked = false }

inline tell() {
  if
  :: waiting && state[1] >= RETIRED -> waiting = false; told = state[1]
  :: else
  fi
}

inline end_as(v, how) {
  assert(state[v] < RETIRED); /* states go one way */
  state[v] = how;
  ends[v]++;
  due[v] = false
}

/* Under the lock. */
inline retire(v) {
  reached = v;
  if
  :: v == 2 && state[1] < RETIRED -> end_as(1, RETIRED)
#ifdef BROKEN_COVER
  :: v == 2 && state[1] == BROKEN -> end_as(1, RETIRED)
#endif
  :: else
  fi;
  end_as(v, RETIRED);
  tell()
}

inline break_it(v) {
  if
  :: v < hole -> hole = v
  :: else
  fi;
  end_as(v, BROKEN);
#ifdef BROKEN_LATER
  if
  :: v == 1 && state[2] < RETIRED -> end_as(2, BROKEN)
  :: else
  fi;
#endif
  tell()
}

inline queue(v) {
  lock();
  if
  :: !alive
  :: alive && state[v] == PROMISED ->
       state[v] = QUEUED;
#ifndef BROKEN_DEADLINE
       due[v] = false;
#endif
       owed[v] = true
#ifdef BROKEN_TURN
  :: alive && state[v] == BROKEN -> owed[v] = true
#endif
  :: alive && state[v] != PROMISED /* told its error */
  fi;
  unlock()
}

proctype owner() {
  if
  :: queue(1)
  :: true
  fi;
  queue(2);
  all_queued = true
}

/* By its deadline, or with its owner: what is queued does not break so. */
inline give_up(v) {
  assert(state[v] == PROMISED);
  struck[v] = true;
  break_it(v)
}

/* Its connection ends: what it owes and did not queue breaks. */
proctype death() {
  if
  :: true ->
       lock();
       alive = false;
#ifndef BROKEN_LEAVE
       if
       :: state[1] == PROMISED -> give_up(1)
#ifdef BROKEN_OWNER
       :: state[1] == QUEUED -> give_up(1)
#endif
       :: else
       fi;
       if
       :: state[2] == PROMISED -> give_up(2)
       :: else
       fi;
#else
       due[1] = false;
       due[2] = false;
#endif
       unlock()
  :: true
  fi
}

inline execute(v) {
  lock();
  owed[v] = false;
  if
#ifdef BROKEN_TURN
  :: state[v] == BROKEN -> retire(v)
#else
  :: state[v] == BROKEN
#endif
  :: state[v] == RETIRED /* a later one covered it */
  :: state[v] == QUEUED -> retire(v)
  :: state[v] == QUEUED -> struck[v] = true; break_it(v) /* the command failed */
  fi;
  unlock()
}

proctype service() {
  do
  :: owed[1] -> execute(1)
  :: !owed[1] && owed[2] -> execute(2)
  :: all_queued && !owed[1] && !owed[2] -> break
  od
}

/* A deadline that is there has passed, or will: what is promised does not stay so. */
proctype clock() {
  bool first, second;
  do
  :: all_queued && !due[1] && !due[2] -> break
  :: due[1] || due[2] ->
#ifdef BROKEN_WAKE
       lock();
       first = due[1];
       unlock();
       if
       :: first -> give_up(1)
       :: else
       fi;
       lock();
#else
       lock();
       if
       :: due[1] -> give_up(1)
       :: else
       fi;
#endif
       if
       :: due[2] -> give_up(2)
       :: else
       fi;
       unlock()
  od
}

proctype waiter() {
  lock();
  if
  :: state[1] >= RETIRED -> told = state[1]
  :: else -> waiting = true
  fi;
  unlock();
  told != 0
}

proctype reader() {
  bool good, broken;
#ifdef BROKEN_LOOK
  broken = hole <= 1;
  good = reached >= 1;
#else
  good = reached >= 1;
  broken = hole <= 1;
#endif
  if
  :: good && !broken -> lock(); assert(state[1] == RETIRED); unlock()
  :: else
  fi
}

init {
  atomic {
    due[1] = true;
    due[2] = true;
    run owner();
    run death();
    run service();
    run clock();
    run waiter();
    run reader()
  };
  _nr_pr == 1; /* else: an invalid end state */
  assert(ends[1] == 1 && ends[2] == 1);
  assert(told == state[1]);
  assert(state[2] != BROKEN || struck[2]); /* what breaks breaks alone */
  assert(!(state[1] == BROKEN && hole != 1))
}
