#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fx.h"

#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void fx_init(struct fx *fx) { *fx = (struct fx){.least = UINT64_MAX}; }

static void lock(struct fx *fx) {
  while (__atomic_exchange_n(&fx->lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}
static void unlock(struct fx *fx) { __atomic_store_n(&fx->lock, 0, __ATOMIC_RELEASE); }

/* ---- the heap ---- */

static struct fx_node *meld(struct fx_node *a, struct fx_node *b) {
  if (!a) return b;
  if (!b) return a;
  if (b->value < a->value) {
    struct fx_node *t = a;
    a = b;
    b = t;
  }
  b->next = a->child;
  if (a->child) a->child->prev = b;
  b->prev = a;
  a->child = b;
  a->next = a->prev = NULL;
  return a;
}

static struct fx_node *meld_children(struct fx_node *first) {
  struct fx_node *pairs = NULL, *root = NULL;
  while (first) {
    struct fx_node *a = first, *b = a->next;
    first = b ? b->next : NULL;
    a->next = a->prev = NULL;
    if (b) b->next = b->prev = NULL;
    struct fx_node *pair = meld(a, b);
    pair->next = pairs;
    pairs = pair;
  }
  while (pairs) {
    struct fx_node *rest = pairs->next;
    pairs->next = NULL;
    root = meld(pairs, root);
    pairs = rest;
  }
  return root;
}

static void cut(struct fx *fx, struct fx_node *node) {
  struct fx_node *children = meld_children(node->child);
  if (fx->root == node) {
    fx->root = children;
  } else {
    if (node->prev->child == node) node->prev->child = node->next;
    else node->prev->next = node->next;
    if (node->next) node->next->prev = node->prev;
    fx->root = meld(fx->root, children);
  }
  node->queued = false;
}

static void publish_least(struct fx *fx) {
  __atomic_store_n(&fx->least, fx->root ? fx->root->value : UINT64_MAX, __ATOMIC_SEQ_CST);
}

/* ---- the timeline ---- */

static __attribute__((noinline)) void fire_due(struct fx *fx, uint64_t value) {
  struct fx_node *due = NULL, **last = &due, *node;
  lock(fx);
  while ((node = fx->root) && node->value <= value) {
    cut(fx, node);
    node->next = NULL;
    *last = node;
    last = &node->next;
  }
  publish_least(fx);
  unlock(fx);
  while ((node = due)) {
    due = node->next;
    node->fire(node);
  }
}

bool fx_signal(struct fx *fx, uint64_t value) {
  uint64_t now = __atomic_load_n(&fx->value, __ATOMIC_RELAXED);
  do
    if (value <= now) return false;
  while (!__atomic_compare_exchange_n(&fx->value, &now, value, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED));
  if (__builtin_expect(__atomic_load_n(&fx->least, __ATOMIC_SEQ_CST) <= value, 0))
    fire_due(fx, value);
  return true;
}

uint64_t fx_query(const struct fx *fx) { return __atomic_load_n(&fx->value, __ATOMIC_ACQUIRE); }

bool fx_add(struct fx *fx, struct fx_node *node, uint64_t value) {
  lock(fx);
  node->value = value;
  node->child = node->next = node->prev = NULL;
  fx->root = meld(fx->root, node);
  node->queued = true;
  if (fx->root == node) publish_least(fx);
  bool waits = __atomic_load_n(&fx->value, __ATOMIC_SEQ_CST) < value;
  if (!waits) {
    cut(fx, node);
    publish_least(fx);
  }
  unlock(fx);
  return waits;
}

bool fx_remove(struct fx *fx, struct fx_node *node) {
  lock(fx);
  bool queued = node->queued;
  if (queued) {
    bool least = fx->root == node;
    cut(fx, node);
    if (least) publish_least(fx);
  }
  unlock(fx);
  return queued;
}

struct parked {
  struct fx_node node;
  uint32_t word;
};

static void wake(struct fx_node *node) {
  uint32_t *word = &((struct parked *)(void *)((char *)node - offsetof(struct parked, node)))->word;
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static __attribute__((noinline)) bool sleep_until(struct fx *fx, uint64_t value,
                                                  uint64_t deadline) {
  struct parked self = {.node.fire = wake};
  struct timespec end = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
  if (!fx_add(fx, &self.node, value)) return true;
  while (!__atomic_load_n(&self.word, __ATOMIC_ACQUIRE)) {
    long slept = syscall(SYS_futex, &self.word, FUTEX_WAIT_BITSET_PRIVATE, 0,
                         deadline == TIDE_FOREVER ? NULL : &end, NULL, FUTEX_BITSET_MATCH_ANY);
    if (slept == 0 || deadline == TIDE_FOREVER) continue;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec < deadline) continue;
    if (fx_remove(fx, &self.node)) return false;
    deadline = TIDE_FOREVER;
  }
  return true;
}

bool fx_wait(struct fx *fx, uint64_t value, uint64_t deadline) {
  if (__atomic_load_n(&fx->value, __ATOMIC_ACQUIRE) >= value) return true;
  if (deadline == TIDE_NOW) return false;
  return sleep_until(fx, value, deadline);
}
