/* Two processes, one pipeline: `processes 0` fills blocks of memory that both map, `processes 1`
 * sums each block as soon as it is filled. The file "blocks" is the memory, "session" the meeting
 * place. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <tidemark/tidemark.h>
#include <unistd.h>

enum { BLOCKS = 8, WORDS = 4096 };
static uint32_t (*blocks)[WORDS];
static uint32_t rank;
static uint64_t sum;

static enum tide_status run(void *arguments) {
  uint32_t block = *(uint32_t *)arguments;
  for (uint32_t i = 0; i < WORDS; i++)
    if (rank == 0) blocks[block][i] = block * WORDS + i;
    else sum += blocks[block][i];
  return TIDE_OK;
}
static const struct tide_body_class runs = {.name = "run", .host = run};

static void must(enum tide_status status, const char *what) {
  if (status != TIDE_OK) fprintf(stderr, "%s: %s\n", what, tide_status_text(status)), exit(1);
}

int main(int argc, char **argv) {
  rank = argc > 1 && argv[1][0] == '1';
  int file = open("blocks", O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, BLOCKS * sizeof *blocks) != 0) return 2;
  blocks = mmap(NULL, BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  struct tide_context *context;
  struct tide_cluster *session;
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_timeline *filled;
  struct tide_timeline_params system = {.struct_size = sizeof system, .scope = TIDE_SCOPE_SYSTEM};
  struct tide_cluster_params two = {sizeof two, "session", rank, 2, .label = argv[0]};
  must(tide_context_create(NULL, &context), "context");
  must(tide_cluster_join(context, &two, &session, NULL), "join");
  must(tide_cpu_open(context, NULL, &cpu), "cpu");
  must(tide_queue_create(cpu, NULL, &queue), "queue");
  if (rank == 1) must(tide_cluster_follow(session, 0, "filled", &filled), "follow");
  else must(tide_timeline_create(context, &system, &filled), "timeline");
  if (rank == 0) must(tide_cluster_publish(session, "filled", filled), "publish");
  for (uint32_t i = 0; i < BLOCKS; i++) {
    struct tide_operation fill = {
        .body = &runs, TIDE_ARGUMENTS(i), TIDE_SIGNALS(TIDE_SIGNAL(filled, i + 1))};
    struct tide_operation add = {.body = &runs, TIDE_ARGUMENTS(i), TIDE_WAITS({filled, i + 1})};
    must(tide_queue_submit(queue, rank == 0 ? &fill : &add, NULL, NULL), "submit");
  }
  must(tide_queue_drain(queue, tide_after_ms(context, 10000)), "drain");
  if (rank == 1) printf("the sum of %u words is %lu\n", BLOCKS * WORDS, (unsigned long)sum);
  must(tide_cluster_leave(session, tide_after_ms(context, 10000)), "leave");
  tide_context_destroy(context);
}
