/* Sync points between processes: what a wake-up costs against the kernel's own, what a query costs
 * against a load, and how an unrelated client fares beside attacks of growing size. The service,
 * and whoever else there is, are processes of their own. */
#include "bench.h"

#include "shared_library.h"

#include "service/command_ring.h"
#include "service/socket.h"
#include "service/system.h"
#include "tidemark/service.h"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call) BENCH_CHECK((call) == TIDE_OK)

/* ---- a service ---------------------------------------------------------------- */

struct house {
  char folder[64], path[96];
  pid_t server;
};

static struct tide_service *serving;
static void stop(int number) {
  (void)number;
  tide_service_stop(serving);
}

static void serve(const struct house *house, const char *policy) {
  struct tide_service_params params = {.struct_size = sizeof params,
                                       .socket = house->path,
                                       .policy = policy,
                                       .policy_length = policy ? strlen(policy) : 0,
                                       .workers = 1};
  OK(tide_service_create(&params, &serving, NULL));
  signal(SIGTERM, stop);
  OK(tide_service_run(serving));
  tide_service_destroy(serving);
  _exit(0);
}

static void house_open(struct house *house, const char *policy) {
  snprintf(house->folder, sizeof house->folder, "/tmp/tidemark-bench-XXXXXX");
  BENCH_CHECK(mkdtemp(house->folder) != NULL);
  snprintf(house->path, sizeof house->path, "%s/socket", house->folder);
  house->server = bench_fork();
  BENCH_CHECK(house->server >= 0);
  if (house->server == 0) serve(house, policy);
}

static void house_close(struct house *house) {
  kill(house->server, SIGTERM);
  waitpid(house->server, NULL, 0);
  rmdir(house->folder);
}

static struct tide_session *enter(const struct house *house) {
  struct tide_session_params params = {.struct_size = sizeof params, .socket = house->path};
  struct tide_session *session = NULL;
  for (int i = 0; i < 5000; i++) {
    if (tide_session_connect(&params, &session, NULL) == TIDE_OK) return session;
    usleep(1000);
  }
  bench_wrong("nobody serves");
}

static uint64_t later(void) { return tide_service_now() + 9000000000ull; }

static struct tide_point promise(struct tide_session *s, struct tide_point timeline) {
  struct tide_point point;
  OK(tide_session_promise(s, timeline, later(), &point));
  return point;
}

/* ---- from one process to another, and back ---------------------------------------- */

enum { PINGS = 2000 };

struct shared {
  uint32_t word[2];
  struct tide_token token[2];
  uint32_t ready;
};

static void rest_until(const uint32_t *word, uint32_t value) {
  for (;;) {
    uint32_t seen = tide_load_acquire(word);
    if (seen == value) return;
    syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
  }
}
static void set(uint32_t *word, uint32_t value) {
  tide_store_ordered(word, value);
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_player(struct shared *shared, unsigned me, uint32_t pings) {
  for (uint32_t i = 1; i <= pings; i++) {
    if (me == 1) rest_until(&shared->word[0], i);
    set(&shared->word[me], i);
    if (me == 0) rest_until(&shared->word[1], i);
  }
}

static void socket_player(int fd, unsigned me, uint32_t pings) {
  uint64_t message = 0;
  for (uint32_t i = 1; i <= pings; i++) {
    if (me == 1) BENCH_CHECK(recv(fd, &message, sizeof message, 0) == sizeof message);
    BENCH_CHECK(send(fd, &message, sizeof message, 0) == sizeof message);
    if (me == 0) BENCH_CHECK(recv(fd, &message, sizeof message, 0) == sizeof message);
  }
}

struct player {
  struct tide_session *s;
  struct tide_point own, next, theirs;
};
/* The first value is promised before the other player hears of the timeline, and each later one
 * before the value below it is kept: each awaited value is promised. */
static void player_open(struct player *p, const struct house *house, struct shared *shared,
                        unsigned me) {
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 64};
  p->s = enter(house);
  OK(tide_session_create_future(p->s, &params, &p->own));
  p->next = promise(p->s, p->own);
  OK(tide_session_grant(p->s, p->own, TIDE_RIGHT_WAIT, &shared->token[me]));
  tide_fetch_add(&shared->ready, 1u);
  while (tide_load_acquire(&shared->ready) < 2) usleep(100);
  OK(tide_session_redeem(p->s, &shared->token[!me], &p->theirs));
}
static void point_player(struct player *p, unsigned me, uint32_t pings) {
  for (uint32_t i = 1; i <= pings; i++) {
    struct tide_point mine = p->next;
    p->next = promise(p->s, p->own);
    p->theirs.value = i;
    if (me == 1) OK(tide_session_wait(p->s, p->theirs, later()));
    OK(tide_session_fulfil(p->s, mine));
    if (me == 0) OK(tide_session_wait(p->s, p->theirs, later()));
  }
}

static const char *measure_ping(const void *what, unsigned side, double *out_values) {
  (void)what;
  uint32_t pings = bench_smoke() ? 50 : PINGS;
  struct house house;
  struct player players[2];
  int pair[2];
  struct shared *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BENCH_CHECK(shared != MAP_FAILED && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
  if (side == 0) house_open(&house, NULL);
  pid_t other = bench_fork();
  BENCH_CHECK(other >= 0);
  unsigned me = other == 0;
  if (side == 0) player_open(&players[me], &house, shared, me);
  uint64_t begin = bench_now();
  if (side == 0) point_player(&players[me], me, pings);
  if (side == 1) futex_player(shared, me, pings);
  if (side == 2) socket_player(pair[me], me, pings);
  out_values[0] = (double)(bench_now() - begin) / pings / 1000;
  /* What is still in the ring of one that goes is lost. */
  if (me == 1 && side == 0) OK(tide_session_sync(players[1].s, later()));
  if (me == 1) _exit(0);
  waitpid(other, NULL, 0);
  if (side == 0) {
    tide_session_close(players[0].s);
    house_close(&house);
  }
  close(pair[0]);
  close(pair[1]);
  munmap(shared, sizeof *shared);
  return NULL;
}

static const struct bench_contest ping = {
    .sides = {"points, by the service", "bare futex", "bare SEQPACKET"},
    .values = {{"there and back", "us", BENCH_LESS}},
    .measure = measure_ping};

/* ---- asking ----------------------------------------------------------------------- */

struct asking {
  struct house house;
  struct tide_session *s;
  struct tide_point point;
  struct tide_shared_point place;
  uint64_t *word;
  uint64_t (*value)(const struct tide_shared *, uint32_t);
  enum tide_status (*look)(const struct tide_shared *, uint32_t, uint32_t, uint64_t);
  uint64_t (*load)(const uint64_t *);
};
static void *asking_make(void) {
  struct asking *a = calloc(1, sizeof *a);
  struct tide_point timeline;
  BENCH_CHECK(a != NULL);
  house_open(&a->house, NULL);
  a->s = enter(&a->house);
  OK(tide_session_create_future(a->s, NULL, &timeline));
  a->point = promise(a->s, timeline);
  OK(tide_session_fulfil(a->s, a->point));
  OK(tide_session_wait(a->s, a->point, later()));
  OK(tide_session_view(a->s, a->point, &a->place));
  a->word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BENCH_CHECK(a->word != MAP_FAILED);
  void *ours = library_open("libtidemark.so"), *theirs = library_open("libbench-rival.so");
  *(void **)&a->value = library_find(ours, "tide_shared_value");
  *(void **)&a->look = library_find(ours, "tide_shared_look");
  *(void **)&a->load = library_find(theirs, "rival_load");
  return a;
}
static void asking_drop(void *state) {
  struct asking *a = state;
  tide_session_close(a->s);
  house_close(&a->house);
  munmap(a->word, 4096);
  free(a);
}
static void ask_ours(void *state, uint64_t count) {
  struct asking *a = state;
  for (uint64_t i = 0; i < count; i++) OK(tide_session_query(a->s, a->point));
}
/* Through the view; both sides are calls into a library. */
static void ask_value(void *state, uint64_t count) {
  const struct asking *a = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(a->value(a->place.shared, a->place.slot));
}
static void ask_good(void *state, uint64_t count) {
  const struct asking *a = state;
  const struct tide_shared_point *p = &a->place;
  for (uint64_t i = 0; i < count; i++) OK(a->look(p->shared, p->slot, p->generation, p->value));
}
static void ask_far_load(void *state, uint64_t count) {
  const struct asking *a = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(a->load(a->word));
}
static void ask_load(void *state, uint64_t count) {
  struct asking *a = state;
  for (uint64_t i = 0; i < count; i++) bench_keep(tide_load_acquire(a->word));
}

/* ---- beside an attack --------------------------------------------------------------- */

#define LARGE                                                                                      \
  "default handles 4096 timelines 2048 promises 65536 waits 65536 parts 65536 operations 65536 "   \
  "cells 65536"

static int by_number(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Microseconds from a promise to its being seen kept by the service, the median of many. It rests
 * before each for so many. */
static double victim_delay(struct tide_session *victim, struct tide_point timeline, int rounds,
                           unsigned rest) {
  double took[101];
  for (int i = 0; i < rounds; i++) {
    if (rest) usleep(rest);
    uint64_t begin = bench_now();
    struct tide_point point = promise(victim, timeline);
    OK(tide_session_fulfil(victim, point));
    OK(tide_session_wait(victim, point, later()));
    took[i] = (double)(bench_now() - begin) / 1000;
  }
  qsort(took, (size_t)rounds, sizeof *took, by_number);
  return took[rounds / 2];
}

struct attacker {
  struct tide_session *s;
  struct tide_point hosts, channel, line, gate, last;
  uint32_t size;
  int calls;
};
static void count_call(void *user, enum tide_status status) {
  (void)status;
  ++*(int *)user;
}
static void queue(struct attacker *a, const struct tide_point *wait,
                  const struct tide_point *retire, struct tide_point channel) {
  struct tide_session_operation o = {
      .waits = wait, .wait_count = wait != NULL, .retires = retire, .retire_count = retire != NULL};
  OK(tide_session_submit(a->s, channel, &o));
}

static void build_lattice(struct attacker *a) {
  struct tide_point below[2], layer[2];
  below[0] = below[1] = a->gate;
  for (uint32_t n = 0; n < a->size; n++) {
    for (int i = 0; i < 2; i++) {
      OK(tide_session_promise_compound(a->s, later(), &layer[i]));
      OK(tide_session_all(a->s, layer[i], below, 2));
    }
    memcpy(below, layer, sizeof below);
    OK(tide_session_when_schedulable(a->s, layer[0], &a->gate, 1, count_call, &a->calls, NULL));
  }
  a->last = layer[1];
}
/* Between two channels. */
static void build_chain(struct attacker *a) {
  struct tide_session_channel_params params = {.struct_size = sizeof params, .operations = 65536};
  struct tide_future_params future = {.struct_size = sizeof future, .capacity = 32000};
  struct tide_point channel[2] = {a->channel}, line[2] = {a->line};
  OK(tide_session_create_channel(a->s, &params, &channel[1]));
  OK(tide_session_create_channel_future(a->s, channel[1], &future, &line[1]));
  a->last = a->gate;
  for (uint32_t i = 0; i < a->size; i++) {
    struct tide_point next = promise(a->s, line[i & 1]);
    queue(a, &a->last, &next, channel[i & 1]);
    a->last = next;
  }
}
static void build_crowd(struct attacker *a) {
  for (uint32_t i = 0; i < a->size; i++)
    OK(tide_session_when_complete(a->s, a->gate, count_call, &a->calls, NULL));
  a->last = promise(a->s, a->line);
  queue(a, &a->gate, &a->last, a->channel);
}
static void build_blocked(struct attacker *a) {
  queue(a, &a->gate, NULL, a->channel);
  for (uint32_t i = 1; i < a->size; i++) queue(a, NULL, NULL, a->channel);
  a->last = promise(a->s, a->line);
  queue(a, NULL, &a->last, a->channel);
}

struct attack {
  uint32_t most;
  void (*build)(struct attacker *a);
};

/* One size: the victim's delay beside it, and what it takes to release it all. */
static void measure_size(const struct house *house, const struct attack *attack, uint32_t size,
                         double *out_delay, double *out_release) {
  struct tide_session_channel_params params = {.struct_size = sizeof params, .operations = 65536};
  struct tide_future_params future = {.struct_size = sizeof future, .capacity = 32000};
  struct attacker a = {.s = enter(house), .size = size};
  struct tide_session *victim = enter(house);
  struct tide_point timeline;
  OK(tide_session_create_future(victim, NULL, &timeline));
  OK(tide_session_create_future(a.s, NULL, &a.hosts));
  OK(tide_session_create_channel(a.s, &params, &a.channel));
  OK(tide_session_create_channel_future(a.s, a.channel, &future, &a.line));
  a.gate = promise(a.s, a.hosts);
  attack->build(&a);
  OK(tide_session_sync(a.s, later()));
  BENCH_CHECK(tide_session_refusals(a.s) == 0);
  BENCH_CHECK(tide_session_query(a.s, a.last) == TIDE_TIMEOUT);
  *out_delay = victim_delay(victim, timeline, 101, 0);
  uint64_t begin = bench_now();
  OK(tide_session_fulfil(a.s, a.gate));
  OK(tide_session_wait(a.s, a.last, later()));
  *out_release = (double)(bench_now() - begin);
  tide_session_close(victim);
  tide_session_close(a.s);
}

/* The exponent e of y ~ x^e, by least squares. */
static double exponent(const double *x, const double *y, int count) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int i = 0; i < count; i++) {
    double lx = log(x[i]), ly = log(y[i]);
    sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
  }
  return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

static const char *measure_attack(const void *what, unsigned side, double *out_values) {
  enum { SIZES = 4 };
  const struct attack *attack = what;
  double sizes[SIZES], delays[SIZES], releases[SIZES];
  struct house house;
  (void)side;
  house_open(&house, LARGE);
  for (int i = 0; i < SIZES; i++) {
    uint32_t size = attack->most >> (attack->most > 1000 ? 2 * (SIZES - 1 - i) : 0);
    if (attack->most <= 1000) size = attack->most * (uint32_t)(i + 1) / SIZES;
    if (bench_smoke()) size = (uint32_t)(i + 2);
    sizes[i] = size;
    measure_size(&house, attack, size, &delays[i], &releases[i]);
  }
  house_close(&house);
  for (int i = 0; i < 3; i++) out_values[i] = delays[i == 0 ? 0 : i + 1];
  out_values[3] = exponent(sizes, delays, SIZES);
  out_values[4] = releases[SIZES - 1] / sizes[SIZES - 1];
  out_values[5] = exponent(sizes, releases, SIZES);
  return NULL;
}

#define BESIDE(attack, of, smallest, larger, largest)                                              \
  static const struct bench_contest beside_##attack = {                                            \
      .sides = {of},                                                                               \
      .values = {{smallest, "us", BENCH_LESS},                                                     \
                 {larger, "us", BENCH_LESS},                                                       \
                 {largest, "us", BENCH_LESS},                                                      \
                 {"delay ~ n^", "-", BENCH_LESS},                                                  \
                 {"release each", "ns", BENCH_LESS},                                               \
                 {"release ~ n^", "-", BENCH_LESS}},                                               \
      .measure = measure_attack,                                                                   \
      .what = &attack}
static const struct attack lattice = {26, build_lattice};
static const struct attack chain = {30000, build_chain};
static const struct attack crowd = {32000, build_crowd};
static const struct attack blocked = {64000, build_blocked};
BESIDE(lattice, "lattice of n layers", "n=6", "n=19", "n=26");
BESIDE(chain, "chain of n waits", "n=468", "n=7500", "n=30000");
BESIDE(crowd, "n waits for one point", "n=500", "n=8000", "n=32000");
BESIDE(blocked, "n commands held up", "n=1000", "n=16000", "n=64000");

/* ---- 1000 clients, 100 of them hostile ------------------------------------------------ */

struct plain_client {
  int socket, bell;
  struct tide_mapping memory;
  struct tide_ring ring;
  uint64_t value;
};

static void plain_connect(struct plain_client *c, const struct house *house, const char *label) {
  struct tide_wire_message hello, welcome;
  int fds[TIDE_DESCRIPTORS_MOST];
  for (int i = 0; (c->socket = tide_socket_connect(house->path, TIDE_FOREVER)) < 0 && i < 5000; i++)
    usleep(1000);
  BENCH_CHECK(c->socket >= 0);
  tide_wire_begin(&hello, TIDE_WIRE_HELLO);
  snprintf(hello.label, sizeof hello.label, "%s", label);
  OK(tide_message_send(c->socket, &hello, NULL, 0));
  struct pollfd one = {.fd = c->socket, .events = POLLIN};
  BENCH_CHECK(poll(&one, 1, 20000) == 1);
  OK(tide_message_receive(c->socket, &welcome, fds, TIDE_DESCRIPTORS_MOST));
  BENCH_CHECK(welcome.kind == TIDE_WIRE_WELCOME);
  OK(tide_mapping_open(&c->memory, fds[0], tide_ring_bytes(welcome.limits.cells), false));
  close(fds[1]);
  c->bell = fds[2];
  c->ring = (struct tide_ring){c->memory.memory, welcome.limits.cells, 0};
}

static bool plain_push(struct plain_client *c, enum tide_wire_op op, uint32_t handle,
                       uint64_t value) {
  struct tide_wire_record record; /* of which only the command is used */
  uint64_t one = 1;
  /* The feeders are stopped somewhere: what was promised and not kept then is nobody's fault. */
  record.command = (struct tide_wire_command){
      .op = (uint16_t)op, .object = {handle, 1}, .value = value, .deadline = TIDE_FOREVER};
  bool asleep;
  if (tide_ring_write(&c->ring, &record, &asleep) != TIDE_OK) return false;
  if (asleep) (void)!write(c->bell, &one, sizeof one);
  return true;
}

/* The hostile ones either ask for what they have no name for, or, as the honest ones do, promise
 * and keep; both without an end, and from a process that has few of them to look after. */
enum kind { HONEST, REFUSED, VALID, KINDS };
static const char *const kind_labels[KINDS] = {"honest", "refused", "valid"};

static void work(struct plain_client *c, enum kind kind) {
  for (;;) {
    if (kind == REFUSED) {
      if (!plain_push(c, TIDE_WIRE_BREAK, 900, 1)) return;
      continue;
    }
    if (!c->value) (void)plain_push(c, TIDE_WIRE_FUTURE, 1, 0);
    /* Both, or neither. */
    if (c->ring.count - tide_load_acquire(&c->ring.shared->read) + 3 > c->ring.size) return;
    c->value++;
    (void)plain_push(c, TIDE_WIRE_PROMISE, 1, c->value);
    (void)plain_push(c, TIDE_WIRE_FULFIL, 1, c->value);
  }
}

/* It begins when all have connected. */
static pid_t feed(const struct house *house, uint32_t count, enum kind kind, int ready, int go) {
  pid_t pid = bench_fork();
  BENCH_CHECK(pid >= 0);
  if (pid) return pid;
  struct plain_client *clients = calloc(count, sizeof *clients);
  BENCH_CHECK(clients != NULL);
  for (uint32_t i = 0; i < count; i++) plain_connect(&clients[i], house, kind_labels[kind]);
  char word;
  BENCH_CHECK(write(ready, "r", 1) == 1 && read(go, &word, 1) == 1);
  for (;;)
    for (uint32_t i = 0; i < count; i++) work(&clients[i], kind);
}

/* What each kind had of the service; no honest one was refused anything. */
static void count_kinds(struct tide_session *admin, double spent[KINDS], double rounds[KINDS]) {
  struct tide_session_client_stats stats;
  for (uint32_t i = 0; tide_session_client_stats(admin, i, &stats) == TIDE_OK; i++) {
    for (int kind = 0; kind < KINDS; kind++) {
      if (strcmp(stats.label, kind_labels[kind]) != 0) continue;
      spent[kind] += (double)stats.spent;
      rounds[kind] += (double)stats.rounds;
      if (kind == HONEST) BENCH_CHECK(stats.refused == 0 && stats.paced == 0 && stats.kept);
    }
  }
}

static const char *measure_crowd(const void *what, unsigned side, double *out_values) {
  enum { FEEDERS = 4 };
  uint32_t all = bench_smoke() ? 40 : 1000, hostile = all / 10;
  struct rlimit limit;
  struct house house;
  int ready[2], go[2];
  char word[FEEDERS];
  (void)what, (void)side;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 6000)
    return "too few descriptors for 1000 clients";
  BENCH_CHECK(pipe(ready) == 0 && pipe(go) == 0);
  house_open(&house, "clients 1100\ndefault connections 1100 timelines 16 parts 16 handles 64");
  struct tide_session *victim = enter(&house), *admin = enter(&house);
  struct tide_point timeline;
  OK(tide_session_create_future(victim, NULL, &timeline));
  pid_t feeders[FEEDERS] = {feed(&house, (all - hostile) / 2, HONEST, ready[1], go[0]),
                            feed(&house, (all - hostile) / 2, HONEST, ready[1], go[0]),
                            feed(&house, hostile / 2, REFUSED, ready[1], go[0]),
                            feed(&house, hostile / 2, VALID, ready[1], go[0])};
  for (int got = 0; got < FEEDERS;) {
    ssize_t now = read(ready[0], word, sizeof word);
    BENCH_CHECK(now > 0);
    got += (int)now;
  }
  BENCH_CHECK(write(go[1], word, FEEDERS) == FEEDERS);
  usleep(bench_smoke() ? 20000 : 2000000);
  out_values[6] = victim_delay(victim, timeline, 11, bench_smoke() ? 0 : 100000);
  for (int i = 0; i < FEEDERS; i++) kill(feeders[i], SIGSTOP);
  double spent[KINDS] = {0}, rounds[KINDS] = {0}, times = 0, looks = 0;
  count_kinds(admin, spent, rounds);
  for (int kind = 0; kind < KINDS; kind++) times += spent[kind], looks += rounds[kind];
  out_values[0] = 100 * (times - spent[HONEST]) / times;
  out_values[1] = 100 * (looks - rounds[HONEST]) / looks;
  out_values[2] = 100 * spent[REFUSED] / times;
  out_values[3] = 100 * rounds[REFUSED] / looks;
  out_values[4] = 100 * spent[VALID] / times;
  out_values[5] = 100 * rounds[VALID] / looks;
  for (int i = 0; i < FEEDERS; i++) {
    kill(feeders[i], SIGKILL);
    waitpid(feeders[i], NULL, 0);
  }
  tide_session_close(admin);
  tide_session_close(victim);
  house_close(&house);
  for (int i = 0; i < 2; i++) {
    close(ready[i]);
    close(go[i]);
  }
  return NULL;
}

static const struct bench_contest thousand = {.sides = {"100 hostile of 1000"},
                                              .values = {{"their time", "%", BENCH_LESS},
                                                         {"their rounds", "%", BENCH_LESS},
                                                         {"time of refused", "%", BENCH_LESS},
                                                         {"rounds of refused", "%", BENCH_LESS},
                                                         {"time of valid", "%", BENCH_LESS},
                                                         {"rounds of valid", "%", BENCH_LESS},
                                                         {"an idle one waits", "us", BENCH_LESS}},
                                              .measure = measure_crowd};

/* ---- one wake-up for a hundred ------------------------------------------------------------- */

/* How often the waiter is woken while the hundred parts of an ALL are kept, one after the other. */
static double wakes_of_all(void *state) {
  struct asking *a = state;
  struct tide_point timeline, parts[100], half[2], all;
  struct tide_future_params params = {.struct_size = sizeof params, .capacity = 128};
  struct rusage before, after;
  OK(tide_session_create_future(a->s, &params, &timeline));
  for (int i = 0; i < 100; i++) parts[i] = promise(a->s, timeline);
  for (int i = 0; i < 2; i++) {
    OK(tide_session_promise_compound(a->s, later(), &half[i]));
    OK(tide_session_all(a->s, half[i], parts + 50 * i, 50));
  }
  OK(tide_session_promise_compound(a->s, later(), &all));
  OK(tide_session_all(a->s, all, half, 2));
  OK(tide_session_sync(a->s, later()));
  for (int i = 0; i < 100; i++) OK(tide_session_fulfil(a->s, parts[i]));
  getrusage(RUSAGE_SELF, &before);
  OK(tide_session_wait(a->s, all, later()));
  getrusage(RUSAGE_SELF, &after);
  for (int i = 0; i < 2; i++) OK(tide_session_destroy(a->s, half[i]));
  OK(tide_session_destroy(a->s, all));
  OK(tide_session_destroy(a->s, timeline));
  OK(tide_session_sync(a->s, later()));
  return (double)(after.ru_nvcsw - before.ru_nvcsw);
}

const struct bench_figure bench_service[] = {
    {.name = "there_and_back", .contest = &ping},
    {.name = "query",
     .rival = "atomic load",
     .setup = asking_make,
     .ours = ask_ours,
     .theirs = ask_load,
     .teardown = asking_drop},
    {.name = "query_value_by_view",
     .rival = "out-of-line load",
     .setup = asking_make,
     .ours = ask_value,
     .theirs = ask_far_load,
     .teardown = asking_drop},
    {.name = "query_good_by_view",
     .rival = "out-of-line load",
     .setup = asking_make,
     .ours = ask_good,
     .theirs = ask_far_load,
     .teardown = asking_drop},
    {.name = "wakes_all_of_100",
     .unit = "wake-ups",
     .setup = asking_make,
     .measure_ours = wakes_of_all,
     .teardown = asking_drop},
    {.name = "beside_lattice", .contest = &beside_lattice, .rounds = 5},
    {.name = "beside_chain", .contest = &beside_chain, .rounds = 3},
    {.name = "beside_crowd", .contest = &beside_crowd, .rounds = 3},
    {.name = "beside_blocked", .contest = &beside_blocked, .rounds = 3},
    {.name = "thousand_clients", .contest = &thousand, .rounds = 3},
    {0}};
