/* Buffers that other members read.
 *
 * An export pins its buffer, so that a free is not complete before the receipt is over: reached, or
 * failed with all operations finished that were to signal it. A failed value alone says nothing: a
 * body that reads may still run. After a loss no receipt ends any more, and the pins stay. */
#include "base/alloc.h"
#include "cluster/cluster_state.h"
#include "memory/pool.h"
#include "timeline/timeline_state.h"

#define IMPORTS 16u /* of one timeline, before those that have been read are looked for */

const struct tide_memory_source *tide_cluster_memory(struct tide_cluster *cluster) {
  return cluster->transport.memory;
}

/* ---- at home ---------------------------------------------------------------------------- */

static struct tide_export *export_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct tide_export, link);
}

static void free_export(struct tide_export *export) {
  struct tide_cluster *cluster = export->home->subject.cluster;
  tide_list_remove(&export->link);
  tide_list_remove(&export->receipt_link);
  tide_free(cluster->context->allocator, export, 1, sizeof *export);
}

void tide_cluster_free_exports(struct tide_home *home) {
  while (!tide_list_empty(&home->untold)) free_export(export_of(home->untold.next));
  while (!tide_list_empty(&home->exports)) free_export(export_of(home->exports.next));
}

void tide_cluster_free_receipts(struct tide_followed *followed) {
  while (!tide_list_empty(&followed->receipts))
    free_export(TIDE_CONTAINER(followed->receipts.next, struct tide_export, receipt_link));
}

void tide_cluster_end_receipts(struct tide_followed *followed, bool all) {
  struct tide_link *at = followed->receipts.next, *next;
  for (; at != &followed->receipts; at = next) {
    struct tide_export *export = TIDE_CONTAINER(at, struct tide_export, receipt_link);
    next = at->next;
    if (!all && followed->ended < export->message.receipt_value) continue;
    tide_buffer_unpin(export->buffer);
    tide_buffer_release(export->buffer);
    free_export(export);
  }
}

static void tell_export(struct tide_cluster *cluster, const struct tide_export *export,
                        const struct tide_follower *follower) {
  cluster->transport.share(cluster->transport.self, follower->rank, &export->message.span);
  tide_message_export(&cluster->writer, cluster->tag, follower->number, &export->message);
  cluster->members[follower->rank].in_flight++;
  tide_cluster_send(cluster, follower->rank);
}

void tide_cluster_tell_exports(struct tide_cluster *cluster, struct tide_home *home,
                               const struct tide_follower *follower) {
  for (struct tide_link *at = home->untold.next, *next; at != &home->untold; at = next) {
    next = at->next;
    if (export_of(at)->receipt->home != follower->rank) continue;
    tide_list_remove(at);
    tide_list_push_back(&home->exports, at);
    tell_export(cluster, export_of(at), follower);
  }
}

void tide_cluster_untell_exports(struct tide_home *home, uint32_t rank) {
  struct tide_link *first = home->untold.next; /* the older ones stay in front */
  for (struct tide_link *at = home->exports.next, *next; at != &home->exports; at = next) {
    next = at->next;
    if (export_of(at)->receipt->home != rank) continue;
    tide_list_remove(at);
    tide_list_insert_before(first, at);
  }
}

/* Returns the value of a reader's newest export in the list; 0: there is none. */
static uint64_t newest_value(const struct tide_link *list, uint32_t reader) {
  for (struct tide_link *at = list->prev; at != list; at = at->prev)
    if (export_of(at)->receipt->home == reader) return export_of(at)->message.value;
  return 0;
}

static enum tide_status judge_export(const struct tide_cluster *cluster,
                                     const struct tide_home *home,
                                     const struct tide_followed *receipt, uint64_t value) {
  if (!home || !receipt) return TIDE_INVALID;
  if (cluster->is_lost) return TIDE_LOST;
  if (cluster->phase != TIDE_CLUSTER_OPEN || cluster->members[receipt->home].has_left)
    return TIDE_CANCELLED;
  uint64_t newest = newest_value(&home->untold, receipt->home);
  if (!newest) newest = newest_value(&home->exports, receipt->home);
  return value > newest && value > tide_timeline_query(home->timeline) ? TIDE_OK : TIDE_BUSY;
}

static enum tide_status add_export(struct tide_cluster *cluster, const struct tide_export *what) {
  enum tide_status status = judge_export(cluster, what->home, what->receipt, what->message.value);
  if (status != TIDE_OK) return status;
  struct tide_export *export = tide_alloc(cluster->context->allocator, 1, sizeof *export);
  if (!export) return TIDE_NOMEM;
  *export = *what;
  export->message.receipt = (uint32_t) export->receipt->node.key;
  tide_buffer_retain(export->buffer); /* it is not idle: see tide_buffer_idle */
  tide_buffer_pin(export->buffer);
  tide_list_push_back(&export->home->untold, &export->link);
  tide_list_push_back(&export->receipt->receipts, &export->receipt_link);
  tide_cluster_end_receipts(export->receipt, false); /* it may be over already */
  return TIDE_OK;
}

enum tide_status tide_cluster_export(struct tide_cluster *cluster, struct tide_buffer *buffer,
                                     struct tide_timeline *timeline, uint64_t value,
                                     struct tide_timeline *receipt, uint64_t receipt_value) {
  const struct tide_transport *transport = &cluster->transport;
  struct tide_export export = {.buffer = buffer,
                               .message = {.value = value, .receipt_value = receipt_value}};
  if (!buffer || !timeline || !receipt || !value || !receipt_value) return TIDE_INVALID;
  if (!transport->memory || tide_buffer_freed(buffer)) return TIDE_INVALID;
  tide_cluster_lock(cluster);
  export.home = tide_cluster_home(cluster, timeline);
  export.receipt = tide_cluster_followed(cluster, receipt);
  bool is_ours = transport->find(transport->self, tide_buffer_data(buffer),
                                 tide_buffer_size(buffer), &export.message.span);
  enum tide_status status = is_ours ? add_export(cluster, &export) : TIDE_INVALID;
  tide_cluster_unlock(cluster);
  return status;
}

/* ---- at the reader ------------------------------------------------------------------------ */

/* What was said to be over stays so, though another operation may signal a failed value again. */
static bool is_over(const struct tide_import *import) {
  struct tide_timeline *timeline = import->receipt->timeline;
  if (import->receipt->told_ended >= import->receipt_value) return true;
  if (!timeline) return false; /* not published yet */
  struct tide_lock *guard = tide_timeline_lock(timeline);
  uint64_t ended = tide_timeline_ended_locked(timeline);
  tide_lock_give(guard);
  return ended >= import->receipt_value;
}

static void free_import(struct tide_followed *followed, struct tide_import *import) {
  tide_tree_remove(&followed->imports, &import->node);
  tide_free(followed->timeline->context->allocator, import, 1, sizeof *import);
}

void tide_cluster_free_imports(struct tide_followed *followed) {
  while (followed->imports.first)
    free_import(followed, TIDE_CONTAINER(followed->imports.first, struct tide_import, node));
}

static void forget_read(struct tide_followed *followed) {
  struct tide_tree_node *at = followed->imports.first, *next;
  if (followed->imports.count < followed->most_imports) return;
  for (; at; at = next) {
    struct tide_import *import = TIDE_CONTAINER(at, struct tide_import, node);
    next = tide_tree_next(at);
    if (is_over(import)) free_import(followed, import);
  }
  followed->most_imports = 2 * followed->imports.count + IMPORTS;
}

/* Finds the receipt's timeline by its home's number, most often that of the import before. */
static bool find_receipt(struct tide_cluster *cluster, struct tide_followed *followed,
                         uint32_t number) {
  if (followed->receipt_number == number) return true;
  struct tide_home *home = tide_cluster_home_followed(cluster, followed->home, number);
  if (!home) return false;
  followed->receipt = home;
  followed->receipt_number = number;
  return true;
}

/* Returns the import of a value, made if there is none, or if an old one has been read; NULL: no
 * memory, or there is one. */
static struct tide_import *need_import(struct tide_followed *followed, uint64_t value) {
  struct tide_tree_node *node = tide_tree_at_least(&followed->imports, value);
  if (node && node->key == value) {
    struct tide_import *import = TIDE_CONTAINER(node, struct tide_import, node);
    return is_over(import) ? import : NULL;
  }
  struct tide_import *import =
      tide_alloc(followed->timeline->context->allocator, 1, sizeof *import);
  if (import) (void)tide_tree_insert(&followed->imports, &import->node, value);
  return import;
}

const char *tide_cluster_take_export(struct tide_cluster *cluster, uint32_t from) {
  const struct tide_message_export *message = &cluster->message.export;
  uint32_t number = cluster->message.number;
  if (!number || number > cluster->mirror_count) return "an export of what I do not follow";
  struct tide_tree_node *node = tide_tree_at_least(&cluster->mirrors, number);
  if (!node || node->key != number) return NULL; /* it was on its way when I let it go */
  struct tide_followed *followed = TIDE_CONTAINER(node, struct tide_followed, node);
  if (followed->home != from) return "an export of another machine's timeline";
  if (!message->receipt || !find_receipt(cluster, followed, message->receipt))
    return "an export whose receipt it does not follow";
  if (!cluster->transport.memory ||
      !cluster->transport.has(cluster->transport.self, from, &message->span))
    return "an export of memory that it has not shared";
  forget_read(followed);
  struct tide_import *import = need_import(followed, message->value);
  if (!import) return "there is no memory for what it exports, or it has exported it before";
  import->span = message->span;
  import->receipt = followed->receipt;
  import->receipt_value = message->receipt_value;
  return NULL;
}

/* Returns the reason for which no buffer can be read any more. After a BYE the others reuse unread
 * memory. */
static enum tide_status end_of(const struct tide_cluster *cluster) {
  if (cluster->is_lost) return TIDE_LOST;
  return cluster->phase < TIDE_CLUSTER_SAID_BYE ? TIDE_OK : TIDE_CANCELLED;
}

static enum tide_status find_import(struct tide_cluster *cluster,
                                    const struct tide_timeline *timeline, uint64_t value,
                                    const struct tide_followed **out_followed,
                                    const struct tide_import **out_import) {
  struct tide_followed *followed = tide_cluster_followed(cluster, timeline);
  if (end_of(cluster) != TIDE_OK) return end_of(cluster);
  if (!followed || tide_timeline_query(timeline) < value) return TIDE_INVALID;
  struct tide_tree_node *node = tide_tree_at_least(&followed->imports, value);
  if (!node || node->key != value) return TIDE_NOT_FOUND;
  *out_followed = followed;
  *out_import = TIDE_CONTAINER(node, struct tide_import, node);
  return is_over(*out_import) ? TIDE_INVALID : TIDE_OK;
}

enum tide_status tide_cluster_read(struct tide_cluster *cluster, struct tide_timeline *timeline,
                                   uint64_t value, uint64_t offset, void *data, size_t size) {
  const struct tide_transport *transport = &cluster->transport;
  const struct tide_followed *followed;
  const struct tide_import *import;
  struct tide_span span = {0};
  uint32_t home = 0;
  tide_cluster_lock(cluster);
  enum tide_status status = find_import(cluster, timeline, value, &followed, &import);
  if (status == TIDE_OK) {
    home = followed->home;
    span = import->span;
    if (offset > span.size || size > span.size - offset) status = TIDE_INVALID;
    span.offset += offset;
    span.size = size;
  }
  tide_cluster_unlock(cluster);
  if (status != TIDE_OK) return status;
  status = transport->read(transport->self, home, &span, data);
  tide_cluster_lock(cluster);
  if (end_of(cluster) != TIDE_OK) status = end_of(cluster);
  tide_cluster_unlock(cluster);
  return status;
}
