/* Linux: SO_PEERCRED and pidfd. */
#include "service/peer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define START_FIELD 22 /* the field of /proc/PID/stat with the time of the start */

struct tide_peer tide_peer_of(int socket) {
  struct ucred peer = {.uid = UINT32_MAX};
  socklen_t size = sizeof peer;
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) peer.uid = UINT32_MAX;
  return (struct tide_peer){.uid = peer.uid,
                            .pid = peer.pid > 0 ? (uint32_t)peer.pid : 0,
                            .accepted = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec};
}

/* Reads the start of a file, as text, and the file's owner. False: the file cannot be read. */
static bool read_start(const char *path, char *text, size_t size, uint32_t *out_owner) {
  struct stat stat;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return false;
  ssize_t length = fstat(fd, &stat) == 0 ? read(fd, text, size - 1) : -1;
  close(fd);
  text[length > 0 ? length : 0] = 0;
  *out_owner = stat.st_uid;
  return length > 0;
}

/* Returns the time at which the process began, from the text of its stat file; 0: unknown. The
 * second field, a name in parentheses, may itself contain blanks and parentheses. */
static uint64_t start_of(const char *stat) {
  const char *at = strrchr(stat, ')');
  long ticks = sysconf(_SC_CLK_TCK);
  for (int field = 2; at && field < START_FIELD; field++) at = strchr(at + 1, ' ');
  return at && ticks > 0 ? strtoull(at, NULL, 10) * (1000000000u / (uint64_t)ticks) : 0;
}

/* True if the descriptor's process cannot be the peer: it began after the connection was accepted,
 * or belongs to another user. The peer had ended then, and its number was used again, which another
 * look at SO_PEERCRED does not show. The number in /proc comes from the descriptor: /proc may be
 * that of another pid namespace. False where /proc tells nothing. */
static bool is_another(int process, const struct tide_peer *peer) {
  char path[64], text[1024];
  uint32_t owner;
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", process);
  if (!read_start(path, text, sizeof text, &owner)) return false;
  const char *line = strstr(text, "\nPid:");
  int number = line ? atoi(line + strlen("\nPid:")) : 0;
  if (number <= 0) return false;
  snprintf(path, sizeof path, "/proc/%d/stat", number);
  if (!read_start(path, text, sizeof text, &owner)) return false;
  /* Root owns the files of processes that may not be traced. */
  return start_of(text) > peer->accepted || (owner != peer->uid && owner != 0);
}

static bool has_ended(int process) {
  struct pollfd one = {.fd = process, .events = POLLIN};
  return poll(&one, 1, 0) > 0;
}

enum tide_status tide_peer_watch(const struct tide_peer *peer, int *out_process) {
  *out_process = -1;
  if (!peer->pid) return TIDE_OK;
  int process = (int)syscall(SYS_pidfd_open, (pid_t)peer->pid, 0); /* sets CLOEXEC */
  if (process < 0 && errno == ESRCH) return TIDE_LOST;
  if (process < 0) return errno == EMFILE || errno == ENFILE ? TIDE_FULL : TIDE_OK;
  /* The order keeps the number in /proc that of this process. */
  if (is_another(process, peer) || has_ended(process)) {
    close(process);
    return TIDE_LOST;
  }
  *out_process = process;
  return TIDE_OK;
}
