/* Two processes, one pipeline: `processes 0` fills frames in memory for two of them, `processes 1`
 * reads and sums each. A frame's memory is reused once it has been read. */
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

enum { FRAMES = 8, WORDS = 4096, BYTES = 4 * WORDS };
static struct tide_cluster *session;
static struct tide_timeline *lines[2]; /* rank 0 has filled, rank 1 has read so many frames */
static uint64_t sum;
struct job {
  uint32_t *words, number;
}; /* words NULL: read them */

static enum tide_status run(void *arguments) {
  static uint32_t copy[WORDS];
  const struct job *job = arguments;
  for (uint32_t i = 0; i < WORDS && job->words; i++) job->words[i] = job->number * i;
  if (job->words) return TIDE_OK;
  enum tide_status status = tide_cluster_read(session, lines[0], job->number, 0, copy, BYTES);
  for (uint32_t i = 0; i < WORDS && status == TIDE_OK; i++) sum += copy[i];
  return status;
}
static const struct tide_body_class runs = {.name = "run", .host = run};

static void must(enum tide_status status, const char *what) {
  if (status != TIDE_OK) fprintf(stderr, "%s: %s\n", what, tide_status_text(status)), exit(1);
}

int main(int argc, char **argv) {
  uint32_t rank = argc > 1 && argv[1][0] == '1';
  struct tide_context *context;
  struct tide_device *cpu;
  struct tide_queue *queue;
  struct tide_pool *pool;
  struct tide_buffer *frame;
  struct tide_timeline_params system = {.struct_size = sizeof system, .scope = TIDE_SCOPE_SYSTEM};
  struct tide_cluster_params two = {sizeof two, "session", rank, 2, .label = argv[0]};
  must(tide_context_create(NULL, &context), "context");
  must(tide_cluster_join(context, &two, &session, NULL), "join");
  struct tide_pool_params two_frames = {
      .struct_size = sizeof two_frames, .source = tide_cluster_memory(session), .limit = 2 * BYTES};
  must(tide_cpu_open(context, NULL, &cpu), "cpu");
  must(tide_queue_create(cpu, NULL, &queue), "queue");
  must(tide_pool_create(context, &two_frames, &pool), "pool");
  must(tide_timeline_create(context, &system, &lines[rank]), "timeline");
  must(tide_cluster_publish(session, "line", lines[rank]), "publish");
  must(tide_cluster_follow(session, 1 - rank, "line", &lines[1 - rank]), "follow");
  for (uint32_t i = 1; i <= FRAMES; i++) {
    struct job job = {NULL, i};
    struct tide_operation operation = {.body = &runs,
                                       TIDE_ARGUMENTS(job),
                                       TIDE_WAITS({lines[0], rank ? i : 0}),
                                       TIDE_SIGNALS(TIDE_SIGNAL(lines[rank], i))};
    if (rank == 0) { /* frame i - 2 has been read: there is memory */
      must(tide_timeline_wait(lines[1], i > 2 ? i - 2 : 0, TIDE_FOREVER), "wait");
      must(tide_queue_alloc(queue, pool, BYTES, "frame", &frame), "memory");
      must(tide_cluster_export(session, frame, lines[0], i, lines[1], i), "export");
      job.words = tide_buffer_data(frame);
    }
    must(tide_queue_submit(queue, &operation, NULL, NULL), "submit");
    if (rank == 0) tide_queue_free(queue, frame);
  }
  must(tide_timeline_wait(lines[1], FRAMES, TIDE_FOREVER), "the last frame");
  if (rank == 1) printf("the sum of %u words is %lu\n", FRAMES * WORDS, (unsigned long)sum);
  must(tide_cluster_leave(session, TIDE_FOREVER), "leave");
  tide_context_destroy(context);
}
