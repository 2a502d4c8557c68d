/* base/list.h: an intrusive doubly linked list with a sentinel. The nodes are part of the caller's
 * objects; a node is in at most one list. */
#ifndef TIDE_BASE_LIST_H
#define TIDE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct tide_link {
  struct tide_link *next, *prev;
};

static inline void tide_list_init(struct tide_link *head) { head->next = head->prev = head; }
static inline bool tide_list_empty(const struct tide_link *head) { return head->next == head; }

static inline void tide_list_insert_before(struct tide_link *at, struct tide_link *node) {
  node->next = at;
  node->prev = at->prev;
  at->prev->next = node;
  at->prev = node;
}

static inline void tide_list_push_back(struct tide_link *head, struct tide_link *node) {
  tide_list_insert_before(head, node);
}

/* Leaves the node pointing at itself, so that a second remove is harmless. */
static inline void tide_list_remove(struct tide_link *node) {
  node->prev->next = node->next;
  node->next->prev = node->prev;
  node->next = node->prev = node;
}

/* Moves all nodes of a list to another one, which was empty. */
static inline void tide_list_move_all(struct tide_link *from, struct tide_link *to) {
  tide_list_init(to);
  if (tide_list_empty(from)) return;
  *to = *from;
  to->next->prev = to->prev->next = to;
  tide_list_init(from);
}

static inline struct tide_link *tide_list_pop_front(struct tide_link *head) {
  if (tide_list_empty(head)) return NULL;
  struct tide_link *node = head->next;
  tide_list_remove(node);
  return node;
}

#endif
