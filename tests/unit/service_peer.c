/* Whose service a client believes: its own user's, root's, or one that it was told to trust. */
#include "service_raw.h"

#include <sys/stat.h>

#define OWNER 65534u
#define STRANGER 65533u

static void become(uint32_t uid) {
  if (setgid(uid) != 0 || setuid(uid) != 0) _exit(9);
}

/* A service of OWNER's, at a path that all may reach. */
static void open_as_owner(struct rig *r) {
  snprintf(r->folder, sizeof r->folder, "/tmp/tidemark-test-XXXXXX");
  CHECK(mkdtemp(r->folder) != NULL && chmod(r->folder, 0755) == 0);
  CHECK(chown(r->folder, OWNER, OWNER) == 0);
  snprintf(r->path, sizeof r->path, "%s/socket", r->folder);
  fflush(NULL);
  r->server = fork();
  CHECK(r->server >= 0);
  if (r->server == 0) {
    become(OWNER);
    rig_serve(r, NULL);
  }
  rig_await_service(r);
}

/* What a process of this uid is told. */
static enum tide_status connect_as(const struct rig *r, uint32_t uid, uint32_t trust_uid) {
  int answer[2];
  uint32_t status = TIDE_LOST;
  CHECK(pipe(answer) == 0);
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    struct tide_session_params params = {
        .struct_size = sizeof params, .socket = r->path, .trust_uid = trust_uid};
    struct tide_session *s = NULL;
    struct tide_diag diag;
    become(uid);
    status = tide_session_connect(&params, &s, &diag);
    if (status == TIDE_OK) tide_session_close(s);
    else if (!strstr(diag.text, "is expected, not one of uid 65534")) status = TIDE_LOST;
    _exit(write(answer[1], &status, sizeof status) == sizeof status ? 0 : 1);
  }
  CHECK(read(answer[0], &status, sizeof status) == sizeof status);
  rig_join(child);
  close(answer[0]);
  close(answer[1]);
  return (enum tide_status)status;
}

TEST(services_of_other_users) {
  struct rig r;
  if (geteuid() != 0) SKIP("only root can be several users");
  open_as_owner(&r);
  CHECK_OK(connect_as(&r, OWNER, 0));
  CHECK_STATUS(connect_as(&r, STRANGER, 0), TIDE_DENIED);
  CHECK_STATUS(connect_as(&r, 0, 0), TIDE_DENIED);
  CHECK_STATUS(connect_as(&r, 0, STRANGER), TIDE_DENIED);
  CHECK_OK(connect_as(&r, 0, OWNER));
  CHECK_OK(connect_as(&r, STRANGER, OWNER));
  rig_close(&r);
}

TEST(services_of_root) {
  struct rig r;
  if (geteuid() != 0) SKIP("only root can be several users");
  rig_open(&r, NULL);
  tide_session_close(rig_connect(&r, "first")); /* the socket has its mode */
  CHECK(chmod(r.folder, 0755) == 0);
  CHECK_OK(connect_as(&r, STRANGER, 0));
  CHECK_OK(connect_as(&r, 0, OWNER));
  rig_close(&r);
}

TEST_MAIN(CASE(services_of_other_users), CASE(services_of_root))
