/* Descriptions of failed transfers. */
#include "base/body_frame.h"
#include "base/text.h"
#include "device/transfer.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MOST 60 /* bytes: leaves space for the system's error behind the name */

/* Prints a name; if it is too long, only its end. */
static void print_name(struct tide_text *text, const char *name) {
  size_t length = strlen(name);
  const char *from = length > NAME_MOST ? name + length - NAME_MOST : name;
  while ((*from & 0xc0) == 0x80) from++; /* skips a partial character */
  tide_text_format(text, "'%s%s'", from == name ? "" : "…", from);
}

/* Prints the file's name: as given, else as the system names the descriptor, else its number. */
static void name_file(struct tide_text *text, const struct tide_io *io) {
  char link[40], path[PATH_MAX];
  struct tide_text name;
  if (io->name) {
    print_name(text, io->name);
    return;
  }
  tide_text_init(&name, link, sizeof link);
  tide_text_format(&name, "/proc/self/fd/%d", io->descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  if (path[0] == '/' && !strstr(path, " (deleted)")) print_name(text, path);
  else tide_text_format(text, "descriptor %d", io->descriptor);
}

static void print_bytes(struct tide_text *text, const struct tide_io *io) {
  tide_text_format(text, "bytes %lu to %lu", (unsigned long)io->offset,
                   (unsigned long)(io->offset + io->size - 1));
}

/* Prints where the file ended. Only a regular file has a size. */
static void print_end(struct tide_text *text, enum tide_io_verb verb, const struct tide_io *io) {
  struct stat info;
  bool is_file = fstat(io->descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (verb == TIDE_IO_WRITE) {
    tide_text_format(text, " took nothing more: ");
    print_bytes(text, io);
    tide_text_format(text, " are written");
  } else if (is_file) {
    tide_text_format(text, " is too short: it has %lu bytes, and ", (unsigned long)info.st_size);
    print_bytes(text, io);
    tide_text_format(text, " are read");
  } else {
    tide_text_format(text, " ended before %lu bytes were read", (unsigned long)io->size);
  }
}

void tide_transfer_describe(enum tide_io_verb verb, const struct tide_io *io,
                            enum tide_status status, int error, struct tide_failure *out_failure) {
  struct tide_text text;
  const char *word = verb == TIDE_IO_READ ? "read" : verb == TIDE_IO_WRITE ? "written" : "synced";
  *out_failure = (struct tide_failure){.status = status, .code = error};
  tide_text_init(&text, out_failure->text, sizeof out_failure->text);
  name_file(&text, io);
  if (error) tide_text_format(&text, " cannot be %s: %s", word, strerror(error));
  else if (status == TIDE_IO && io->size) print_end(&text, verb, io);
  else tide_text_format(&text, " cannot be %s: %s", word, tide_status_text(status));
  if (error && verb != TIDE_IO_SYNC && io->size) {
    tide_text_format(&text, " (");
    print_bytes(&text, io);
    tide_text_format(&text, ")");
  }
  if (tide_text_cut(&text)) tide_text_trim(out_failure->text);
}

void tide_transfer_fail(struct tide_work *work, enum tide_io_verb verb, const struct tide_io *io,
                        enum tide_status status, int error) {
  struct tide_failure failure;
  tide_transfer_describe(verb, io, status, error, &failure);
  tide_work_fail(work, &failure);
}

enum tide_status tide_transfer_report(enum tide_io_verb verb, const struct tide_io *io) {
  struct tide_failure failure;
  int error;
  enum tide_status status = tide_transfer(verb, io, &error);
  if (status == TIDE_OK) return status;
  tide_transfer_describe(verb, io, status, error, &failure);
  return tide_body_report(status, failure.code, "%s", failure.text);
}

bool tide_transfer_prepare(struct tide_work *work, struct tide_io *out_io) {
  struct tide_body_frame frame; /* only the fields set below are used */
  frame.work = NULL;
  frame.helper = NULL;
  frame.failure.status = TIDE_OK;
  struct tide_body_frame *before = tide_body_frame_set(&frame);
  *out_io = (struct tide_io){.descriptor = -1};
  enum tide_status status =
      tide_file_ops_of(work->body)->describe(tide_work_arguments(work), out_io);
  /* The kernel takes an offset of -1 for the file's own position. */
  if (status == TIDE_OK && (out_io->size > INT64_MAX || out_io->offset > INT64_MAX - out_io->size))
    status = tide_body_report(TIDE_INVALID, 0, "offset %lu is outside of any file",
                              (unsigned long)out_io->offset);
  (void)tide_body_frame_set(before);
  if (status == TIDE_OK) return true;
  tide_work_fail(work, tide_body_failure(&frame, status));
  return false;
}
