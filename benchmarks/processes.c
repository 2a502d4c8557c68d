/* Sessions between processes: from an operation of one process to an operation of the other, and
 * what it costs to take in a state. */
#include "bench.h"

#include "causal/context_state.h"
#include "cluster/cluster_state.h"
#include "tidemark/tidemark.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
  tide_message_state(&writer, 1, 1, &state);
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
                                               {0}};
