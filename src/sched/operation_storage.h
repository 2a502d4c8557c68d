/* sched/operation_storage.h: operations and waits in their queue's storage, found by name. */
#ifndef TIDE_SCHED_OPERATION_STORAGE_H
#define TIDE_SCHED_OPERATION_STORAGE_H

#include "sched/queue_state.h"

/* True if the operation may start and its queue waits to be picked. */
static inline bool tide_op_is_ready(const struct tide_op *op) {
  return op->queue->ready && op->queue->ready_op == op;
}

/* Returns the store that an operation lies in. */
static inline struct tide_store *tide_op_store(const struct tide_op *op) {
  struct tide_queue *queue = op->queue;
  size_t offset = (uintptr_t)op - (uintptr_t)queue->early.ops;
  bool early = offset < queue->early.capacity.ops * sizeof *op;
  return __builtin_expect(early, 0) ? &queue->early : &queue->store;
}
static inline size_t tide_op_index(const struct tide_op *op) {
  return (size_t)(op - tide_op_store(op)->ops);
}

static inline struct tide_op_rare *tide_op_rare(struct tide_op *op) {
  struct tide_op_rare *rare = &tide_op_store(op)->rare[tide_op_index(op)];
  if (!op->rare) *rare = (struct tide_op_rare){.op = op};
  op->rare = true;
  return rare;
}

/* Returns the label, "" if none. A backend calls this without the lock. So the flag is in the work,
 * which no thread writes meanwhile, and not among the operation's bits. And the queue may grow
 * meanwhile, unless the operation lies in the large store. */
extern const char tide_no_label[sizeof(struct tide_op_label)];
static inline const char *tide_op_label(const struct tide_op *op) {
  const struct tide_queue *queue = op->queue;
  if (!op->work.labelled) return tide_no_label;
  size_t offset = (uintptr_t)op - (uintptr_t)queue->first_ops;
  if (offset < queue->first_count * sizeof *op)
    return queue->first_labels[offset / sizeof *op].text;
  return queue->store.labels[op - queue->store.ops].text;
}
/* Return the name for messages: the label, or the form of base/label.h, written into `room`. The
 * lock is held. The second is of an operation that the queue has not taken yet: it comes behind
 * `before` others of the same call. */
const char *tide_op_name(const struct tide_op *op, char room[TIDE_LABEL_SIZE]);
const char *tide_op_name_early(const struct tide_queue *queue,
                               const struct tide_operation *operation, size_t before,
                               char room[TIDE_LABEL_SIZE]);
#define TIDE_OP_NAME(op) tide_op_name((op), (char[TIDE_LABEL_SIZE]){0})
#define TIDE_OP_NAME_EARLY(queue, operation)                                                       \
  tide_op_name_early((queue), (operation), 0, (char[TIDE_LABEL_SIZE]){0})

#define TIDE_NUMBER_MASK ((UINT64_C(1) << 30) - 1)
/* Returns the full sequence number. The queue's newest is less than 2^30 ahead, since the capacity
 * is smaller. Any number of operations may pass a held one, which therefore stores its own. */
static inline uint64_t tide_op_sequence(const struct tide_op *op) {
  if (op->numbered) return tide_op_store(op)->rare[tide_op_index(op)].sequence;
  uint64_t newest = op->queue->sequence + 1; /* an operation being submitted has this one already */
  return newest - ((newest - op->work.number) & TIDE_NUMBER_MASK);
}

/* A free operation is named by the offset of its end in the store, in words; 0: none. Such a name
 * becomes an address in one instruction. */
#define TIDE_NAMED_WORD sizeof(uint64_t)
#define TIDE_NAME_OF(array, i) ((uint32_t)(((i) + 1) * (sizeof(array)[0] / TIDE_NAMED_WORD)))
_Static_assert(sizeof(struct tide_op) % TIDE_NAMED_WORD == 0 &&
                   sizeof(struct tide_op_wait) % TIDE_NAMED_WORD == 0 &&
                   sizeof(struct tide_op_signal) % TIDE_NAMED_WORD == 0,
               "see TIDE_NAME_OF and tide_distance");
static inline struct tide_op *tide_op_named(const struct tide_store *store, uint32_t name) {
  return (struct tide_op *)(void *)((uint64_t *)(void *)store->ops + name) - 1;
}
/* Returns the next free operation; NULL if none. */
static inline struct tide_op *tide_queue_free_op(const struct tide_queue *queue) {
  return queue->store.free_ops ? tide_op_named(&queue->store, queue->store.free_ops) : NULL;
}

/* Waits and signals of an operation are named by their distance in words from it; the next wait by
 * the distance from the wait. Distance 0: none. */
static inline int64_t tide_distance(const void *from, const void *to) {
  return to ? (const uint64_t *)to - (const uint64_t *)from : 0;
}
static inline struct tide_op_wait *tide_op_waits(const struct tide_op *op) {
  return op->waits ? (void *)((uint64_t *)(uintptr_t)op + op->waits) : NULL;
}
static inline struct tide_op_wait *tide_wait_behind(const struct tide_op_wait *wait) {
  return wait->next ? (void *)((uint64_t *)(uintptr_t)wait + wait->next) : NULL;
}
static inline struct tide_op_wait *tide_wait_next(const struct tide_op *op,
                                                  const struct tide_op_wait *wait) {
  (void)op;
  return tide_wait_behind(wait);
}
static inline struct tide_op_signal *tide_op_signals(const struct tide_op *op) {
  return op->signals ? (void *)((uint64_t *)(uintptr_t)op + op->signals) : NULL;
}
static inline void tide_op_set_waits(struct tide_op *op, const struct tide_op_wait *first) {
  op->waits = (uint32_t)tide_distance(op, first);
}
static inline void tide_op_set_signals(struct tide_op *op, const struct tide_op_signal *first) {
  op->signals = (uint32_t)tide_distance(op, first);
}
static inline void tide_wait_set_next(struct tide_op_wait *wait, const struct tide_op_wait *next) {
  wait->next = (int32_t)tide_distance(wait, next);
}
static inline struct tide_op_use *tide_op_uses(const struct tide_op *op) {
  return op->uses ? tide_op_store(op)->first_uses[tide_op_index(op)] : NULL;
}

static inline struct tide_wait_node *tide_wait_apart(const struct tide_queue *queue,
                                                     const struct tide_op_wait *wait) {
  size_t offset = (uintptr_t)wait - (uintptr_t)queue->early.waits;
  bool early = offset < queue->early.capacity.waits * sizeof *wait;
  const struct tide_store *store = early ? &queue->early : &queue->store;
  return &store->nodes[wait - store->waits];
}
/* Returns the node that queued the wait last. */
static inline struct tide_wait_node *tide_wait_node(struct tide_queue *queue,
                                                    const struct tide_op_wait *wait) {
  return wait->apart ? tide_wait_apart(queue, wait) : &queue->turn[wait->index];
}

/* Returns the value of the record that the wait was classified by; 0 if none. Stored as a distance
 * from the wait's value, which is seldom large. */
#define TIDE_BEYOND_NONE UINT16_MAX
#define TIDE_BEYOND_FAR (UINT16_MAX - 1)
static inline uint64_t tide_wait_record(const struct tide_queue *queue,
                                        const struct tide_op_wait *wait) {
  if (wait->beyond < TIDE_BEYOND_FAR) return wait->value + wait->beyond;
  return wait->beyond == TIDE_BEYOND_NONE ? 0 : tide_wait_apart(queue, wait)->record_value;
}
static inline void tide_wait_set_record(const struct tide_queue *queue, struct tide_op_wait *wait,
                                        uint64_t value) {
  uint64_t beyond = value - wait->value; /* a lower value wraps, and counts as far */
  bool far = beyond >= TIDE_BEYOND_FAR;
  wait->beyond = far ? TIDE_BEYOND_FAR : (uint16_t)beyond;
  if (far) tide_wait_apart(queue, wait)->record_value = value;
}
static inline struct tide_op *tide_op_of_link(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct tide_op_rare, link)->op;
}

#endif
