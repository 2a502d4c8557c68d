/* Memory as C11 sees it: who wrote what when, by vector clocks; which older values
 * a load may still answer with; and which accesses race or come too late. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the region: what the allocator hands out, then the threads' stacks ---- */

#define REGION (MEMORY_SIZE + THREADS * STACK_SIZE)
#define GRAIN 16 /* what is alive is known in these */
#define GAP 32   /* between two blocks */

static unsigned char *region;
static size_t used;
static uint32_t *alive; /* a grain: the run in which it was handed out */
static uint32_t this_run;

/* The shadow, a byte each. Stamps only grow, over all runs: what is not above `base` was there
 * before this run's threads, and needs no clearing. */
static uint32_t *wrote; /* stamp << 3 | thread of the last plain write */
static uint32_t *read_by[THREADS];
static uintptr_t *wrote_at, *read_at; /* four bytes each: the last place in the code */

static uint32_t stamp, base;
static uint32_t clocks[THREADS][THREADS];

#define BLOCKS 4096
static struct { size_t at, size; } blocks[BLOCKS];
static unsigned block_count;

/* ---- atomic locations ---- */

struct store {
  uint64_t value;
  struct store *older;
  uint32_t number;         /* 1, 2 … of its location, in modification order */
  bool releases;           /* who acquires it learns … */
  uint32_t clock[THREADS]; /* … this */
};

/* A thread has seen (or made) a store at a moment: whoever knows that moment reads nothing older.
 */
struct mark {
  struct mark *next;
  uint32_t stamp, number;
  int thread;
};

struct location {
  uintptr_t address;
  unsigned size;
  struct store *newest;
  struct mark *marks;
  uint32_t stored[THREADS], loaded[THREADS]; /* stamps */
  uintptr_t pc;
};

#define MOST 65536
static struct location locations[4096];
static struct store stores[MOST];
static struct mark marks[MOST];
static unsigned location_count, store_count, mark_count;
static struct {
  uint32_t run;
  struct location *location;
} * cells; /* four bytes each */

/* ---- frames ---- */

/* What other threads did in a thread's stack. */
#define LENT 64
static struct lent {
  uintptr_t address, pc;
  uint32_t stamp;
  int thread, owner;
} lent[LENT];
static unsigned lent_count;

/* Atomic locations in stacks. */
static struct {
  uintptr_t address;
  int owner;
} framed[LENT];
static unsigned framed_count;

#define CALLS 100
static struct {
  uintptr_t low[CALLS]; /* where each function's frame ends */
  unsigned count;
} calls[THREADS];

static void *map(size_t size) {
  void *memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) interleave_fail("no memory for the explorer");
  return memory;
}

void memory_begin(void) {
  if (!region) {
    region = map(REGION);
    alive = map(REGION / GRAIN * sizeof *alive);
    wrote = map(REGION * sizeof *wrote);
    for (int i = 0; i < THREADS; i++) read_by[i] = map(REGION * sizeof *wrote);
    wrote_at = map(REGION / 4 * sizeof *wrote_at);
    read_at = map(REGION / 4 * sizeof *read_at);
    cells = map(REGION / 4 * sizeof *cells);
  }
  this_run++;
  used = 0;
  block_count = location_count = store_count = mark_count = lent_count = framed_count = 0;
  memset(calls, 0, sizeof calls);
}

static bool known(uint32_t when, int who) {
  return when <= base || when <= clocks[interleave_self][who];
}

void memory_threads(void) {
  base = ++stamp;
  for (int i = 0; i < THREADS; i++) {
    for (int k = 0; k < THREADS; k++) clocks[i][k] = base;
    clocks[i][i] = ++stamp;
  }
}

void memory_learn(int thread) {
  uint32_t *mine = clocks[interleave_self];
  for (int i = 0; i < THREADS; i++)
    if (clocks[thread][i] > mine[i]) mine[i] = clocks[thread][i];
}

void memory_join(void) { base = ++stamp; }

unsigned char *memory_stack(int thread) {
  return region + MEMORY_SIZE + (size_t)thread * STACK_SIZE;
}

void *memory_alloc(size_t size, size_t align) {
  size_t at = (used + align - 1) / align * align;
  if (align < GRAIN) at = (used + GRAIN - 1) / GRAIN * GRAIN;
  if (at + size + GAP > MEMORY_SIZE || block_count == BLOCKS) return NULL;
  used = at + size + GAP;
  blocks[block_count].at = at;
  blocks[block_count++].size = size;
  for (size_t i = at / GRAIN; i <= (at + size - 1) / GRAIN; i++) alive[i] = this_run;
  memset(region + at, 0xa5, size);
  if (interleave_exploring)
    for (size_t i = at; i < at + size; i++)
      wrote[i] = clocks[interleave_self][interleave_self] << 3 | (uint32_t)interleave_self;
  return region + at;
}

const char *memory_name(uintptr_t address) {
  static char name[80];
  size_t at = address - (uintptr_t)region;
  if (at >= REGION) return "static memory";
  if (at >= MEMORY_SIZE) {
    snprintf(name, sizeof name, "thread %zu's stack", (at - MEMORY_SIZE) / STACK_SIZE);
    return name;
  }
  for (unsigned i = 0; i < block_count; i++) {
    if (at < blocks[i].at || at >= blocks[i].at + blocks[i].size) continue;
    if (i == 0) snprintf(name, sizeof name, "state+%zu", at);
    else snprintf(name, sizeof name, "block %u+%zu", i, at - blocks[i].at);
    return name;
  }
  return "no block";
}

/* ---- races, and memory that is gone ---- */

static const char freed[] = "freed"; /* instead of "plain write" */

_Noreturn static void race(uintptr_t address, const char *mine, const char *other, int who,
                           uintptr_t pc, uintptr_t other_pc) {
  char here[200];
  snprintf(here, sizeof here, "%s", report_place(pc));
  interleave_fail("%s %s: %s by thread %d in %s, and unordered %s by thread %d in %s",
                  mine == freed ? "memory that is gone:" : "race at", memory_name(address), mine,
                  interleave_self, here, other, who, report_place(other_pc));
}

/* ---- frames that go ---- */

void memory_enter(uintptr_t low) {
  if (!interleave_exploring || calls[interleave_self].count == CALLS) return;
  calls[interleave_self].low[calls[interleave_self].count++] = low;
}

/* The frame goes: whoever else has touched it must be known, as where memory is freed. */
void memory_leave(uintptr_t pc) {
  if (!interleave_exploring || !calls[interleave_self].count) return;
  if (calls[interleave_self].count == CALLS) interleave_fail("calls are nested too deeply");
  unsigned left = --calls[interleave_self].count;
  uintptr_t low = calls[interleave_self].low[left];
  uintptr_t high = left ? calls[interleave_self].low[left - 1] : UINTPTR_MAX;
  for (unsigned i = 0; i < lent_count; i++) {
    struct lent *at = &lent[i];
    if (at->owner != interleave_self || at->address < low || at->address >= high) continue;
    if (!known(at->stamp, at->thread)) {
      char here[200];
      snprintf(here, sizeof here, "%s", report_place(pc));
      interleave_fail(
          "memory that is gone: thread %d leaves a frame in %s, which thread %d may still "
          "touch in %s",
          interleave_self, here, at->thread, report_place(at->pc));
    }
    *at = lent[--lent_count];
    i--;
  }
  for (unsigned i = 0; i < framed_count; i++) {
    uintptr_t address = framed[i].address;
    if (framed[i].owner != interleave_self || address < low || address >= high) continue;
    cells[(address - (uintptr_t)region) / 4].run = 0; /* what comes there is another one */
    framed[i--] = framed[--framed_count];
  }
}

static void lend(uintptr_t address, int owner, uintptr_t pc) {
  if (lent_count == LENT) interleave_fail("too much of the stacks is lent");
  lent[lent_count++] =
      (struct lent){address, pc, clocks[interleave_self][interleave_self], interleave_self, owner};
}

/* False: not ours. */
static bool reachable(uintptr_t address, size_t size, uintptr_t pc) {
  size_t at = address - (uintptr_t)region;
  if (at >= REGION) return false;
  if (at < MEMORY_SIZE) {
    for (size_t i = at / GRAIN; i <= (at + size - 1) / GRAIN; i++)
      if (alive[i] != this_run)
        interleave_fail("memory that is gone: thread %d touches %s in %s", interleave_self,
                        memory_name(address), report_place(pc));
    return true;
  }
  int owner = (int)((at - MEMORY_SIZE) / STACK_SIZE);
  if (owner != interleave_self && address < interleave_stack_top(owner))
    interleave_fail("memory that is gone: thread %d touches a frame that thread %d has left, in %s",
                    interleave_self, owner, report_place(pc));
  if (owner != interleave_self) lend(address, owner, pc);
  return true;
}

static void check_shadow(size_t at, size_t size, bool write, const char *mine, uintptr_t pc) {
  for (size_t i = at; i < at + size; i++) {
    uint32_t when = wrote[i] >> 3;
    int who = (int)(wrote[i] & 7);
    uintptr_t address = (uintptr_t)region + i;
    if (!known(when, who)) race(address, mine, "plain write", who, pc, wrote_at[i / 4]);
    for (int other = 1; write && other < THREADS; other++)
      if (other != interleave_self && !known(read_by[other][i], other))
        race(address, mine, "plain read", other, pc, read_at[i / 4]);
  }
}

static void check_location(struct location *location, bool write, const char *mine, uintptr_t pc) {
  for (int other = 1; other < THREADS; other++) {
    if (other == interleave_self) continue;
    if (!known(location->stored[other], other))
      race(location->address, mine, "atomic write", other, pc, location->pc);
    if (write && !known(location->loaded[other], other))
      race(location->address, mine, "atomic read", other, pc, location->pc);
  }
}

static void touch(uintptr_t address, size_t size, bool write, const char *mine, uintptr_t pc) {
  if (!interleave_exploring || !size || !reachable(address, size, pc)) return;
  size_t at = address - (uintptr_t)region;
  check_shadow(at, size, write, mine, pc);
  uint32_t now = clocks[interleave_self][interleave_self];
  for (size_t i = at; i < at + size; i++) {
    if (write) wrote[i] = now << 3 | (uint32_t)interleave_self;
    else read_by[interleave_self][i] = now;
  }
  for (size_t i = at / 4; i <= (at + size - 1) / 4; i++) {
    if (write) wrote_at[i] = pc;
    else read_at[i] = pc;
    if (cells[i].run != this_run) continue;
    check_location(cells[i].location, write, mine, pc);
    if (write) cells[i].run = 0; /* its history ends: whoever may read it knows this write */
  }
}

void memory_plain(uintptr_t address, size_t size, bool write, uintptr_t pc) {
  touch(address, size, write, write ? "plain write" : "plain read", pc);
}

/* To free is to write: whoever else has touched the block must be known. */
void memory_free(void *memory, size_t size, uintptr_t pc) {
  if (!memory) return;
  size_t at = (uintptr_t)memory - (uintptr_t)region;
  bool found = false;
  for (unsigned i = 0; i < block_count && !found; i++)
    found = blocks[i].at == at && blocks[i].size == size;
  if (!found || alive[at / GRAIN] != this_run)
    interleave_fail("freed what is not a block, or is gone: %s in %s",
                    memory_name((uintptr_t)memory), report_place(pc));
  touch((uintptr_t)memory, size, true, freed, pc);
  for (size_t i = at / GRAIN; i <= (at + size - 1) / GRAIN; i++) alive[i] = 0;
}

/* ---- atomic operations ---- */

uint64_t memory_word(uintptr_t address, unsigned size) {
  switch (size) {
    case 1: return *(uint8_t *)address;
    case 2: return *(uint16_t *)address;
    case 4: return *(uint32_t *)address;
    default: return *(uint64_t *)address;
  }
}

static void set_word(uintptr_t address, unsigned size, uint64_t value) {
  switch (size) {
    case 1: *(uint8_t *)address = (uint8_t)value; break;
    case 2: *(uint16_t *)address = (uint16_t)value; break;
    case 4: *(uint32_t *)address = (uint32_t)value; break;
    default: *(uint64_t *)address = value; break;
  }
}

static struct store *add_store(struct location *location, uint64_t value) {
  if (store_count == MOST) interleave_fail("too many stores in one run");
  struct store *made = &stores[store_count++];
  made->value = value;
  made->older = location->newest;
  made->number = made->older ? made->older->number + 1 : 1;
  made->releases = false;
  location->newest = made;
  return made;
}

static struct location *make_location(uintptr_t address, unsigned size) {
  if (location_count == sizeof locations / sizeof *locations) interleave_fail("too many locations");
  struct location *made = &locations[location_count++];
  *made = (struct location){.address = address, .size = size};
  add_store(made, memory_word(address, size));
  return made;
}

static struct location *find(uintptr_t address, unsigned size) {
  size_t at = address - (uintptr_t)region;
  if (at >= REGION) {
    for (unsigned i = 0; i < location_count; i++)
      if (locations[i].address == address) return &locations[i];
    return make_location(address, size);
  }
  struct location *location = cells[at / 4].location;
  /* Its owner may write a variable that nobody else has heard of without a word to us. */
  if (cells[at / 4].run == this_run && location->address == address && location->size == size &&
      location->newest->value == memory_word(address, size))
    return location;
  location = make_location(address, size);
  if (at >= MEMORY_SIZE) {
    if (framed_count == LENT) interleave_fail("too many atomic locations in stacks");
    framed[framed_count].address = address;
    framed[framed_count++].owner = (int)((at - MEMORY_SIZE) / STACK_SIZE);
  }
  for (size_t i = at / 4; i <= (at + size - 1) / 4; i++) {
    cells[i].run = this_run;
    cells[i].location = location;
  }
  return location;
}

static struct location *begin(uintptr_t address, unsigned size, bool write, uintptr_t pc) {
  if (reachable(address, size, pc))
    check_shadow(address - (uintptr_t)region, size, write, write ? "atomic write" : "atomic read",
                 pc);
  struct location *location = find(address, size);
  uint32_t now = clocks[interleave_self][interleave_self] = ++stamp;
  (write ? location->stored : location->loaded)[interleave_self] = now;
  location->pc = pc;
  return location;
}

static void saw(struct location *location, const struct store *store) {
  if (mark_count == MOST) interleave_fail("too many marks in one run");
  struct mark *mark = &marks[mark_count++];
  *mark = (struct mark){location->marks, clocks[interleave_self][interleave_self], store->number,
                        interleave_self};
  location->marks = mark;
}

/* The number of the oldest store that this thread may still read. */
static uint32_t oldest_number(const struct location *location) {
  uint32_t number = 0;
  for (const struct mark *mark = location->marks; mark; mark = mark->next) {
    if (mark->number > number && known(mark->stamp, mark->thread)) number = mark->number;
    if (number == location->newest->number) break;
  }
  return number;
}

unsigned memory_choices(const struct step *step) {
  size_t at = step->address - (uintptr_t)region;
  if (at >= REGION || cells[at / 4].run != this_run) return 1;
  const struct location *location = cells[at / 4].location;
  if (location->address != step->address || location->size != step->size) return 1;
  if (location->newest->value != memory_word(step->address, step->size)) return 1;
  uint32_t oldest = oldest_number(location);
  return oldest == 0 ? location->newest->number : location->newest->number - oldest + 1;
}

static bool acquires(int order) {
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST ||
         order == __ATOMIC_CONSUME;
}
static bool releases(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void learn(const struct store *store, int order) {
  if (!acquires(order) || !store->releases) return;
  uint32_t *mine = clocks[interleave_self];
  for (int i = 0; i < THREADS; i++)
    if (store->clock[i] > mine[i]) mine[i] = store->clock[i];
}

static void end(void) { clocks[interleave_self][interleave_self] = ++stamp; }

uint64_t memory_load(uintptr_t address, unsigned size, int order, uintptr_t pc) {
  if (!interleave_exploring) return memory_word(address, size);
  struct location *location = begin(address, size, false, pc);
  const struct store *store = location->newest;
  for (int i = 0; i < interleave_choice; i++) store = store->older;
  learn(store, order);
  saw(location, store);
  interleave_note(interleave_choice ? "reads %llu, which is old" : "reads %llu", store->value);
  end();
  return store->value;
}

/* A store by itself, or (`read`) the second half of a read-modify-write, which continues what the
 * store before it released. */
static void put(struct location *location, uint64_t value, int order, bool read) {
  const struct store *before = location->newest;
  struct store *store = add_store(location, value);
  bool goes_on = read && before->releases;
  store->releases = releases(order) || goes_on;
  for (int i = 0; i < THREADS && store->releases; i++) {
    store->clock[i] = releases(order) ? clocks[interleave_self][i] : 0;
    if (goes_on && before->clock[i] > store->clock[i]) store->clock[i] = before->clock[i];
  }
  saw(location, store);
  set_word(location->address, location->size, value);
}

void memory_store(uintptr_t address, unsigned size, uint64_t value, int order, uintptr_t pc) {
  if (!interleave_exploring) {
    set_word(address, size, value);
    return;
  }
  struct location *location = begin(address, size, true, pc);
  put(location, value, order, false);
  interleave_note("stores %llu", value);
  end();
}

static uint64_t modified(enum modify how, uint64_t old, uint64_t operand) {
  switch (how) {
    case ADD: return old + operand;
    case SUB: return old - operand;
    case AND: return old & operand;
    case OR: return old | operand;
    case XOR: return old ^ operand;
    default: return operand;
  }
}

static uint64_t narrow(uint64_t value, unsigned size) {
  return size == 8 ? value : value & ((1ull << size * 8) - 1);
}

uint64_t memory_modify(uintptr_t address, unsigned size, enum modify how, uint64_t operand,
                       int order, uintptr_t pc) {
  if (!interleave_exploring) {
    uint64_t old = memory_word(address, size);
    set_word(address, size, modified(how, old, operand));
    return old;
  }
  struct location *location = begin(address, size, true, pc);
  const struct store *before = location->newest;
  learn(before, order);
  uint64_t value = narrow(modified(how, before->value, operand), size);
  put(location, value, order, true);
  interleave_note("makes it %llu", value);
  end();
  return before->value;
}

bool memory_compare_exchange(uintptr_t address, unsigned size, uint64_t *expected, uint64_t desired,
                             int order, int failure, uintptr_t pc) {
  if (!interleave_exploring) {
    uint64_t old = memory_word(address, size);
    bool same = old == *expected;
    *expected = old;
    if (same) set_word(address, size, desired);
    return same;
  }
  struct location *location = begin(address, size, true, pc);
  const struct store *before = location->newest;
  bool same = before->value == *expected;
  *expected = before->value;
  learn(before, same ? order : failure);
  if (same) put(location, desired, order, true);
  else saw(location, before);
  interleave_note(same ? "swaps in %llu" : "does not swap: it is %llu",
                  same ? desired : before->value);
  end();
  return same;
}
