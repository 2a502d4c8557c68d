/* service/system.h: memory that processes share, and messages with descriptors. */
#ifndef TIDE_SERVICE_SYSTEM_H
#define TIDE_SERVICE_SYSTEM_H

#include "service/socket.h"
#include "service/wire.h"

struct tide_mapping {
  void *memory;
  size_t size;
  int descriptor;
};

/* Makes zeroed shared memory of a fixed size: no other process can shrink it. `read_only`: other
 * processes can only ever map it for reading. TIDE_NOMEM; TIDE_FULL: no descriptors left. */
enum tide_status tide_mapping_create(struct tide_mapping *out, const char *name, size_t size,
                                     bool read_only);
/* Maps received memory; the descriptor is taken, also on an error. TIDE_CORRUPT: its size is not
 * `size`, or could be made smaller. */
enum tide_status tide_mapping_open(struct tide_mapping *out, int descriptor, size_t size,
                                   bool read_only);
/* Closes the descriptor: from then on no process can be given the memory. The mapping stays. */
void tide_mapping_keep(struct tide_mapping *mapping);
void tide_mapping_close(struct tide_mapping *mapping);
/* Returns another descriptor of the same memory, for reading only unless `writable`; -1. */
int tide_mapping_another(const struct tide_mapping *mapping, bool writable);

/* Sends one message. TIDE_BUSY: the socket is full now; TIDE_LOST: no peer. Never blocks. */
enum tide_status tide_message_send(int socket, const struct tide_wire_message *message,
                                   const int *descriptors, unsigned count);
/* Receives one message. TIDE_BUSY: none has come; TIDE_LOST: the end; TIDE_CORRUPT: not a message
 * of this size. Unused descriptors are -1; with `most` 0 the kernel drops all. */
enum tide_status tide_message_receive(int socket, struct tide_wire_message *message,
                                      int descriptors[TIDE_DESCRIPTORS_MOST], unsigned most);

uint64_t tide_service_now(void);
/* Returns the nanoseconds of processor time of this thread. A system call. */
uint64_t tide_service_own_time(void);

#endif
