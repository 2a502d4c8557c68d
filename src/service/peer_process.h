/* service/peer_process.h: the process at the other end of a connection.
 *
 * A connection ends for the service when its last descriptor is closed, but a child that the peer
 * has forked holds a copy of the descriptor. The service therefore watches the process that
 * connected, too. SO_PEERCRED names that process by its number only. */
#ifndef TIDE_SERVICE_PEER_PROCESS_H
#define TIDE_SERVICE_PEER_PROCESS_H

#include "tidemark/base.h"

struct tide_peer {
  uint32_t uid, pid; /* pid 0: the process is in a pid namespace that this one does not see */
  uint64_t accepted; /* ns of the clock that counts the starts of processes */
};

/* Returns the credentials that the kernel noted for the peer; uid UINT32_MAX: unknown. */
struct tide_peer tide_peer_of(int socket);
/* Opens a descriptor of the peer's process, which is readable once the process has ended; -1: this
 * system has none, and only the end of the connection tells. TIDE_LOST: the process has ended;
 * TIDE_FULL: no descriptors left. */
TIDE_MUST_CHECK enum tide_status tide_peer_watch(const struct tide_peer *peer, int *out_process);

#endif
