/* Attacks 19, 20, 29 and 33: what is sent is malformed, or changes after it was sent. */
#include "attack_rig.h"

#include <pthread.h>

/* ---- the ring and the payload change while the service reads (19, 33) ---- */

struct shaker {
  unsigned char *bytes;
  size_t size;
  uint64_t seed;
  uint32_t stop;
};

/* ThreadSanitizer is not shown what this does: to race with whoever writes commands is its task. */
__attribute__((no_sanitize("thread"))) static void *shake(void *user) {
  struct shaker *k = user;
  while (!tide_load_relaxed(&k->stop)) {
    k->seed ^= k->seed << 13, k->seed ^= k->seed >> 7, k->seed ^= k->seed << 17;
    unsigned char *at = &k->bytes[(k->seed >> 8) % k->size];
    __atomic_store_n(at, (unsigned char)(k->seed >> 50), __ATOMIC_RELAXED);
  }
  return NULL;
}

/* Good commands, of all kinds, whose bytes somebody changes all the while. The counts of the ring
 * stay right, so that it is served as long as it can be. */
static void mutated(struct scene *s) {
  uint64_t seed = 88172645463325252ull + s->times;
  for (int round = 0; round < 20; round++) {
    struct raw c;
    pthread_t thread;
    bool asleep;
    raw_connect(&c, &s->r);
    struct tide_ring_shared *shared = c.ring_memory.memory;
    struct shaker k = {shared->cells, (size_t)c.ring.size * TIDE_WIRE_CELL, seed + round, 0};
    CHECK(pthread_create(&thread, NULL, shake, &k) == 0);
    for (uint32_t i = 0; i < 3000; i++) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      struct tide_wire_record record = raw_command((enum tide_wire_op)(1 + seed % 26),
                                                   (uint32_t)(seed >> 20) % 40, 1 + i / 1000, 1);
      record.command.number = (uint32_t)(seed >> 30) % 20;
      for (unsigned n = 0; n < (seed >> 40) % 6; n++)
        raw_add_point(&record, (uint32_t)(seed >> n) % 40, 1, 1);
      record.command.answer = seed >> 60 == 0 ? i + 1 : 0;
      if (tide_ring_write(&c.ring, &record, &asleep) != TIDE_OK || asleep) raw_ring_bell(&c);
    }
    tide_store_relaxed(&k.stop, 1u);
    pthread_join(thread, NULL);
    raw_close(&c);
  }
}
TEST(a19_mutated_after_the_call) { survive("default refusals 1M", 3, mutated); }

/* Every word of what a client may write is written, with the values that hurt most. */
static void hostile_pages(struct scene *s) {
  static const uint64_t values[] = {0, 1, UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX};
  for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
    for (size_t word = 0; word < sizeof(struct tide_ring_shared) / 8 + 16; word++) {
      struct raw c;
      raw_connect(&c, &s->r);
      uint64_t *words = c.ring_memory.memory;
      tide_store_ordered(&words[word], values[v]);
      raw_ring_bell(&c);
      struct tide_wire_record record = raw_command(TIDE_WIRE_SYNC, 0, 0, 0);
      bool asleep;
      (void)!tide_ring_write(&c.ring, &record, &asleep);
      raw_ring_bell(&c);
      raw_close(&c);
    }
  }
  /* The bell: it cannot be made to block whoever listens, nor rung after the end. */
  struct raw c;
  raw_connect(&c, &s->r);
  uint64_t most = UINT64_MAX - 1;
  int flags = fcntl(c.bell, F_GETFL);
  CHECK(flags >= 0 && fcntl(c.bell, F_SETFL, flags & ~O_NONBLOCK) == 0);
  CHECK(write(c.bell, &most, sizeof most) == sizeof most);
  victim_goes_on(&s->v);
  CHECK(read(c.bell, &most, sizeof most) == sizeof most);
  CHECK(send(c.socket, "x", 1, 0) == 1);
  raw_expect_end(&c);
  for (int i = 0; i < 100; i++) {
    raw_ring_bell(&c);
    if (i % 10 == 0) victim_goes_on(&s->v);
  }
  raw_close(&c);
  /* Shared memory keeps its size. */
  raw_connect(&c, &s->r);
  DIR *dir = opendir("/proc/self/fd");
  CHECK(dir != NULL);
  for (const struct dirent *entry; (entry = readdir(dir));) {
    int fd = atoi(entry->d_name), seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SEAL)) continue;
    CHECK(ftruncate(fd, 0) != 0 && ftruncate(fd, 1 << 20) != 0);
  }
  closedir(dir);
  raw_close(&c);
}
TEST(a33_hostile_writes_into_every_page) { survive(NULL, 3, hostile_pages); }

/* Buffers are written, punched and read while bodies run over them. */
static void buffers_change(struct scene *s) {
  enum { SIZE = 1 << 20 };
  struct peer p;
  struct tide_point a, b;
  pthread_t thread;
  peer_open(&p, &s->r, 64);
  CHECK_OK(tide_session_create_buffer(p.s, SIZE, &a));
  CHECK_OK(tide_session_create_buffer(p.s, SIZE, &b));
  struct shaker k = {tide_session_buffer_data(p.s, a, NULL), SIZE, 77 + s->times, 0};
  CHECK(pthread_create(&thread, NULL, shake, &k) == 0);
  for (int i = 0; i < 200; i++) {
    static const struct {
      uint32_t body;
      unsigned count, number; /* which one is a number; 9: none */
    } kinds[] = {{TIDE_SESSION_COPY, 2, 9},
                 {TIDE_SESSION_OVER, 2, 9},
                 {TIDE_SESSION_TILE, 3, 2},
                 {TIDE_SESSION_UNTILE, 3, 2},
                 {TIDE_SESSION_HASH, 3, 2}};
    size_t kind = (size_t)i % (sizeof kinds / sizeof *kinds);
    struct tide_session_argument arguments[3] = {
        attack_range(a, 0, SIZE),
        attack_range(b, 0, kinds[kind].body == TIDE_SESSION_HASH ? 8 : SIZE), attack_number(256)};
    struct tide_session_operation o = {
        .body = kinds[kind].body, .arguments = arguments, .argument_count = kinds[kind].count};
    struct tide_point done = peer_promise(&p, p.line);
    o.retires = &done;
    o.retire_count = 1;
    CHECK_OK(tide_session_submit(p.s, p.channel, &o));
    if (i % 16 == 0) madvise(k.bytes, SIZE, MADV_REMOVE);
    if (i % 8 == 0) CHECK_OK(tide_session_wait(p.s, done, rig_in(20000)));
  }
  CHECK_EQ_U64(tide_session_refusals(p.s), 0);
  tide_store_relaxed(&k.stop, 1u);
  pthread_join(thread, NULL);
  tide_session_close(p.s);
}
TEST(buffers_change_while_bodies_run) { survive(NULL, 3, buffers_change); }

/* ---- expressions (20) ---- */

static enum tide_status define(struct raw *c, const char *text, size_t length, unsigned parts) {
  struct tide_wire_record record = raw_command(TIDE_WIRE_EXPRESSION, 2, 1, 0);
  for (unsigned i = 0; i < parts; i++) raw_add_point(&record, 1, 1, i + 1);
  unsigned char *at = record.bytes + sizeof record.command + parts * sizeof(struct tide_wire_point);
  size_t room = sizeof record.bytes - (size_t)(at - record.bytes);
  if (length > room) length = room;
  memcpy(at, text, length);
  record.command.text_size = (uint32_t)length;
  return raw_ask(c, &record);
}

static void expressions(struct scene *s) {
  static const char *const bad[] = {
      "",      "(",        "((((",   ")",          "0&",         "&0",
      "0|",    "0 1",      "0&&1",   "3",          "99999999",   "0)",
      "(0",    "0&(1",     "-1",     "0x1",        "0;1",        "0\n",
      "0\t&1", "\xc3\xa9", "0&\xff", "0 trailing", "4294967296", "18446744073709551616",
      "0\\0"};
  static char many[1 << 20];
  struct raw c;
  raw_connect(&c, &s->r);
  struct tide_wire_record future = raw_command(TIDE_WIRE_FUTURE, 1, 1, 0);
  CHECK_OK(raw_ask(&c, &future));
  for (uint64_t value = 1; value <= 3; value++) {
    struct tide_wire_record promise = raw_command(TIDE_WIRE_PROMISE, 1, 1, value);
    promise.command.deadline = rig_in(9000);
    CHECK_OK(raw_ask(&c, &promise));
  }
  struct tide_wire_record compound = raw_command(TIDE_WIRE_COMPOUND, 2, 1, 0);
  compound.command.deadline = rig_in(9000);
  CHECK_OK(raw_ask(&c, &compound));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_STATUS(define(&c, bad[i], strlen(bad[i]), 3), TIDE_CORRUPT);
  CHECK_STATUS(define(&c, "0\0&1", 4, 3), TIDE_CORRUPT);
  for (size_t length = 60; length < 4000; length += 61) { /* as deep as a command is long */
    memset(many, '(', length);
    CHECK_STATUS(define(&c, many, length, 3), TIDE_CORRUPT);
  }
  for (size_t i = 0; i < sizeof many; i++) many[i] = i % 2 ? '&' : '0';
  CHECK(define(&c, many, 3999, 3) != TIDE_OK); /* as long as a command can be, many parts */
  /* It says that there is a MiB of text. */
  struct tide_wire_record lie = raw_command(TIDE_WIRE_EXPRESSION, 2, 1, 0);
  bool asleep;
  CHECK_OK(tide_ring_write(&c.ring, &lie, &asleep));
  lie.command.text_size = 1u << 20;
  CHECK_STATUS(tide_ring_write(&c.ring, &lie, &asleep), TIDE_INVALID);
  lie.command.text_size = 0;
  lie.command.answer = 7;
  CHECK_OK(tide_ring_write(&c.ring, &lie, &asleep));
  struct tide_wire_command *there =
      (void *)(((struct tide_ring_shared *)c.ring_memory.memory)->cells +
               ((c.ring.count - 1) & (c.ring.size - 1)) * TIDE_WIRE_CELL);
  there->text_size = 1u << 20;
  raw_ring_bell(&c);
  CHECK(raw_hear(&c, TIDE_WIRE_ANSWER).status != TIDE_OK);
  /* After all this it can be defined as ever, and only once. */
  CHECK_OK(define(&c, "(0&1)|2", 7, 3));
  CHECK(define(&c, "0", 1, 3) != TIDE_OK);
  raw_close(&c);
}
TEST(a20_malformed_expressions) { survive(NULL, 3, expressions); }

/* ---- the socket (29) ---- */

static int raw_socket(const struct rig *r) {
  int socket = tide_socket_connect(r->path, TIDE_FOREVER);
  for (int i = 0; socket < 0 && i < 500; i++) {
    usleep(10000);
    socket = tide_socket_connect(r->path, TIDE_FOREVER);
  }
  CHECK(socket >= 0);
  return socket;
}

/* One hello, with descriptors: how many, and of what. */
static void send_descriptors(const struct rig *r, int what, unsigned count) {
  struct raw c = {.socket = raw_socket(r)};
  struct tide_wire_message hello;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * 253)];
  } control = {0};
  struct iovec part = {&hello, sizeof hello};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
  tide_wire_begin(&hello, TIDE_WIRE_HELLO);
  struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
  for (unsigned i = 0; i < count; i++)
    memcpy(CMSG_DATA(rights) + i * sizeof what, &what, sizeof what);
  CHECK(sendmsg(c.socket, &message, MSG_NOSIGNAL) > 0);
  raw_expect_end(&c);
  close(c.socket);
}

static void socket_abuse(struct scene *s) {
  struct tide_wire_message hello;
  static char big[200000];
  char small[16] = {0};
  int pair[2];
  /* Half a message; a byte at a time; far too much; nothing. */
  tide_wire_begin(&hello, TIDE_WIRE_HELLO);
  struct raw c = {.socket = raw_socket(&s->r)};
  CHECK(send(c.socket, &hello, sizeof hello / 2, 0) > 0);
  raw_expect_end(&c);
  close(c.socket);
  int slow[8];
  for (int i = 0; i < 8; i++) slow[i] = raw_socket(&s->r);
  for (int i = 0; i < 8; i++) {
    for (size_t n = 0; n < sizeof small; n++) /* each is a message, so the first is the end */
      if (send(slow[i], &small[n], 1, MSG_NOSIGNAL) < 0) break;
    victim_goes_on(&s->v);
    c.socket = slow[i];
    raw_expect_end(&c);
    close(slow[i]);
  }
  c.socket = raw_socket(&s->r);
  CHECK(send(c.socket, big, sizeof big, 0) > 0 || errno == EMSGSIZE || errno == ENOBUFS);
  shutdown(c.socket, SHUT_WR);
  raw_expect_end(&c);
  close(c.socket);
  /* Empty messages, many of them, before and after the hello. */
  c.socket = raw_socket(&s->r);
  for (int i = 0; i < 50; i++) (void)!send(c.socket, "", 0, MSG_NOSIGNAL);
  raw_expect_end(&c);
  close(c.socket);
  /* 1000 descriptors, of all types. */
  CHECK(pipe(pair) == 0);
  int kinds[] = {0, pair[0], raw_socket(&s->r), open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  for (int i = 0; i < 4; i++)
    for (unsigned n = 0; n < 4; n++) send_descriptors(&s->r, kinds[i], 1 + n * 84);
  for (int i = 2; i < 4; i++) close(kinds[i]);
  close(pair[0]);
  close(pair[1]);
  /* Half closed, either way. */
  for (int how = 0; how < 3; how++) {
    raw_connect(&c, &s->r);
    shutdown(c.socket, how == 0 ? SHUT_RD : how == 1 ? SHUT_WR : SHUT_RDWR);
    struct tide_wire_record record = raw_command(TIDE_WIRE_SYNC, 0, 0, 0);
    record.command.answer = 1;
    raw_push(&c, &record);
    victim_goes_on(&s->v);
    raw_close(&c);
  }
}
TEST(a29_socket_abuse) { survive(NULL, 3, socket_abuse); }

/* A byte a second is no hello: its time runs out, also while others keep the service busy. */
static void flood(const struct rig *r, int in, int out) {
  struct raw c;
  raw_connect(&c, r);
  rig_tell(out, "r", 1);
  struct pollfd one = {.fd = in, .events = POLLIN};
  while (poll(&one, 1, 0) == 0) {
    for (int i = 0; i < 1000; i++) {
      struct tide_wire_record record = raw_command(TIDE_WIRE_FULFIL, 900, 1, 1);
      bool asleep;
      if (tide_ring_write(&c.ring, &record, &asleep) == TIDE_OK && asleep) raw_ring_bell(&c);
    }
  }
  raw_close(&c);
}
static void silent(struct scene *s) {
  struct rig_child child;
  char ready;
  rig_spawn(&child, flood, &s->r);
  rig_hear(child.from, &ready, 1);
  struct raw c = {.socket = raw_socket(&s->r)};
  raw_expect_end(&c);
  close(c.socket);
  rig_end(&child);
}
TEST(a29_silent_beside_a_flood) { survive("default refusals 1M", 1, silent); }

TEST_MAIN(CASE(a19_mutated_after_the_call), CASE(a33_hostile_writes_into_every_page),
          CASE(buffers_change_while_bodies_run), CASE(a20_malformed_expressions),
          CASE(a29_socket_abuse), CASE(a29_silent_beside_a_flood))
