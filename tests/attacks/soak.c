/* Clients connect, work, misbehave and die, at random, for a while; beside them two honest ones.
 * At the end the service holds nothing, and every honest result was right.
 *
 *   attacks-soak [--minutes N] [--seed N]
 *
 * Without arguments, some seconds from one seed. The seed says who does what in which order; who
 * wins the races in between is the machine's. */
#include "attack_rig.h"

#include <stdlib.h>

enum { CLIENTS = 8, TOKENS = 64, OBJECTS = 24 };

static uint64_t soak_seed = 1, soak_seconds = 6;

/* Tokens that somebody gave, for anybody. Written without a lock: a torn one is a guessed one. */
static struct tide_token *pool;

struct actor {
  uint64_t seed;
  struct tide_session *s;
  struct tide_point objects[OBJECTS]; /* futures, compounds, channels, buffers, redeemed ones */
  struct tide_point points[OBJECTS];
  uint32_t waits[OBJECTS];
};

static uint32_t pick(struct actor *a, uint32_t below) {
  a->seed ^= a->seed << 13, a->seed ^= a->seed >> 7, a->seed ^= a->seed << 17;
  return (uint32_t)(a->seed >> 33) % below;
}

static void ignore(void *user, enum tide_status status) { (void)user, (void)status; }

static void submit(struct actor *a, struct tide_point channel) {
  struct tide_point waits[4], retires[2], cancel = a->points[pick(a, OBJECTS)];
  struct tide_session_argument arguments[] = {attack_range(a->objects[pick(a, OBJECTS)], 0, 1024),
                                              attack_range(a->objects[pick(a, OBJECTS)], 0, 1024)};
  struct tide_session_operation o = {.flags = pick(a, 4),
                                     .body = pick(a, 3) ? TIDE_SESSION_NOTHING : TIDE_SESSION_COPY,
                                     .arguments = arguments,
                                     .waits = waits,
                                     .wait_count = pick(a, 4),
                                     .retires = retires,
                                     .retire_count = pick(a, 3)};
  if (o.body == TIDE_SESSION_COPY) o.argument_count = 2;
  if (pick(a, 8) == 0) o.cancel = &cancel;
  for (size_t i = 0; i < o.wait_count; i++) waits[i] = a->points[pick(a, OBJECTS)];
  for (size_t i = 0; i < o.retire_count; i++) retires[i] = a->points[pick(a, OBJECTS)];
  (void)!tide_session_submit(a->s, channel, &o);
}

/* Makes something, in the place of something else. */
static void make(struct actor *a) {
  struct tide_point *to = &a->objects[pick(a, OBJECTS)];
  struct tide_token token = pool[pick(a, TOKENS)];
  if (to->domain && pick(a, 2)) (void)!tide_session_destroy(a->s, *to);
  switch (pick(a, 6)) {
    case 0: (void)!tide_session_create_future(a->s, NULL, to); break;
    case 1: (void)!tide_session_create_channel(a->s, NULL, to); break;
    case 2:
      (void)!tide_session_create_channel_future(a->s, a->objects[pick(a, OBJECTS)], NULL, to);
      break;
    case 3: (void)!tide_session_create_buffer(a->s, 1024 + pick(a, 9000), to); break;
    case 4: (void)!tide_session_promise_compound(a->s, 0, to); break;
    default:
      if (tide_session_redeem(a->s, &token, to) == TIDE_OK) to->value = 1 + pick(a, 4);
  }
}

static void act(struct actor *a) {
  struct tide_point object = a->objects[pick(a, OBJECTS)];
  struct tide_point *point = &a->points[pick(a, OBJECTS)], other = a->points[pick(a, OBJECTS)];
  struct tide_token token;
  uint64_t soon = tide_service_now() + pick(a, 30) * MS;
  switch (pick(a, 20)) {
    case 0:
    case 1: make(a); break;
    case 2:
    case 3: (void)!tide_session_promise(a->s, object, pick(a, 3) ? 0 : soon, point); break;
    case 4: *point = object; break;
    case 5: (void)!tide_session_fulfil(a->s, *point); break;
    case 6: (void)!tide_session_break(a->s, *point, TIDE_FAILED); break;
    case 7:
      if (tide_session_grant(a->s, object, pick(a, 2) ? TIDE_RIGHT_WRITE : 0, &token) == TIDE_OK)
        pool[pick(a, TOKENS)] = token;
      break;
    case 8:
    case 9:
    case 10: submit(a, object); break;
    case 11: (void)!tide_session_all(a->s, object, a->points, pick(a, 5)); break;
    case 12: (void)!tide_session_any(a->s, object, a->points, pick(a, 5)); break;
    case 13:
      (void)!tide_session_when_complete(a->s, other, ignore, NULL, &a->waits[pick(a, OBJECTS)]);
      break;
    case 14: (void)!tide_session_when_schedulable(a->s, other, point, 1, ignore, NULL, NULL); break;
    case 15: tide_session_forget(a->s, a->waits[pick(a, OBJECTS)]); break;
    case 16:
      (void)!tide_session_increase_priority_until(a->s, object, other, (uint8_t)pick(a, 256));
      break;
    case 17: (void)!tide_session_decrease_priority_until(a->s, object, other, 3, point); break;
    case 18: (void)!tide_session_wait(a->s, other, soon); break;
    default: (void)!tide_session_dispatch(a->s, TIDE_NOW);
  }
}

/* Works by the library, and ends in its own way: it closes, or it just goes. */
static void worker(const struct rig *r, struct actor *a) {
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = r->path, .label = "worker"};
  if (tide_session_connect(&params, &a->s, NULL) != TIDE_OK) return;
  uint32_t steps = pick(a, 4000);
  for (uint32_t i = 0; i < steps && tide_session_status(a->s) == TIDE_OK; i++) act(a);
  if (pick(a, 2)) tide_session_close(a->s);
}

/* Writes records that are right in their form, and then bytes that are not. */
static void vandal(const struct rig *r, struct actor *a) {
  struct raw c;
  bool asleep;
  if (!raw_try(&c, r)) return;
  uint32_t steps = pick(a, 3000);
  for (uint32_t i = 0; i < steps; i++) {
    struct tide_wire_record record = raw_command((enum tide_wire_op)(1 + pick(a, TIDE_WIRE_OPS)),
                                                 pick(a, 20), 1 + pick(a, 3), pick(a, 5));
    record.command.number = pick(a, 20);
    record.command.answer = pick(a, 3);
    record.command.body = (uint8_t)pick(a, 12);
    record.command.other = (struct tide_wire_name){pick(a, 20), 1};
    for (uint32_t n = pick(a, 4); n > 0; n--) raw_add_point(&record, pick(a, 20), 1, pick(a, 4));
    if (tide_ring_write(&c.ring, &record, &asleep) != TIDE_OK || asleep) raw_ring_bell(&c);
  }
  unsigned char *bytes = c.ring_memory.memory;
  for (uint32_t i = pick(a, 200); i > 0; i--)
    bytes[pick(a, (uint32_t)tide_ring_bytes(c.ring.size))] = (unsigned char)pick(a, 256);
  raw_ring_bell(&c);
  if (pick(a, 2)) usleep(pick(a, 20000));
}

/* Comes to the door and goes, or stays in it. */
static void visitor(const struct rig *r, struct actor *a) {
  char bytes[64] = {0};
  for (uint32_t i = pick(a, 30); i > 0; i--) {
    int socket = tide_socket_connect(r->path, TIDE_FOREVER);
    if (socket < 0) continue;
    if (pick(a, 2)) (void)!send(socket, bytes, pick(a, sizeof bytes), MSG_NOSIGNAL);
    if (pick(a, 4) == 0) usleep(pick(a, 20000));
    close(socket);
  }
}

static pid_t start(const struct rig *r, struct actor *a) {
  uint64_t seed = ((uint64_t)pick(a, UINT32_MAX) << 20) + 1;
  uint32_t kind = pick(a, 8);
  fflush(NULL);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid) return pid;
  struct actor *own = calloc(1, sizeof *own);
  if (!own) _exit(1);
  own->seed = seed;
  if (kind < 5) worker(r, own);
  else if (kind < 7) vandal(r, own);
  else visitor(r, own);
  _exit(0);
}

/* One dies, or ends; another comes in its place. */
static void change(const struct rig *r, struct actor *a, pid_t *pid) {
  int status;
  if (!*pid) {
    *pid = start(r, a);
    return;
  }
  uint32_t how = pick(a, 10);
  if (how == 0) kill(*pid, SIGSTOP);
  if (how < 4) kill(*pid, SIGKILL);
  pid_t gone = waitpid(*pid, &status, how < 4 ? 0 : WNOHANG);
  if (gone != *pid) return;
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
    FAIL("a client was killed by signal %d", WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status)) FAIL("a client failed");
  *pid = 0;
}

static void soak(void) {
  struct rig r;
  struct victim honest[2];
  pid_t pids[CLIENTS] = {0};
  struct actor a = {.seed = soak_seed * 0x9e3779b97f4a7c15ull + 1};
  pool = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(pool != MAP_FAILED);
  rig_at_end = left_of_clients;
  rig_open(&r, "default speaks 7\ntrust 7\n");
  struct holds before = attack_nobody(&r);
  for (int i = 0; i < 2; i++) victim_start(&honest[i], &r);
  uint64_t until = tide_service_now() + soak_seconds * 1000 * MS, rounds = 0;
  for (uint64_t n = 0; tide_service_now() < until; n++) {
    change(&r, &a, &pids[pick(&a, CLIENTS)]);
    if (n % 64 == 0) victim_goes_on(&honest[n / 64 % 2]);
    usleep(500);
  }
  for (int i = 0; i < CLIENTS; i++) {
    if (!pids[i]) continue;
    kill(pids[i], SIGKILL);
    waitpid(pids[i], NULL, 0);
  }
  for (int i = 0; i < 2; i++) {
    victim_goes_on(&honest[i]);
    rounds += victim_rounds(&honest[i]);
    victim_end(&honest[i]);
  }
  attack_settle(&r, before);
  printf("seed %lu: %lu honest rounds\n", (unsigned long)soak_seed, (unsigned long)rounds);
  rig_close(&r);
  munmap(pool, 4096);
}

int main(int argc, char **argv) {
  char *rest[16];
  int count = 0;
  for (int i = 0; i < argc && count < 16; i++) {
    bool more = i + 1 < argc;
    if (more && strcmp(argv[i], "--minutes") == 0)
      soak_seconds = strtoull(argv[++i], NULL, 10) * 60;
    else if (more && strcmp(argv[i], "--seed") == 0) soak_seed = strtoull(argv[++i], NULL, 10);
    else rest[count++] = argv[i];
  }
  struct test_case cases[] = {{"clients_come_and_go", soak, NULL, (unsigned)soak_seconds + 100}};
  return test_main(count, rest, cases, 1);
}
