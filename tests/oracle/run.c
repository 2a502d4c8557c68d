/* One seed: a configuration, a program, its end. */
#include "oracle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t often(struct tide_random *random, uint32_t of_thousand, uint32_t most) {
  if (tide_random_below(random, 1000) >= of_thousand) return 0;
  return 1 + (uint32_t)tide_random_below(random, most);
}

static uint32_t between(struct tide_random *random, uint32_t low, uint32_t high) {
  return low + (uint32_t)tide_random_below(random, high - low + 1);
}

static void draw_trouble(struct config *c, struct tide_random *r) {
  c->fail = often(r, 400, 200);
  c->cancel = often(r, 300, 60);
  c->host_fail = often(r, 150, 15);
  c->destroy = often(r, 200, 20);
  c->lose = often(r, 100, 15);
  c->destroy_line = often(r, 100, 10);
  c->pause = often(r, 200, 20);
  c->bad = often(r, 300, 100);
}

void draw_config(uint64_t seed, struct config *c) {
  struct tide_random random = {seed * 0x2545f4914f6cdd1du + 1}, *r = &random;
  *c = (struct config){0};
  c->steps = between(r, 20, 160);
  c->devices = between(r, 1, 3);
  c->queues = between(r, 1, 6);
  c->timelines = between(r, 1, 6);
  c->hosts = between(r, 0, 2);
  c->capacity_ops = tide_random_below(r, 4) == 0 ? between(r, 1, 8) : 0;
  c->in_order_chance = tide_random_below(r, 3) * 500;
  c->hold = often(r, 600, 300);
  c->passable = often(r, 300, 500);
  c->multi = often(r, 600, 800);
  c->external_signal = often(r, 250, 200);
  c->host_owned = often(r, 700, 500);
  c->operations_only = often(r, 600, 1000);
  c->narrow = often(r, 300, 300);
  c->progress_wait = often(r, 500, 300);
  c->host_signal = often(r, 850, 200);
  c->external_host = often(r, 600, 900);
  c->buffers = often(r, 600, 300);
  c->free_elsewhere = between(r, 0, 900);
  c->host_free = often(r, 300, 200);
  c->limit = tide_random_below(r, 3) ? 0 : 2048;
  c->batch = often(r, 300, 300);
  c->bodyless = often(r, 400, 200);
  c->query = often(r, 800, 200);
  c->take = between(r, 100, 1000);
  c->give = between(r, 100, 1000);
  c->signal_chance = between(r, 300, 950);
  c->frontier = (uint8_t)(tide_random_below(r, 2) ? 40 : between(r, 1, 6));
  c->history = tide_random_below(r, 2) ? between(r, 1, 3) : 0;
  c->kicked = tide_random_below(r, 2);
  c->stop = often(r, 250, 20);
  c->scarce = often(r, 300, 120);
  c->wakes = often(r, 600, 300);
  c->tiny = often(r, 250, 8);
  draw_trouble(c, r);
  if (tide_random_below(r, 6) == 0) {
    c->collectives = between(r, 1, 2);
    if (tide_random_below(r, 2)) c->crossed = between(r, 50, 300);
    else c->hold = c->passable = 0;
    /* The test holds such signals back, which can close a cycle that the library does not see. */
    if (c->crossed) c->external_signal = 0;
  } else if (tide_random_below(r, 5) == 0) {
    c->racefree = true;
    c->check = tide_random_below(r, 2);
    if (c->check) c->scarce = 0; /* check mode allocates */
    c->racy = c->check ? often(r, 500, 200) : 0;
    c->buffers = between(r, 100, 300);
    c->fail = c->cancel = c->destroy = c->lose = c->host_fail = c->destroy_line = c->hold = c->bad =
        0;
  }
  c->wait_first = tide_random_below(r, 4) != 0; /* else there are few gap waits */
  c->many = often(r, 200, 500);
  if (!c->racefree) c->homes = often(r, 250, 500);
}

/* ---- overriding: --set name=value ------------------------------------------------------ */

#define FIELD(name)                                                                                \
  { #name, offsetof(struct config, name), sizeof(((struct config *)0)->name) }
static const struct {
  const char *name;
  size_t offset, size;
} fields[] = {
    FIELD(steps),           FIELD(devices),      FIELD(queues),        FIELD(timelines),
    FIELD(hosts),           FIELD(capacity_ops), FIELD(hold),          FIELD(in_order_chance),
    FIELD(passable),        FIELD(multi),        FIELD(host_owned),    FIELD(external_signal),
    FIELD(operations_only), FIELD(narrow),       FIELD(progress_wait), FIELD(fail),
    FIELD(cancel),          FIELD(host_fail),    FIELD(destroy),       FIELD(lose),
    FIELD(destroy_line),    FIELD(host_signal),  FIELD(external_host), FIELD(buffers),
    FIELD(free_elsewhere),  FIELD(host_free),    FIELD(limit),         FIELD(collectives),
    FIELD(pause),           FIELD(batch),        FIELD(bad),           FIELD(bodyless),
    FIELD(query),           FIELD(take),         FIELD(give),          FIELD(signal_chance),
    FIELD(frontier),        FIELD(history),      FIELD(kicked),        FIELD(racefree),
    FIELD(check),           FIELD(racy),         FIELD(stop),          FIELD(scarce),
    FIELD(wakes),           FIELD(tiny),         FIELD(wait_first),    FIELD(many),
    FIELD(crossed),         FIELD(homes),
};

bool config_set(struct config *config, const char *text) {
  const char *equals = strchr(text, '=');
  for (size_t i = 0; equals && i < sizeof fields / sizeof *fields; i++) {
    size_t length = strlen(fields[i].name);
    if ((size_t)(equals - text) != length || strncmp(text, fields[i].name, length) != 0) continue;
    unsigned char *at = (unsigned char *)config + fields[i].offset;
    uint32_t value = (uint32_t)strtoul(equals + 1, NULL, 0);
    if (fields[i].size == 1) *at = (unsigned char)value;
    else memcpy(at, &value, sizeof value);
    return true;
  }
  return false;
}

size_t config_fields(struct config *config, uint32_t **out_fields, const char **out_names,
                     size_t most) {
  size_t count = 0;
  for (size_t i = 0; i < sizeof fields / sizeof *fields && count < most; i++) {
    if (fields[i].size != sizeof(uint32_t)) continue;
    if (strcmp(fields[i].name, "steps") == 0) continue;
    out_fields[count] = (uint32_t *)(void *)((unsigned char *)config + fields[i].offset);
    out_names[count++] = fields[i].name;
  }
  return count;
}

/* ---- running ------------------------------------------------------------------------------ */

static struct world world;

/* A crash inside the library is a violation like any other. Sanitizers say more, so they keep
 * theirs. */
static void crashed(int number) {
  snprintf(world.why, sizeof world.why, "crash: %s", strsignal(number));
  longjmp(world.out, 1);
}

static void catch_crashes(void) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP};
  struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_NODEFER};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, NULL);
#else
  (void)crashed;
#endif
}

void run_seed(uint64_t seed, const struct config *config, bool verbose, bool contracts,
              struct outcome *out) {
  memset(out, 0, sizeof *out);
  catch_crashes();
  memory_reset();
  memset(&world, 0, sizeof world);
  world.verbose = verbose;
  world.contracts = contracts;
  struct program *program = &world.programs[0];
  if (setjmp(world.out) == 0) {
    world_open(&world, seed, config->frontier, config->check);
    world.program_count = 1;
    program_make(program, &world, config, seed);
    for (uint32_t i = 0; i < config->steps; i++) program_step(program);
    world.ending = true;
    program_end(program);
    program_close(program);
    tide_context_stats(world.context, &out->stats);
    world_close(&world);
  } else {
    out->violated = true;
    memcpy(out->why, world.why, sizeof out->why);
  }
  out->steps = program->step;
  out->checks = world.checks;
  out->noted = program->noted;
  if (verbose)
    print_history(&world, getenv("ORACLE_LINES") ? (uint32_t)atoi(getenv("ORACLE_LINES")) : 60);
}

bool differs_elsewhere(uint64_t seed, const struct config *config, bool contracts, uint64_t number,
                       const struct outcome *usual) {
  struct outcome other;
  memory_vary(number);
  run_seed(seed, config, false, contracts, &other);
  memory_vary(0);
  return other.violated != usual->violated || other.noted != usual->noted;
}
