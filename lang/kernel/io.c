/* read, write, sync: run on a host thread, or described for a storage ring. */
#include "device/transfer.h"
#include "kernel/builtin_bodies.h"

static enum tide_status describe_transfer(const struct tide_argument *file,
                                          const struct tide_argument *offset,
                                          const struct tide_argument *bytes,
                                          struct tide_io *out_io) {
  if (!tide_argument_of(bytes, 1)) return TIDE_INVALID;
  if (offset->integer < 0 || bytes->size > (uint64_t)(INT64_MAX - offset->integer))
    return tide_body_report(TIDE_INVALID, 0, "offset %ld is outside of any file",
                            (long)offset->integer);
  *out_io = (struct tide_io){
      .descriptor = file->descriptor,
      .name = file->name,
      .data = bytes->data,
      .size = bytes->size,
      .offset = (uint64_t)offset->integer,
  };
  return TIDE_OK;
}

/* read and write have the same parameters: file, offset, bytes. */
enum tide_status tide_body_read_io(const void *arguments, struct tide_io *out_io) {
  const struct tide_argument *a = arguments;
  return describe_transfer(&a[0], &a[1], &a[2], out_io);
}

enum tide_status tide_body_write_io(const void *arguments, struct tide_io *out_io) {
  return tide_body_read_io(arguments, out_io);
}

enum tide_status tide_body_sync_io(const void *arguments, struct tide_io *out_io) {
  const struct tide_argument *a = arguments;
  *out_io = (struct tide_io){.descriptor = a[0].descriptor, .name = a[0].name};
  return TIDE_OK;
}

enum tide_status tide_body_read(void *arguments) {
  struct tide_io io;
  enum tide_status status = tide_body_read_io(arguments, &io);
  return status != TIDE_OK ? status : tide_transfer_report(TIDE_IO_READ, &io);
}

enum tide_status tide_body_write(void *arguments) {
  struct tide_io io;
  enum tide_status status = tide_body_write_io(arguments, &io);
  return status != TIDE_OK ? status : tide_transfer_report(TIDE_IO_WRITE, &io);
}

enum tide_status tide_body_sync(void *arguments) {
  struct tide_io io;
  enum tide_status status = tide_body_sync_io(arguments, &io);
  return status != TIDE_OK ? status : tide_transfer_report(TIDE_IO_SYNC, &io);
}
