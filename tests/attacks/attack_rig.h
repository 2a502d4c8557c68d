/* What attacks share: an honest client that works meanwhile in a process of its own, and a look at
 * what the service holds, which must be what it was before. */
#ifndef TESTS_ATTACK_RIG_H
#define TESTS_ATTACK_RIG_H

#include "attacks/left.h"
#include "unit/service_raw.h"

#include <dirent.h>

/* ---- what the service holds ---- */

struct holds {
  unsigned descriptors, mappings, threads; /* of shared memory of its own */
  uint64_t resident;                       /* bytes */
};

__attribute__((unused)) static unsigned attack_entries(pid_t pid, const char *folder) {
  char path[64];
  unsigned count = 0;
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, folder);
  DIR *dir = opendir(path);
  CHECK(dir != NULL);
  for (const struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

__attribute__((unused)) static struct holds attack_look(const struct rig *r) {
  struct holds holds = {.descriptors = attack_entries(r->server, "fd"),
                        .threads = attack_entries(r->server, "task")};
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)r->server);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file)) holds.mappings += strstr(line, "memfd:tidemark") != NULL;
  fclose(file);
  unsigned long all = 0, resident = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)r->server);
  file = fopen(path, "r");
  CHECK(file != NULL && fscanf(file, "%lu %lu", &all, &resident) == 2);
  fclose(file);
  holds.resident = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
  return holds;
}

/* Nanoseconds of processor time that the service has used. */
__attribute__((unused)) static uint64_t attack_cpu(const struct rig *r) {
  char path[64], text[1024];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)r->server);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
  fclose(file);
  const char *after = strrchr(text, ')');
  CHECK(after != NULL && sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                &user, &system) == 2);
  return (user + system) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Descriptors, shared memory and threads are back where they were: what was queued by those who are
 * gone may still have ended a little later. */
__attribute__((unused)) static void attack_settle(const struct rig *r, struct holds before) {
  struct holds now = attack_look(r);
  for (int i = 0; i < 1000 && (now.descriptors > before.descriptors ||
                               now.mappings > before.mappings || now.threads > before.threads);
       i++) {
    usleep(10000 * test_slowdown());
    now = attack_look(r);
  }
  CHECK_EQ_U64(now.descriptors, before.descriptors);
  CHECK_EQ_U64(now.mappings, before.mappings);
  CHECK_EQ_U64(now.threads, before.threads);
}

/* What it holds when nobody is there. */
__attribute__((unused)) static struct holds attack_nobody(const struct rig *r) {
  tide_session_close(rig_connect(r, "first"));
  struct holds now = attack_look(r);
  while (now.mappings) {
    usleep(10000);
    now = attack_look(r);
  }
  usleep(10000);
  return attack_look(r);
}

/* ---- the victim ---- */

struct victim {
  struct rig_child child;
  struct tide_session *s;
  struct tide_point hosts, channel, line, buffer;
  uint64_t rounds, handed;
};

static struct tide_session_argument attack_range(struct tide_point buffer, uint64_t offset,
                                                 uint64_t size) {
  return (struct tide_session_argument){.buffer = buffer, .offset = offset, .size = size};
}
static struct tide_session_argument attack_number(uint64_t value) {
  return (struct tide_session_argument){.offset = value};
}

__attribute__((unused)) static void victim_prepare(struct victim *v, const struct rig *r,
                                                   const char *label) {
  v->rounds = 0;
  v->s = rig_connect(r, label);
  CHECK_OK(tide_session_create_future(v->s, NULL, &v->hosts));
  CHECK_OK(tide_session_create_channel(v->s, NULL, &v->channel));
  CHECK_OK(tide_session_create_channel_future(v->s, v->channel, NULL, &v->line));
  CHECK_OK(tide_session_create_buffer(v->s, 4096, &v->buffer));
}

/* One piece of honest work: a promise, a compound, a command that waits for both and writes, and
 * one that sums up what was written. */
__attribute__((unused)) static void victim_round(struct victim *v) {
  struct tide_point gate, all, written, summed;
  uint64_t round = v->rounds++;
  CHECK_OK(tide_session_promise(v->s, v->hosts, rig_in(9000), &gate));
  CHECK_OK(tide_session_promise_compound(v->s, rig_in(9000), &all));
  CHECK_OK(tide_session_all(v->s, all, &gate, 1));
  CHECK_OK(tide_session_promise(v->s, v->line, rig_in(9000), &written));
  CHECK_OK(tide_session_promise(v->s, v->line, rig_in(9000), &summed));
  struct tide_session_argument iota[] = {attack_range(v->buffer, 0, 2048), attack_number(round)};
  struct tide_session_operation write = {.body = TIDE_SESSION_IOTA,
                                         .arguments = iota,
                                         .argument_count = 2,
                                         .waits = &all,
                                         .wait_count = 1,
                                         .retires = &written,
                                         .retire_count = 1};
  struct tide_session_argument copy[] = {attack_range(v->buffer, 0, 2048),
                                         attack_range(v->buffer, 2048, 2048)};
  struct tide_session_operation sum = {.body = TIDE_SESSION_COPY,
                                       .arguments = copy,
                                       .argument_count = 2,
                                       .waits = &written,
                                       .wait_count = 1,
                                       .retires = &summed,
                                       .retire_count = 1};
  CHECK_OK(tide_session_submit(v->s, v->channel, &write));
  CHECK_OK(tide_session_submit(v->s, v->channel, &sum));
  CHECK_STATUS(tide_session_query(v->s, summed), TIDE_TIMEOUT);
  CHECK_OK(tide_session_fulfil(v->s, gate));
  CHECK_OK(tide_session_wait(v->s, summed, rig_in(9000)));
  CHECK_OK(tide_session_query(v->s, all));
  const uint64_t *words = tide_session_buffer_data(v->s, v->buffer, NULL);
  for (uint64_t i = 0; i < 256; i++) CHECK_EQ_U64(words[256 + i], round + i);
  CHECK_OK(tide_session_destroy(v->s, all));
  CHECK_OK(tide_session_sync(v->s, rig_in(9000)));
  CHECK_EQ_U64(tide_session_refusals(v->s), 0);
}

static void victim_main(const struct rig *r, int in, int out) {
  struct victim v;
  victim_prepare(&v, r, "victim");
  for (char order = 0; order != 'q';) {
    struct pollfd one = {.fd = in, .events = POLLIN};
    if (poll(&one, 1, 0) == 1) {
      rig_hear(in, &order, 1);
      if (order == 'n') rig_tell(out, &v.rounds, sizeof v.rounds);
      if (order == 't') { /* a token for its points, and one for its buffer */
        struct tide_token tokens[2];
        CHECK_OK(tide_session_grant(v.s, v.hosts, TIDE_RIGHT_WAIT, &tokens[0]));
        CHECK_OK(tide_session_grant(v.s, v.buffer, TIDE_RIGHT_READ, &tokens[1]));
        rig_tell(out, tokens, sizeof tokens);
      }
    }
    victim_round(&v);
  }
  tide_session_close(v.s);
}

__attribute__((unused)) static uint64_t victim_rounds(const struct victim *v) {
  uint64_t rounds;
  rig_tell(v->child.to, "n", 1);
  rig_hear(v->child.from, &rounds, sizeof rounds);
  return rounds;
}

/* It has done some rounds more, from beginning to end, all of them right. */
__attribute__((unused)) static void victim_goes_on(const struct victim *v) {
  uint64_t from = victim_rounds(v);
  while (victim_rounds(v) < from + 3) {}
}

__attribute__((unused)) static void victim_start(struct victim *v, const struct rig *r) {
  rig_spawn(&v->child, victim_main, r);
  victim_goes_on(v);
}

__attribute__((unused)) static void victim_end(struct victim *v) {
  rig_tell(v->child.to, "q", 1);
  rig_end(&v->child);
}

/* ---- an attack, several times ---- */

struct scene {
  struct rig r;
  struct victim v;
  unsigned times; /* before */
};

/* A round may add MAY_GROW bytes to the highest resident size so far. A service that adds more in
 * GROWS rounds in a row leaks; a single round may differ, as the allocator keeps freed memory. */
enum { MAY_GROW = 8 << 20, GROWS = 3 };

/* The attack is made, the victim goes on, and the service holds what it held before; it does not
 * grow for ever, either (under a sanitizer, that tells nothing; but there leaks are looked for). */
__attribute__((unused)) static void survive(const char *policy, unsigned times,
                                            void (*attack)(struct scene *s)) {
  struct scene s = {0};
  uint64_t resident = 0;
  unsigned grown = 0;
  rig_at_end = left_of_clients;
  rig_open(&s.r, policy);
  struct holds nobody = attack_nobody(&s.r);
  victim_start(&s.v, &s.r);
  struct holds before = attack_look(&s.r);
  for (; s.times < times || grown; s.times++) {
    attack(&s);
    victim_goes_on(&s.v);
    attack_settle(&s.r, before);
    uint64_t now = attack_look(&s.r).resident;
    /* The first half may grow: the allocator keeps freed memory for later. */
    bool judged = s.times * 2 >= times && s.times > 1 && test_slowdown() == 1;
    grown = judged && now > resident + MAY_GROW ? grown + 1 : 0;
    if (grown == GROWS)
      FAIL("it grew from %lu to %lu bytes", (unsigned long)resident, (unsigned long)now);
    if (now > resident) resident = now;
  }
  victim_end(&s.v);
  attack_settle(&s.r, nobody);
  rig_close(&s.r);
}

/* ---- pieces that attacks are made of ---- */

__attribute__((unused)) static struct tide_wire_record
raw_command(enum tide_wire_op op, uint32_t handle, uint32_t generation, uint64_t value) {
  return (struct tide_wire_record){
      .command = {.op = (uint16_t)op, .object = {handle, generation}, .value = value}};
}

__attribute__((unused)) static void raw_add_point(struct tide_wire_record *record, uint32_t handle,
                                                  uint32_t generation, uint64_t value) {
  struct tide_wire_point point = {{handle, generation}, value};
  unsigned at = record->command.wait_count++;
  memcpy(record->bytes + sizeof record->command + at * sizeof point, &point, sizeof point);
}

__attribute__((unused)) static void raw_ring_bell(const struct raw *c) {
  uint64_t one = 1;
  (void)!write(c->bell, &one, sizeof one);
}

/* A peer: a session with a timeline of the host's and a channel. */
struct peer {
  struct tide_session *s;
  struct tide_point hosts, channel, line;
};
__attribute__((unused)) static void peer_open(struct peer *p, const struct rig *r,
                                              uint32_t capacity) {
  struct tide_future_params params = {.struct_size = sizeof params,
                                      .capacity = capacity < 60000 ? capacity : 60000};
  struct tide_session_channel_params channel = {.struct_size = sizeof channel,
                                                .operations = capacity};
  p->s = rig_connect(r, "peer");
  struct tide_future_params few = {.struct_size = sizeof few,
                                   .capacity = capacity < 64 ? capacity : 64};
  CHECK_OK(tide_session_create_future(p->s, &few, &p->hosts));
  CHECK_OK(tide_session_create_channel(p->s, &channel, &p->channel));
  CHECK_OK(tide_session_create_channel_future(p->s, p->channel, &params, &p->line));
}
__attribute__((unused)) static struct tide_point peer_promise(struct peer *p,
                                                              struct tide_point timeline) {
  struct tide_point point;
  CHECK_OK(tide_session_promise(p->s, timeline, rig_in(9000), &point));
  return point;
}
/* A command that waits for one and retires one; either may be NULL. */
__attribute__((unused)) static void peer_submit(struct peer *p, const struct tide_point *wait,
                                                const struct tide_point *retire) {
  struct tide_session_operation o = {
      .waits = wait, .wait_count = wait != NULL, .retires = retire, .retire_count = retire != NULL};
  CHECK_OK(tide_session_submit(p->s, p->channel, &o));
}
__attribute__((unused)) static void peer_sync(struct peer *p) {
  CHECK_OK(tide_session_sync(p->s, rig_in(20000)));
}
/* Somebody else's point, as `to` knows it. */
__attribute__((unused)) static struct tide_point peer_pass(struct peer *from, struct peer *to,
                                                           struct tide_point point) {
  struct tide_token token;
  struct tide_point there;
  CHECK_OK(tide_session_grant(from->s, point, TIDE_RIGHT_WAIT, &token));
  CHECK_OK(tide_session_redeem(to->s, &token, &there));
  there.value = point.value;
  return there;
}

#endif
