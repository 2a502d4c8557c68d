/* One system: a buffer whose life crosses every part, through public headers only.
 *
 *   disk queue          reads a file into `tile` (shared memory)        read = 1
 *        |
 *   partner, a process  follows `read` in a session; sums what was      partner = 1, which the
 *        |              read into the tile, and keeps a promise, a      leader follows
 *        |              service's point
 *   consumer, a thread  just loads: its page fault ends with that value taken = 1
 *        |
 *   right queue         runs a kernel that writes the tile              window = 1 … 12, its
 * progress
 *        |
 *   last queue          knows all of them; whoever asks it for memory next gets the very same bytes
 *                       with no wait
 *
 * What is proved. The reuse is *known*: implied by the frontier, also while the tile is still being
 * written. That frontier lists the axes of the disk, the partner, the consumer and the kernel,
 * which it can only have from the records that crossed the ring, the session, the fault
 * and the kernel's window. And it is true:
 * every touch of the tile notes when it was, and all were over before the next owner began. Where
 * one link loses its knowledge (the partner's record crosses as external, or the consumer's
 * position does not import the fault's tag) the same reuse needs to look at who has finished. */
#include "tidemark/tidemark.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TILE ((size_t)1 << 20)

enum how { EARLY, LATE, NO_RECORD, NO_IMPORT };

static void must(enum tide_status status, const char *what) {
  if (status == TIDE_OK) return;
  fprintf(stderr, "%s: %s\n", what, tide_status_text(status));
  _exit(1);
}
static void need(bool good, const char *what) {
  if (good) return;
  perror(what);
  _exit(1);
}

/* What both processes see. */
struct common {
  unsigned char *tile;
  char socket[64], meeting[64]; /* of the service; of the session */
  int pair[2];                  /* the leader's end, the partner's end */
};

/* A clock that goes up with every look: who was when. */
static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
static uint64_t soon(void) { return now() + 30000000000u; }

/* The partner sends when it was; the leader notes the others. */
enum touch { BY_DISK, BY_PARTNER, BY_CONSUMER, BY_RIGHT, BY_NEXT, TOUCHES };
struct span {
  uint64_t begin, end;
};

static uint64_t sum_of(const unsigned char *bytes, size_t size) {
  uint64_t sum = 0;
  for (size_t i = 0; i < size; i++) sum = sum * 31 + bytes[i];
  return sum;
}

/* ---- the partner: another process -------------------------------------------------- */

struct promise {
  struct tide_token token;
  uint64_t value;
  tide_axis axis; /* the partner's own */
};

static tide_axis new_axis(struct tide_context *context) {
  tide_axis axis;
  must(tide_lease_take(tide_context_lease(context), TIDE_DOMAIN_HOST, &axis), "axis");
  must(tide_tracker_register(tide_context_tracker(context), axis), "register");
  return axis;
}

static struct tide_cluster *join(struct tide_context *context, const struct common *common,
                                 uint32_t rank) {
  struct tide_cluster *cluster;
  struct tide_diag diag = {.text = ""};
  struct tide_cluster_params params = {
      .struct_size = sizeof params, .path = common->meeting, .rank = rank, .count = 2};
  must(tide_cluster_join(context, &params, &cluster, &diag), diag.text);
  return cluster;
}

/* With a history, the records of what is no operation list all that it knew, too. */
static struct tide_timeline *publish(struct tide_context *context, struct tide_cluster *cluster,
                                     const char *name) {
  struct tide_timeline *timeline;
  struct tide_timeline_params params = {
      .struct_size = sizeof params, .scope = TIDE_SCOPE_SYSTEM, .history = 16};
  must(tide_timeline_create(context, &params, &timeline), name);
  must(tide_cluster_publish(cluster, name, timeline), name);
  return timeline;
}

/* Sums what was read, and signals that with what it knows. */
static void sum_up(const struct common *common, struct tide_timeline *read, enum how how,
                   struct tide_timeline *summed, tide_axis axis, struct span *span) {
  struct tide_record_info info;
  TIDE_FRONTIER_STORAGE(known, 16);
  must(tide_timeline_wait(read, 1, soon()), "the read");
  span->begin = now();
  tide_frontier_init(&known.frontier, 16);
  must(tide_timeline_frontier_at(read, 1, &known.frontier, &info), "its record");
  need(!info.external && !known.frontier.tainted, "what the read knows");
  uint64_t sum = sum_of(common->tile, TILE - sizeof sum);
  memcpy(common->tile + TILE - sizeof sum, &sum, sizeof sum);
  span->end = now();
  struct tide_position position = {.axis = axis, .frontier = &known.frontier};
  must(tide_timeline_signal(summed, 1, how == NO_RECORD ? NULL : &position), "signal");
}

static void be_partner(const struct common *common, enum how how) {
  struct tide_context *context;
  struct tide_session *session;
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = common->socket, .label = "partner"};
  struct tide_timeline *read;
  struct tide_point timeline, point;
  struct promise promise = {0};
  struct span span;
  int end = common->pair[1];
  must(tide_context_create(NULL, &context), "context");
  struct tide_cluster *cluster = join(context, common, 1);
  struct tide_timeline *summed = publish(context, cluster, "summed");
  must(tide_cluster_follow(cluster, 0, "read", &read), "read");
  must(tide_session_connect(&params, &session, NULL), "the partner's session");
  must(tide_session_create_future(session, NULL, &timeline), "a timeline");
  must(tide_session_promise(session, timeline, 0, &point), "a promise");
  must(tide_session_grant(session, timeline, TIDE_RIGHT_WAIT, &promise.token), "a token");
  promise.value = point.value;
  promise.axis = new_axis(context);
  need(write(end, &promise, sizeof promise) == sizeof promise, "promise");
  sum_up(common, read, how, summed, promise.axis, &span);
  must(tide_session_fulfil(session, point), "the promise");
  need(write(end, &span, sizeof span) == sizeof span, "span");
  must(tide_session_sync(session, soon()), "sync");
  tide_session_close(session);
  must(tide_cluster_leave(cluster, soon()), "leave");
  tide_context_destroy(context);
}

/* ---- the leader ------------------------------------------------------------------------ */

struct leader {
  const struct common *common;
  enum how how;
  struct tide_context *context;
  struct tide_device *cpu_device, *file_device;
  struct tide_queue *disk, *right, *last;
  struct tide_timeline *read, *partner, *taken, *window;
  struct tide_mods_run *kernel;
  struct tide_pool *pool;
  struct tide_medium *medium;
  struct tide_cluster *cluster;
  struct tide_session *session;
  tide_axis partner_axis, consumer_axis;
  struct span touches[TOUCHES];
  sem_t ran;   /* the kernel has ended */
  sem_t asked; /* the next owner has its memory: the last touch may end */
  int input;
  uint64_t seen; /* the partner's sum, as the consumer loaded it */
};

struct copy {
  int descriptor;
  void *data;
  struct leader *leader;
};
static enum tide_status name_read(const void *arguments, struct tide_io *out) {
  const struct copy *copy = arguments;
  copy->leader->touches[BY_DISK].begin = now();
  *out = (struct tide_io){.descriptor = copy->descriptor, .data = copy->data, .size = TILE};
  return TIDE_OK;
}
static const struct tide_file_ops read_ops = {{TIDE_OPS_FILE}, TIDE_IO_READ, name_read};
static const struct tide_body_class reads = {.name = "read", .ops = &read_ops.ops};

struct touching {
  struct leader *leader;
  unsigned char *data;
  enum touch who;
};
static enum tide_status write_all(void *arguments) {
  const struct touching *touching = arguments;
  struct span *span = &touching->leader->touches[touching->who];
  span->begin = now();
  memset(touching->data, (int)touching->who, TILE);
  span->end = now();
  return TIDE_OK;
}
static const struct tide_body_class writes = {.name = "write", .host = write_all};

/* Two CTAs walk over the tiles of a window, and mark each in memory. */
#define TILES 12
#define SCHED "!cutlass.tile_scheduler<static_persistent>"
static const char module[] =
    "gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {\n"
    "  gpu.func @mark(%out: !llvm.ptr, %tiles: i32) kernel {\n"
    "    %one = arith.constant 1 : i32\n"
    "    %mask = arith.constant 3 : i64\n"
    "    %s = cutlass.tile_scheduler.static_persistent %tiles, %one, %one : i32, i32, i32 -> " SCHED
    "\n"
    "    cutlass.async.exec {warps = array<i32: 0, 1>} {\n"
    "      cutlass.tile_scheduler.mods_report_mainloop_start %s, %mask {is_2cta_mma = false}"
    " : " SCHED ", i64\n"
    "      %first = cutlass.tile_scheduler.get_current_work %s : " SCHED " -> !cutlass.work_tile\n"
    "      %end = scf.while (%w = %first) : (!cutlass.work_tile) -> (!cutlass.work_tile) {\n"
    "        %v = cutlass.tile_scheduler.work_get %w {field = \"valid\"} : !cutlass.work_tile -> "
    "i1\n"
    "        scf.condition(%v) %w : !cutlass.work_tile\n"
    "      } do {\n"
    "      ^bb0(%w: !cutlass.work_tile):\n"
    "        %m = cutlass.tile_scheduler.work_get %w {field = \"m\"} : !cutlass.work_tile -> i32\n"
    "        %at = llvm.getelementptr %out[%m] : (!llvm.ptr, i32) -> !llvm.ptr, i32\n"
    "        llvm.store %one, %at : i32, !llvm.ptr\n"
    "        %n = cutlass.tile_scheduler.advance_to_next_work %s, %w : " SCHED
    ", !cutlass.work_tile -> !cutlass.work_tile\n"
    "        scf.yield %n : !cutlass.work_tile\n"
    "      }\n"
    "      cutlass.tile_scheduler.mods_report_mainloop_end %s, %mask {is_2cta_mma = false}"
    " : " SCHED ", i64 -> ()\n"
    "      cutlass.async.yield\n"
    "    }\n"
    "    gpu.return\n"
    "  }\n"
    "}\n";

static enum tide_status run_kernel(void *arguments) {
  const struct touching *touching = arguments;
  struct leader *leader = touching->leader;
  int32_t marks[TILES];
  leader->touches[BY_RIGHT].begin = now();
  memset(touching->data, 0, sizeof marks);
  enum tide_status status = tide_mods_run_import(leader->kernel, leader->taken, 1);
  if (status == TIDE_OK) status = tide_mods_run_step(leader->kernel, UINT64_MAX);
  memcpy(marks, touching->data, sizeof marks);
  for (size_t i = 0; i < TILES; i++) need(marks[i] == 1, "a tile's mark");
  sem_post(&leader->ran);
  sem_wait(&leader->asked);
  leader->touches[BY_RIGHT].end = now();
  return status;
}
static const struct tide_body_class runs = {.name = "kernel", .host = run_kernel};

static void open_all(struct leader *leader) {
  must(tide_context_create(NULL, &leader->context), "context");
  leader->cluster = join(leader->context, leader->common, 0);
  must(tide_cpu_open(leader->context, NULL, &leader->cpu_device), "cpu");
  must(tide_file_open(leader->context, NULL, &leader->file_device), "file");
  must(tide_queue_create(leader->file_device, NULL, &leader->disk), "disk");
  must(tide_queue_create(leader->cpu_device, NULL, &leader->right), "right");
  must(tide_queue_create(leader->cpu_device, NULL, &leader->last), "last");
  struct tide_timeline_params timeline = {.struct_size = sizeof timeline, .history = 16};
  leader->read = publish(leader->context, leader->cluster, "read");
  must(tide_cluster_follow(leader->cluster, 1, "summed", &leader->partner), "partner");
  must(tide_timeline_create(leader->context, &timeline, &leader->taken), "taken");
  must(tide_timeline_create(leader->context, &timeline, &leader->window), "window");
  struct tide_medium_params medium = {.struct_size = sizeof medium, .pages = 1024};
  must(tide_medium_create(leader->context, &medium, &leader->medium), "medium");
}

static void *one_block(void *self, size_t size) {
  void **tile = self, *memory = *tile;
  *tile = NULL;
  return size == TILE ? memory : NULL;
}
static void no_unmap(void *self, void *memory, size_t size) {
  (void)self, (void)memory, (void)size;
}

static void read_in(struct leader *leader, struct tide_buffer *tile) {
  struct copy copy = {leader->input, tide_buffer_data(tile), leader};
  struct tide_use use = {.buffer = tile, .access = TIDE_WRITE};
  struct tide_signal done = {.timeline = leader->read, .value = 1};
  struct tide_operation operation = {.label = "read",
                                     .body = &reads,
                                     .arguments = &copy,
                                     .arguments_size = sizeof copy,
                                     .buffers = &use,
                                     .buffer_count = 1,
                                     .signals = &done,
                                     .signal_count = 1};
  must(tide_queue_submit(leader->disk, &operation, NULL, NULL), "submit the read");
}

/* Plain code that loads: where the page is missing, the fault ends when `partner` is 1. */
struct consumer {
  struct leader *leader;
  struct tide_request *request;
};
static void *consume(void *self) {
  struct consumer *consumer = self;
  struct leader *leader = consumer->leader;
  TIDE_FRONTIER_STORAGE(known, 16);
  tide_frontier_init(&known.frontier, 16);
  struct tide_position position = {.axis = leader->consumer_axis, .frontier = &known.frontier};
  const unsigned char *data = consumer->request->data;
  memcpy(&leader->seen, data + TILE - sizeof leader->seen, sizeof leader->seen);
  leader->touches[BY_CONSUMER].begin = now();
  need(leader->seen == sum_of(data, TILE - sizeof leader->seen), "what was loaded");
  leader->touches[BY_CONSUMER].end = now();
  bool import = leader->how != NO_IMPORT;
  must(tide_request_finish(leader->medium, consumer->request, import ? &position : NULL), "finish");
  must(tide_timeline_signal(leader->taken, 1, &position), "taken");
  return NULL;
}

/* Without a buffer: it only waits. */
static void touch(struct leader *leader, struct tide_queue *queue, struct tide_buffer *buffer,
                  enum touch who, const struct tide_wait *waits, size_t count) {
  struct touching touching = {leader, buffer ? tide_buffer_data(buffer) : NULL, who};
  struct tide_use use = {.buffer = buffer, .access = TIDE_WRITE};
  struct tide_operation operation = {.label = "write",
                                     .body = !buffer           ? NULL
                                             : who == BY_RIGHT ? &runs
                                                               : &writes,
                                     .arguments = &touching,
                                     .arguments_size = sizeof touching,
                                     .buffers = &use,
                                     .buffer_count = buffer != NULL,
                                     .waits = waits,
                                     .wait_count = count};
  must(tide_queue_submit(queue, &operation, NULL, NULL), "submit a write");
}

static bool knows(const struct tide_frontier *known, tide_axis axis) {
  return tide_frontier_get(known, axis) >= 1;
}

/* Early: while the last touch of the owner before still runs. Else everything has finished, the
 * host frees, and the pool says by what the memory could be had. */
static bool free_and_ask_again(struct leader *leader, struct tide_buffer *tile) {
  TIDE_FRONTIER_STORAGE(known, 16);
  struct tide_buffer *next;
  const void *memory = tide_buffer_data(tile);
  tide_frontier_init(&known.frontier, 16);
  tide_queue_position(leader->last, &known.frontier, NULL);
  bool all = knows(&known.frontier, tide_queue_axis(leader->disk)) &&
             knows(&known.frontier, leader->partner_axis) &&
             knows(&known.frontier, leader->consumer_axis);
  need(knows(&known.frontier, tide_mods_run_axis(leader->kernel)), "the kernel's axis");
  need(all == (leader->how <= LATE), "what the last queue knows");
  if (leader->how == EARLY) {
    tide_queue_free(leader->last, tile);
  } else {
    sem_post(&leader->asked);
    must(tide_queue_drain(leader->last, soon()), "drain");
    tide_pool_free(tile, NULL);
  }
  must(tide_queue_alloc(leader->last, leader->pool, TILE, "next", &next), "the same memory");
  need(tide_buffer_data(next) == memory, "the same bytes");
  enum tide_reuse reuse = tide_buffer_reuse(next);
  need(reuse == TIDE_REUSE_KNOWN || reuse == TIDE_REUSE_FINISHED, "without a wait");
  need((leader->how == EARLY) == !leader->touches[BY_RIGHT].end, "the one before still writes");
  touch(leader, leader->last, next, BY_NEXT, NULL, 0);
  if (leader->how == EARLY) sem_post(&leader->asked);
  must(tide_queue_drain(leader->last, soon()), "drain");
  tide_queue_free(leader->last, next);
  return reuse == TIDE_REUSE_KNOWN;
}

static void close_all(struct leader *leader) {
  must(tide_cluster_leave(leader->cluster, soon()), "leave");
  tide_session_close(leader->session);
  tide_medium_destroy(leader->medium);
  tide_queue_destroy(leader->disk);
  tide_queue_destroy(leader->right);
  tide_queue_destroy(leader->last);
  tide_device_close(leader->cpu_device);
  tide_device_close(leader->file_device);
  must(tide_pool_destroy(leader->pool), "the pool is empty");
  tide_timeline_destroy(leader->read);
  tide_timeline_release(leader->partner);
  tide_timeline_destroy(leader->taken);
  tide_mods_run_destroy(leader->kernel);
  tide_timeline_destroy(leader->window);
  tide_context_destroy(leader->context);
  sem_destroy(&leader->asked);
  sem_destroy(&leader->ran);
}

/* The partner has promised: its point is waited for here by a name of this session. */
static struct tide_point meet(struct leader *leader) {
  struct tide_session_params params = {
      .struct_size = sizeof params, .socket = leader->common->socket, .label = "leader"};
  struct promise promise;
  struct tide_point point;
  int end = leader->common->pair[0];
  must(tide_session_connect(&params, &leader->session, NULL), "the leader's session");
  need(recv(end, &promise, sizeof promise, MSG_WAITALL) == sizeof promise, "promise");
  must(tide_session_redeem(leader->session, &promise.token, &point), "the token");
  leader->partner_axis = promise.axis;
  point.value = promise.value;
  return point;
}

static void load_kernel(struct leader *leader, struct tide_buffer *tile) {
  struct tide_mods_argument arguments[] = {{.data = tide_buffer_data(tile), .size = TILE},
                                           {.integer = TILES}};
  struct tide_mods_run_params params = {.struct_size = sizeof params,
                                        .text = module,
                                        .length = sizeof module - 1,
                                        .arguments = arguments,
                                        .argument_count = 2,
                                        .grid = {2},
                                        .progress = leader->window};
  must(tide_mods_run_create(leader->context, &params, &leader->kernel), "the kernel");
}

/* All of it, once. Was the reuse known? */
static bool lead(const struct common *common, enum how how, int input) {
  struct leader leader = {.common = common, .how = how, .input = input};
  struct leader *me = &leader;
  void *memory = common->tile;
  struct tide_memory_source source = {.map = one_block, .unmap = no_unmap, .self = &memory};
  struct tide_pool_params pool = {
      .struct_size = sizeof pool, .source = &source, .limit = TILE, .chunk = TILE};
  struct tide_buffer *tile;
  struct tide_request request = {.bytes = TILE, .source = common->tile, .tag_count = 1};
  pthread_t thread;
  sem_init(&leader.asked, 0, 0);
  sem_init(&leader.ran, 0, 0);
  open_all(me);
  must(tide_pool_create(leader.context, &pool, &leader.pool), "pool");
  struct tide_point promised = meet(me);
  must(tide_queue_alloc(leader.disk, leader.pool, TILE, "tile", &tile), "the tile");
  need(tide_buffer_data(tile) == common->tile, "it lies in shared memory");

  /* Everything is asked for before anything has happened. */
  request.tags[0] = (struct tide_tag){leader.partner, 1};
  must(tide_medium_request(leader.medium, &request, 1), "request");
  struct consumer consumer = {me, &request};
  leader.consumer_axis = new_axis(leader.context);
  need(pthread_create(&thread, NULL, consume, &consumer) == 0, "thread");
  struct tide_wait after_taken = {leader.taken, 1};
  load_kernel(me, tile);
  struct tide_wait after[2] = {{leader.window, TILES}, {tide_queue_progress(leader.right), 1}};
  touch(me, leader.right, tile, BY_RIGHT, &after_taken, 1);
  touch(me, leader.last, NULL, BY_NEXT, after, 2);
  read_in(me, tile);

  must(tide_timeline_wait(leader.read, 1, soon()), "the read");
  /* When the kernel ended the read, nobody notes; the partner may hear of it before this thread. */
  leader.touches[BY_DISK].end = leader.touches[BY_DISK].begin;
  must(tide_session_wait(leader.session, promised, soon()), "the partner's promise");
  need(recv(common->pair[0], &leader.touches[BY_PARTNER], sizeof(struct span), MSG_WAITALL) ==
           sizeof(struct span),
       "when the partner was");
  pthread_join(thread, NULL);
  sem_wait(&leader.ran);
  bool is_known = free_and_ask_again(me, tile);
  for (int who = 0; who < BY_NEXT; who++)
    need(leader.touches[who].begin && leader.touches[who].begin <= leader.touches[who].end &&
             leader.touches[who].end <= leader.touches[who + 1].begin,
         "each touch is over before the next begins");
  for (size_t i = 0; i < TILE; i++) need(common->tile[i] == BY_NEXT, "the next owner's bytes");
  close_all(me);
  return is_known;
}

/* ---- processes -------------------------------------------------------------------------- */

static pid_t start_service(const struct common *common) {
  int ready[2];
  char byte = 0;
  need(pipe(ready) == 0, "pipe");
  pid_t pid = fork();
  need(pid >= 0, "fork");
  if (pid == 0) {
    struct tide_service *service;
    struct tide_service_params params = {.struct_size = sizeof params, .socket = common->socket};
    must(tide_service_create(&params, &service, NULL), "service");
    need(write(ready[1], &byte, 1) == 1, "ready");
    must(tide_service_run(service), "serve");
    _exit(0);
  }
  close(ready[1]);
  need(read(ready[0], &byte, 1) == 1, "the service");
  close(ready[0]);
  return pid;
}

static int make_input(const char *folder) {
  char path[64];
  snprintf(path, sizeof path, "%s/input", folder);
  int input = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  unsigned char *bytes = malloc(TILE);
  need(input >= 0 && bytes, path);
  for (size_t i = 0; i < TILE; i++) bytes[i] = (unsigned char)(i * i >> 7);
  need(write(input, bytes, TILE) == (ssize_t)TILE && unlink(path) == 0, path);
  free(bytes);
  return input;
}

static void *shared_memory(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  need(memory != MAP_FAILED, "memory");
  return memory;
}

static bool run(enum how how) {
  struct common common = {.tile = shared_memory(TILE)};
  char folder[] = "/tmp/tidemark-one-XXXXXX";
  int status;
  need(mkdtemp(folder) != NULL, folder);
  snprintf(common.socket, sizeof common.socket, "%s/socket", folder);
  snprintf(common.meeting, sizeof common.meeting, "%s/meeting", folder);
  need(socketpair(AF_UNIX, SOCK_STREAM, 0, common.pair) == 0, "socketpair");
  int input = make_input(folder);
  pid_t service = start_service(&common), partner = fork();
  need(partner >= 0, "fork");
  if (partner == 0) {
    close(common.pair[0]);
    be_partner(&common, how);
    _exit(0);
  }
  close(common.pair[1]);
  bool is_known = lead(&common, how, input);
  need(waitpid(partner, &status, 0) == partner && status == 0, "the partner's end");
  kill(service, SIGTERM);
  waitpid(service, &status, 0);
  char lock[sizeof common.socket + 8];
  snprintf(lock, sizeof lock, "%s.lock", common.socket);
  unlink(common.socket); /* the service was killed: it leaves both */
  unlink(lock);
  need(rmdir(folder) == 0, folder);
  close(common.pair[0]);
  close(input);
  munmap(common.tile, TILE);
  return is_known;
}

int main(void) {
  struct tide_context *context;
  struct tide_medium *medium;
  if (tide_context_create(NULL, &context) != TIDE_OK) return 1;
  enum tide_status status = tide_medium_create(context, NULL, &medium);
  if (status == TIDE_OK) tide_medium_destroy(medium);
  tide_context_destroy(context);
  if (status != TIDE_OK) {
    printf("SKIP one_system: no page faults here: %s\n", tide_status_text(status));
    return 0;
  }
  static const struct {
    enum how how;
    bool known;
    const char *name;
  } cases[] = {{EARLY, true, "a_reuse_is_known_across_all_parts"},
               {LATE, true, "also_when_all_has_finished"},
               {NO_RECORD, false, "not_where_the_partner_sends_no_record"},
               {NO_IMPORT, false, "not_where_the_fault_teaches_nothing"}};
  bool all = true;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool good = run(cases[i].how) == cases[i].known;
    printf("%s %s\n", good ? "PASS" : "FAIL", cases[i].name);
    fflush(stdout);
    all = all && good;
  }
  return !all;
}
