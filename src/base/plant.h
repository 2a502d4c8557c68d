/* base/plant.h: bugs planted on purpose, so that the oracle can be seen to find
 * them. In every ordinary build TIDE_PLANTED is the constant false and leaves no
 * trace; only the tests' own copy of the library (-DTIDE_PLANTS) can switch a
 * rule off. The names are the switches of the ordering model. */
#ifndef TIDE_BASE_PLANT_H
#define TIDE_BASE_PLANT_H

enum tide_plant {
  TIDE_PLANT_NONE,
  TIDE_PLANT_INC,          /* pending values need not increase or be ordered */
  TIDE_PLANT_RAISEWAIT,    /* an issued wait for v imports the record above v */
  TIDE_PLANT_EXTBELOW,     /* external signals may overshoot pending values */
  TIDE_PLANT_TWOPHASE,     /* waits import before all are classified */
  TIDE_PLANT_OWNKNOWN,     /* the own axis counts on out-of-order devices */
  TIDE_PLANT_GATE,         /* a wait does not order later entries */
  TIDE_PLANT_PREFIXPUB,    /* signals are published in completion order */
  TIDE_PLANT_FAILWAIT,     /* a failing operation finishes early */
  TIDE_PLANT_FAILCHECK,    /* an elided wait forgets its record's failure */
  TIDE_PLANT_USEOBS,       /* uses on other queues are not in the death frontier */
  TIDE_PLANT_HELDPIN,      /* held operations don't pin buffers */
  TIDE_PLANT_PAST,         /* a buffer's past is not checked */
  TIDE_PLANT_OWNER,        /* a death frontier always has a signaller */
  TIDE_PLANT_GAPNEXT,      /* gap waits go on the next operation only */
  TIDE_PLANT_GAPOPEN,      /* a gap wait opens when its record failed */
  TIDE_PLANT_DESTROY,      /* destroying a queue closes its axis early */
  TIDE_PLANT_TAINTRIGHT,   /* dominance over a tainted right side */
  TIDE_PLANT_EVICT,        /* eviction without taint */
  TIDE_PLANT_SPLIT,        /* a split block forgets its death frontier */
  TIDE_PLANT_COUNT,        /* of the model's switches; what follows is of another kind: somebody is
                              forgotten, told too early, or believed without reason */
  TIDE_PLANT_ELIDE = 1000, /* a wait is elided though nothing implies it */
  TIDE_PLANT_RECORD,       /* a value is published, its record is not */
  TIDE_PLANT_TRACKER,      /* a value is published before the tracker knows */
  TIDE_PLANT_WAKE,         /* an operation that could go on is not looked at */
  TIDE_PLANT_HELD,         /* a held operation does not hear of the promise */
  TIDE_PLANT_KICK,         /* a device is not woken */
  TIDE_PLANT_CALL,         /* a timepoint is not called */
  TIDE_PLANT_TOGETHER,     /* a collective is over before its last part */
  TIDE_PLANT_FORGET,       /* a use of a buffer stands for all before it */
  TIDE_PLANT_LEAK          /* what was half made when memory ran out is not given back */
};

#ifdef TIDE_PLANTS
extern enum tide_plant tide_planted;
#define TIDE_PLANTED(which) __builtin_expect(tide_planted == (which), 0)
#define TIDE_PLANTED_ANY __builtin_expect(tide_planted != TIDE_PLANT_NONE, 0)
#define TIDE_HAS_PLANTS 1
#else
#define TIDE_PLANTED(which) 0
#define TIDE_PLANTED_ANY 0
#define TIDE_HAS_PLANTS 0 /* an invariant that a planted bug breaks is asserted only then */
#endif

#endif
