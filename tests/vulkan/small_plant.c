/* Searches a program and a mistake that most legal orders show. */
#include "small.h"
#include <stdlib.h>

enum { ATTEMPTS_MOST = 500 };

struct chosen {
  unsigned percent;
  int option;
};

/* Copies of a program to plant in. Most options do not apply and leave them as they are. */
struct copies {
  struct program wrong, twin;
  bool are_fresh;
};

/* The share of orders that show mistake `option`; 0 when this program cannot have that mistake. */
static unsigned try_option(const struct program *program, const struct planting *planting,
                           int option, uint64_t seed, struct copies *copies) {
  if (!copies->are_fresh) copies->wrong = copies->twin = *program;
  copies->are_fresh = !planting->plant(&copies->wrong, option, true, seed);
  if (copies->are_fresh) return 0;
  planting->plant(&copies->twin, option, false, seed);
  if (planting->wanted_percent == 0) return 1;
  struct outcome right = simulate(&copies->twin, 0, false, NULL);
  return percent_wrong(&copies->wrong, right, planting->is_in_queue, planting->wanted_percent);
}

static struct chosen try_program(const struct program *program, const struct planting *planting,
                                 struct random_state *random, uint64_t seed,
                                 struct copies *copies) {
  struct chosen best = {0, 0};
  copies->are_fresh = false;
  int tried = 0, start = (int)random_below(random, (unsigned)planting->option_count);
  for (int i = 0; i < planting->option_count && tried < 40; i++) {
    int option = (start + i) % planting->option_count;
    unsigned percent = try_option(program, planting, option, seed, copies);
    tried += percent > 0;
    if (percent > best.percent) best = (struct chosen){percent, option};
    if (percent > 0 && percent >= planting->wanted_percent) break;
  }
  return best;
}

static void draw_attempt(struct program *program, const struct planting *planting,
                         const struct device *device, const struct small_options *options,
                         uint64_t attempt, struct random_state *random) {
  *program = (struct program){.thread_count = 1, .has_exact_values = options->has_exact_values};
  random_seed(random, options->kind, options->seed, attempt);
  planting->draw(program, device, random);
}

void plant_mistake(struct program *program, const struct planting *planting,
                   const struct device *device, const struct small_options *options) {
  struct random_state random;
  struct chosen best = {0, 0};
  uint64_t best_attempt = 0;
  struct copies *copies = malloc(sizeof *copies);
  if (!copies) small_fail("no memory");
  for (uint64_t attempt = 0; attempt < ATTEMPTS_MOST; attempt++) {
    draw_attempt(program, planting, device, options, attempt, &random);
    struct chosen found = try_program(program, planting, &random, options->seed, copies);
    if (found.percent > best.percent) {
      best = found;
      best_attempt = attempt;
    }
    if (best.percent > 0 && best.percent >= planting->wanted_percent) break;
  }
  if (best.percent * 2 < planting->wanted_percent || best.percent == 0)
    small_fail("seed %llu: no program of kind %s shows its mistake",
               (unsigned long long)options->seed, options->kind);
  draw_attempt(program, planting, device, options, best_attempt, &random);
  struct program *twin = &copies->twin;
  *twin = *program;
  planting->plant(twin, best.option, false, options->seed);
  check_is_correct(twin, false);
  check_is_correct(twin, true);
  planting->plant(program, best.option, true, options->seed);
  if (options->is_correct) *program = *twin;
  free(copies);
  expect(program, "percent %u", best.percent);
}
