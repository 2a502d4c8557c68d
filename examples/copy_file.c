/* Copies a file in pieces: one queue reads, another one writes, a few buffers go round between
 * them. A read into a buffer waits until the last write from it has finished. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tidemark/tidemark.h>

enum { BUFFERS = 4, PIECE = 64 << 10 };

static void must(enum tide_status status) {
  if (status != TIDE_OK) exit(fprintf(stderr, "%s\n", tide_status_text(status)) > 0);
}

static enum tide_status get_transfer(const void *arguments, struct tide_io *out_io) {
  *out_io = *(const struct tide_io *)arguments; /* of each operation here */
  return TIDE_OK;
}
static const struct tide_file_ops read_ops = {{TIDE_OPS_FILE}, TIDE_IO_READ, get_transfer};
static const struct tide_file_ops write_ops = {{TIDE_OPS_FILE}, TIDE_IO_WRITE, get_transfer};
static const struct tide_body_class reads = {.name = "read", .ops = &read_ops.ops};
static const struct tide_body_class writes = {.name = "write", .ops = &write_ops.ops};

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "copy_file FROM TO\n"), 2;
  int from = open(argv[1], O_RDONLY), to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  struct stat info;
  if (from < 0 || to < 0 || fstat(from, &info) != 0) return perror("copy_file"), 1;
  static char buffers[BUFFERS][PIECE];
  struct tide_context *context;
  struct tide_device *files;
  struct tide_queue *reader, *writer;
  struct tide_timeline *filled, *written; /* reach n once piece n was read, was written */
  must(tide_context_create(NULL, &context));
  must(tide_file_open(context, NULL, &files));
  must(tide_queue_create(files, NULL, &reader));
  must(tide_queue_create(files, NULL, &writer));
  must(tide_timeline_create(context, NULL, &filled));
  must(tide_timeline_create(context, NULL, &written));
  uint64_t size = (uint64_t)info.st_size, pieces = (size + PIECE - 1) / PIECE;
  for (uint64_t n = 1, at = 0; n <= pieces; n++, at += PIECE) {
    uint64_t length = size - at < PIECE ? size - at : PIECE;
    struct tide_io in = {from, buffers[n % BUFFERS], length, at, argv[1]};
    struct tide_io out = {to, buffers[n % BUFFERS], length, at, argv[2]};
    struct tide_operation read = {.body = &reads,
                                  TIDE_ARGUMENTS(in),
                                  TIDE_WAITS({written, n > BUFFERS ? n - BUFFERS : 0}),
                                  TIDE_SIGNALS(TIDE_SIGNAL(filled, n))};
    struct tide_operation write = {.body = &writes,
                                   TIDE_ARGUMENTS(out),
                                   TIDE_WAITS({filled, n}),
                                   TIDE_SIGNALS(TIDE_SIGNAL(written, n))};
    must(tide_queue_submit_wait(reader, &read, TIDE_FOREVER, NULL, NULL));
    must(tide_queue_submit_wait(writer, &write, TIDE_FOREVER, NULL, NULL));
  }
  must(tide_timeline_wait(written, pieces, TIDE_FOREVER));
  printf("%s: %llu bytes by %s\n", argv[2], (unsigned long long)size, tide_file_kind(files));
  tide_context_destroy(context);
}
