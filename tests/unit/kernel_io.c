/* kernel: read, write and sync on a host thread; plugins. */
#include "kernel_call.h"

#include "base/random.h"
#include "device/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int scratch_file(void) {
  char name[] = "/tmp/tidemark-io-XXXXXX";
  int file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0);
  return file;
}

TEST(what_is_written_is_read) {
  struct tide_random random = {1};
  int file = scratch_file();
  for (size_t size = 0; size < 300000; size = size * 3 + 1) {
    struct tide_argument out = slice_at(size, 1, true), in = slice(size);
    for (size_t i = 0; i < size; i++) ((char *)out.data)[i] = (char)tide_random_next(&random);
    int64_t offset = (int64_t)tide_random_below(&random, 1 << 20);
    CHECK_OK(CALL("write", descriptor(file), integer(offset), out));
    CHECK_OK(CALL("sync", descriptor(file)));
    CHECK_OK(CALL("read", descriptor(file), integer(offset), in));
    CHECK(size == 0 || memcmp(in.data, out.data, size) == 0);
  }
  close(file);
}

TEST(a_file_that_ends_early_is_an_error) {
  int file = scratch_file();
  struct tide_argument out = slice(100), in = slice(101);
  CHECK_OK(CALL("write", descriptor(file), integer(0), out));
  CHECK_STATUS(CALL("read", descriptor(file), integer(0), in), TIDE_IO);
  CHECK_STATUS(CALL("read", descriptor(file), integer(1000), out), TIDE_IO);
  CHECK_OK(CALL("read", descriptor(file), integer(0), out));
  close(file);
}

TEST(errors_say_what_kind) {
  struct tide_argument bytes = slice(10);
  int full = open("/dev/full", O_WRONLY), read_only = open("/dev/zero", O_RDONLY), ends[2];
  CHECK(full >= 0 && read_only >= 0 && pipe(ends) == 0);
  CHECK_STATUS(CALL("write", descriptor(full), integer(0), bytes), TIDE_IO);
  CHECK_STATUS(CALL("write", descriptor(read_only), integer(0), bytes), TIDE_INVALID);
  CHECK_STATUS(CALL("read", descriptor(-1), integer(0), bytes), TIDE_INVALID);
  CHECK_STATUS(CALL("read", descriptor(read_only), integer(-1), bytes), TIDE_INVALID);
  CHECK_STATUS(CALL("read", descriptor(read_only), integer(INT64_MAX - 5), bytes), TIDE_INVALID);
  CHECK_STATUS(CALL("write", descriptor(ends[0]), integer(0), bytes), TIDE_INVALID);
  CHECK_OK(CALL("write", descriptor(ends[1]), integer(7), bytes)); /* no places in a pipe */
  CHECK_OK(CALL("read", descriptor(ends[0]), integer(7), bytes));
  CHECK_STATUS(CALL("sync", descriptor(-1)), TIDE_INVALID);
  CHECK_OK(CALL("read", descriptor(read_only), integer(0), bytes));
  close(full), close(read_only), close(ends[0]), close(ends[1]);
}

TEST(system_errors_have_a_meaning) {
  CHECK_STATUS(tide_status_of_errno(0), TIDE_OK);
  CHECK_STATUS(tide_status_of_errno(EIO), TIDE_IO);
  CHECK_STATUS(tide_status_of_errno(ENOSPC), TIDE_IO);
  CHECK_STATUS(tide_status_of_errno(EACCES), TIDE_DENIED);
  CHECK_STATUS(tide_status_of_errno(ENOMEM), TIDE_NOMEM);
  CHECK_STATUS(tide_status_of_errno(EOPNOTSUPP), TIDE_UNSUPPORTED);
  struct tide_io io = {0};
  CHECK_STATUS(tide_transfer(TIDE_IO_NONE, &io, NULL), TIDE_UNSUPPORTED);
}

/* ---- plugins ---- */

/* They lie beside this program. */
static const char *built(const char *name) {
  static char folder[PATH_MAX], path[PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  CHECK(length > 0);
  folder[length] = '\0';
  *strrchr(folder, '/') = '\0';
  snprintf(path, sizeof path, "%s/plugin-%.40s.so", folder, name);
  return path;
}

TEST(a_plugin_brings_bodies) {
  struct tide_plugin_library *library = NULL;
  const struct tide_plugin *plugin = NULL;
  struct tide_diag diag = {0};
  if (tide_plugin_load(built("good"), &library, &plugin, &diag) != TIDE_OK) FAIL("%s", diag.text);
  CHECK_EQ_U64(plugin->body_count, 1);
  CHECK_EQ_STR(plugin->bodies[0].class_.name, "twice");
  unsigned char bytes[3] = {1, 2, 3};
  struct tide_argument a[2] = {{.data = bytes, .size = 3}, integer(3)};
  CHECK_OK(plugin->bodies[0].class_.host(a));
  CHECK(bytes[0] == 3 && bytes[1] == 6 && bytes[2] == 9);
  tide_plugin_unload(library);
  tide_plugin_unload(NULL);
}

static void refused(const char *path, enum tide_status want, const char *part) {
  struct tide_plugin_library *library = NULL;
  const struct tide_plugin *plugin = NULL;
  struct tide_diag diag = {0};
  CHECK_STATUS(tide_plugin_load(path, &library, &plugin, &diag), want);
  CHECK(!library && !plugin && diag.status == want);
  if (!strstr(diag.text, part)) FAIL("'%s' does not say '%s'", diag.text, part);
}

TEST(a_plugin_that_breaks_a_rule_is_refused) {
  static const struct {
    const char *which, *says;
    enum tide_status status;
  } rules[] = {
      {"abi", "ABI 2", TIDE_MISMATCH},
      {"empty", "0 bodies", TIDE_CORRUPT},
      {"name", "body 2 needs", TIDE_CORRUPT},
      {"double", "comes twice", TIDE_CORRUPT},
      {"function", "no function", TIDE_CORRUPT},
      {"verb", "need a verb and a function", TIDE_CORRUPT},
      {"many", "1000 parameters", TIDE_CORRUPT},
      {"kind", "kind 77", TIDE_CORRUPT},
      {"order", "follows an optional", TIDE_CORRUPT},
      {"pair", "two parameters 'a'", TIDE_CORRUPT},
      {"zero", "no table", TIDE_CORRUPT},
  };
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    CHECK(setenv("TIDE_BAD_PLUGIN", rules[i].which, 1) == 0);
    refused(built("bad"), rules[i].status, rules[i].says);
  }
}

TEST(what_is_no_plugin_is_refused) {
  char path[PATH_MAX];
  refused("/nonexistent/x.so", TIDE_NOT_FOUND, "No such file");
  refused("libc.so.6", TIDE_NOT_FOUND, "No such file"); /* not the system's */
  refused("", TIDE_INVALID, "no path");
  refused(NULL, TIDE_INVALID, "no path");
  refused("/etc/passwd", TIDE_CORRUPT, "/etc/passwd");
  refused(built("none"), TIDE_NOT_FOUND, "tide_plugin_bodies");
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  refused(path, TIDE_INVALID, "too long");
}

TEST_MAIN(CASE(what_is_written_is_read), CASE(a_file_that_ends_early_is_an_error),
          CASE(errors_say_what_kind), CASE(system_errors_have_a_meaning),
          CASE(a_plugin_brings_bodies), CASE(a_plugin_that_breaks_a_rule_is_refused),
          CASE(what_is_no_plugin_is_refused))
