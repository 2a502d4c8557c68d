/* service/socket.h: the path at which a service listens, and the connection to it.
 *
 * One service per path. Beside the socket PATH lies PATH.lock, which a service holds locked as long
 * as it listens; the kernel releases the lock when the process ends, however it ends. The holder
 * alone may remove a leftover socket, bind a new one, and remove both files at its end. Each
 * removal checks the inode first: a file of another process stays.
 *
 *      A: lock, bind, listen ... serve ... unlink socket, unlink lock, close
 *      B:        lock: held -> "in use", at once, even when A is stopped */
#ifndef TIDE_SERVICE_SOCKET_H
#define TIDE_SERVICE_SOCKET_H

#include "base/text.h"

#include <sys/types.h>

/* Identifies a file as long as a descriptor of it is open. */
struct tide_inode {
  dev_t device;
  ino_t number;
};

/* A listening socket, its lock, and the files of both. */
struct tide_endpoint {
  int lock;
  struct tide_inode lock_file, socket_file;
};

/* Returns a non-blocking listening socket; -1: the diag has the reason. tide_endpoint_close needs
 * the same `path`. */
int tide_endpoint_open(struct tide_endpoint *endpoint, const char *path, struct tide_diag *diag);
/* Closes the socket and removes the endpoint's own files. */
void tide_endpoint_close(struct tide_endpoint *endpoint, const char *path, int socket);

/* Returns a connected socket; -1 and errno. Blocks while the service does not accept (its backlog
 * is full), until the deadline: ETIMEDOUT. */
int tide_socket_connect(const char *path, uint64_t deadline);
/* Returns the uid of the listening process, as the kernel noted it; UINT32_MAX: unknown. */
uint32_t tide_socket_peer(int socket);

#define TIDE_DESCRIPTORS_MOST 4

/* Sends one message. TIDE_BUSY: the socket is full now; TIDE_LOST: no peer. Never blocks. */
enum tide_status tide_socket_send(int socket, const void *bytes, size_t size,
                                  const int *descriptors, unsigned count);
/* Receives one message of 1 to `size` bytes. TIDE_BUSY: none has come; TIDE_LOST: the end;
 * TIDE_CORRUPT: a longer message. Unused descriptors are -1; with `most` 0 the kernel drops all. */
enum tide_status tide_socket_receive(int socket, void *bytes, size_t size, size_t *out_size,
                                     int descriptors[TIDE_DESCRIPTORS_MOST], unsigned most);

#endif
