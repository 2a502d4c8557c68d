/* The path of a service: its lock, its leftovers, and whose files are removed. */
#include "service_rig.h"

#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct rig new_folder(void) {
  struct rig r = {.server = 0};
  snprintf(r.folder, sizeof r.folder, "/tmp/tidemark-test-XXXXXX");
  CHECK(mkdtemp(r.folder) != NULL);
  snprintf(r.path, sizeof r.path, "%s/socket", r.folder);
  return r;
}

/* The folder holds nothing any more. */
static void remove_folder(const struct rig *r) { CHECK(rmdir(r->folder) == 0); }

static const char *lock_of(const struct rig *r) {
  static char name[128];
  snprintf(name, sizeof name, "%s.lock", r->path);
  return name;
}

static struct tide_service *make(const struct rig *r) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_service_params params = {
      .struct_size = sizeof params, .socket = r->path, .workers = 1};
  struct tide_service *service = NULL;
  if (tide_service_create(&params, &service, &diag) != TIDE_OK) FAIL("no service: %s", diag.text);
  return service;
}

/* SIGKILL removes no file, but lets go of the lock. */
static void make_and_kill(const struct rig *r) {
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    (void)make(r);
    raise(SIGKILL);
  }
  CHECK(waitpid(child, NULL, 0) == child);
}

static void check_refused(const struct rig *r, const char *why) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_service_params params = {
      .struct_size = sizeof params, .socket = r->path, .workers = 1};
  struct tide_service *service = NULL;
  CHECK_STATUS(tide_service_create(&params, &service, &diag), TIDE_IO);
  if (!strstr(diag.text, why)) FAIL("'%s' is not in '%s'", why, diag.text);
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

/* Its socket is no proof that a service lives: it may not listen yet. The lock is. */
TEST(one_service_a_path) {
  struct rig r = new_folder();
  struct tide_service *first = make(&r);
  check_refused(&r, "in use: another service holds");
  CHECK(unlink(r.path) == 0);
  check_refused(&r, "in use: another service holds");
  tide_service_destroy(first);
  CHECK(!is_there(lock_of(&r)));
  tide_service_destroy(make(&r));
  remove_folder(&r);
}

/* Its folder was emptied under a service, and another one began there. */
TEST(files_of_others_stay) {
  struct rig r = new_folder();
  struct tide_service *old = make(&r);
  CHECK(unlink(r.path) == 0 && unlink(lock_of(&r)) == 0);
  struct tide_service *new = make(&r);
  tide_service_destroy(old);
  CHECK(is_there(r.path) && is_there(lock_of(&r)));
  check_refused(&r, "in use");
  tide_service_destroy(new);
  CHECK(!is_there(r.path));
  remove_folder(&r);
}

TEST(a_killed_service_leaves_what_the_next_one_takes) {
  struct rig r = new_folder();
  make_and_kill(&r);
  CHECK(is_there(r.path) && is_there(lock_of(&r)));
  tide_service_destroy(make(&r));
  remove_folder(&r);
}

static int listen_as(const struct rig *r, int type) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", r->path);
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(fd, 0) == 0);
  return fd;
}

TEST(what_is_no_leftover) {
  struct rig r = new_folder();
  int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
  for (int i = 0; i < 2; i++) { /* other programs, which know no locks; one whose backlog is full */
    int fd = listen_as(&r, types[i]), some[2];
    for (int k = 0; k < 2 && i == 0; k++) {
      some[k] = tide_socket_connect(r.path, TIDE_NOW);
      CHECK(some[k] >= 0 || errno == ETIMEDOUT);
    }
    check_refused(&r, "another program listens");
    for (int k = 0; k < 2 && i == 0; k++) close(some[k]);
    close(fd);
    CHECK(unlink(r.path) == 0);
  }
  CHECK(mkdir(r.path, 0700) == 0);
  check_refused(&r, "a socket is expected");
  CHECK(rmdir(r.path) == 0);
  CHECK(symlink("/dev/null", r.path) == 0);
  check_refused(&r, "a socket is expected");
  CHECK(unlink(r.path) == 0 && !is_there(lock_of(&r)));
  remove_folder(&r);
}

TEST(what_is_no_lock) {
  struct rig r = new_folder();
  CHECK(mkfifo(lock_of(&r), 0600) == 0);
  check_refused(&r, "not a special file");
  CHECK(unlink(lock_of(&r)) == 0 && symlink("elsewhere", lock_of(&r)) == 0);
  check_refused(&r, ".lock: ");
  CHECK(unlink(lock_of(&r)) == 0 && mkdir(lock_of(&r), 0700) == 0);
  check_refused(&r, ".lock: ");
  CHECK(rmdir(lock_of(&r)) == 0);
  if (geteuid() == 0) {
    int fd = open(lock_of(&r), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    CHECK(fd >= 0 && fchown(fd, 65534, 65534) == 0);
    close(fd);
    check_refused(&r, "not one of uid 65534");
    CHECK(unlink(lock_of(&r)) == 0);
  }
  remove_folder(&r);
}

/* ---- many at once ---- */

static void contend(const struct rig *r, unsigned times) {
  for (unsigned i = 0; i < times; i++) {
    struct tide_service_params params = {
        .struct_size = sizeof params, .socket = r->path, .workers = 1};
    struct tide_service *service;
    if (tide_service_create(&params, &service, NULL) != TIDE_OK) continue;
    char mine[128];
    snprintf(mine, sizeof mine, "%s/only", r->folder);
    int fd = open(mine, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || !is_there(r->path)) _exit(7); /* there are two, or the socket was taken away */
    close(fd);
    if (unlink(mine) != 0) _exit(8);
    tide_service_destroy(service);
  }
  _exit(0);
}

/* Services start and end at one path all the while: there are never two. */
TEST(services_contend_for_a_path) {
  struct rig r = new_folder();
  pid_t children[4];
  fflush(NULL);
  for (int i = 0; i < 4; i++) {
    children[i] = fork();
    CHECK(children[i] >= 0);
    if (children[i] == 0) contend(&r, 60 / test_slowdown());
  }
  for (int i = 0; i < 4; i++) rig_join(children[i]);
  remove_folder(&r);
}

static void contend_for_lock(const struct rig *r, uint32_t *holders, unsigned times) {
  for (unsigned i = 0; i < times; i++) {
    struct tide_endpoint endpoint;
    int socket = tide_endpoint_open(&endpoint, r->path, NULL);
    if (socket < 0) continue;
    uint32_t others = tide_fetch_add(holders, 1u);
    struct stat there;
    bool mine = stat(lock_of(r), &there) == 0 && there.st_ino == endpoint.lock_file.number;
    sched_yield();
    tide_fetch_sub(holders, 1u);
    tide_endpoint_close(&endpoint, r->path, socket);
    if (others || !mine) _exit(7);
  }
  _exit(0);
}

/* A holder removes the lock file between another process's open and its lock. Endpoints take so
 * little time that this happens many times. */
TEST(a_removed_lock_locks_nothing) {
  struct rig r = new_folder();
  pid_t children[4];
  uint32_t *holders = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(holders != MAP_FAILED);
  fflush(NULL);
  for (int i = 0; i < 4; i++) {
    children[i] = fork();
    CHECK(children[i] >= 0);
    if (children[i] == 0) contend_for_lock(&r, holders, 20000 / test_slowdown());
  }
  for (int i = 0; i < 4; i++) rig_join(children[i]);
  munmap(holders, 4096);
  remove_folder(&r);
}

static void check_nothing_listens(const char *path, enum tide_status status, const char *why) {
  char text[256];
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_session *session = NULL;
  snprintf(text, sizeof text, "no service listens at %s: %s", path, why);
  struct tide_session_params params = {.struct_size = sizeof params, .socket = path};
  CHECK_STATUS(tide_session_connect(&params, &session, &diag), status);
  CHECK_EQ_STR(diag.text, text);
}

TEST(where_no_service_listens) {
  struct rig r = new_folder();
  char below[128];
  check_nothing_listens(r.path, TIDE_NOT_FOUND, "No such file or directory");
  make_and_kill(&r);
  check_nothing_listens(r.path, TIDE_LOST, "Connection refused");
  snprintf(below, sizeof below, "%s/socket", r.path);
  check_nothing_listens(below, TIDE_NOT_FOUND, "Not a directory");
  rig_sweep(&r);
}

TEST_MAIN(CASE(where_no_service_listens), CASE(one_service_a_path), CASE(files_of_others_stay),
          CASE(a_killed_service_leaves_what_the_next_one_takes), CASE(what_is_no_leftover),
          CASE(what_is_no_lock), CASE(services_contend_for_a_path),
          CASE(a_removed_lock_locks_nothing))
