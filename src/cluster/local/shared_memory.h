/* cluster/local/shared_memory.h: memory of a session between processes: memfds, which a reader maps
 * once and copies from.
 *
 * The model. The memory source hands out chunks, each a memfd. A chunk is sent to a member before
 * the first message that names it. Once its pool has given it back, the members that have it are
 * told, and unmap it.
 *
 *        member 0                              member 1
 *        chunk 3   --- CHUNK with the memfd --->  mapping of chunk 3 of member 0
 *                  --- GONE ------------------->  unmapped, once no copy is being made
 *
 * Ownership. The context owns the source: pools take from it and give back to it until their end,
 * also after the end of the session.
 *
 * Locks. The source's lock, then the transport's. The session's lock comes before both. */
#ifndef TIDE_CLUSTER_LOCAL_SHARED_MEMORY_H
#define TIDE_CLUSTER_LOCAL_SHARED_MEMORY_H

#include "base/list.h"
#include "cluster/transport.h"

struct tide_shared_source;
struct tide_shared_peer {
  struct tide_link mappings; /* chunks of the member that are mapped here */
};

/* Sends a message of the transport to a member. `descriptor`: -1 for none; it stays the caller's.
 */
struct tide_shared_sender {
  void *self;
  void (*send)(void *self, uint32_t to, const void *bytes, size_t size, int descriptor);
};

/* ---- at home ---- */

/* Creates the source, which the context owns. TIDE_NOMEM. */
enum tide_status tide_shared_source_create(struct tide_context *context, uint64_t tag,
                                           const struct tide_shared_sender *sender,
                                           struct tide_shared_source **out_source);
const struct tide_memory_source *tide_shared_source_memory(struct tide_shared_source *source);
/* The session ends: nothing is sent any more, and no memory is handed out. */
void tide_shared_source_end(struct tide_shared_source *source);
bool tide_shared_source_find(struct tide_shared_source *source, const void *data, size_t size,
                             struct tide_span *out_span);
/* Sends the span's chunk to a member, unless it has it. */
void tide_shared_source_share(struct tide_shared_source *source, uint32_t to,
                              const struct tide_span *span);

/* ---- at the reader: the transport's lock guards a peer ---- */

/* True if the message is the transport's own, and not the session's. */
bool tide_shared_is_message(const void *bytes, size_t size);
/* Takes in such a message, and the descriptor that came with it. Returns why it cannot be; NULL: it
 * was. */
const char *tide_shared_take(struct tide_context *context, struct tide_shared_peer *peer,
                             uint64_t tag, const void *bytes, size_t size, int descriptor);
bool tide_shared_has(const struct tide_shared_peer *peer, const struct tide_span *span);
/* Returns the span's bytes, and keeps the mapping until tide_shared_read_end; NULL: it is gone. */
const void *tide_shared_read_begin(struct tide_shared_peer *peer, const struct tide_span *span);
void tide_shared_read_end(struct tide_context *context, struct tide_shared_peer *peer,
                          const struct tide_span *span);
/* Unmaps all chunks: no copy is being made. */
void tide_shared_peer_close(struct tide_context *context, struct tide_shared_peer *peer);

#endif
