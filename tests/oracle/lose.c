/* Members of collectives that are lost: what lacks a part, and what must be so afterwards. */
#include "oracle.h"

static bool goes(const struct queue *member, const struct queue *queue,
                 const struct device *device) {
  return member == queue || (device && member->device == device);
}

/* Nobody submits to it any more: what lacks any part never gets it. */
static void lose(struct collective *collective) {
  collective->lost = true;
  for (uint32_t n = 1; n < MAX_INSTANCES; n++) {
    struct instance *instance = &collective->instances[n];
    if (instance->submitted && instance->submitted < collective->count) instance->lacking = true;
  }
}

void members_go(struct program *program, const struct queue *queue, const struct device *device) {
  for (uint32_t i = 0; i < program->collective_count; i++) {
    struct collective *collective = program->collectives[i];
    for (uint32_t m = 0; m < collective->count; m++)
      if (goes(collective->members[m], queue, device) && collective->handle && !collective->lost)
        lose(collective);
  }
}

/* The survivors go on. */
static void renew(struct program *program, const struct collective *collective) {
  struct queue *members[MAX_MEMBERS];
  uint32_t count = 0;
  for (uint32_t m = 0; m < collective->count; m++) {
    struct queue *member = collective->members[m];
    if (!member->destroyed && !member->device->lost) members[count++] = member;
  }
  if (count && chance(program, 700)) (void)collective_make(program, members, count);
}

/* What was never submitted has failed. */
void members_gone(struct program *program) {
  struct world *world = program->world;
  uint32_t count = program->collective_count;
  for (uint32_t i = 0; i < count; i++) {
    const struct collective *collective = program->collectives[i];
    uint32_t first = UINT32_MAX;
    if (!collective->lost || !collective->handle) continue;
    for (uint32_t m = 0; m < collective->count; m++)
      if (collective->next[m] < first) first = collective->next[m];
    ENSURE(world, line_failed(collective->progress, first),
           "%s has lost a member, but instance %u may still come", collective->progress->label,
           first);
    if (!world->ending) renew(program, collective);
  }
}
