/* sched/operation_storage.h: operations and waits in their queue's storage, found by name. */
#ifndef TIDE_SCHED_OPERATION_STORAGE_H
#define TIDE_SCHED_OPERATION_STORAGE_H

#include "sched/queue_state.h"

/* True if the operation may start and its queue waits to be picked. */
static inline bool tide_op_is_ready(const struct tide_op *op) {
  return op->queue->ready && op->queue->ready_op == op;
}

static inline struct tide_op_rare *tide_op_rare(struct tide_op *op) {
  struct tide_op_rare *rare = &op->queue->rare[op - op->queue->ops];
  if (!op->rare) *rare = (struct tide_op_rare){.op = op};
  op->rare = true;
  return rare;
}

/* Returns the label, "" if none. A backend calls this without the lock. So the flag is in the work,
 * which no thread writes meanwhile, and not among the operation's bits. */
extern const char tide_no_label[sizeof(struct tide_op_label)];
static inline const char *tide_op_label(const struct tide_op *op) {
  return op->work.labelled ? op->queue->labels[op - op->queue->ops].text : tide_no_label;
}
#define TIDE_NUMBER_MASK ((UINT64_C(1) << 30) - 1)
/* Returns the full sequence number. The queue's newest is less than 2^30 ahead, since the capacity
 * is smaller. Any number of operations may pass a held one, which therefore stores its own. */
static inline uint64_t tide_op_sequence(const struct tide_op *op) {
  if (op->numbered) return op->queue->rare[op - op->queue->ops].sequence;
  uint64_t newest = op->queue->sequence + 1; /* an operation being submitted has this one already */
  return newest - ((newest - op->work.number) & TIDE_NUMBER_MASK);
}

/* Operations and waits are named by the offset of their end in the queue's storage, in words; 0:
 * none. Such a name becomes an address in one instruction. */
#define TIDE_NAMED_WORD sizeof(uint64_t)
#define TIDE_NAME_OF(array, i) ((uint32_t)(((i) + 1) * (sizeof(array)[0] / TIDE_NAMED_WORD)))
_Static_assert(sizeof(struct tide_op) % TIDE_NAMED_WORD == 0 &&
                   sizeof(struct tide_op_wait) % TIDE_NAMED_WORD == 0,
               "see TIDE_NAME_OF");
static inline struct tide_op *tide_op_named(const struct tide_queue *queue, uint32_t name) {
  return (struct tide_op *)(void *)((uint64_t *)(void *)queue->ops + name) - 1;
}
static inline struct tide_op_wait *tide_wait_named(const struct tide_queue *queue, uint32_t name) {
  return (struct tide_op_wait *)(void *)((uint64_t *)(void *)queue->waits + name) - 1;
}
/* Prefetches the next waits: a wait is shorter than a cache line. */
static inline void tide_waits_fetch(const struct tide_queue *queue, uint32_t name) {
  tide_fetch_lines(tide_wait_named(queue, name), 3);
}
/* Returns the next free operation; NULL if none. */
static inline struct tide_op *tide_queue_free_op(const struct tide_queue *queue) {
  return queue->free_ops ? tide_op_named(queue, queue->free_ops) : NULL;
}
static inline struct tide_op_wait *tide_op_waits(const struct tide_op *op) {
  return op->waits ? tide_wait_named(op->queue, op->waits) : NULL;
}
static inline struct tide_op_wait *tide_wait_next(const struct tide_op *op,
                                                  const struct tide_op_wait *wait) {
  return wait->next ? tide_wait_named(op->queue, wait->next) : NULL;
}
static inline struct tide_op_signal *tide_op_signals(const struct tide_op *op) {
  return op->signals ? &op->queue->signals[op->signals - 1] : NULL;
}
static inline void tide_op_set_signals(struct tide_op *op, const struct tide_op_signal *first) {
  op->signals = first ? (uint32_t)(first - op->queue->signals) + 1 : 0;
}
static inline struct tide_op_use *tide_op_uses(const struct tide_op *op) {
  return op->uses ? op->queue->first_uses[op - op->queue->ops] : NULL;
}

static inline struct tide_wait_node *tide_wait_apart(const struct tide_queue *queue,
                                                     const struct tide_op_wait *wait) {
  return &queue->nodes[wait - queue->waits];
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
