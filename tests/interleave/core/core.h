/* tests/interleave/core/core.h: the explorer from inside. */
#ifndef INTERLEAVE_CORE_CORE_H
#define INTERLEAVE_CORE_CORE_H

#include "interleave.h"

#define THREADS (INTERLEAVE_THREADS + 1) /* 0 sets up and checks */

/* ---- steps ---- */

enum kind {
  READ,    /* an atomic load */
  WRITE,   /* an atomic store, or read-modify-write */
  LOCK,    /* takes a lock that is free; not enabled while it is held */
  UNLOCK,  /* gives it back */
  WAIT,    /* compares the word, then sleeps or goes on */
  WAKE,    /* wakes those who sleep on the word */
  TIMEOUT, /* one who sleeps gives up */
  RESUME,  /* one who was woken goes on; could have timed out instead */
  LOCAL,   /* touches nothing: woken for good, or back from a yield */
  JOIN,    /* waits until thread number `size` has ended */
};

struct step {
  enum kind kind;
  int order; /* __ATOMIC_…, of loads */
  uintptr_t address;
  unsigned size;
  uintptr_t pc;
};

/* From a thread: the next step. Comes back when it is this thread's turn to take it. */
void interleave_step(struct step step);
/* What the step did, for the printed run. */
void interleave_note(const char *format, uint64_t value);

/* ---- what is being run (explore.c, fiber.c) ---- */

extern bool interleave_exploring; /* threads of a case are running */
extern int interleave_self;       /* which of them; 0 outside */
extern int interleave_choice;     /* of a load that was just scheduled: 0 = the newest value, … */

/* Sleeping: explore.c keeps who does. */
void interleave_sleep(uintptr_t word, bool timed, uintptr_t pc);
/* Wakes up to `count`; how many it were. */
unsigned interleave_wake(uintptr_t word, uint32_t count);
/* Was this thread's last sleep ended by its deadline? */
bool interleave_timed_out(void);
/* Not to be scheduled before something that it has looked at has changed. */
void interleave_yield(uintptr_t pc);

/* For setups: one more thread; its number, or 0 where there is no room. And to wait for it. */
int interleave_spawn(void (*entry)(void *argument), void *argument);
void interleave_join(int thread, uintptr_t pc);

/* The stack pointer of a thread that does not run. */
uintptr_t interleave_stack_top(int thread);

/* ---- platform.c ---- */
void interleave_clocks_begin(void);

/* ---- fiber.c ---- */
void fibers_start(int count, void (*entry)(int thread)); /* each runs to its first step */
void fiber_switch(int to);                               /* from one thread, or 0, to another */

/* ---- memory.c: memory, vector clocks, races, old values ---- */
#define MEMORY_SIZE (4u << 20)
#define STACK_SIZE (128u << 10)
void memory_begin(void);       /* all that was there is gone */
void memory_threads(void);     /* from here on the threads run */
void memory_join(void);        /* they have ended */
void memory_learn(int thread); /* this one has, and what it did is known */
void *memory_alloc(size_t size, size_t align);
void memory_free(void *memory, size_t size, uintptr_t pc);
unsigned char *memory_stack(int thread); /* its lowest byte */
void memory_plain(uintptr_t address, size_t size, bool write, uintptr_t pc);
/* A function begins, its frame reaching down to `low`; and ends. */
void memory_enter(uintptr_t low);
void memory_leave(uintptr_t pc);
/* How many values a load could answer with now. */
unsigned memory_choices(const struct step *step);
uint64_t memory_load(uintptr_t address, unsigned size, int order, uintptr_t pc);
void memory_store(uintptr_t address, unsigned size, uint64_t value, int order, uintptr_t pc);
/* Stores modify(old, operand) and answers old. */
enum modify { EXCHANGE, ADD, SUB, AND, OR, XOR };
uint64_t memory_modify(uintptr_t address, unsigned size, enum modify how, uint64_t operand,
                       int order, uintptr_t pc);
bool memory_compare_exchange(uintptr_t address, unsigned size, uint64_t *expected, uint64_t desired,
                             int order, int failure, uintptr_t pc);
uint64_t memory_word(uintptr_t address, unsigned size); /* as it is */
const char *memory_name(uintptr_t address);

/* ---- report.c ---- */
struct taken {
  struct step step;
  int thread;
  const char *note; /* a format of one number */
  uint64_t value;
};
void report_run(const struct taken *steps, unsigned count);
_Noreturn void report_failure(const struct interleave_result *found);
/* "function (file:line)", of the last place asked for. */
const char *report_place(uintptr_t pc);

#endif
