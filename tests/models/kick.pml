/* tests/models/kick.pml: how a backend's hands sleep and are kicked (include/tidemark/backend.h,
 * tide_device_exchange, tide_device_kick): work that became ready is taken, though a kick is called
 * only for hands that came back with less than they asked for.
 *
 * Two hands, each: look how often it was kicked; exchange (takes work, or counts itself dry); when
 * dry, sleep unless it was kicked since. Two submitters each make one work ready and kick, once the
 * lock is gone, if a hand is dry.
 *
 * Broken on purpose, and must then fail:
 *   BROKEN_DRY     an exchange that comes back empty is not counted
 *   BROKEN_LOOK    a hand looks at the count of kicks after the exchange
 *   BROKEN_DECIDE  whether a hand is dry is looked at before the work is ready
 */
#define WORK 2
#define HANDS 2

byte ready, taken, kicks, sleeping, dry = 1; /* the first work is announced */
bool lock_held;

inline lock() { atomic { !lock_held; lock_held = true } }

proctype submitter() {
  bool kick;
#ifdef BROKEN_DECIDE
  kick = dry > 0;
#endif
  lock();
  ready++;
#ifndef BROKEN_DECIDE
  kick = dry > 0;
#endif
  if
  :: kick && dry > 0 -> dry--
  :: else
  fi;
  lock_held = false;
  if
  :: kick -> kicks++ /* and the futex of one hand is woken: its wait below looks at `kicks` */
  :: else
  fi
}

proctype hand() {
  byte seen;
  bool got;
end:
  do
  :: taken < WORK ->
#ifndef BROKEN_LOOK
       seen = kicks;
#endif
       lock();
       got = ready > 0;
       if
       :: got -> ready--
       :: else ->
#ifdef BROKEN_DRY
            skip
#else
            if
            :: dry < HANDS -> dry++
            :: else
            fi
#endif
       fi;
       lock_held = false;
#ifdef BROKEN_LOOK
       seen = kicks;
#endif
       if
       :: got -> taken++
       :: else -> (kicks != seen || taken == WORK)
       fi
  :: else -> break
  od
}

init {
  atomic {
    run hand();
    run hand();
    run submitter();
    run submitter()
  };
  taken == WORK /* else: an invalid end state */
}
