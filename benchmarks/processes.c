/* Sessions between processes: from an operation of one process to an operation of the other, the
 * cost of taking in a state, and memory that many signals leave as it is. */
#include "bench.h"

#include "causal/context_state.h"
#include "cluster/cluster_state.h"
#include "tidemark/tidemark.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call) BENCH_CHECK((call) == TIDE_OK)
#define HOPS 60u /* of each process in a round; a mirror keeps 64 promises */

/* ---- from process to process ------------------------------------------------------------- */

struct member {
  struct tide_context *context;
  struct tide_cluster *session;
  struct tide_queue *queue, *gate;
  struct tide_timeline *own, *other, *go;
  uint32_t rank;
  uint64_t base;    /* the value of the last round */
  uint32_t is_open; /* atomic: the gate's body ends */
};

static enum tide_status do_nothing(void *arguments) {
  (void)arguments;
  return TIDE_OK;
}
static const struct tide_body_class nothing = {.name = "nothing", .host = do_nothing};

static enum tide_status hold_up(void *arguments) {
  struct member *m = *(struct member **)arguments;
  while (!__atomic_load_n(&m->is_open, __ATOMIC_ACQUIRE)) usleep(20);
  return TIDE_OK;
}
static const struct tide_body_class holds_up = {.name = "gate", .host = hold_up};

static void enter(struct member *m, const char *path, uint32_t rank) {
  struct tide_device *cpu, *other;
  struct tide_cpu_params workers = {.struct_size = sizeof workers, .workers = 1};
  struct tide_cluster_params params = {
      .struct_size = sizeof params, .path = path, .rank = rank, .count = 2};
  struct tide_timeline_params system = {
      .struct_size = sizeof system, .scope = TIDE_SCOPE_SYSTEM, .history = 2 * HOPS};
  m->rank = rank;
  OK(tide_context_create(NULL, &m->context));
  OK(tide_cluster_join(m->context, &params, &m->session, NULL));
  OK(tide_cpu_open(m->context, &workers, &cpu));
  OK(tide_queue_create(cpu, TIDE_PARAMS(tide_queue_params, .operations = 2 * HOPS), &m->queue));
  OK(tide_cpu_open(m->context, &workers, &other));
  OK(tide_queue_create(other, NULL, &m->gate));
  OK(tide_timeline_create(m->context, NULL, &m->go));
  OK(tide_timeline_create(m->context, &system, &m->own));
  OK(tide_cluster_publish(m->session, "line", m->own));
  OK(tide_cluster_follow(m->session, 1 - rank, "line", &m->other));
}

/* Rank 0 has a gate, which promises to open: so all of both are queued before one runs. */
static void close_gate(struct member *m) {
  struct tide_signal signal = {.timeline = m->go, .value = m->base + 1};
  struct tide_operation operation = {
      .body = &holds_up, TIDE_ARGUMENTS(m), .signals = &signal, .signal_count = 1};
  __atomic_store_n(&m->is_open, 0u, __ATOMIC_RELEASE);
  OK(tide_queue_submit(m->gate, &operation, NULL, NULL));
}
static void await_entry(const struct member *m) {
  struct tide_context_stats stats;
  do {
    usleep(100);
    tide_context_stats(m->context, &stats);
  } while (stats.entered < stats.submitted);
}

/* Operation i of rank 0 waits for i - 1 of rank 1, whose operation waits for i of rank 0. Returns
 * when the first one might begin. */
static uint64_t play_round(struct member *m) {
  if (m->rank == 0) close_gate(m);
  for (uint64_t i = m->base + 1; i <= m->base + HOPS; i++) {
    struct tide_wait waits[] = {{m->other, m->rank ? i : i - 1}, {m->go, m->base + 1}};
    struct tide_signal signal = {.timeline = m->own, .value = i};
    struct tide_operation operation = {.body = &nothing,
                                       .waits = waits,
                                       .wait_count = m->rank ? 1 : 2,
                                       .signals = &signal,
                                       .signal_count = 1};
    OK(tide_queue_submit_wait(m->queue, &operation, tide_after_ms(m->context, 10000), NULL, NULL));
  }
  if (m->rank == 0) await_entry(m);
  uint64_t begin = bench_now();
  __atomic_store_n(&m->is_open, 1u, __ATOMIC_RELEASE);
  m->base += HOPS;
  OK(tide_timeline_wait(m->rank ? m->own : m->other, m->base, tide_after_ms(m->context, 10000)));
  return begin;
}

struct pair {
  struct member first;
  char folder[64], path[96];
  pid_t second;
  /* The rival: two threads, a socket between them. */
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_queue *queues[2];
  struct tide_timeline *lines[2];
  struct tide_thread *thread;
  int ends[2];
};

static void be_second(const struct pair *pair) {
  struct member m = {0};
  enter(&m, pair->path, 1);
  for (;;) play_round(&m); /* until it is killed */
}

static double hop_ours(void *state) {
  struct pair *pair = state;
  uint64_t begin = play_round(&pair->first);
  return (double)(bench_now() - begin) / (2e3 * HOPS);
}

struct sending {
  int socket;
};
static enum tide_status send_byte(void *arguments) {
  const struct sending *sending = arguments;
  return send(sending->socket, "x", 1, 0) == 1 ? TIDE_OK : TIDE_IO;
}
static const struct tide_body_class sends = {.name = "send", .host = send_byte};

static void pass_on(struct pair *pair, unsigned side) {
  struct sending sending = {pair->ends[side]};
  uint64_t next = tide_timeline_query(pair->lines[side]) + 1;
  struct tide_signal signal = {.timeline = pair->lines[side], .value = next};
  struct tide_operation operation = {
      .body = &sends, TIDE_ARGUMENTS(sending), .signals = &signal, .signal_count = 1};
  OK(tide_queue_submit(pair->queues[side], &operation, NULL, NULL));
}

static bool receive_byte(const struct pair *pair, unsigned side) {
  char byte;
  return recv(pair->ends[side], &byte, 1, 0) == 1;
}

static void pass_all_on(void *argument) {
  struct pair *pair = argument;
  while (receive_byte(pair, 1)) {
    OK(tide_queue_drain(pair->queues[1], tide_after_ms(pair->context, 10000)));
    pass_on(pair, 1);
  }
}

static double hop_theirs(void *state) {
  struct pair *pair = state;
  uint64_t begin = bench_now();
  for (uint32_t i = 0; i < HOPS; i++) {
    OK(tide_queue_drain(pair->queues[0], tide_after_ms(pair->context, 10000)));
    pass_on(pair, 0);
    BENCH_CHECK(receive_byte(pair, 0));
  }
  return (double)(bench_now() - begin) / (2e3 * HOPS);
}

static void open_rival(struct pair *pair) {
  struct tide_cpu_params workers = {.struct_size = sizeof workers, .workers = 1};
  OK(tide_context_create(NULL, &pair->context));
  for (unsigned side = 0; side < 2; side++) {
    OK(tide_cpu_open(pair->context, &workers, &pair->cpu));
    OK(tide_queue_create(pair->cpu, NULL, &pair->queues[side]));
    OK(tide_timeline_create(pair->context, NULL, &pair->lines[side]));
  }
  BENCH_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair->ends) == 0);
  const struct tide_platform *platform = tide_platform_linux();
  OK(platform->spawn(platform->self, "rival", pass_all_on, pair, &pair->thread));
}

static void *open_pair(void) {
  struct pair *pair = calloc(1, sizeof *pair);
  BENCH_CHECK(pair);
  snprintf(pair->folder, sizeof pair->folder, "/tmp/tidemark-bench-XXXXXX");
  BENCH_CHECK(mkdtemp(pair->folder));
  snprintf(pair->path, sizeof pair->path, "%s/session", pair->folder);
  pair->second = bench_fork();
  BENCH_CHECK(pair->second >= 0);
  if (pair->second == 0) be_second(pair);
  enter(&pair->first, pair->path, 0);
  open_rival(pair);
  return pair;
}

static void close_pair(void *state) {
  struct pair *pair = state;
  const struct tide_platform *platform = tide_platform_linux();
  kill(pair->second, SIGKILL);
  waitpid(pair->second, NULL, 0);
  tide_context_destroy(pair->first.context);
  shutdown(pair->ends[0], SHUT_RDWR);
  platform->join(platform->self, pair->thread);
  tide_context_destroy(pair->context);
  close(pair->ends[0]);
  close(pair->ends[1]);
  rmdir(pair->folder);
  free(pair);
}

/* ---- taking in a state --------------------------------------------------------------------- */

#define STATES 10000u /* of a round */

struct written {
  uint32_t size;
  unsigned char bytes[256];
};

struct receiver {
  struct tide_lease lease;
  struct tide_context *context;
  struct tide_cluster *session;
  struct tide_timeline *mirror;
  uint64_t reached;
  struct written *states;
};

static void send_nothing(void *self, uint32_t to, const void *bytes, size_t size) {
  (void)self, (void)to, (void)bytes, (void)size;
}
static void wake_nobody(void *self) { (void)self; }

static void *open_receiver(void) {
  static const char *const names[] = {"a", "b"};
  struct receiver *r = calloc(1, sizeof *r);
  BENCH_CHECK(r);
  r->states = calloc(STATES, sizeof *r->states);
  BENCH_CHECK(r->states);
  tide_lease_init(&r->lease, 1);
  OK(tide_context_create(TIDE_PARAMS(tide_context_params, .lease = &r->lease), &r->context));
  struct tide_cluster_setup setup = {.context = r->context,
                                     .count = 2,
                                     .tag = 1,
                                     .window = TIDE_CLUSTER_WINDOW,
                                     .transport = {.send = send_nothing, .wake = wake_nobody},
                                     .names = names};
  OK(tide_cluster_create(&setup, &r->session));
  OK(tide_cluster_follow(r->session, 1, "line", &r->mirror));
  return r;
}

static void close_receiver(void *state) {
  struct receiver *r = state;
  tide_context_destroy(r->context);
  free(r->states);
  free(r);
}

/* A state has the next value as reached, with a frontier of 4 entries. */
static void write_state(struct receiver *r, struct written *out) {
  static struct tide_message_writer writer;
  TIDE_FRONTIER_STORAGE(known, 4);
  uint64_t value = ++r->reached;
  tide_frontier_init(&known.frontier, 4);
  for (uint64_t axis = 1; axis <= 4; axis++)
    tide_frontier_insert_or_raise(&known.frontier, tide_axis_make(2, TIDE_DOMAIN_QUEUE, axis),
                                  value, NULL);
  struct tide_mirror_state state = {.reached = value, .fail_from = UINT64_MAX};
  state.newest = (struct tide_mirror_record){value, tide_axis_make(2, TIDE_DOMAIN_QUEUE, 1), value,
                                             &known.frontier};
  tide_message_state(&writer, 1, 1, 0, &state);
  BENCH_CHECK(tide_message_add_record(&writer, &state.newest) && writer.size <= sizeof out->bytes);
  out->size = (uint32_t)writer.size;
  memcpy(out->bytes, writer.bytes, writer.size);
}

/* Decoded, judged, joined; the tracker learns. */
static double take_states(void *state) {
  struct receiver *r = state;
  for (uint32_t i = 0; i < STATES; i++) write_state(r, &r->states[i]);
  uint64_t begin = bench_now();
  for (uint32_t i = 0; i < STATES; i++)
    tide_cluster_receive(r->session, 1, r->states[i].bytes, r->states[i].size);
  double took = (double)(bench_now() - begin) / STATES;
  BENCH_CHECK(tide_timeline_query(r->mirror) == r->reached);
  return took;
}

/* ---- memory over many signals ---------------------------------------------------------------- */

#define WARM 100000u      /* signals before the first look at the memory */
#define SIGNALS 10000000u /* between the two looks */

static uint64_t signals(void) { return bench_smoke() ? 20000 : SIGNALS; }
static uint64_t warm(void) { return bench_smoke() ? 2000 : WARM; }

/* Of one process. */
struct usage {
  int64_t live;     /* bytes that the context has allocated */
  int64_t resident; /* bytes of the process in memory, without those of files */
};

/* Mapped by both processes. */
struct flow {
  char folder[64], path[96];
  uint32_t looks;     /* atomic: of the follower */
  struct usage grown; /* the follower's memory between the two */
};

static int64_t live_bytes; /* atomic */

static void *allocate(void *self, size_t size, size_t align) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  void *memory = system->alloc(system->self, size, align);
  if (memory) __atomic_fetch_add(&live_bytes, (int64_t)size, __ATOMIC_RELAXED);
  return memory;
}
static void release(void *self, void *memory, size_t size) {
  const struct tide_allocator *system = tide_allocator_system();
  (void)self;
  if (memory) __atomic_fetch_sub(&live_bytes, (int64_t)size, __ATOMIC_RELAXED);
  system->free(system->self, memory, size);
}
static const struct tide_allocator counting = {.alloc = allocate, .free = release};

static struct usage look(void) {
  long resident = 0, files = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  BENCH_CHECK(file && fscanf(file, "%*d %ld %ld", &resident, &files) == 2);
  fclose(file);
  return (struct usage){__atomic_load_n(&live_bytes, __ATOMIC_RELAXED),
                        (resident - files) * sysconf(_SC_PAGESIZE)};
}
static struct usage grown_since(struct usage before) {
  struct usage now = look();
  return (struct usage){now.live - before.live, now.resident - before.resident};
}

static void meet(const struct flow *flow, uint32_t rank, struct tide_context **out_context,
                 struct tide_cluster **out_session) {
  struct tide_cluster_params params = {
      .struct_size = sizeof params, .path = flow->path, .rank = rank, .count = 2};
  OK(tide_context_create(TIDE_PARAMS(tide_context_params, .allocator = &counting), out_context));
  OK(tide_cluster_join(*out_context, &params, out_session, NULL));
}

static void await_looks(const struct flow *flow, uint32_t count) {
  while (__atomic_load_n(&flow->looks, __ATOMIC_ACQUIRE) < count) usleep(200);
}

static void be_follower(struct flow *flow) {
  struct tide_context *context;
  struct tide_cluster *session;
  struct tide_timeline *line;
  meet(flow, 1, &context, &session);
  OK(tide_cluster_follow(session, 0, "line", &line));
  OK(tide_timeline_wait(line, warm(), UINT64_MAX));
  struct usage before = look();
  __atomic_store_n(&flow->looks, 1u, __ATOMIC_RELEASE);
  OK(tide_timeline_wait(line, warm() + signals(), UINT64_MAX));
  flow->grown = grown_since(before);
  __atomic_store_n(&flow->looks, 2u, __ATOMIC_RELEASE);
  OK(tide_cluster_leave(session, tide_after_ms(context, 10000)));
  tide_context_destroy(context);
  _exit(0);
}

/* Operations signal the values up to `last`. */
static void signal_up_to(struct tide_queue *queue, struct tide_timeline *line, uint64_t last) {
  for (uint64_t value = tide_timeline_query(line) + 1; value <= last; value++) {
    struct tide_signal signal = {.timeline = line, .value = value};
    struct tide_operation operation = {.body = &nothing, .signals = &signal, .signal_count = 1};
    OK(tide_queue_submit_wait(queue, &operation, UINT64_MAX, NULL, NULL));
  }
  OK(tide_queue_drain(queue, UINT64_MAX));
}

static void be_home(struct flow *flow, double *out_values) {
  struct tide_context *context;
  struct tide_cluster *session;
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_timeline *line;
  meet(flow, 0, &context, &session);
  OK(tide_cpu_open(context, TIDE_PARAMS(tide_cpu_params, .workers = 1), &cpu));
  OK(tide_queue_create(cpu, NULL, &queue));
  OK(tide_timeline_create(context, TIDE_PARAMS(tide_timeline_params, .scope = TIDE_SCOPE_SYSTEM),
                          &line));
  OK(tide_cluster_publish(session, "line", line));
  signal_up_to(queue, line, warm());
  await_looks(flow, 1);
  struct usage before = look();
  uint64_t begin = bench_now();
  signal_up_to(queue, line, warm() + signals());
  await_looks(flow, 2);
  out_values[0] = (double)(bench_now() - begin) / (double)signals();
  struct usage grown = grown_since(before);
  const struct usage *both[] = {&grown, &flow->grown};
  for (unsigned i = 0; i < 2; i++) {
    out_values[1 + 2 * i] = (double)both[i]->live;
    out_values[2 + 2 * i] = (double)both[i]->resident / 1024;
  }
  OK(tide_cluster_leave(session, tide_after_ms(context, 10000)));
  tide_context_destroy(context);
}

static const char *measure_memory(const void *what, unsigned side, double *out_values) {
  struct flow *flow =
      mmap(NULL, sizeof *flow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  (void)what, (void)side;
  if (flow == MAP_FAILED) return "no memory";
  snprintf(flow->folder, sizeof flow->folder, "/tmp/tidemark-bench-XXXXXX");
  if (!mkdtemp(flow->folder)) return "no folder in /tmp";
  snprintf(flow->path, sizeof flow->path, "%s/session", flow->folder);
  pid_t follower = bench_fork();
  BENCH_CHECK(follower >= 0);
  if (follower == 0) be_follower(flow);
  be_home(flow, out_values);
  int status;
  BENCH_CHECK(waitpid(follower, &status, 0) == follower && status == 0);
  rmdir(flow->folder);
  munmap(flow, sizeof *flow);
  return NULL;
}

static uint32_t once(const void *what) {
  (void)what;
  return 1;
}

static const struct bench_contest memory = {.sides = {"ours"},
                                            .values = {{"a signal", "ns", BENCH_LESS},
                                                       {"home", "bytes", BENCH_LESS},
                                                       {"home RSS", "KiB", BENCH_LESS},
                                                       {"peer", "bytes", BENCH_LESS},
                                                       {"peer RSS", "KiB", BENCH_LESS}},
                                            .measure = measure_memory,
                                            .rounds = once};

const struct bench_figure bench_processes[] = {{.name = "hop",
                                                .unit = "us",
                                                .rival = "two threads, a socket, a submit each",
                                                .setup = open_pair,
                                                .measure_ours = hop_ours,
                                                .measure_theirs = hop_theirs,
                                                .teardown = close_pair},
                                               {.name = "state_of_4",
                                                .unit = "ns",
                                                .setup = open_receiver,
                                                .measure_ours = take_states,
                                                .teardown = close_receiver},
                                               {.name = "memory_of_10M", .contest = &memory},
                                               {0}};
