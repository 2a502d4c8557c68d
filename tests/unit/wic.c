/* One request at a time: what its consumer reads, when it goes on, and how it ends. Each case once
 * for each engine. */
#include "causal/context_state.h"
#include "wic_rig.h"

#include <sys/wait.h>

#define PAGE 4096u

static const struct tide_medium_params small[] = {
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "direct",
     .engine = TIDE_MEDIUM_DIRECT,
     .pages = 64},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "monitor",
     .engine = TIDE_MEDIUM_MONITOR,
     .pages = 64},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "fibers",
     .engine = TIDE_MEDIUM_FIBERS,
     .pages = 64},
};
#define ENGINES (sizeof small / sizeof small[0])
#define EACH(rig)                                                                                  \
  for (size_t e_ = 0; e_ < ENGINES && (rig_open(rig, &small[e_]), true); rig_close(rig), e_++)

TEST(stalled_until_it_comes) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 1, 3 * PAGE + 8);
    struct reader reader;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    reader_start(&reader, &rig, request, 7);
    rig_until_stalled(&rig, 1);
    fill(request.room, request.bytes, 7);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    reader_join(&reader, TIDE_OK);
    rig_until_idle(&rig);
    struct tide_medium_info info = rig_info(&rig);
    CHECK_EQ_U64(info.stalled, 1);
    CHECK_EQ_U64(info.activated, 1);
    CHECK_EQ_U64(info.free_pages, 32);
  }
}

TEST(there_beforehand) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 1, 2 * PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    fill(request.room, request.bytes, 9);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    CHECK(holds(request.data, request.bytes, 9));
    CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
    struct tide_medium_info info = rig_info(&rig);
    CHECK_EQ_U64(info.stalled, 0);
    if (info.engine == TIDE_MEDIUM_DIRECT) CHECK_EQ_U64(info.faults, 0);
    /* Reached before it was asked for. */
    request = rig_wants(&rig, 1, PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK(zeros(request.data, PAGE) || holds(request.data, PAGE, 9)); /* what was there before */
    CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
  }
}

/* A deadline is for what is not there: one that is over asks only whether it is. */
TEST(a_deadline_that_is_over) {
  struct rig rig;
  EACH(&rig) {
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    for (uint64_t i = 0; i < 20; i++) {
      struct tide_request there = rig_wants(&rig, 1, PAGE), missing = rig_wants(&rig, 2, PAGE);
      there.deadline = missing.deadline = 1 + i * 1000;
      CHECK_OK(tide_medium_request(rig.medium, &there, 1));
      CHECK_OK(tide_medium_request(rig.medium, &missing, 1));
      CHECK(zeros(missing.data, PAGE));
      CHECK_STATUS(tide_request_finish(rig.medium, &missing, NULL), TIDE_TIMEOUT);
      usleep(100); /* for the monitor */
      (void)*(const volatile char *)there.data;
      CHECK_OK(tide_request_finish(rig.medium, &there, NULL));
      CHECK_OK(tide_medium_request(rig.medium, &there, 1));
      CHECK_OK(tide_request_finish(rig.medium, &there, NULL));
    }
  }
}

/* The monitor maps all that is there when it is woken for one of them. */
TEST(one_fault_for_all_that_is_there) {
  struct rig rig;
  struct tide_request requests[TIDE_MEDIUM_BATCH];
  rig_open(&rig, &small[1]);
  for (uint64_t i = 0; i < TIDE_MEDIUM_BATCH; i++) requests[i] = rig_wants(&rig, i + 1, PAGE);
  CHECK_OK(tide_medium_request(rig.medium, requests, TIDE_MEDIUM_BATCH));
  for (uint64_t i = 0; i < TIDE_MEDIUM_BATCH; i++) {
    fill(requests[i].room, PAGE, i + 1);
    CHECK_OK(tide_timeline_signal_external(rig.line, i + 1));
  }
  CHECK_EQ_U64(rig_info(&rig).activated, 0); /* nobody wants any */
  CHECK_OK(tide_request_finish(rig.medium, &requests[3], NULL));
  /* The last is mapped last. */
  for (uint64_t i = TIDE_MEDIUM_BATCH; i-- > 0;)
    if (i != 3) CHECK(holds(requests[i].data, PAGE, i + 1));
  CHECK_EQ_U64(rig_info(&rig).faults, 1);
  CHECK_EQ_U64(rig_info(&rig).activated, TIDE_MEDIUM_BATCH - 1);
  for (size_t i = 0; i < TIDE_MEDIUM_BATCH; i++)
    if (i != 3) CHECK_OK(tide_request_finish(rig.medium, &requests[i], NULL));
  rig_close(&rig);
}

TEST(copied_from_a_source) {
  struct rig rig;
  uint64_t source[PAGE / 4];
  fill(source, sizeof source, 3);
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 1, sizeof source);
    struct reader reader;
    request.source = source;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    reader_start(&reader, &rig, request, 3);
    rig_until_stalled(&rig, 1);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    reader_join(&reader, TIDE_OK);
  }
}

TEST(needs_all_its_tags) {
  struct rig rig;
  EACH(&rig) {
    struct tide_timeline *other;
    CHECK_OK(tide_timeline_create(rig.context, NULL, &other));
    struct tide_request request = rig_wants(&rig, 4, PAGE);
    struct reader reader;
    request.tags[1] = (struct tide_tag){other, 2};
    request.tag_count = 2;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    reader_start(&reader, &rig, request, 5);
    rig_until_stalled(&rig, 1);
    fill(request.room, request.bytes, 1); /* not yet what is expected */
    CHECK_OK(tide_timeline_signal_external(other, 2));
    CHECK_OK(tide_timeline_signal_external(rig.line, 3));
    CHECK_EQ_U64(rig_info(&rig).activated, 0);
    fill(request.room, request.bytes, 5);
    CHECK_OK(tide_timeline_signal_external(rig.line, 4));
    reader_join(&reader, TIDE_OK);
    tide_timeline_destroy(other);
  }
}

/* Sixteen in one call lie one behind the other, and each is its own. */
TEST(a_batch) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request requests[TIDE_MEDIUM_BATCH];
    struct reader readers[TIDE_MEDIUM_BATCH];
    for (uint64_t i = 0; i < TIDE_MEDIUM_BATCH; i++)
      requests[i] = rig_wants(&rig, i + 1, i % 3 == 0 ? 2 * PAGE : 16);
    CHECK_OK(tide_medium_request(rig.medium, requests, TIDE_MEDIUM_BATCH));
    for (uint64_t i = 1; i < TIDE_MEDIUM_BATCH; i++)
      CHECK_EQ_U64((uint64_t)((const char *)requests[i].data - (const char *)requests[i - 1].data),
                   (i - 1) % 3 == 0 ? 2 * PAGE : PAGE);
    for (size_t i = 0; i < TIDE_MEDIUM_BATCH; i++)
      reader_start(&readers[i], &rig, requests[i], i + 1);
    rig_until_stalled(&rig, TIDE_MEDIUM_BATCH);
    for (size_t i = 0; i < TIDE_MEDIUM_BATCH; i++) fill(requests[i].room, requests[i].bytes, i + 1);
    CHECK_OK(tide_timeline_signal_external(rig.line, 5));
    for (size_t i = 0; i < 5; i++) reader_join(&readers[i], TIDE_OK);
    CHECK_EQ_U64(rig_info(&rig).activated, 5);
    CHECK_OK(tide_timeline_signal_external(rig.line, 16));
    for (size_t i = 5; i < TIDE_MEDIUM_BATCH; i++) reader_join(&readers[i], TIDE_OK);
    rig_until_idle(&rig);
    CHECK_EQ_U64(rig_info(&rig).free_pages, 32);
  }
}

/* Messages that come and go, some of them always under way: sides are taken back as a whole, not
 * each run by itself. A side has 32 places here, and 6 are under way. */
TEST(a_flow_takes_back_whole_sides) {
  enum { MANY = 400, UNDER_WAY = 6 };
  struct rig rig;
  EACH(&rig) {
    struct tide_request requests[UNDER_WAY];
    for (uint64_t i = 0; i < MANY + UNDER_WAY; i++) {
      struct tide_request *request = &requests[i % UNDER_WAY];
      if (i >= UNDER_WAY) {
        CHECK(holds(request->data, PAGE, i + 1 - UNDER_WAY));
        CHECK_OK(tide_request_finish(rig.medium, request, NULL));
      }
      if (i >= MANY) continue;
      *request = rig_wants(&rig, i + 1, PAGE);
      while (tide_medium_request(rig.medium, request, 1) == TIDE_FULL) sched_yield();
      fill(request->room, PAGE, i + 1);
      CHECK_OK(tide_timeline_signal_external(rig.line, i + 1));
    }
    struct tide_medium_info info = rig_info(&rig);
    CHECK_EQ_U64(info.requested, MANY);
    CHECK(info.recycled >= MANY / 32 - 3 && info.recycled <= MANY / 16);
    CHECK(info.single <= MANY / 20);
  }
}

/* Several threads load from one request: one fault of it counts. */
TEST(several_readers) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 1, PAGE);
    struct reader readers[4];
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    for (size_t i = 0; i < 4; i++) reader_start(&readers[i], &rig, request, 8);
    while (rig_info(&rig).duplicates < 3) usleep(100);
    CHECK_EQ_U64(rig_info(&rig).stalled, 1);
    fill(request.room, request.bytes, 8);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    uint64_t finished = 0;
    for (size_t i = 0; i < 4; i++) {
      CHECK(pthread_join(readers[i].thread, NULL) == 0);
      CHECK(readers[i].good);
      finished += readers[i].status == TIDE_OK;
    }
    CHECK_EQ_U64(finished, 1); /* the others finished what was over */
  }
}

/* ---- failures -------------------------------------------------------------------------- */

enum how { BY_TIMELINE, BY_NAME, BY_CLOSING, BY_DEADLINE, WAYS };

static enum tide_status make_fail(struct rig *rig, struct tide_request *request, enum how how) {
  if (how == BY_TIMELINE) tide_timeline_fail(rig->line, TIDE_OWNER_DIED);
  if (how == BY_NAME) CHECK_OK(tide_request_fail(rig->medium, request, TIDE_IO));
  if (how == BY_CLOSING) tide_medium_close(rig->medium, TIDE_LOST);
  static const enum tide_status means[WAYS] = {TIDE_OWNER_DIED, TIDE_IO, TIDE_LOST, TIDE_TIMEOUT};
  return means[how];
}

/* Who is stalled, and who comes later, reads zeros, whatever has been written by then. */
TEST(fails_while_stalled) {
  for (enum how how = 0; how < WAYS; how++) {
    struct rig rig;
    EACH(&rig) {
      struct tide_request request = rig_wants(&rig, 1, 2 * PAGE), kept = rig_wants(&rig, 0, PAGE);
      struct tide_timeline *good;
      struct reader reader, other;
      CHECK_OK(tide_timeline_create(rig.context, NULL, &good));
      kept.tags[0] = (struct tide_tag){good, 1};
      if (how == BY_DEADLINE) request.deadline = rig_now(&rig) + 20000000;
      CHECK_OK(tide_medium_request(rig.medium, &request, 1));
      CHECK_OK(tide_medium_request(rig.medium, &kept, 1));
      fill(request.room, PAGE, 4);
      reader_start(&reader, &rig, request, 0);
      reader_start(&other, &rig, kept, how == BY_CLOSING ? 0 : 6);
      if (how != BY_DEADLINE) rig_until_stalled(&rig, 2);
      enum tide_status means = make_fail(&rig, &request, how);
      reader_join(&reader, means);
      fill(kept.room, PAGE, 6);
      if (how != BY_CLOSING) CHECK_OK(tide_timeline_signal_external(good, 1));
      reader_join(&other, how == BY_CLOSING ? TIDE_LOST : TIDE_OK);
      struct tide_medium_info info = rig_info(&rig);
      CHECK_EQ_U64(info.failed, how == BY_CLOSING ? 2 : 1);
      CHECK_EQ_U64(info.timed_out, how == BY_DEADLINE);
      tide_timeline_destroy(good);
    }
  }
}

TEST(fails_before_anybody_looks) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 1, PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    fill(request.room, PAGE, 4);
    CHECK_OK(tide_request_fail(rig.medium, &request, TIDE_IO));
    CHECK_STATUS(tide_request_fail(rig.medium, &request, TIDE_IO), TIDE_VALUE);
    CHECK(zeros(request.data, PAGE));
    CHECK_STATUS(tide_request_finish(rig.medium, &request, NULL), TIDE_IO);
    CHECK_STATUS(tide_request_finish(rig.medium, &request, NULL), TIDE_INVALID);
    CHECK_STATUS(tide_request_fail(rig.medium, &request, TIDE_IO), TIDE_VALUE);
  }
}

/* What a producer may still be writing to is nobody else's. */
TEST(late_producers) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request late = rig_wants(&rig, 1, 16 * PAGE), gone = rig_wants(&rig, 2, 16 * PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &late, 1));
    CHECK_OK(tide_medium_request(rig.medium, &gone, 1));
    CHECK_OK(tide_request_fail(rig.medium, &late, TIDE_IO));
    CHECK_STATUS(tide_request_finish(rig.medium, &late, NULL), TIDE_IO);
    CHECK_STATUS(tide_request_finish(rig.medium, &gone, NULL), TIDE_CANCELLED);
    struct tide_request next = rig_wants(&rig, 3, PAGE);
    CHECK_STATUS(tide_medium_request(rig.medium, &next, 1), TIDE_FULL);
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    CHECK_OK(tide_medium_request(rig.medium, &next, 1));
    CHECK_STATUS(tide_request_finish(rig.medium, &next, NULL), TIDE_CANCELLED);
    /* Without a room nobody writes to the pages. */
    CHECK_OK(tide_timeline_signal_external(rig.line, 3));
    CHECK_EQ_U64(rig_info(&rig).requests, 0);
    next = rig_wants(&rig, 9, 32 * PAGE);
    next.source = &rig;
    CHECK_OK(tide_medium_request(rig.medium, &next, 1));
    CHECK_STATUS(tide_request_finish(rig.medium, &next, NULL), TIDE_CANCELLED);
    CHECK_EQ_U64(rig_info(&rig).requests, 0);
    CHECK_EQ_U64(rig_info(&rig).free_pages, 32);
  }
}

/* ---- what cannot be --------------------------------------------------------------------- */

TEST(bad_arguments) {
  struct rig rig;
  struct tide_medium *medium;
  struct tide_medium_params params = {.struct_size = sizeof params, .pages = TIDE_MEDIUM_PAGES + 1};
  rig_open(&rig, &small[0]);
  CHECK_STATUS(tide_medium_create(rig.context, &params, &medium), TIDE_INVALID);
  params = (struct tide_medium_params){.struct_size = sizeof(struct tide_medium_params),
                                       .engine = (enum tide_medium_engine)7};
  CHECK_STATUS(tide_medium_create(rig.context, &params, &medium), TIDE_INVALID);
  for (uint32_t cpu = 1000; cpu < 2000000000; cpu *= 7) { /* 1000: the kernel knows */
    params = (struct tide_medium_params){
        .struct_size = sizeof(struct tide_medium_params), .pages = 64, .pinned = true, .cpu = cpu};
    CHECK_STATUS(tide_medium_create(rig.context, &params, &medium), TIDE_INVALID);
  }
  struct tide_request request = rig_wants(&rig, 1, 0);
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 0), TIDE_INVALID);
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 17), TIDE_INVALID);
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 1), TIDE_INVALID);
  request = rig_wants(&rig, 1, 8);
  request.tag_count = 5;
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 1), TIDE_INVALID);
  request.tag_count = 2;
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 1), TIDE_INVALID);
  struct tide_timeline *narrow;
  struct tide_timeline_params inside = {.struct_size = sizeof inside, .scope = TIDE_SCOPE_DEVICE};
  CHECK_OK(tide_timeline_create(rig.context, &inside, &narrow));
  request.tags[1] = (struct tide_tag){narrow, 1};
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 1), TIDE_SCOPE);
  tide_timeline_destroy(narrow);
  request = rig_wants(&rig, 1, SIZE_MAX);
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 1), TIDE_FULL);
  request = rig_wants(&rig, 1, 33 * PAGE);
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 1), TIDE_FULL);
  struct tide_request nobodys = {.private_words = {1u << 30, 1}};
  CHECK_STATUS(tide_request_finish(rig.medium, &nobodys, NULL), TIDE_INVALID);
  CHECK_STATUS(tide_request_fail(rig.medium, &nobodys, TIDE_IO), TIDE_INVALID);
  nobodys.private_words[0] = 0;
  CHECK_STATUS(tide_request_finish(rig.medium, &nobodys, NULL), TIDE_INVALID);
  tide_medium_close(rig.medium, TIDE_LOST);
  request = rig_wants(&rig, 1, 8);
  CHECK_STATUS(tide_medium_request(rig.medium, &request, 1), TIDE_LOST);
  CHECK_EQ_STR(tide_medium_engine_name(TIDE_MEDIUM_MONITOR), "monitor");
  CHECK_EQ_STR(tide_medium_engine_name((enum tide_medium_engine)9), "unknown");
  rig_close(&rig);
}

TEST(too_many_requests) {
  struct rig rig;
  struct tide_medium_params params = {.struct_size = sizeof params, .pages = 64, .requests = 3};
  rig_open(&rig, &params);
  struct tide_request requests[4];
  for (size_t i = 0; i < 4; i++) requests[i] = rig_wants(&rig, 1, 8);
  CHECK_STATUS(tide_medium_request(rig.medium, requests, 4), TIDE_FULL);
  CHECK_OK(tide_medium_request(rig.medium, requests, 3));
  CHECK_STATUS(tide_medium_request(rig.medium, &requests[3], 1), TIDE_FULL);
  CHECK_OK(tide_timeline_signal_external(rig.line, 1));
  for (size_t i = 0; i < 3; i++) CHECK_OK(tide_request_finish(rig.medium, &requests[i], NULL));
  CHECK_OK(tide_medium_request(rig.medium, &requests[3], 1));
  CHECK_OK(tide_request_finish(rig.medium, &requests[3], NULL));
  rig_close(&rig);
}

/* ---- strays -------------------------------------------------------------------------------- */

static void say_stray(void *user, const void *address) {
  __atomic_store_n((const void **)user, address, __ATOMIC_RELEASE);
}

TEST(a_stray_load_is_told) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    const void *told = NULL;
    struct tide_medium_params params = small[e];
    params.stray = say_stray;
    params.user = &told;
    rig_open(&rig, &params);
    struct tide_request request = rig_wants(&rig, 1, PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK_OK(tide_timeline_signal_external(rig.line, 1));
    CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
    const volatile char *beyond = (const char *)request.data + 5 * PAGE;
    (void)*beyond;
    CHECK(__atomic_load_n(&told, __ATOMIC_ACQUIRE) == (const void *)beyond);
    CHECK_EQ_U64(rig_info(&rig).strays, 1);
    /* That page is mapped now: it is dropped before it is another's. */
    struct tide_request all = rig_wants(&rig, 2, 32 * PAGE);
    struct reader reader;
    for (int i = 0; i < 2; i++) {
      CHECK_OK(tide_medium_request(rig.medium, &all, 1));
      reader_start(&reader, &rig, all, 2 + (uint64_t)i);
      rig_until_stalled(&rig, 1 + (uint64_t)i);
      fill(all.room, all.bytes, 2 + (uint64_t)i);
      CHECK_OK(tide_timeline_signal_external(rig.line, 2 + (uint64_t)i));
      reader_join(&reader, TIDE_OK);
      rig_until_idle(&rig); /* whoever has mapped it lets go */
      all = rig_wants(&rig, 3, 32 * PAGE);
    }
    rig_close(&rig);
  }
}

TEST(a_stray_load_ends_the_process) {
  for (size_t e = 0; e < ENGINES; e++) {
    int pipes[2];
    char said[512] = "";
    CHECK(pipe(pipes) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      struct rig rig;
      dup2(pipes[1], 2);
      rig_open(&rig, &small[e]);
      struct tide_request request = rig_wants(&rig, 1, PAGE);
      CHECK_OK(tide_medium_request(rig.medium, &request, 1));
      (void)*((const volatile char *)request.data + 2 * PAGE);
      _exit(0);
    }
    close(pipes[1]);
    for (size_t at = 0; at < sizeof said - 1;) {
      ssize_t got = read(pipes[0], said + at, sizeof said - 1 - at);
      if (got <= 0) break;
      at += (size_t)got;
    }
    close(pipes[0]);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !said[0]) SKIP("no userfaultfd for us");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(said, small[e].label) && strstr(said, "page 2"));
  }
}

/* ---- left to the context ---- */

/* What nobody has finished ends with the medium: without data, with data that nobody has read, to
 * be copied, failed. */
static void leave_requests(enum tide_medium_engine engine) {
  static char source[4096];
  struct rig rig;
  struct tide_request requests[4];
  rig_open(&rig, TIDE_PARAMS(tide_medium_params, .engine = engine));
  for (uint64_t i = 0; i < 4; i++) requests[i] = rig_wants(&rig, i == 2 ? 1 : 2 + i, 4096);
  requests[3].source = source;
  CHECK_OK(tide_medium_request(rig.medium, requests, 4));
  CHECK_OK(tide_request_fail(rig.medium, &requests[1], TIDE_IO));
  CHECK_OK(tide_timeline_signal_external(rig.line, 1));
  tide_context_destroy(rig.context);
}

TEST(requests_are_left) { leave_requests(TIDE_MEDIUM_DIRECT); }
TEST(requests_are_left_to_a_monitor) { leave_requests(TIDE_MEDIUM_MONITOR); }
TEST(requests_are_left_with_fibers) { leave_requests(TIDE_MEDIUM_FIBERS); }

/* The thread reads zeros, and is told. */
static enum tide_status ended;
static void read_at_the_end(void *argument, uint64_t index) {
  struct reader *reader = argument;
  (void)index;
  reader->good = zeros(reader->request.data, reader->request.bytes);
  ended = tide_request_finish(reader->rig->medium, &reader->request, NULL);
}
TEST(a_stalled_fiber_is_left) {
  struct rig rig;
  struct tide_crew *crew;
  rig_open(&rig, TIDE_PARAMS(tide_medium_params, .engine = TIDE_MEDIUM_FIBERS));
  struct reader reader = {.rig = &rig, .request = rig_wants(&rig, 1, 4096)};
  CHECK_OK(tide_medium_request(rig.medium, &reader.request, 1));
  CHECK_OK(tide_crew_create(rig.context, TIDE_PARAMS(tide_crew_params, .carriers = 1), &crew));
  CHECK_OK(tide_crew_run(crew, read_at_the_end, &reader, 1));
  rig_until_stalled(&rig, 1);
  tide_context_destroy(rig.context);
  CHECK(reader.good);
  CHECK_STATUS(ended, TIDE_CANCELLED);
}

/* ---- what it teaches ---------------------------------------------------------------------------
 */

TEST(frontiers_travel) {
  struct rig rig;
  EACH(&rig) {
    tide_axis axes[2];
    struct tide_position positions[2];
    TIDE_FRONTIER_STORAGE(known, 8)[2];
    for (int i = 0; i < 2; i++) {
      CHECK_OK(tide_lease_take(rig.context->lease, TIDE_DOMAIN_HOST, &axes[i]));
      CHECK_OK(tide_tracker_register(rig.context->tracker, axes[i]));
      tide_frontier_init(&known[i].frontier, 8);
      positions[i] = (struct tide_position){.axis = axes[i], .frontier = &known[i].frontier};
    }
    struct tide_request request = rig_wants(&rig, 1, PAGE);
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    fill(request.room, PAGE, 2);
    CHECK_OK(tide_timeline_signal(rig.line, 1, &positions[0]));
    CHECK(holds(request.data, PAGE, 2));
    CHECK_EQ_U64(tide_frontier_get(positions[1].frontier, axes[0]), 0);
    CHECK_OK(tide_request_finish(rig.medium, &request, &positions[1]));
    CHECK_EQ_U64(tide_frontier_get(positions[1].frontier, axes[0]), 1);
    for (int i = 0; i < 2; i++) CHECK_OK(tide_tracker_close(rig.context->tracker, axes[i]));
  }
}

TEST_MAIN(CASE(stalled_until_it_comes), CASE(there_beforehand), CASE(a_deadline_that_is_over),
          CASE(one_fault_for_all_that_is_there), CASE(copied_from_a_source),
          CASE(needs_all_its_tags), CASE(a_batch), CASE(a_flow_takes_back_whole_sides),
          CASE(several_readers), CASE(fails_while_stalled), CASE(fails_before_anybody_looks),
          CASE(late_producers), CASE(bad_arguments), CASE(too_many_requests),
          CASE(a_stray_load_is_told), CASE(a_stray_load_ends_the_process), CASE(frontiers_travel),
          CASE(requests_are_left), CASE(requests_are_left_to_a_monitor),
          CASE(requests_are_left_with_fibers), CASE(a_stalled_fiber_is_left))
