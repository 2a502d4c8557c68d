/* png_write, png_read: rows of 8-bit pixels to and from a PNG file.
 *
 * libpng reports errors by longjmp, so the functions that it may leave keep all their state in one
 * struct that outlives the jump. The file is addressed by offsets from its start, independently of
 * the descriptor's position. */
#include "device/transfer.h"
#include "kernel/builtin_bodies.h"

#include <errno.h>
#include <png.h>
#include <string.h>
#include <unistd.h>

#define SIDE_MOST 1000000 /* pixels; libpng's own bound */

struct codec {
  png_structp png;
  png_infop info;
  const struct tide_argument *file;
  uint64_t offset;
  enum tide_status status; /* the first error */
  const struct tide_argument *pixels;
  int64_t width, height, channels;
};

static struct codec *codec_of(png_structp png) { return png_get_io_ptr(png); }

static _Noreturn void on_error(png_structp png, png_const_charp text) {
  struct codec *codec = png_get_error_ptr(png);
  if (codec->status == TIDE_OK)
    codec->status = tide_body_report(TIDE_CORRUPT, 0, "'%s' is no PNG image: %s",
                                     codec->file->name ? codec->file->name : "the file", text);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) { (void)png, (void)text; }

static void move_bytes(png_structp png, png_bytep bytes, size_t size, enum tide_io_verb verb) {
  struct codec *codec = codec_of(png);
  struct tide_io io = {.descriptor = codec->file->descriptor,
                       .data = bytes,
                       .size = size,
                       .offset = codec->offset,
                       .name = codec->file->name};
  codec->status = tide_transfer_report(verb, &io);
  if (codec->status != TIDE_OK) png_error(png, "transfer");
  codec->offset += size;
}

static void on_write(png_structp png, png_bytep bytes, size_t size) {
  move_bytes(png, bytes, size, TIDE_IO_WRITE);
}
static void on_read(png_structp png, png_bytep bytes, size_t size) {
  move_bytes(png, bytes, size, TIDE_IO_READ);
}
static void on_flush(png_structp png) { (void)png; }

static size_t row_bytes(const struct codec *codec) {
  return (size_t)(codec->width * codec->channels);
}

static const int color_types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};

/* The functions below may be left by a longjmp out of libpng. */
static void encode_image(struct codec *codec) {
  if (setjmp(png_jmpbuf(codec->png))) return;
  png_set_write_fn(codec->png, codec, on_write, on_flush);
  png_set_IHDR(codec->png, codec->info, (png_uint_32)codec->width, (png_uint_32)codec->height, 8,
               color_types[codec->channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(codec->png, codec->info);
  const unsigned char *rows = codec->pixels->data;
  for (int64_t y = 0; y < codec->height; y++)
    png_write_row(codec->png, rows + (size_t)y * row_bytes(codec));
  png_write_end(codec->png, codec->info);
}

static bool image_size(int64_t width, int64_t height, int64_t channels) {
  return width >= 1 && width <= SIDE_MOST && height >= 1 && height <= SIDE_MOST && channels >= 1 &&
         channels <= 4;
}

/* Cuts the file to `size` bytes: it may have been longer before. */
static enum tide_status cut_file(const struct tide_argument *file, uint64_t size) {
  int answer;
  do answer = ftruncate(file->descriptor, (off_t)size);
  while (answer < 0 && errno == EINTR);
  if (answer == 0) return TIDE_OK;
  int error = errno;
  return tide_body_report(tide_status_of_errno(error), error, "'%s' cannot be cut to %lu bytes: %s",
                          file->name ? file->name : "the file", (unsigned long)size,
                          strerror(error));
}

enum tide_status tide_body_png_write(void *arguments) {
  const struct tide_argument *a = arguments;
  struct codec codec = {.file = &a[1],
                        .pixels = &a[0],
                        .width = a[2].integer,
                        .height = a[3].integer,
                        .channels = a[4].integer};
  if (!image_size(codec.width, codec.height, codec.channels) || !tide_argument_of(&a[0], 1))
    return TIDE_INVALID;
  if (a[0].size != row_bytes(&codec) * (uint64_t)codec.height)
    return tide_body_report(TIDE_INVALID, 0, "the image takes %lu bytes, and %lu are given",
                            (unsigned long)(row_bytes(&codec) * (uint64_t)codec.height),
                            (unsigned long)a[0].size);
  codec.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning);
  if (!codec.png) return TIDE_NOMEM;
  codec.info = png_create_info_struct(codec.png);
  if (codec.info) encode_image(&codec);
  else codec.status = TIDE_NOMEM;
  png_destroy_write_struct(&codec.png, &codec.info);
  if (codec.status != TIDE_OK) return codec.status;
  return cut_file(codec.file, codec.offset);
}

/* Makes libpng convert any image to 8-bit samples in the requested number of channels. */
static void set_transforms(struct codec *codec) {
  int color = png_get_color_type(codec->png, codec->info);
  bool transparent = (color & PNG_COLOR_MASK_ALPHA) != 0 ||
                     png_get_valid(codec->png, codec->info, PNG_INFO_tRNS) != 0;
  bool colored = (color & PNG_COLOR_MASK_COLOR) != 0;
  bool want_alpha = codec->channels == 2 || codec->channels == 4, want_color = codec->channels >= 3;
  png_set_scale_16(codec->png);
  png_set_expand(codec->png);
  if (want_color && !colored) png_set_gray_to_rgb(codec->png);
  if (!want_color && colored) png_set_rgb_to_gray_fixed(codec->png, PNG_ERROR_ACTION_NONE, -1, -1);
  if (!want_alpha && transparent) png_set_strip_alpha(codec->png);
  if (want_alpha && !transparent) png_set_add_alpha(codec->png, 255, PNG_FILLER_AFTER);
}

/* False: the image's size is not the requested one, or does not match the buffer. */
static bool header_fits(struct codec *codec) {
  int64_t width = png_get_image_width(codec->png, codec->info);
  int64_t height = png_get_image_height(codec->png, codec->info);
  if ((codec->width && codec->width != width) || (codec->height && codec->height != height))
    return false;
  codec->width = width;
  codec->height = height;
  return image_size(width, height, codec->channels) &&
         codec->pixels->size == row_bytes(codec) * (uint64_t)height;
}

static void decode_image(struct codec *codec) {
  if (setjmp(png_jmpbuf(codec->png))) return;
  png_set_user_limits(codec->png, SIDE_MOST, SIDE_MOST);
  png_set_read_fn(codec->png, codec, on_read);
  png_read_info(codec->png, codec->info);
  if (!header_fits(codec)) {
    codec->status = tide_body_report(
        TIDE_INVALID, 0, "the image has %lu x %lu pixels, and %ld x %ld in %lu bytes are read",
        (unsigned long)png_get_image_width(codec->png, codec->info),
        (unsigned long)png_get_image_height(codec->png, codec->info), (long)codec->width,
        (long)codec->height, (unsigned long)codec->pixels->size);
    return;
  }
  set_transforms(codec);
  int passes = png_set_interlace_handling(codec->png);
  png_read_update_info(codec->png, codec->info);
  if (png_get_rowbytes(codec->png, codec->info) != row_bytes(codec)) {
    codec->status = TIDE_CORRUPT;
    return;
  }
  unsigned char *rows = codec->pixels->data;
  for (int pass = 0; pass < passes; pass++)
    for (int64_t y = 0; y < codec->height; y++)
      png_read_row(codec->png, rows + (size_t)y * row_bytes(codec), NULL);
  png_read_end(codec->png, NULL);
}

enum tide_status tide_body_png_read(void *arguments) {
  const struct tide_argument *a = arguments;
  struct codec codec = {.file = &a[0],
                        .pixels = &a[1],
                        .width = a[2].integer,
                        .height = a[3].integer,
                        .channels = a[4].integer};
  if (codec.channels < 1 || codec.channels > 4 || !tide_argument_of(&a[1], 1)) return TIDE_INVALID;
  codec.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning);
  if (!codec.png) return TIDE_NOMEM;
  codec.info = png_create_info_struct(codec.png);
  if (codec.info) decode_image(&codec);
  else codec.status = TIDE_NOMEM;
  png_destroy_read_struct(&codec.png, &codec.info, NULL);
  return codec.status;
}
