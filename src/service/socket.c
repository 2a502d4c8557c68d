/* SOCK_SEQPACKET sockets at paths, guarded by lock files. */
#include "service/socket.h"
#include "service/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_NAME (sizeof(struct sockaddr_un) + sizeof ".lock")
#define LOCK_TRIES 100 /* a service that ends may remove its lock file between two steps */
#define BACKLOG 128

static bool fill_address(struct sockaddr_un *address, const char *path) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  size_t length = strlen(path);
  errno = ENAMETOOLONG;
  if (length == 0 || length >= sizeof address->sun_path) return false;
  memcpy(address->sun_path, path, length + 1);
  return true;
}

/* Closes the descriptor and keeps the errno of the call before. Returns -1. */
static int close_failed(int descriptor) {
  int error = errno;
  if (descriptor >= 0) close(descriptor);
  errno = error;
  return -1;
}

/* ---- connecting ------------------------------------------------------------------------ */

/* Bounds connect(): the kernel waits for space in the backlog as long as a send would. */
static bool limit_wait(int socket, uint64_t deadline) {
  if (deadline == TIDE_FOREVER) return true;
  uint64_t now = tide_service_now();
  uint64_t left = deadline > now ? (deadline - now) / 1000 + 1 : 1; /* 0 would be for ever */
  struct timeval limit = {(time_t)(left / 1000000), (suseconds_t)(left % 1000000)};
  return setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

int tide_socket_connect(const char *path, uint64_t deadline) {
  struct sockaddr_un address;
  if (!fill_address(&address, path)) return -1;
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  do {
    if (!limit_wait(fd, deadline)) return close_failed(fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    if (errno == EAGAIN) errno = ETIMEDOUT;
    if (errno != ETIMEDOUT && errno != EINTR) return close_failed(fd);
  } while (tide_service_now() < deadline);
  errno = ETIMEDOUT;
  return close_failed(fd);
}

uint32_t tide_socket_peer(int socket) {
  struct ucred peer = {.uid = UINT32_MAX};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.uid : UINT32_MAX;
}

/* ---- messages --------------------------------------------------------------------- */

union control {
  struct cmsghdr header;
  unsigned char bytes[CMSG_SPACE(sizeof(int) * TIDE_DESCRIPTORS_MOST)];
};

enum tide_status tide_socket_send(int socket, const void *bytes, size_t size,
                                  const int *descriptors, unsigned count) {
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
  union control control;
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (count) {
    memset(&control, 0, sizeof control);
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);
  }
  for (;;) {
    ssize_t sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == (ssize_t)size) return TIDE_OK;
    if (sent < 0 && errno == EINTR) continue;
    /* ETOOMANYREFS: too many of the user's descriptors are in flight; some will arrive. */
    if (sent < 0 &&
        (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS))
      return TIDE_BUSY;
    return TIDE_LOST;
  }
}

/* Takes all received descriptors, and closes those beyond `most`. */
static unsigned take_descriptors(struct msghdr *header, int *descriptors, unsigned most) {
  unsigned count = 0;
  for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    size_t here = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < here; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      if (count < most) descriptors[count++] = fd;
      else close(fd);
    }
  }
  return count;
}

enum tide_status tide_socket_receive(int socket, void *bytes, size_t size, size_t *out_size,
                                     int descriptors[TIDE_DESCRIPTORS_MOST], unsigned most) {
  struct iovec part = {.iov_base = bytes, .iov_len = size};
  union control control;
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  /* Without a control buffer the kernel itself drops descriptors that were sent. */
  if (most) {
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
  }
  for (unsigned i = 0; i < most; i++) descriptors[i] = -1;
  ssize_t got;
  /* A reset is reported once, before the last messages that may still be there. */
  bool reset = false;
  do {
    if (reset) errno = 0;
    got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset && (reset = true))));
  if (got < 0) return errno == EAGAIN ? TIDE_BUSY : TIDE_LOST;
  unsigned count = most ? take_descriptors(&header, descriptors, most) : 0;
  *out_size = (size_t)got;
  if (got > 0 && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return TIDE_OK;
  for (unsigned i = 0; i < count; i++) close(descriptors[i]);
  for (unsigned i = 0; i < most; i++) descriptors[i] = -1;
  return got == 0 && !(header.msg_flags & MSG_CTRUNC) ? TIDE_LOST : TIDE_CORRUPT;
}

/* ---- files ----------------------------------------------------------------------------- */

static struct tide_inode inode_of(const struct stat *stat) {
  return (struct tide_inode){stat->st_dev, stat->st_ino};
}

static bool is_at(const char *path, struct tide_inode inode) {
  struct stat there;
  return lstat(path, &there) == 0 && there.st_dev == inode.device && there.st_ino == inode.number;
}

static void remove_own(const char *path, struct tide_inode inode) {
  if (is_at(path, inode)) unlink(path);
}

static void name_lock(char name[LOCK_NAME], const char *path) {
  snprintf(name, LOCK_NAME, "%s.lock", path);
}

/* Returns a descriptor of the lock file. A FIFO or another user's file is no lock: its owner could
 * block this service. */
static int open_lock(const char *name, struct stat *out_stat, struct tide_diag *diag) {
  int fd = open(name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
  if (fd < 0 || fstat(fd, out_stat) != 0) {
    tide_diag_set(diag, TIDE_IO, "%s: %s", name, strerror(errno));
    return close_failed(fd);
  }
  if (S_ISREG(out_stat->st_mode) && out_stat->st_uid == geteuid()) return fd;
  tide_diag_set(diag, TIDE_IO, "%s: a file of uid %u is expected, not %s of uid %u", name,
                (unsigned)geteuid(), S_ISREG(out_stat->st_mode) ? "one" : "a special file",
                (unsigned)out_stat->st_uid);
  return close_failed(fd);
}

/* Takes the lock, or fails when another process holds it. A file that its holder has just removed
 * locks nothing, so the name is tried again. */
static bool take_lock(struct tide_endpoint *endpoint, const char *path, struct tide_diag *diag) {
  char name[LOCK_NAME];
  struct stat stat;
  name_lock(name, path);
  for (int i = 0; i < LOCK_TRIES; i++) {
    int fd = open_lock(name, &stat, diag);
    if (fd < 0) return false;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      tide_diag_set(diag, TIDE_IO, "%s: the path is in use: %s %s", path,
                    errno == EWOULDBLOCK ? "another service holds" : strerror(errno), name);
      close(fd);
      return false;
    }
    endpoint->lock = fd;
    endpoint->lock_file = inode_of(&stat);
    if (is_at(name, endpoint->lock_file)) return true;
    close(fd);
  }
  tide_diag_set(diag, TIDE_IO, "%s: the file is replaced again and again", name);
  return false;
}

static void drop_lock(struct tide_endpoint *endpoint, const char *path) {
  char name[LOCK_NAME];
  name_lock(name, path);
  remove_own(name, endpoint->lock_file);
  close(endpoint->lock);
}

/* ---- listening ------------------------------------------------------------------------- */

/* True if connecting is refused: no process has the socket any more. */
static bool is_abandoned(const struct sockaddr_un *address) {
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  bool refused =
      connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
  close(fd);
  return refused;
}

/* Removes a leftover socket. The lock is held, so a socket at the path belongs to a killed service,
 * or to a program that ignores the lock. */
static bool remove_leftover(const struct sockaddr_un *address, struct tide_diag *diag) {
  struct stat stat;
  const char *path = address->sun_path, *why = NULL;
  if (lstat(path, &stat) != 0) {
    if (errno == ENOENT) return true;
    why = strerror(errno);
  } else if (!S_ISSOCK(stat.st_mode)) {
    why = "the path is in use: a socket is expected, not another kind of file";
  } else if (!is_abandoned(address)) {
    why = "the path is in use: another program listens there";
  } else if (unlink(path) == 0) {
    return true;
  } else {
    why = strerror(errno);
  }
  tide_diag_set(diag, TIDE_IO, "%s: %s", path, why);
  return false;
}

/* Lets every user connect: the policy decides. The mode is set through a descriptor, so that no
 * other file gets it. */
static bool open_to_all(struct tide_endpoint *endpoint, const char *path) {
  char name[64];
  struct stat stat;
  /* Without a descriptor the file must still be known, so that it is removed. */
  if (lstat(path, &stat) == 0 && S_ISSOCK(stat.st_mode)) endpoint->socket_file = inode_of(&stat);
  int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  bool good = fd >= 0 && fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode);
  if (good) endpoint->socket_file = inode_of(&stat);
  good = good && chmod(name, 0666) == 0;
  (void)close_failed(fd);
  return good;
}

static int listen_at(struct tide_endpoint *endpoint, const struct sockaddr_un *address) {
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0) return close_failed(fd);
  if (open_to_all(endpoint, address->sun_path) && listen(fd, BACKLOG) == 0) return fd;
  int error = errno;
  remove_own(address->sun_path, endpoint->socket_file);
  errno = error;
  return close_failed(fd);
}

int tide_endpoint_open(struct tide_endpoint *endpoint, const char *path, struct tide_diag *diag) {
  struct sockaddr_un address;
  *endpoint = (struct tide_endpoint){.lock = -1};
  if (!fill_address(&address, path)) {
    tide_diag_set(diag, TIDE_IO, "%s: %s: at most %u bytes are expected", path, strerror(errno),
                  (unsigned)sizeof address.sun_path - 1);
    return -1;
  }
  if (!take_lock(endpoint, path, diag)) return -1;
  int fd = -1;
  if (remove_leftover(&address, diag)) {
    fd = listen_at(endpoint, &address);
    if (fd < 0) tide_diag_set(diag, TIDE_IO, "%s: %s", path, strerror(errno));
  }
  if (fd < 0) drop_lock(endpoint, path);
  return fd;
}

/* The socket stays open until its file is gone: until then no other file can get its inode
 * number. */
void tide_endpoint_close(struct tide_endpoint *endpoint, const char *path, int socket) {
  remove_own(path, endpoint->socket_file);
  close(socket);
  drop_lock(endpoint, path);
}
