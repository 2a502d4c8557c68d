/* Tag pages: producers and consumers that are plain code. Who produces stores, who consumes loads,
 * and neither calls anything; what was stored is what is read. Each case once for each engine. */
#include "wic_rig.h"

#include <signal.h>
#include <sys/wait.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define PAGE 4096u

static const struct tide_medium_params small[] = {
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "direct",
     .engine = TIDE_MEDIUM_DIRECT,
     .pages = 64,
     .tag_pages = 4},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "monitor",
     .engine = TIDE_MEDIUM_MONITOR,
     .pages = 64,
     .tag_pages = 4},
    {.struct_size = sizeof(struct tide_medium_params),
     .label = "fibers",
     .engine = TIDE_MEDIUM_FIBERS,
     .pages = 64,
     .tag_pages = 4},
};
#define ENGINES (sizeof small / sizeof small[0])
#define EACH(rig)                                                                                  \
  for (size_t e_ = 0; e_ < ENGINES && (rig_open(rig, &small[e_]), true); rig_close(rig), e_++)

static void store(uint64_t *word) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(word + 1); /* it does not see that a fault is an order */
#endif
  __atomic_store_n((volatile uint64_t *)word, 1,
                   test_slowdown() > 1 ? __ATOMIC_RELAXED : __ATOMIC_RELEASE);
}

static struct tide_tag_page page_for(const struct rig *rig, uint64_t value) {
  return (struct tide_tag_page){.tag = {rig->line, value}};
}

/* Once its store, if there was one, has come through. */
static enum tide_status disarm(struct rig *rig, struct tide_tag_page *page) {
  enum tide_status status;
  while ((status = tide_medium_disarm(rig->medium, page)) == TIDE_BUSY) sched_yield();
  return status;
}

/* A thread that stores to a word when it is told to. */
struct writer {
  uint64_t *word;
  pthread_t thread;
};
static void *write_one(void *argument) {
  const struct writer *writer = argument;
  store(writer->word);
  return NULL;
}
static void writer_start(struct writer *writer, uint64_t *word) {
  writer->word = word;
  CHECK(pthread_create(&writer->thread, NULL, write_one, writer) == 0);
}

/* ---- what it is for ------------------------------------------------------------------- */

TEST(a_store_is_a_signal) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 7, 2 * PAGE);
    struct tide_tag_page page = page_for(&rig, 7);
    struct reader reader;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK_OK(tide_medium_arm(rig.medium, &page, 1));
    reader_start(&reader, &rig, request, 3);
    rig_until_stalled(&rig, 1);
    CHECK_EQ_U64(*page.word, 0);
    fill(request.room, request.bytes, 3);
    store(page.word);
    CHECK_EQ_U64(tide_timeline_query(rig.line), 7);
    CHECK_EQ_U64(*page.word, 1);
    store(page.word); /* nobody sees it */
    reader_join(&reader, TIDE_OK);
    CHECK_OK(disarm(&rig, &page));
    CHECK(page.word == NULL);
    CHECK_EQ_U64(rig_info(&rig).stores, 1);
    CHECK_EQ_U64(rig_info(&rig).strays, 0);
  }
}

/* Both sides know memory only: messages come in batches of as many tags as there may be. */
enum { LONG = 8, MESSAGES = 64, WORDS = 3 * PAGE / 8 };

struct plain {
  struct {
    uint64_t *room, *tag;
    const uint64_t *data;
  } messages[MESSAGES];
  uint64_t sum;
  pthread_t thread;
};

static void *produce(void *argument) {
  const struct plain *plain = argument;
  for (uint64_t m = 0; m < MESSAGES; m++) {
    for (uint64_t i = 0; i < WORDS; i++) plain->messages[m].room[i] = (m + 1) * 1000003 + i * i;
    store(plain->messages[m].tag);
  }
  return NULL;
}

static void *consume(void *argument) {
  struct plain *plain = argument;
  for (uint64_t m = 0; m < MESSAGES; m++)
    for (uint64_t i = 0; i < WORDS; i++)
      plain->sum = plain->sum * 31 + ((const volatile uint64_t *)plain->messages[m].data)[i];
  return NULL;
}

static uint64_t expected_sum(void) {
  uint64_t sum = 0;
  for (uint64_t m = 0; m < MESSAGES; m++)
    for (uint64_t i = 0; i < WORDS; i++) sum = sum * 31 + ((m + 1) * 1000003 + i * i);
  return sum;
}

TEST(both_sides_are_plain_code) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    struct tide_medium_params params = small[e];
    struct tide_request requests[MESSAGES];
    struct tide_tag_page pages[MESSAGES];
    static struct plain plain;
    pthread_t producer;
    params.pages = 1024;
    params.tag_pages = MESSAGES;
    rig_open(&rig, &params);
    plain.sum = 0;
    for (uint64_t m = 0; m < MESSAGES; m++) {
      requests[m] = rig_wants(&rig, m + 1, sizeof(uint64_t[WORDS]));
      pages[m] = page_for(&rig, m + 1);
    }
    for (uint64_t m = 0; m < MESSAGES; m += LONG) {
      CHECK_OK(tide_medium_request(rig.medium, &requests[m], LONG));
      CHECK_OK(tide_medium_arm(rig.medium, &pages[m], LONG));
    }
    for (uint64_t m = 0; m < MESSAGES; m++) {
      plain.messages[m].room = requests[m].room;
      plain.messages[m].data = requests[m].data;
      plain.messages[m].tag = pages[m].word;
    }
    CHECK(pthread_create(&plain.thread, NULL, consume, &plain) == 0);
    CHECK(pthread_create(&producer, NULL, produce, &plain) == 0);
    pthread_join(producer, NULL);
    pthread_join(plain.thread, NULL);
    CHECK_EQ_U64(plain.sum, expected_sum());
    for (uint64_t m = 0; m < MESSAGES; m++) {
      CHECK_OK(tide_request_finish(rig.medium, &requests[m], NULL));
      CHECK_OK(disarm(&rig, &pages[m]));
    }
    CHECK_EQ_U64(rig_info(&rig).stores, MESSAGES);
    rig_close(&rig);
  }
}

/* ---- one page, again and again ------------------------------------------------------------ */

/* A producer whose stores are interrupted all the time. */
struct flow {
  struct rig *rig;
  uint64_t *word;
  uint64_t rounds, turn; /* turn: odd: the producer's, of round turn / 2 */
  uint64_t *room;
  pthread_t producer;
  uint32_t over;
};
#define GET(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define SET(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)

static void *produce_flow(void *argument) {
  struct flow *flow = argument;
  for (uint64_t round = 1; round <= flow->rounds; round++) {
    while (GET(flow->turn) < round) sched_yield();
    fill(flow->room, PAGE, round);
    store(flow->word);
  }
  SET(flow->over, 1);
  return NULL;
}

static void nothing(int number) { (void)number; }

static void *disturb(void *argument) {
  struct flow *flow = argument;
  while (!GET(flow->over)) {
    pthread_kill(flow->producer, SIGUSR1);
    usleep(20);
  }
  return NULL;
}

TEST(one_page_again_and_again) {
  struct rig rig;
  struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  EACH(&rig) {
    struct flow flow = {.rig = &rig, .rounds = 2000 / test_slowdown()};
    struct tide_tag_page page = page_for(&rig, 0);
    pthread_t disturber;
    CHECK(pthread_create(&flow.producer, NULL, produce_flow, &flow) == 0);
    CHECK(pthread_create(&disturber, NULL, disturb, &flow) == 0);
    for (uint64_t round = 1; round <= flow.rounds; round++) {
      struct tide_request request = rig_wants(&rig, round, PAGE);
      enum tide_status status;
      while ((status = tide_medium_request(rig.medium, &request, 1)) == TIDE_FULL) sched_yield();
      CHECK_OK(status);
      page.tag.value = round;
      while ((status = tide_medium_arm(rig.medium, &page, 1)) == TIDE_BUSY) sched_yield();
      CHECK_OK(status);
      CHECK_EQ_U64(tide_timeline_query(rig.line), round - 1);
      flow.word = page.word;
      flow.room = request.room;
      SET(flow.turn, round);
      CHECK(holds(request.data, PAGE, round));
      CHECK_OK(tide_request_finish(rig.medium, &request, NULL));
    }
    pthread_join(disturber, NULL);
    pthread_join(flow.producer, NULL);
    CHECK_OK(disarm(&rig, &page));
    CHECK_EQ_U64(rig_info(&rig).stores, flow.rounds);
  }
}

/* ---- failures --------------------------------------------------------------------------------
 */

/* The producer's thread ends before its store; who knows that fails the timeline. */
TEST(a_producer_ends_before_its_store) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 1, PAGE);
    struct tide_tag_page page = page_for(&rig, 1);
    struct reader reader;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK_OK(tide_medium_arm(rig.medium, &page, 1));
    reader_start(&reader, &rig, request, 0);
    rig_until_stalled(&rig, 1);
    fill(request.room, PAGE / 2, 1);
    tide_timeline_fail(rig.line, TIDE_OWNER_DIED);
    reader_join(&reader, TIDE_OWNER_DIED);
    CHECK_STATUS(tide_medium_disarm(rig.medium, &page), TIDE_CANCELLED);
    CHECK_EQ_U64(rig_info(&rig).stores, 0);
  }
}

/* Its consumer is told at the deadline; the store goes on whenever it comes, and only then the room
 * is somebody else's. */
TEST(a_store_after_the_deadline) {
  struct rig rig;
  EACH(&rig) {
    struct tide_request request = rig_wants(&rig, 1, 32 * PAGE);
    struct tide_tag_page page = page_for(&rig, 1);
    struct reader reader;
    request.deadline = rig_now(&rig) + 10000000;
    CHECK_OK(tide_medium_request(rig.medium, &request, 1));
    CHECK_OK(tide_medium_arm(rig.medium, &page, 1));
    reader_start(&reader, &rig, request, 0);
    reader_join(&reader, TIDE_TIMEOUT);
    struct tide_request next = rig_wants(&rig, 2, PAGE);
    CHECK_STATUS(tide_medium_request(rig.medium, &next, 1), TIDE_FULL);
    CHECK_STATUS(tide_medium_arm(rig.medium, &page, 1), TIDE_BUSY); /* it is armed still */
    fill(request.room, request.bytes, 1);
    store(page.word);
    CHECK_OK(tide_medium_request(rig.medium, &next, 1));
    CHECK_STATUS(tide_request_finish(rig.medium, &next, NULL), TIDE_CANCELLED);
    CHECK_OK(disarm(&rig, &page));
    CHECK_OK(tide_timeline_signal_external(rig.line, 2));
  }
}

/* What the signal came to is told to who disarms; the producer goes on in any case. */
TEST(a_store_that_cannot_be_signalled) {
  struct rig rig;
  EACH(&rig) {
    struct tide_tag_page pages[2] = {page_for(&rig, 3), page_for(&rig, 9)};
    struct writer writers[2];
    CHECK_OK(tide_timeline_signal_external(rig.line, 4));
    CHECK_OK(tide_medium_arm(rig.medium, pages, 2));
    tide_timeline_fail(rig.line, TIDE_IO);
    tide_medium_close(rig.medium, TIDE_LOST);
    for (int i = 0; i < 2; i++) writer_start(&writers[i], pages[i].word);
    for (int i = 0; i < 2; i++) {
      pthread_join(writers[i].thread, NULL);
      CHECK_STATUS(disarm(&rig, &pages[i]), i == 0 ? TIDE_VALUE : TIDE_IO);
    }
    CHECK_STATUS(tide_medium_arm(rig.medium, pages, 1), TIDE_LOST);
    CHECK_EQ_U64(tide_timeline_query(rig.line), 4);
  }
}

/* Nobody stores any more: what is armed goes with the medium, and its timeline is let go. */
TEST(armed_when_the_medium_goes) {
  struct rig rig;
  EACH(&rig) {
    struct tide_tag_page page = page_for(&rig, 1);
    CHECK_OK(tide_medium_arm(rig.medium, &page, 1));
  }
}

/* ---- what cannot be -------------------------------------------------------------------------- */

TEST(bad_arguments) {
  struct rig rig;
  struct tide_medium *medium;
  struct tide_medium_params params = {.struct_size = sizeof params,
                                      .tag_pages = TIDE_MEDIUM_TAG_PAGES + 1};
  rig_open(&rig, &small[0]);
  CHECK_STATUS(tide_medium_create(rig.context, &params, &medium), TIDE_INVALID);
  params =
      (struct tide_medium_params){.struct_size = sizeof(struct tide_medium_params), .pages = 8};
  CHECK_OK(tide_medium_create(rig.context, &params, &medium));
  struct tide_tag_page pages[5];
  for (uint64_t i = 0; i < 5; i++) pages[i] = page_for(&rig, i + 1);
  CHECK_STATUS(tide_medium_arm(medium, pages, 1), TIDE_UNSUPPORTED);
  CHECK_STATUS(tide_medium_arm(rig.medium, pages, 0), TIDE_INVALID);
  CHECK_STATUS(tide_medium_arm(rig.medium, pages, 17), TIDE_INVALID);
  CHECK_STATUS(tide_medium_arm(rig.medium, pages, 5), TIDE_FULL);
  CHECK_STATUS(tide_medium_disarm(rig.medium, pages), TIDE_INVALID);
  CHECK_OK(tide_medium_arm(rig.medium, pages, 4));
  CHECK_STATUS(tide_medium_arm(rig.medium, &pages[4], 1), TIDE_FULL);
  CHECK_STATUS(tide_medium_arm(rig.medium, pages, 1), TIDE_BUSY);
  CHECK_STATUS(tide_medium_disarm(medium, pages), TIDE_INVALID);
  for (int i = 1; i < 4; i++) CHECK((char *)pages[i].word - (char *)pages[i - 1].word == PAGE);
  struct tide_tag_page odd = {.tag = pages[0].tag, .word = pages[0].word + 1}, old = pages[3];
  CHECK_STATUS(tide_medium_arm(rig.medium, &odd, 1), TIDE_INVALID);
  CHECK_STATUS(tide_medium_disarm(rig.medium, &odd), TIDE_INVALID);
  for (int i = 0; i < 4; i++)
    CHECK_STATUS(tide_medium_disarm(rig.medium, &pages[i]), TIDE_CANCELLED);
  CHECK_STATUS(tide_medium_disarm(rig.medium, &old), TIDE_INVALID);
  struct tide_timeline *narrow;
  struct tide_timeline_params inside = {.struct_size = sizeof inside, .scope = TIDE_SCOPE_DEVICE};
  CHECK_OK(tide_timeline_create(rig.context, &inside, &narrow));
  pages[1].tag.timeline = narrow;
  CHECK_STATUS(tide_medium_arm(rig.medium, pages, 2), TIDE_SCOPE);
  pages[1].tag.timeline = NULL;
  CHECK_STATUS(tide_medium_arm(rig.medium, pages, 2), TIDE_INVALID);
  tide_timeline_destroy(narrow);
  tide_medium_destroy(medium);
  rig_close(&rig);
}

/* Of several one cannot be armed: none is. */
TEST(all_or_none) {
  struct rig rig;
  EACH(&rig) {
    struct tide_tag_page pages[3] = {page_for(&rig, 1), page_for(&rig, 2), page_for(&rig, 3)};
    enum tide_status status;
    CHECK_OK(tide_medium_arm(rig.medium, &pages[1], 1));
    store(pages[1].word);
    struct tide_tag_page twice[2] = {pages[1], pages[1]};
    twice[0].tag.value = twice[1].tag.value = 5;
    while ((status = tide_medium_arm(rig.medium, twice, 1)) == TIDE_BUSY) sched_yield();
    CHECK_OK(status);
    CHECK_STATUS(tide_medium_arm(rig.medium, pages, 3), TIDE_BUSY);
    CHECK(pages[0].word == NULL && pages[2].word == NULL);
    store(pages[1].word);
    CHECK_OK(disarm(&rig, &twice[0]));
    CHECK_EQ_U64(tide_timeline_query(rig.line), 5);
    for (int i = 0; i < 3; i++) pages[i] = page_for(&rig, 6 + (uint64_t)i);
    CHECK_OK(tide_medium_arm(rig.medium, pages, 3)); /* all are free again */
    for (int i = 0; i < 3; i++)
      CHECK_STATUS(tide_medium_disarm(rig.medium, &pages[i]), TIDE_CANCELLED);
  }
}

static void say_stray(void *user, const void *address) { SET(*(const void **)user, address); }

TEST(a_stray_store_is_told) {
  for (size_t e = 0; e < ENGINES; e++) {
    struct rig rig;
    const void *told = NULL;
    struct tide_medium_params params = small[e];
    params.stray = say_stray;
    params.user = &told;
    rig_open(&rig, &params);
    struct tide_tag_page page = page_for(&rig, 1);
    CHECK_OK(tide_medium_arm(rig.medium, &page, 1));
    uint64_t *word = page.word, *beyond = page.word + PAGE / 8;
    CHECK_STATUS(tide_medium_disarm(rig.medium, &page), TIDE_CANCELLED);
    store(beyond);
    CHECK(GET(told) == (void *)beyond);
    store(word);
    CHECK(GET(told) == (void *)word);
    while (rig_info(&rig).strays < 2) sched_yield();
    /* They are open now, and closed before they are another's. */
    struct tide_tag_page all[4];
    for (uint64_t i = 0; i < 4; i++) all[i] = page_for(&rig, i + 1);
    CHECK_OK(tide_medium_arm(rig.medium, all, 4));
    for (int i = 0; i < 4; i++) CHECK_EQ_U64(*all[i].word, 0);
    CHECK_EQ_U64(tide_timeline_query(rig.line), 0);
    for (uint64_t i = 0; i < 4; i++) {
      store(all[i].word);
      CHECK_EQ_U64(tide_timeline_query(rig.line), i + 1);
    }
    rig_close(&rig);
  }
}

TEST(a_stray_store_ends_the_process) {
  for (size_t e = 0; e < ENGINES; e++) {
    int pipes[2], status;
    char said[512] = "";
    CHECK(pipe(pipes) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      struct rig rig;
      dup2(pipes[1], 2);
      rig_open(&rig, &small[e]);
      struct tide_tag_page page = page_for(&rig, 1);
      CHECK_OK(tide_medium_arm(rig.medium, &page, 1));
      store(page.word + 2 * PAGE / 8);
      _exit(0);
    }
    close(pipes[1]);
    for (size_t at = 0; at < sizeof said - 1;) {
      ssize_t got = read(pipes[0], said + at, sizeof said - 1 - at);
      if (got <= 0) break;
      at += (size_t)got;
    }
    close(pipes[0]);
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !said[0]) SKIP("no userfaultfd for us");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(said, small[e].label) && strstr(said, "a store to tag page 2"));
  }
}

TEST(a_child_cannot_store) {
  struct rig rig;
  EACH(&rig) {
    struct tide_tag_page page = page_for(&rig, 1);
    int status;
    CHECK_OK(tide_medium_arm(rig.medium, &page, 1));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL); /* a sanitizer would report it */
      store(page.word);
      _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK_STATUS(tide_medium_disarm(rig.medium, &page), TIDE_CANCELLED);
  }
}

TEST_MAIN(CASE(a_store_is_a_signal), CASE(both_sides_are_plain_code),
          CASE_SECONDS(one_page_again_and_again, 60), CASE(a_producer_ends_before_its_store),
          CASE(a_store_after_the_deadline), CASE(a_store_that_cannot_be_signalled),
          CASE(armed_when_the_medium_goes), CASE(bad_arguments), CASE(all_or_none),
          CASE(a_stray_store_is_told), CASE(a_stray_store_ends_the_process),
          CASE(a_child_cannot_store))
