/* Timelines in shared memory: against a load, and against what wakes another process at the least,
 * a bare futex, and what most would take, a socket. */
#include "bench.h"

#include "rival/rival.h"
#include "shared_library.h"
#include "tidemark/tidemark.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEASE = 1, SLOTS = 64 };

static const tide_axis axis = 0x0000200000000001u;

/* ---- calls that stay in this process -------------------------------------------------------- */

struct api {
  uint64_t (*value)(const struct tide_shared *, uint32_t);
  enum tide_status (*look)(const struct tide_shared *, uint32_t, uint32_t, uint64_t);
  enum tide_status (*signal)(struct tide_shared *, uint32_t, uint64_t, const struct tide_frontier *,
                             tide_axis, uint64_t);
  enum tide_status (*record)(const struct tide_shared *, uint32_t, uint32_t, uint64_t,
                             struct tide_frontier *, struct tide_record_info *);
  uint64_t (*rival_load)(const uint64_t *);
  bool (*rival_swap_and_copy)(struct rival *, uint64_t, tide_axis, const struct tide_frontier *);
};

struct world {
  struct api api;
  struct tide_shared owner;
  void *memory;
  size_t size;
  uint64_t value;
  struct rival rival;
  const uint64_t *word; /* where a query looks */
  TIDE_FRONTIER_STORAGE(known, 16);
  TIDE_FRONTIER_STORAGE(copy, 16);
};

static void find_calls(struct api *api) {
  void *ours = library_open("libtidemark.so"), *theirs = library_open("libbench-rival.so");
  *(void **)&api->value = library_find(ours, "tide_shared_value");
  *(void **)&api->look = library_find(ours, "tide_shared_look");
  *(void **)&api->signal = library_find(ours, "tide_shared_signal");
  *(void **)&api->record = library_find(ours, "tide_shared_record");
  *(void **)&api->rival_load = library_find(theirs, "rival_load");
  *(void **)&api->rival_swap_and_copy = library_find(theirs, "rival_swap_and_copy");
}

static void *map_region(const struct tide_shared_shape *shape, struct tide_shared *out) {
  size_t size = tide_shared_size(shape);
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BENCH_CHECK(memory != MAP_FAILED);
  BENCH_CHECK(tide_shared_format(memory, size, shape) == TIDE_OK);
  struct tide_shared_params params = {
      .struct_size = sizeof params, tide_platform_linux(), true, LEASE};
  BENCH_CHECK(tide_shared_attach(out, memory, size, &params) == TIDE_OK);
  return memory;
}

static void *make_with(bool alone) {
  static const struct tide_shared_shape shape = {SLOTS, 16, 16};
  struct world *world = aligned_alloc(64, (sizeof *world + 63) / 64 * 64);
  memset(world, 0, sizeof *world);
  find_calls(&world->api);
  world->size = tide_shared_size(&shape);
  world->memory = map_region(&shape, &world->owner);
  world->word = &world->rival.cell;
  tide_shared_set_alone(&world->owner, alone);
  for (uint32_t i = 0; i < SLOTS; i++)
    BENCH_CHECK(tide_shared_open(&world->owner, i, 1, 0) == TIDE_OK);
  tide_frontier_init(&world->known.frontier, 16);
  tide_frontier_init(&world->copy.frontier, 16);
  for (uint64_t i = 0; i < 4; i++)
    tide_frontier_insert_or_raise(&world->known.frontier, axis + i, 7, NULL);
  BENCH_CHECK(tide_shared_signal(&world->owner, 3, ++world->value, &world->known.frontier, axis,
                                 7) == TIDE_OK);
  return world;
}
static void *make(void) { return make_with(false); }
static void *make_alone(void) { return make_with(true); }
static void drop(void *state) {
  struct world *world = state;
  munmap(world->memory, world->size);
  free(world);
}

static void query(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(world->api.value(&world->owner, 3));
}
static void look_good(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(world->api.look(&world->owner, 3, 1, 1));
}
static void load_many(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(world->api.rival_load(world->word));
}

static void signal_known(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.signal(&world->owner, 3, ++world->value, &world->known.frontier, axis,
                                  7) == TIDE_OK);
}
static void swap_and_copy(void *state, uint64_t count) {
  struct world *world = state;
  uint64_t value = world->rival.cell;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(
        world->api.rival_swap_and_copy(&world->rival, ++value, axis, &world->known.frontier));
}
static void signal_plain(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.signal(&world->owner, 3, ++world->value, NULL, 0, 0) == TIDE_OK);
}
static void store_and_wake(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++) {
    __atomic_store_n(&world->rival.cell, i, __ATOMIC_RELEASE);
    syscall(SYS_futex, &world->rival.cell, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
  }
}
static void read_record(void *state, uint64_t count) {
  struct world *world = state;
  for (uint64_t i = 0; i < count; i++)
    BENCH_CHECK(world->api.record(&world->owner, 3, 1, world->value, &world->copy.frontier, NULL) ==
                TIDE_OK);
}

/* ---- to and fro between two processes ------------------------------------------------------- */

enum side { OURS, FUTEX, SOCKET };

/* Each process owns one end, which the other only reads. */
struct end {
  struct tide_shared region;
  uint32_t *word;
  int socket;
};

struct relay {
  enum side side;
  struct end there, back;
};

static void tell(struct relay *relay, struct end *end, uint64_t value) {
  uint32_t word = (uint32_t)value;
  switch (relay->side) {
    case OURS:
      BENCH_CHECK(tide_shared_signal(&end->region, 0, value, NULL, 0, 0) == TIDE_OK);
      return;
    case FUTEX:
      __atomic_store_n(end->word, word, __ATOMIC_RELEASE);
      syscall(SYS_futex, end->word, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
      return;
    case SOCKET: BENCH_CHECK(send(end->socket, &value, sizeof value, 0) == sizeof value);
  }
}

static void hear(struct relay *relay, struct end *end, int socket, uint64_t value) {
  uint64_t got;
  uint32_t word;
  switch (relay->side) {
    case OURS:
      BENCH_CHECK(tide_shared_wait(&end->region, 0, 1, value, TIDE_FOREVER) == TIDE_OK);
      return;
    case FUTEX:
      while ((word = __atomic_load_n(end->word, __ATOMIC_ACQUIRE)) != (uint32_t)value)
        syscall(SYS_futex, end->word, FUTEX_WAIT, word, NULL, NULL, 0);
      return;
    case SOCKET: BENCH_CHECK(recv(socket, &got, sizeof got, 0) == sizeof got && got == value);
  }
}

static bool stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

static void open_end(struct end *end, int socket) {
  static const struct tide_shared_shape shape = {1, 0, 0};
  map_region(&shape, &end->region);
  BENCH_CHECK(tide_shared_open(&end->region, 0, 1, 0) == TIDE_OK);
  end->word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BENCH_CHECK(end->word != MAP_FAILED);
  end->socket = socket;
}

/* us there and back, in a process of its own: where it may run is changed. */
static const char *relay_apart(const void *what, double *out) {
  const unsigned *asked = what; /* processors, side */
  struct relay relay = {.side = (enum side)asked[1]};
  uint64_t count = bench_smoke() ? 10 : 2000;
  int sockets[2], status;
  if (!stay_on((int)asked[0] - 1)) return "too few processors";
  if (!stay_on(0)) return "the first processor is not for us";
  BENCH_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
  open_end(&relay.there, sockets[0]);
  open_end(&relay.back, sockets[1]);
  pid_t partner = bench_fork();
  BENCH_CHECK(partner >= 0);
  if (partner == 0) {
    if (!stay_on((int)asked[0] - 1)) bench_wrong("a process on its processor");
    for (uint64_t i = 1; i <= count; i++) {
      hear(&relay, &relay.there, sockets[1], i);
      tell(&relay, &relay.back, i);
    }
    _exit(0);
  }
  uint64_t start = bench_now();
  for (uint64_t i = 1; i <= count; i++) {
    tell(&relay, &relay.there, i);
    hear(&relay, &relay.back, sockets[0], i);
  }
  out[0] = (double)(bench_now() - start) / 1000 / (double)count;
  BENCH_CHECK(waitpid(partner, &status, 0) == partner && status == 0);
  return NULL;
}

static const char *relay(const void *what, unsigned side, double *out) {
  unsigned asked[] = {*(const unsigned *)what, side};
  return bench_apart(relay_apart, asked, out);
}

#define RELAY(cpus)                                                                                \
  &(const struct bench_contest) {                                                                  \
    .sides = {"ours", "bare futex", "SEQPACKET"},                                                  \
    .values = {{"there and back", "us", BENCH_LESS}}, .measure = relay,                            \
    .what = &(const unsigned) {                                                                    \
      cpus                                                                                         \
    }                                                                                              \
  }

/* clang-format off */
const struct bench_figure bench_shared[] = {
    {.name = "query", .rival = "out-of-line load", .setup = make, .teardown = drop,
     .ours = query, .theirs = load_many},
    {.name = "look_good", .rival = "out-of-line load", .setup = make, .teardown = drop,
     .ours = look_good, .theirs = load_many},
    {.name = "signal_nobody_sleeps", .rival = "store and FUTEX_WAKE", .setup = make, .teardown = drop,
     .ours = signal_plain, .theirs = store_and_wake},
    {.name = "signal_alone_tracked_4", .rival = "CAS and copy", .setup = make_alone, .teardown = drop,
     .ours = signal_known, .theirs = swap_and_copy},
    {.name = "record_4", .setup = make, .teardown = drop, .ours = read_record},
    {.name = "to_and_fro_1_cpu", .contest = RELAY(1)},
    {.name = "to_and_fro_2_cpus", .contest = RELAY(2)},
    {0}};
