#include "cluster/local/shared_memory.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "causal/context_state.h"
#include "service/system.h"

#include <string.h>
#include <unistd.h>

/* ---- messages -------------------------------------------------------------------------- */

/* The session's kinds are smaller. */
enum kind { CHUNK = 0x80, GONE = 0x81 };

#define KIND_AT 8                  /* the session's tag comes first, as in its messages */
#define MESSAGE_SIZE (9u + 8 + 8u) /* the chunk's number and size */

struct chunk_message {
  uint64_t tag;
  enum kind kind;
  uint64_t number, size;
};

static void put(unsigned char *at, uint64_t number) {
  for (size_t i = 0; i < 8; i++) at[i] = (unsigned char)(number >> 8 * i);
}

static uint64_t get(const unsigned char *at) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; i++) number |= (uint64_t)at[i] << 8 * i;
  return number;
}

static void encode(const struct chunk_message *message, unsigned char bytes[MESSAGE_SIZE]) {
  put(bytes, message->tag);
  bytes[KIND_AT] = (unsigned char)message->kind;
  put(bytes + KIND_AT + 1, message->number);
  put(bytes + KIND_AT + 9, message->size);
}

bool tide_shared_is_message(const void *bytes, size_t size) {
  return size > KIND_AT && ((const unsigned char *)bytes)[KIND_AT] >= CHUNK;
}

static bool decode(const unsigned char *bytes, size_t size, struct chunk_message *out) {
  if (size != MESSAGE_SIZE) return false;
  out->tag = get(bytes);
  out->kind = (enum kind)bytes[KIND_AT];
  out->number = get(bytes + KIND_AT + 1);
  out->size = get(bytes + KIND_AT + 9);
  return out->kind == CHUNK || out->kind == GONE;
}

/* ---- at home --------------------------------------------------------------------------- */

struct chunk {
  struct tide_link link;
  struct tide_mapping mapping;
  uint64_t number;
  uint64_t shared; /* bit i: member i has it */
};

_Static_assert(TIDE_CLUSTER_MEMBERS_MAX <= 64, "a bit for each member");

struct tide_shared_source {
  struct tide_owned owned;
  struct tide_context *context;
  struct tide_memory_source memory;
  uint64_t tag;
  struct tide_lock lock; /* guards all below */
  struct tide_shared_sender sender;
  bool has_ended;
  struct tide_link chunks;
  uint64_t number; /* of the newest chunk */
};

static void lock(struct tide_shared_source *source) {
  tide_lock_take(&source->lock, source->context->platform);
}

static void send(struct tide_shared_source *source, const struct chunk *chunk, enum kind kind,
                 uint32_t to) {
  struct chunk_message message = {source->tag, kind, chunk->number, chunk->mapping.size};
  unsigned char bytes[MESSAGE_SIZE];
  encode(&message, bytes);
  source->sender.send(source->sender.self, to, bytes, sizeof bytes,
                      kind == CHUNK ? chunk->mapping.descriptor : -1);
}

static void *map(void *self, size_t size) {
  struct tide_shared_source *source = self;
  struct chunk *chunk = tide_alloc(source->context->allocator, 1, sizeof *chunk);
  if (!chunk) return NULL;
  lock(source);
  bool is_open = !source->has_ended;
  tide_lock_give(&source->lock);
  if (!is_open || tide_mapping_create(&chunk->mapping, "tide-pool", size, true) != TIDE_OK) {
    tide_free(source->context->allocator, chunk, 1, sizeof *chunk);
    return NULL;
  }
  lock(source);
  chunk->number = ++source->number;
  tide_list_push_back(&source->chunks, &chunk->link);
  tide_lock_give(&source->lock);
  return chunk->mapping.memory;
}

/* Finds the chunk with these bytes, most often a new one. */
static struct chunk *find_chunk(const struct tide_shared_source *source, const void *data,
                                size_t size) {
  for (struct tide_link *at = source->chunks.prev; at != &source->chunks; at = at->prev) {
    struct chunk *chunk = TIDE_CONTAINER(at, struct chunk, link);
    uintptr_t offset = (uintptr_t)data - (uintptr_t)chunk->mapping.memory;
    if (offset < chunk->mapping.size && size <= chunk->mapping.size - offset) return chunk;
  }
  return NULL;
}

static void unmap(void *self, void *memory, size_t size) {
  struct tide_shared_source *source = self;
  lock(source);
  struct chunk *chunk = find_chunk(source, memory, size);
  tide_list_remove(&chunk->link);
  for (uint32_t i = 0; i < TIDE_CLUSTER_MEMBERS_MAX && !source->has_ended; i++)
    if (chunk->shared >> i & 1) send(source, chunk, GONE, i);
  tide_lock_give(&source->lock);
  tide_mapping_close(&chunk->mapping);
  tide_free(source->context->allocator, chunk, 1, sizeof *chunk);
}

bool tide_shared_source_find(struct tide_shared_source *source, const void *data, size_t size,
                             struct tide_span *out_span) {
  lock(source);
  const struct chunk *chunk = find_chunk(source, data, size);
  if (chunk)
    *out_span = (struct tide_span){
        chunk->number, (uint64_t)((uintptr_t)data - (uintptr_t)chunk->mapping.memory), size};
  tide_lock_give(&source->lock);
  return chunk != NULL;
}

void tide_shared_source_share(struct tide_shared_source *source, uint32_t to,
                              const struct tide_span *span) {
  lock(source);
  struct tide_link *at = source->chunks.prev;
  while (TIDE_CONTAINER(at, struct chunk, link)->number != span->chunk) at = at->prev;
  struct chunk *chunk = TIDE_CONTAINER(at, struct chunk, link);
  bool is_new = !(chunk->shared >> to & 1) && !source->has_ended;
  chunk->shared |= (uint64_t)1 << to;
  if (is_new) send(source, chunk, CHUNK, to);
  tide_lock_give(&source->lock);
}

void tide_shared_source_end(struct tide_shared_source *source) {
  lock(source);
  source->has_ended = true;
  tide_lock_give(&source->lock);
}

static void destroy_owned(struct tide_owned *owned) {
  struct tide_shared_source *source = TIDE_CONTAINER(owned, struct tide_shared_source, owned);
  tide_free(source->context->allocator, source, 1, sizeof *source);
}
static const struct tide_owned_ops owned_ops = {.destroy = destroy_owned};

enum tide_status tide_shared_source_create(struct tide_context *context, uint64_t tag,
                                           const struct tide_shared_sender *sender,
                                           struct tide_shared_source **out_source) {
  struct tide_shared_source *source = tide_alloc(context->allocator, 1, sizeof *source);
  if (!source) return TIDE_NOMEM;
  source->context = context;
  source->memory = (struct tide_memory_source){map, unmap, source};
  source->tag = tag;
  source->sender = *sender;
  tide_lock_init(&source->lock);
  tide_list_init(&source->chunks);
  tide_context_own(context, TIDE_OWNED_MEMORY_SOURCE, &source->owned, &owned_ops);
  *out_source = source;
  return TIDE_OK;
}

const struct tide_memory_source *tide_shared_source_memory(struct tide_shared_source *source) {
  return &source->memory;
}

/* ---- at the reader ----------------------------------------------------------------------- */

struct mapping {
  struct tide_link link;
  struct tide_mapping mapping;
  uint64_t number;
  uint32_t readers; /* copies that are being made */
  bool is_gone;     /* unmapped after the last one */
};

static struct mapping *find_mapping(const struct tide_shared_peer *peer, uint64_t number) {
  for (struct tide_link *at = peer->mappings.prev; at != &peer->mappings; at = at->prev) {
    struct mapping *mapping = TIDE_CONTAINER(at, struct mapping, link);
    if (mapping->number == number) return mapping;
  }
  return NULL;
}

static void close_mapping(struct tide_context *context, struct mapping *mapping) {
  tide_list_remove(&mapping->link);
  tide_mapping_close(&mapping->mapping);
  tide_free(context->allocator, mapping, 1, sizeof *mapping);
}

static void close_unused(struct tide_context *context, struct mapping *mapping) {
  if (mapping->is_gone && !mapping->readers) close_mapping(context, mapping);
}

static const char *take_chunk(struct tide_context *context, struct tide_shared_peer *peer,
                              const struct chunk_message *message, int descriptor) {
  /* Chunks come in the order of their first exports, which is not that of their numbers. */
  if (find_mapping(peer, message->number)) {
    close(descriptor);
    return "it shares a piece of memory twice";
  }
  struct mapping *mapping = tide_alloc(context->allocator, 1, sizeof *mapping);
  if (!mapping) {
    close(descriptor);
    return "there is no memory for what it shares";
  }
  if (tide_mapping_open(&mapping->mapping, descriptor, message->size, true) != TIDE_OK) {
    tide_free(context->allocator, mapping, 1, sizeof *mapping);
    return "it shares memory that cannot be mapped";
  }
  mapping->number = message->number;
  tide_list_push_back(&peer->mappings, &mapping->link);
  return NULL;
}

const char *tide_shared_take(struct tide_context *context, struct tide_shared_peer *peer,
                             uint64_t tag, const void *bytes, size_t size, int descriptor) {
  struct chunk_message message;
  bool is_good = decode(bytes, size, &message);
  if (is_good && message.tag == tag && message.kind == CHUNK && descriptor >= 0)
    return take_chunk(context, peer, &message, descriptor);
  if (descriptor >= 0) close(descriptor);
  if (!is_good || (message.tag == tag && message.kind == CHUNK))
    return "it shares memory in a message that is cut short";
  if (message.tag != tag) return "a message of another session";
  struct mapping *mapping = find_mapping(peer, message.number);
  if (!mapping || mapping->is_gone) return "it takes back memory that it has not shared";
  mapping->is_gone = true;
  close_unused(context, mapping);
  return NULL;
}

static bool is_in(const struct mapping *mapping, const struct tide_span *span) {
  if (!mapping || mapping->is_gone || span->offset > mapping->mapping.size) return false;
  return span->size <= mapping->mapping.size - span->offset;
}

bool tide_shared_has(const struct tide_shared_peer *peer, const struct tide_span *span) {
  return is_in(find_mapping(peer, span->chunk), span);
}

const void *tide_shared_read_begin(struct tide_shared_peer *peer, const struct tide_span *span) {
  struct mapping *mapping = find_mapping(peer, span->chunk);
  if (!is_in(mapping, span)) return NULL;
  mapping->readers++;
  return (const char *)mapping->mapping.memory + span->offset;
}

void tide_shared_read_end(struct tide_context *context, struct tide_shared_peer *peer,
                          const struct tide_span *span) {
  struct mapping *mapping = find_mapping(peer, span->chunk);
  mapping->readers--;
  close_unused(context, mapping);
}

void tide_shared_peer_close(struct tide_context *context, struct tide_shared_peer *peer) {
  while (!tide_list_empty(&peer->mappings))
    close_mapping(context, TIDE_CONTAINER(peer->mappings.next, struct mapping, link));
}
