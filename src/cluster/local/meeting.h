/* cluster/local/meeting.h: the processes of one computer meet, and get a connection to each other.
 *
 * Rank 0 listens at a path until all have come. It then makes a pair of sockets for each two of the
 * others, and hands these out. From then on no member is special, and the path is gone.
 *
 *      rank 2 -- HELLO 2 of 4 ------> rank 0           (and 1, and 3)
 *      rank 2 <- MEMBER 0, process 0 - rank 0          this connection is the one to rank 0
 *      rank 2 <- MEMBER 1, socket, process 1
 *      rank 2 <- MEMBER 3, socket, process 3
 *
 * greeting.h has the messages. */
#ifndef TIDE_CLUSTER_LOCAL_MEETING_H
#define TIDE_CLUSTER_LOCAL_MEETING_H

#include "cluster/cluster_state.h"

struct tide_met {
  int socket;  /* -1: the member itself */
  int process; /* readable once the process has ended; -1: only the socket tells */
  char name[TIDE_CLUSTER_NAME];
};

struct tide_meeting {
  uint32_t rank, count;
  uint64_t tag;
  uint64_t silence; /* ns, the same for all */
  struct tide_met members[TIDE_CLUSTER_MEMBERS_MAX];
};

/* Meets the others, as tide_cluster_join says. Otherwise no descriptor stays open. */
enum tide_status tide_meet(const struct tide_cluster_params *params, struct tide_meeting *out,
                           struct tide_diag *diag);
/* Closes all descriptors. */
void tide_meeting_close(struct tide_meeting *meeting);

#endif
