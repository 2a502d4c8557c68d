/* The storage of a queue's operations and frontiers: creation, growth, end. */
#include "base/alloc.h"
#include "sched/sched.h"

/* ---- operations ------------------------------------------------------------------------- */

/* Returns the cache lines of an array. */
static size_t lines_of(size_t count, size_t size) {
  return (count * size + TIDE_CACHE_LINE - 1) / TIDE_CACHE_LINE;
}
static size_t block_lines(const struct tide_store *store) {
  const struct tide_capacity *capacity = &store->capacity;
  return lines_of(capacity->ops, sizeof *store->ops) +
         lines_of(capacity->waits, sizeof *store->waits) +
         lines_of(capacity->signals, sizeof *store->signals);
}

/* Allocates the operations, their waits and their signals, zeroed, in one block. */
static bool make_block(const struct tide_allocator *a, struct tide_store *store) {
  unsigned char *block = tide_alloc(a, block_lines(store), TIDE_CACHE_LINE);
  if (!block) return false;
  store->ops = (void *)block;
  block += lines_of(store->capacity.ops, sizeof *store->ops) * TIDE_CACHE_LINE;
  store->waits = (void *)block;
  block += lines_of(store->capacity.waits, sizeof *store->waits) * TIDE_CACHE_LINE;
  store->signals = (void *)block;
  return true;
}

/* Puts all of the storage on the free lists, the first one on top. */
static void chain_store(struct tide_queue *queue, struct tide_store *store) {
  for (uint32_t i = store->capacity.ops; i-- > 0;) {
    struct tide_op *op = &store->ops[i];
    op->queue = queue;
    op->unmet = store->free_ops;
    store->free_ops = TIDE_NAME_OF(store->ops, i);
  }
  for (uint32_t i = store->capacity.waits; i-- > 0;) {
    tide_wait_set_next(&store->waits[i], store->free_waits);
    store->free_waits = &store->waits[i];
  }
  for (uint32_t i = store->capacity.signals; i-- > 0;) {
    store->signals[i].next = store->free_signals;
    store->free_signals = &store->signals[i];
  }
  for (uint32_t i = store->capacity.uses; i-- > 0;) {
    store->uses[i].next = store->free_uses;
    store->free_uses = &store->uses[i];
  }
}

static void free_store(const struct tide_allocator *a, struct tide_store *store) {
  const struct tide_capacity *capacity = &store->capacity;
  tide_free(a, store->ops, block_lines(store), TIDE_CACHE_LINE);
  tide_free(a, store->rare, capacity->ops, sizeof *store->rare);
  tide_free(a, store->labels, capacity->ops, sizeof *store->labels);
  tide_free(a, store->arguments, capacity->ops, TIDE_ARGUMENTS_MAX);
  tide_free(a, store->nodes, capacity->waits, sizeof *store->nodes);
  tide_free(a, store->uses, capacity->uses, sizeof *store->uses);
  tide_free(a, store->first_uses, capacity->ops, sizeof *store->first_uses);
  *store = (struct tide_store){.ops = NULL};
}

/* False: no memory, and nothing is allocated. */
static bool make_store(struct tide_queue *queue, const struct tide_capacity *capacity,
                       struct tide_store *store) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  *store = (struct tide_store){.capacity = *capacity};
  bool made = make_block(a, store);
  store->rare = tide_alloc_unset(a, capacity->ops, sizeof *store->rare);
  store->labels = tide_alloc_unset(a, capacity->ops, sizeof *store->labels);
  store->arguments = tide_alloc_unset(a, capacity->ops, TIDE_ARGUMENTS_MAX);
  store->nodes = tide_alloc_unset(a, capacity->waits, sizeof *store->nodes);
  store->uses = tide_alloc(a, capacity->uses, sizeof *store->uses);
  store->first_uses = tide_alloc_unset(a, capacity->ops, sizeof *store->first_uses);
  if (made && store->rare && store->labels && store->arguments && store->nodes && store->uses &&
      store->first_uses) {
    chain_store(queue, store);
    return true;
  }
  free_store(a, store);
  return false;
}

/* ---- frontiers -------------------------------------------------------------------------- */

/* The slots of the epochs, and the storage of the frontiers that they locate. */
struct ring {
  uint32_t mask;
  struct tide_epoch_slot *slots;
  uint64_t *frontiers;
  size_t limit, words; /* see frontier_limit; all words */
};

/* The size of a frontier with eight entries in a window. */
#define TOUCHED (sizeof(struct tide_frontier) + (1 + 8) * sizeof(uint64_t))

static size_t frontier_size(const struct tide_queue *queue) {
  return tide_frontier_size(queue->sched->context->frontier_capacity);
}
static struct ring ring_of(const struct tide_queue *queue) {
  return (struct ring){queue->ring_mask, queue->slots, queue->frontiers, queue->frontier_limit,
                       queue->frontier_limit + frontier_size(queue) / sizeof *queue->frontiers};
}

static void free_ring(const struct tide_queue *queue, const struct ring *ring) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  tide_free(a, ring->slots, (size_t)ring->mask + 1, sizeof *ring->slots);
  tide_free(a, ring->frontiers, ring->words, sizeof *ring->frontiers);
}

/* Allocates a ring for so many operations, behind `used` words. False: no memory, and nothing is
 * allocated. */
static bool make_ring(const struct tide_queue *queue, uint32_t operations, size_t used,
                      struct ring *ring) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  size_t most = frontier_size(queue), full = most / sizeof *ring->frontiers;
  uint32_t count = 1;
  /* Needs one slot more than unfinished operations: the newest finished record stays available. */
  while (count < operations + 1) count *= 2;
  /* A full frontier for each slot, one before the wrap-around, one that is being made. */
  *ring = (struct ring){.mask = count - 1, .limit = used + (count + 2) * full};
  ring->words = ring->limit + full;
  if (ring->words > UINT32_MAX) return false; /* see struct tide_version */
  ring->slots = tide_alloc(a, count, sizeof *ring->slots);
  ring->frontiers = tide_alloc_unset(a, ring->words, sizeof *ring->frontiers);
  if (!ring->slots || !ring->frontiers) {
    free_ring(queue, ring);
    return false;
  }
  /* Touches the memory that frontiers of eight entries need: the first touch of a page costs as
   * much as several submits. */
  memset(ring->frontiers + used, 0, (operations + 1) * (most < TOUCHED ? most : TOUCHED));
  return true;
}

static void use_ring(struct tide_queue *queue, const struct ring *ring) {
  queue->ring_mask = ring->mask;
  queue->slots = ring->slots;
  queue->frontiers = ring->frontiers;
  queue->frontier_limit = ring->limit;
}

/* Moves the records to a larger ring. The versions keep their offsets, and new ones go behind. */
static void move_ring(struct tide_queue *queue, const struct ring *from, const struct ring *to) {
  uint64_t newest = queue->position.epoch;
  uint64_t oldest = newest > from->mask ? newest - from->mask : 1;
  memcpy(to->frontiers, from->frontiers, from->words * sizeof *to->frontiers);
  for (uint64_t epoch = oldest; epoch <= newest; epoch++)
    to->slots[epoch & to->mask] = from->slots[epoch & from->mask];
  bool apart = queue->newest == queue->apart,
       newest_is_known = queue->position.frontier == queue->newest;
  if (!apart)
    queue->newest = (void *)(to->frontiers + ((uint64_t *)(void *)queue->newest - from->frontiers));
  if (newest_is_known) queue->position.frontier = queue->newest;
  queue->oldest = oldest;
  queue->next_frontier = from->words;
  use_ring(queue, to);
  free_ring(queue, from);
}

/* ---- a queue's ---------------------------------------------------------------------------- */

/* The first store of a queue of the default capacity: with the ring's slots a small one. */
#define FEW 15u

enum tide_status tide_queue_make_storage(struct tide_queue *queue) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  struct tide_capacity capacity = queue->capacity;
  struct ring ring;
  if (queue->grows) capacity = (struct tide_capacity){FEW, 4 * FEW, 2 * FEW, 4 * FEW};
  queue->apart = tide_alloc(a, 1, frontier_size(queue));
  if (!queue->apart || !make_store(queue, &capacity, &queue->store)) return TIDE_NOMEM;
  if (!make_ring(queue, capacity.ops, 0, &ring)) return TIDE_NOMEM;
  use_ring(queue, &ring);
  queue->first_ops = queue->store.ops;
  queue->first_labels = queue->store.labels;
  queue->first_count = capacity.ops;
  queue->free_ops_count = capacity.ops;
  queue->free_waits_count = capacity.waits;
  queue->free_signals_count = capacity.signals;
  queue->free_uses_count = capacity.uses;
  tide_frontier_init(queue->apart, queue->sched->context->frontier_capacity);
  queue->position.frontier = queue->newest = queue->apart;
  queue->renew = true;
  return TIDE_OK;
}

bool tide_queue_grow(struct tide_queue *queue) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  const struct tide_capacity few = queue->store.capacity, *all = &queue->capacity;
  struct ring from = ring_of(queue), to;
  struct tide_store store;
  if (!queue->grows || !make_store(queue, all, &store)) return false;
  if (!make_ring(queue, all->ops, from.words, &to)) {
    free_store(a, &store);
    return false;
  }
  move_ring(queue, &from, &to);
  queue->early = queue->store;
  queue->store = store;
  queue->free_ops_count += all->ops - few.ops;
  queue->free_waits_count += all->waits - few.waits;
  queue->free_signals_count += all->signals - few.signals;
  queue->free_uses_count += all->uses - few.uses;
  queue->grows = false;
  return true;
}

void tide_queue_free_stores(struct tide_queue *queue) {
  const struct tide_allocator *a = queue->sched->context->allocator;
  struct ring ring = ring_of(queue);
  free_store(a, &queue->early);
  free_store(a, &queue->store);
  free_ring(queue, &ring);
  tide_free(a, queue->apart, 1, frontier_size(queue));
}

/* ---- names ---------------------------------------------------------------------------- */

const char *tide_op_name(const struct tide_op *op, char room[TIDE_LABEL_SIZE]) {
  const char *label = tide_op_label(op);
  if (label[0]) return label;
  const struct tide_body_class *body = op->work.body;
  return tide_label_operation(room, body ? body->name : NULL, tide_op_sequence(op));
}

const char *tide_op_name_early(const struct tide_queue *queue,
                               const struct tide_operation *operation, size_t before,
                               char room[TIDE_LABEL_SIZE]) {
  tide_label_copy(room, operation->label);
  if (room[0]) return room;
  const char *body = operation->body ? operation->body->name : NULL;
  return tide_label_operation(room, body, queue->sequence + 1 + before);
}
