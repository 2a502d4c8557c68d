/* base/plant.h: bugs planted on purpose, so that the oracle can be seen to find
 * them. In every ordinary build TIDE_PLANTED is the constant false and leaves no
 * trace; only the tests' own copy of the library (-DTIDE_PLANTS) can switch a
 * rule off. The names are the switches of the ordering model. */
#ifndef TIDE_BASE_PLANT_H
#define TIDE_BASE_PLANT_H

enum tide_plant {
  TIDE_PLANT_NONE,
  TIDE_PLANT_INC,           /* pending values need not increase or be ordered */
  TIDE_PLANT_RAISEWAIT,     /* an issued wait for v imports the record above v */
  TIDE_PLANT_EXTBELOW,      /* external signals may overshoot pending values */
  TIDE_PLANT_TWOPHASE,      /* waits import before all are classified */
  TIDE_PLANT_OWNKNOWN,      /* the own axis counts on out-of-order devices */
  TIDE_PLANT_GATE,          /* a wait does not order later entries */
  TIDE_PLANT_PREFIXPUB,     /* signals are published in completion order */
  TIDE_PLANT_FAILWAIT,      /* a failing operation finishes early */
  TIDE_PLANT_FAILCHECK,     /* an elided wait forgets its record's failure */
  TIDE_PLANT_USEOBS,        /* uses on other queues are not in the death frontier */
  TIDE_PLANT_HELDPIN,       /* held operations don't pin buffers */
  TIDE_PLANT_PAST,          /* a buffer's past is not checked */
  TIDE_PLANT_OWNER,         /* a death frontier always has a signaller */
  TIDE_PLANT_GAPNEXT,       /* gap waits go on the next operation only */
  TIDE_PLANT_GAPOPEN,       /* a gap wait opens when its record failed */
  TIDE_PLANT_DESTROY,       /* destroying a queue closes its axis early */
  TIDE_PLANT_TAINTRIGHT,    /* dominance over a tainted right side */
  TIDE_PLANT_EVICT,         /* eviction without taint */
  TIDE_PLANT_SPLIT,         /* a split block forgets its death frontier */
  TIDE_PLANT_COUNT,         /* of the model's switches; what follows is of another kind: somebody is
                               forgotten, told too early, or believed without reason */
  TIDE_PLANT_ELIDE = 1000,  /* a wait is elided though nothing implies it */
  TIDE_PLANT_RECORD,        /* a value is published, its record is not */
  TIDE_PLANT_TRACKER,       /* a value is published before the tracker knows */
  TIDE_PLANT_WAKE,          /* an operation that could go on is not looked at */
  TIDE_PLANT_HELD,          /* a held operation does not hear of the promise */
  TIDE_PLANT_KICK,          /* a device is not woken */
  TIDE_PLANT_CALL,          /* a timepoint is not called */
  TIDE_PLANT_TOGETHER,      /* a collective is over before its last part */
  TIDE_PLANT_FORGET,        /* a use of a buffer stands for all before it */
  TIDE_PLANT_GAPALONE,      /* recycled memory teaches its last uses, not what they knew */
  TIDE_PLANT_LEAK,          /* what was half made when memory ran out is not given back */
  TIDE_PLANT_POINTS = 2000, /* promises: what follows is found by the oracle of points */
  TIDE_PLANT_BREAKWAKE,     /* a promise breaks, and its waiters don't hear of it */
  TIDE_PLANT_HOLE,          /* a later retirement covers a broken promise, too */
  TIDE_PLANT_COVER,         /* a retirement covers nothing before it */
  TIDE_PLANT_BREAKALL,      /* what breaks takes the later ones along */
  TIDE_PLANT_CHAIN,         /* a command does not wait for the one before it in its channel */
  TIDE_PLANT_LATEPART,   /* a compound part that is scheduled already counts as one that is not */
  TIDE_PLANT_ANYALL,     /* ANY is scheduled only when all parts are */
  TIDE_PLANT_ALLGOOD,    /* ALL forgets that a part broke */
  TIDE_PLANT_ANYBREAK,   /* ANY breaks with its first part */
  TIDE_PLANT_CIRCLE,     /* circles are not refused */
  TIDE_PLANT_DEADLINE,   /* a queued promise still has its deadline */
  TIDE_PLANT_OVERDUE,    /* queueing does not look at the deadline */
  TIDE_PLANT_ASSUMEONE,  /* an assumed point implies nothing before it */
  TIDE_PLANT_ASSUMEALL,  /* an assumed point implies all its timeline */
  TIDE_PLANT_DISTRUST,   /* an untrusted domain is believed */
  TIDE_PLANT_WATCH,      /* a wait for "schedulable" looks once */
  TIDE_PLANT_OPENEARLY,  /* a broken ALL opens service-side waits before all parts have ended */
  TIDE_PLANT_OWNER_DIES, /* a client that goes leaves its compounds undefined */
  TIDE_PLANT_CHANNELS = 3000, /* what sched does with points: found by the oracle of channels */
  TIDE_PLANT_ABOVE,           /* the record of a value above the point's counts, too */
  TIDE_PLANT_POINTFAIL,       /* an elided wait for a point forgets that it broke */
  TIDE_PLANT_ENDED,      /* a compound opens when its end is known, not when its parts have ended */
  TIDE_PLANT_CANCELHELD, /* a point that cancels forgets those that are held */
  TIDE_PLANT_CHOOSE,     /* what is chosen is decided at submit */
  TIDE_PLANT_LENT,       /* what was lent is not taken back */
  TIDE_PLANT_RATCHET,    /* an increase is clamped to what the lender was lent itself */
  TIDE_PLANT_RELISTEN,   /* a held operation that was classified again listens no more */
  TIDE_PLANT_DESPITE,    /* what goes on despite a broken point forgets what it imported */
  TIDE_PLANT_SCOPE,      /* a scope of decreases never ends */
  TIDE_PLANT_DOWN,       /* failure does not go down a channel */
  TIDE_PLANT_RECOVERSOON, /* a recovery counts when it is queued, not at its place */
  TIDE_PLANT_CHANNELS_END,
  TIDE_PLANT_PAGES = 4000, /* runs of pages: found by the oracle of pages */
  TIDE_PLANT_PAGES_EXACT,  /* fast: a run of just the length that is asked for is not seen */
  TIDE_PLANT_PAGES_JOIN,   /* fast: what comes back does not join what is free behind it */
  TIDE_PLANT_PAGES_REST,   /* fast: what is left of a run begins a page too early */
  TIDE_PLANT_PAGES_ACROSS, /* tree: a run across a node's middle does not count */
  TIDE_PLANT_PAGES_REACH,  /* tree: what begins at a node's left ends at its middle */
  TIDE_PLANT_PAGES_LAST,   /* tree: the last page of a run is not taken */
  TIDE_PLANT_PAGES_END,
  TIDE_PLANT_TAKES = 5000, /* operations that take: found by the oracle of takes */
  TIDE_PLANT_TAKES_CLAIM,  /* the queue knows the writers when the operation starts */
  TIDE_PLANT_TAKES_FORGET, /* what comes behind it does not wait for the writers */
  TIDE_PLANT_TAKES_SOON,   /* the body's end signals what only the end of the writers may */
  TIDE_PLANT_TAKES_BLIND,  /* the body does not stall */
  TIDE_PLANT_TAKES_LAST,   /* of several writers only the last counts */
  TIDE_PLANT_TAKES_ALONE,  /* a body that fails is not told to what carries its signals */
  TIDE_PLANT_TAKES_END,
  TIDE_PLANT_WIC = 6000,   /* media: found by seeded interleavings (sim/wic.c) */
  TIDE_PLANT_WIC_CALL,     /* data that comes to who has faulted is not the monitor's business */
  TIDE_PLANT_WIC_RUNG,     /* the monitor forgets that it was rung before it plans its sleep */
  TIDE_PLANT_WIC_FIRST,    /* the first tag of several is enough */
  TIDE_PLANT_WIC_DROP,     /* a side's used pages are not taken back */
  TIDE_PLANT_WIC_DEADLINE, /* what is overdue fails, and shows nothing */
  TIDE_PLANT_WIC_LATE,     /* what is available can be failed by name */
  TIDE_PLANT_WIC_SEEN,     /* a fault on what is available is left alone */
  TIDE_PLANT_WIC_ROOM,     /* a failed request's room is free while its producer may write */
  TIDE_PLANT_WIC_CLOSE,    /* closing leaves those alone that are not stalled */
  TIDE_PLANT_WIC_SHUT,     /* a tag page stays closed when its store was signalled */
  TIDE_PLANT_WIC_THROUGH,  /* a tag page is armed again before the store has come through */
  TIDE_PLANT_WIC_OLD,      /* a store's fault is believed that is older than the arming */
  TIDE_PLANT_WIC_END,
  TIDE_PLANT_REUSE = 7000, /* the order of reuse: found by the oracle of pools */
  TIDE_PLANT_REUSE_WAITS,  /* gap waits are made before the budget is used up */
  TIDE_PLANT_REUSE_GROWS,  /* fresh memory is taken before reusable blocks are looked for */
  TIDE_PLANT_REUSE_BEYOND, /* more than the limit is taken */
  TIDE_PLANT_REUSE_MOST,   /* the block that leaves the most gap waits is handed out */
  TIDE_PLANT_REUSE_END
};

#ifdef TIDE_PLANTS
extern enum tide_plant tide_planted;
extern int tide_planted_claim; /* TAKES_CLAIM: the operation that is being submitted takes */
/* Where another thread may go on: set by tests of interleavings. */
extern void (*tide_planted_point)(void);
#define TIDE_POINT() (tide_planted_point ? tide_planted_point() : (void)0)
#define TIDE_PLANTED(which) __builtin_expect(tide_planted == (which), 0)
#define TIDE_PLANTED_ANY __builtin_expect(tide_planted != TIDE_PLANT_NONE, 0)
#define TIDE_HAS_PLANTS 1
#else
#define TIDE_POINT() ((void)0)
#define TIDE_PLANTED(which) 0
#define TIDE_PLANTED_ANY 0
#define TIDE_HAS_PLANTS 0 /* an invariant that a planted bug breaks is asserted only then */
#endif

#endif
