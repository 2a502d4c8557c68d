/* The five policies that the WIC paper compares itself with, as an application can have them: when
 * a message is copied, by whom, and how many at a time. All of them poll for it.
 *
 *   nblocking   nothing is copied: who reads, reads where it was written, and polls one counter of
 *               notifications that is common to all
 *   demandcpy   the reader copies a message as a whole when it needs it, and then owns the copy
 *   effshare    a transfer thread beside the producer copies; giving only wakes it
 *   gps         the writer copies to the reader's side at once, before anybody asks
 *   finepack    the same, but the producer side packs up to 16 messages before it copies
 */
#include "polling.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PACK 16

struct policy {
  unsigned char *copies; /* the readers' side of the memory */
  size_t size;
  uint32_t *queued; /* effshare, finepack: like a slot's `given`, but when the writer gave it */
  _Alignas(64) _Atomic uint32_t notifications;
  /* finepack: what is packed, and where it belongs. */
  unsigned char *pack;
  size_t packed;
  struct entry {
    struct message message;
    size_t length;
  } entries[PACK];
  uint32_t count;
  /* effshare: a ring that holds all that can be on its way. The lock guards all of it. */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t more;
  struct entry *ring;
  uint32_t head, tail, slots;
  bool closing;
};

static unsigned char *copy_of(struct exchange *x, struct message m) {
  struct policy *p = x->state;
  return p->copies + exchange_index(x, m) * x->place;
}

/* From the writer's side to the reader's, and it may be read. */
static void push(struct exchange *x, struct message m, const void *data, size_t length) {
  memcpy(copy_of(x, m), data, length);
  polling_give(x, m, length);
}

/* ---- life ---- */

static const char *open_policy(struct exchange *x) {
  static const char *const no_memory = "there is no memory for the copies";
  struct policy *p = aligned_alloc(64, sizeof *p);
  if (!p) return no_memory;
  memset(p, 0, sizeof *p);
  x->state = p;
  p->slots = 2 * x->shape.consumers * (x->shape.down + x->shape.up);
  p->copies = exchange_map(x, &p->size);
  p->queued = calloc(p->slots, sizeof *p->queued);
  p->pack = malloc(PACK * x->place);
  p->ring = calloc(p->slots + 1, sizeof *p->ring);
  return p->copies && p->queued && p->pack && p->ring ? NULL : no_memory;
}

static void close_policy(struct exchange *x) {
  struct policy *p = x->state;
  if (!p) return;
  if (p->copies) munmap(p->copies, p->size);
  free(p->queued);
  free(p->pack);
  free(p->ring);
  free(p);
  x->state = NULL;
}

/* ---- what readers of copies do ---- */

static const void *take_copy(struct exchange *x, struct message m) {
  return polling_take(x, m) ? copy_of(x, m) : NULL;
}

/* For writers whose messages are given later than they say. */
static void *room_queued(struct exchange *x, struct message m) {
  struct policy *p = x->state;
  uint32_t queued = p->queued[exchange_index(x, m)];
  struct slot *slot = exchange_slot(x, m);
  if (m.direction == DOWN && atomic_load_explicit(&slot->taken, memory_order_acquire) < queued)
    exchange_flush(x);
  return polling_wait(x, &slot->taken, queued, NULL) ? exchange_place(x, m) : NULL;
}

/* ---- nblocking ---- */

static void notify(struct exchange *x, struct message m, size_t length) {
  struct policy *p = x->state;
  polling_give(x, m, length);
  atomic_fetch_add_explicit(&p->notifications, 1, memory_order_release);
}

/* Sees that there was a notification, then whether it was its own. */
static const void *await_notification(struct exchange *x, struct message m) {
  struct policy *p = x->state;
  struct slot *slot = exchange_slot(x, m);
  struct waiting *waiting = exchange_reader(x, m);
  uint64_t from = 0;
  for (;;) {
    uint32_t seen = atomic_load_explicit(&p->notifications, memory_order_acquire);
    if (atomic_load_explicit(&slot->given, memory_order_acquire) >= m.cycle + 1) break;
    if (atomic_load_explicit(&x->over, memory_order_relaxed)) return NULL;
    if (!from) from = exchange_now();
    for (uint32_t now = seen; now == seen && !atomic_load_explicit(&x->over, memory_order_relaxed);
         waiting->checks++) {
      PAUSE();
      now = atomic_load_explicit(&p->notifications, memory_order_acquire);
    }
  }
  if (from) {
    waiting->waits++;
    waiting->ns += exchange_now() - from;
  }
  return exchange_place(x, m);
}

/* ---- demandcpy ---- */

/* Its place is free as soon as it is copied. */
static const void *take_by_copying(struct exchange *x, struct message m) {
  const void *data = polling_take(x, m);
  if (!data) return NULL;
  memcpy(copy_of(x, m), data, exchange_slot(x, m)->length);
  polling_taken(x, m);
  return copy_of(x, m);
}

static bool is_mine(struct exchange *x, struct message m) {
  (void)x;
  (void)m;
  return true;
}

/* ---- effshare ---- */

static void *transfer(void *argument) {
  struct exchange *x = argument;
  struct policy *p = x->state;
  exchange_pin(x->shape.cores[1]);
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (p->head == p->tail && !p->closing) pthread_cond_wait(&p->more, &p->lock);
    if (p->head == p->tail) break;
    struct entry e = p->ring[p->head];
    p->head = (p->head + 1) % (p->slots + 1);
    pthread_mutex_unlock(&p->lock);
    push(x, e.message, exchange_place(x, e.message), e.length);
    pthread_mutex_lock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static void hand_over(struct exchange *x, struct message m, size_t length) {
  struct policy *p = x->state;
  p->queued[exchange_index(x, m)] = m.cycle + 1;
  pthread_mutex_lock(&p->lock);
  p->ring[p->tail] = (struct entry){m, length};
  p->tail = (p->tail + 1) % (p->slots + 1);
  pthread_cond_signal(&p->more);
  pthread_mutex_unlock(&p->lock);
}

/* The thread reads x->memory, so that is made here. */
static const char *open_transfer(struct exchange *x) {
  const char *problem = open_policy(x);
  struct policy *p = x->state;
  size_t size;
  if (problem) return problem;
  if (!(x->memory = exchange_map(x, &size))) return "there is no memory for the messages";
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->more, NULL);
  if (pthread_create(&p->thread, NULL, transfer, x) == 0) return NULL;
  p->closing = true;
  return "the transfer thread cannot be started";
}

static void close_transfer(struct exchange *x) {
  struct policy *p = x->state;
  if (p && x->memory && !p->closing) {
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->more);
  }
  close_policy(x);
}

/* ---- gps ---- */

static void publish(struct exchange *x, struct message m, size_t length) {
  push(x, m, exchange_place(x, m), length);
}

/* ---- finepack ---- */

static void unpack(struct exchange *x) {
  struct policy *p = x->state;
  const unsigned char *at = p->pack;
  for (uint32_t i = 0; i < p->count; i++) {
    push(x, p->entries[i].message, at, p->entries[i].length);
    at += p->entries[i].length;
  }
  p->count = 0;
  p->packed = 0;
}

/* Consumers don't know when they give for the last time: what they give goes alone. */
static void pack(struct exchange *x, struct message m, size_t length) {
  struct policy *p = x->state;
  p->queued[exchange_index(x, m)] = m.cycle + 1;
  if (m.direction == UP) {
    publish(x, m, length);
    return;
  }
  memcpy(p->pack + p->packed, exchange_place(x, m), length);
  p->packed += length;
  p->entries[p->count++] = (struct entry){m, length};
  if (p->count == PACK) unpack(x);
}

/* ---- the ways ---- */

const struct way way_nblocking = {
    .name = "nblocking",
    .summary = "NBlocking: reads in place, one counter of notifications",
    .policy = "zero-copy",
    .open = open_policy,
    .close = close_policy,
    .room = polling_room,
    .give = notify,
    .take = await_notification,
    .taken = polling_taken,
};

const struct way way_demandcpy = {
    .name = "demandcpy",
    .summary = "DemandCpy: the reader copies when it needs it",
    .policy = "copy on demand",
    .open = open_policy,
    .close = close_policy,
    .room = polling_room,
    .give = polling_give,
    .take = take_by_copying,
    .taken = is_mine,
};

const struct way way_effshare = {
    .name = "effshare",
    .summary = "EffShare: a transfer thread copies",
    .policy = "transfer thread",
    .open = open_transfer,
    .close = close_transfer,
    .room = room_queued,
    .give = hand_over,
    .take = take_copy,
    .taken = polling_taken,
};

const struct way way_gps = {
    .name = "gps",
    .summary = "GPS: the writer copies ahead",
    .policy = "publish and subscribe",
    .open = open_policy,
    .close = close_policy,
    .room = polling_room,
    .give = publish,
    .take = take_copy,
    .taken = polling_taken,
};

const struct way way_finepack = {
    .name = "finepack",
    .summary = "FinePack: up to 16 messages are copied at once",
    .policy = "packed copies",
    .open = open_policy,
    .close = close_policy,
    .room = room_queued,
    .give = pack,
    .take = take_copy,
    .taken = polling_taken,
    .flush = unpack,
};
