/* See failing.h. */
#include "attacks/failing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct shared {
  uint64_t nth, asked; /* nth 0: no call fails */
  uint32_t for_good;
  int64_t held;
  const char *failed; /* of this program's text: all processes are forks of one */
  pid_t watched;
};
static struct shared *shared;

void failing_share(void) {
  if (shared) return;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) abort();
}

void failing_watch(pid_t process) { __atomic_store_n(&shared->watched, process, __ATOMIC_SEQ_CST); }

static void arm(uint64_t nth, bool for_good) {
  __atomic_store_n(&shared->for_good, for_good, __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared->failed, NULL, __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared->asked, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared->nth, nth, __ATOMIC_SEQ_CST);
}

void failing_arm(uint64_t nth) { arm(nth, false); }
void failing_arm_for_good(uint64_t nth) { arm(nth, true); }

const char *failing_disarm(void) {
  __atomic_store_n(&shared->nth, 0, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&shared->failed, __ATOMIC_SEQ_CST);
}

int64_t failing_held(void) { return __atomic_load_n(&shared->held, __ATOMIC_SEQ_CST); }

/* True if this call fails. Connections that no call takes would wake the service without an end. */
static bool fails(const char *call) {
  if (!shared || __atomic_load_n(&shared->watched, __ATOMIC_SEQ_CST) != getpid()) return false;
  uint64_t nth = __atomic_load_n(&shared->nth, __ATOMIC_SEQ_CST);
  if (!nth) return false;
  bool for_good = __atomic_load_n(&shared->for_good, __ATOMIC_SEQ_CST);
  if (for_good && strcmp(call, "accept4") == 0) return false;
  uint64_t asked = __atomic_add_fetch(&shared->asked, 1, __ATOMIC_SEQ_CST);
  if (asked < nth || (asked > nth && !for_good)) return false;
  __atomic_store_n(&shared->failed, call, __ATOMIC_SEQ_CST);
  return true;
}

/* ---- the allocator ---- */

static void *give(void *self, size_t size, size_t align) {
  void *memory = NULL;
  (void)self;
  if (fails("allocation") || posix_memalign(&memory, align < 16 ? 16 : align, size)) return NULL;
  __atomic_add_fetch(&shared->held, 1, __ATOMIC_SEQ_CST);
  return memory;
}

static void take_back(void *self, void *memory, size_t size) {
  (void)self;
  memset(memory, 0xdd, size);
  __atomic_sub_fetch(&shared->held, 1, __ATOMIC_SEQ_CST);
  free(memory);
}

const struct tide_allocator *failing_allocator(void) {
  static const struct tide_allocator allocator = {give, take_back, NULL};
  return &allocator;
}

/* ---- the system's calls, in front of their names ---- */

#define FAILS(call, error)                                                                         \
  if (fails(call)) {                                                                               \
    errno = (error);                                                                               \
    return -1;                                                                                     \
  }

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  if (fails("malloc")) return NULL;
  return __real_malloc(size);
}

void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size) {
  if (fails("aligned_alloc")) return NULL;
  return __real_aligned_alloc(align, size);
}

void *__real_mmap64(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int access, int flags, int fd, off_t offset) {
  if (!fails("mmap")) return __real_mmap64(at, size, access, flags, fd, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags) {
  FAILS("memfd_create", ENFILE)
  return __real_memfd_create(name, flags);
}

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags) {
  FAILS("eventfd", EMFILE)
  return __real_eventfd(value, flags);
}

int __real_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event) {
  if (what == EPOLL_CTL_ADD) FAILS("epoll_ctl", ENOSPC)
  return __real_epoll_ctl(epoll, what, fd, event);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  FAILS("open", EMFILE)
  return __real_open64(path, flags, mode);
}

int __real_accept4(int listener, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int listener, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int listener, struct sockaddr *address, socklen_t *size, int flags) {
  FAILS("accept4", EMFILE)
  return __real_accept4(listener, address, size, flags);
}

ssize_t __real_getrandom(void *to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags) {
  FAILS("getrandom", EAGAIN)
  return __real_getrandom(to, size, flags);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument) {
  if (fails("pthread_create")) return EAGAIN;
  return __real_pthread_create(thread, how, run, argument);
}
