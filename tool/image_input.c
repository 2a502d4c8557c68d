/* Images for programs: generated ones, or the user's own. */
#include "tool/tool.h"

#include "base/random.h"
#include "tidemark/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIDE_MOST 1000000u
#define OCTAVES 5

/* ---- terrain --------------------------------------------------------------------- */

/* Hills: five lattices of random heights, each twice as fine and half as high as the one before,
 * blended between their points. Heights are in 1/65536. */
struct terrain {
  uint64_t width, height, seed;
  uint32_t *nodes[OCTAVES]; /* each lattice's heights along the current row */
  uint32_t *row;
};

static uint32_t hash(uint64_t seed, uint64_t x, uint64_t y) {
  struct tide_random random = {seed ^ x * 0x9e3779b97f4a7c15u ^ y * 0xc2b2ae3d27d4eb4fu};
  return (uint32_t)(tide_random_next(&random) >> 32);
}

static unsigned shift_of(unsigned octave) { return 10 - octave; }

/* Blends a lattice's heights at row y between the lattice rows above and below. */
static void blend_rows(const struct terrain *t, unsigned octave, uint64_t y) {
  unsigned shift = shift_of(octave);
  uint64_t cell = y >> shift, part = y & ((1u << shift) - 1), last = (t->width >> shift) + 1;
  uint32_t amplitude = (96u << 16) >> octave;
  for (uint64_t i = 0; i <= last; i++) {
    uint64_t above = hash(t->seed + octave, i, cell), below = hash(t->seed + octave, i, cell + 1);
    uint64_t mixed = (above * ((1u << shift) - part) + below * part) >> shift;
    t->nodes[octave][i] = (uint32_t)(mixed * amplitude >> 32);
  }
}

static void add_octave(const struct terrain *t, unsigned octave) {
  unsigned shift = shift_of(octave);
  uint64_t step = 1u << shift;
  for (uint64_t x = 0; x < t->width; x += step) {
    uint32_t from = t->nodes[octave][x >> shift], to = t->nodes[octave][(x >> shift) + 1];
    int32_t slope = ((int32_t)to - (int32_t)from) / (int32_t)step;
    uint64_t end = x + step < t->width ? x + step : t->width;
    for (uint64_t i = x; i < end; i++) t->row[i] += from + (uint32_t)(slope * (int32_t)(i - x));
  }
}

static void make_row(const struct terrain *t, uint64_t y, unsigned char *to) {
  memset(t->row, 0, t->width * sizeof *t->row);
  for (unsigned octave = 0; octave < OCTAVES; octave++) {
    blend_rows(t, octave, y);
    add_octave(t, octave);
  }
  /* Adds fields: each a little lighter or darker, with roads between them. */
  for (uint64_t x = 0; x < t->width; x++) {
    uint32_t value = t->row[x] >> 16;
    uint32_t field = (uint32_t)(x >> 7) * 0x9e3779b1u ^ (uint32_t)(y >> 7) * 0x85ebca77u;
    uint32_t road = (x & 127) < 2 || (y & 127) < 2 ? 40 : 0;
    uint32_t grain = ((uint32_t)x * 0x27d4eb2fu ^ (uint32_t)y * 0x165667b1u) >> 30;
    value += (field >> 27) + road + grain;
    to[x] = (unsigned char)(value > 255 ? 255 : value);
  }
}

static bool make_storage(struct terrain *t) {
  t->row = malloc(t->width * sizeof *t->row);
  bool good = t->row != NULL;
  for (unsigned octave = 0; octave < OCTAVES; octave++) {
    t->nodes[octave] = malloc(((t->width >> shift_of(octave)) + 2) * sizeof(uint32_t));
    good = good && t->nodes[octave];
  }
  return good;
}

static bool write_all(int descriptor, const unsigned char *bytes, size_t size) {
  while (size) {
    ssize_t wrote = write(descriptor, bytes, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes += wrote;
    size -= (size_t)wrote;
  }
  return true;
}

static bool write_rows(const struct terrain *t, int descriptor, const char *path) {
  uint64_t rows = (4u << 20) / t->width + 1;
  unsigned char *bytes = malloc(rows * t->width);
  bool good = bytes != NULL;
  for (uint64_t y = 0; y < t->height && good; y += rows) {
    uint64_t count = t->height - y < rows ? t->height - y : rows;
    for (uint64_t i = 0; i < count; i++) make_row(t, y + i, bytes + i * t->width);
    good = write_all(descriptor, bytes, count * t->width);
    tide_tool_progress("making %s: %u %%", path, (unsigned)((y + count) * 100 / t->height));
  }
  free(bytes);
  return good;
}

/* ---- the whole of it ------------------------------------------------------------------ */

bool tide_tool_make_terrain(const char *path, uint64_t width, uint64_t height, uint64_t seed) {
  struct terrain t = {.width = width, .height = height, .seed = seed};
  char *temporary = NULL;
  int descriptor = tide_tool_begin_file(path, &temporary);
  bool good = descriptor >= 0 && make_storage(&t);
  if (descriptor >= 0 && !good) errno = ENOMEM;
  good = good && write_rows(&t, descriptor, path);
  int error = errno;
  for (unsigned octave = 0; octave < OCTAVES; octave++) free(t.nodes[octave]);
  free(t.row);
  tide_tool_progress_over();
  errno = error;
  return tide_tool_end_file(path, descriptor, temporary, good);
}

/* ---- names that say a size --------------------------------------------------------------- */

/* Finds the last "123x456" in a file's name. */
static bool size_in_name(const char *path, uint64_t *out_width, uint64_t *out_height) {
  const char *name = strrchr(path, '/');
  bool found = false;
  for (const char *c = name ? name + 1 : path; *c; c++) {
    if (!isdigit((unsigned char)*c)) continue;
    char *end, *last;
    unsigned long long width = strtoull(c, &end, 10);
    if (*end == 'x' && isdigit((unsigned char)end[1])) {
      unsigned long long height = strtoull(end + 1, &last, 10);
      if (width && height && width <= SIDE_MOST && height <= SIDE_MOST) {
        *out_width = width;
        *out_height = height;
        found = true;
      }
    }
    c = end - 1;
  }
  return found;
}

bool tide_tool_make_inputs(const struct tide_tool_program *program) {
  static const char prefix[] = "out/terrain-";
  const struct tide_plan_tables *tables = tide_plan_tables(program->plan);
  for (size_t i = 0; i < tables->file_count; i++) {
    const struct tide_plan_file *file = &tables->files[i];
    uint64_t width, height;
    if (file->mode != TIDE_FILE_READ || strncmp(file->path, prefix, sizeof prefix - 1) != 0 ||
        access(file->path, F_OK) == 0 || !size_in_name(file->path, &width, &height))
      continue;
    if (!tide_tool_need_folders(file->path) ||
        !tide_tool_make_terrain(file->path, width, height, 1))
      return false;
  }
  return true;
}

/* ---- the user's own image ------------------------------------------------------------------ */

static bool set_param(struct tide_tool_program *program, const char *name, const char *value) {
  char text[4200];
  bool is_text;
  if (!tide_tool_has_param(program, name, &is_text)) {
    tide_tool_error("--input: %s has no parameter '%s'", program->path, name);
    return false;
  }
  if (snprintf(text, sizeof text, "%s=%s", name, value) >= (int)sizeof text) {
    tide_tool_error("--input: the name is too long");
    return false;
  }
  return tide_tool_add_setting(program, text);
}

static bool set_number(struct tide_tool_program *program, const char *name, uint64_t value) {
  char text[24];
  if (tide_tool_is_set(program, name)) return true;
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  return set_param(program, name, text);
}

/* Returns the square root, rounded down. */
static uint64_t square_root(uint64_t square) {
  uint64_t root = 0;
  for (uint64_t bit = 1ull << 31; bit; bit >>= 1)
    if ((root + bit) * (root + bit) <= square) root += bit;
  return root;
}

static bool use_raw(struct tide_tool_program *program, const char *path, uint64_t size) {
  uint64_t width = 0, height = 0;
  if (!set_param(program, "input", path)) return false;
  if (tide_tool_is_set(program, "width") && tide_tool_is_set(program, "height")) return true;
  if (!size_in_name(path, &width, &height)) {
    width = height = square_root(size);
    if (width * height != size || width > SIDE_MOST) {
      tide_tool_error("--input %s: %llu bytes are no square; say how wide and high it is: --set "
                      "width=… --set height=…",
                      path, (unsigned long long)size);
      return false;
    }
  }
  if (width * height > size) {
    tide_tool_error("--input %s: it is too short: %llu x %llu bytes are expected, it has %llu",
                    path, (unsigned long long)width, (unsigned long long)height,
                    (unsigned long long)size);
    return false;
  }
  return set_number(program, "width", width) && set_number(program, "height", height);
}

static enum tide_status decode_png(int from, void *pixels, uint64_t width, uint64_t height) {
  const struct tide_body *body = tide_kernel_find("png_read");
  _Alignas(16) struct tide_argument arguments[TIDE_PARAMS_MAX] = {
      {.descriptor = from},
      {.data = pixels, .size = width * height},
      {.integer = (int64_t)width},
      {.integer = (int64_t)height},
      {.integer = 1},
  };
  return body ? body->class_.host(arguments) : TIDE_UNSUPPORTED;
}

/* Decodes the PNG to gray, once: a file in out/ that is newer than the PNG is used as it is. */
static bool use_png(struct tide_tool_program *program, const char *path, int from,
                    const unsigned char *head, const struct stat *info) {
  uint64_t width = (uint64_t)head[16] << 24 | head[17] << 16 | head[18] << 8 | head[19];
  uint64_t height = (uint64_t)head[20] << 24 | head[21] << 16 | head[22] << 8 | head[23];
  if (!width || !height || width > SIDE_MOST || height > SIDE_MOST) {
    tide_tool_error("--input %s: a PNG of %llu x %llu; at most %u on a side", path,
                    (unsigned long long)width, (unsigned long long)height, SIDE_MOST);
    return false;
  }
  const char *slash = strrchr(path, '/');
  char target[512];
  struct stat made;
  snprintf(target, sizeof target, "out/%.200s-%llux%llu.raw", slash ? slash + 1 : path,
           (unsigned long long)width, (unsigned long long)height);
  bool there = stat(target, &made) == 0 && (uint64_t)made.st_size == width * height &&
               made.st_mtime > info->st_mtime;
  if (!there) {
    char *temporary = NULL;
    int descriptor = tide_tool_need_folders(target) ? tide_tool_begin_file(target, &temporary) : -1;
    int error = descriptor < 0 ? EBADF : posix_fallocate(descriptor, 0, (off_t)(width * height));
    void *pixels = MAP_FAILED;
    if (!error) {
      pixels = mmap(NULL, width * height, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
      if (pixels == MAP_FAILED) error = errno;
    }
    enum tide_status status = error ? TIDE_IO : decode_png(from, pixels, width, height);
    if (pixels != MAP_FAILED) munmap(pixels, width * height);
    if (status != TIDE_OK && !error)
      tide_tool_error("--input %s: it is no whole PNG: %s", path, tide_status_text(status));
    errno = error;
    if (!tide_tool_end_file(target, descriptor, temporary, status == TIDE_OK)) return false;
  }
  return set_param(program, "input", target) && set_number(program, "width", width) &&
         set_number(program, "height", height);
}

bool tide_tool_use_image(struct tide_tool_program *program, const char *path) {
  static const unsigned char signature[8] = {137, 'P', 'N', 'G', 13, 10, 26, 10};
  unsigned char head[24];
  struct stat info;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO would block */
  if (descriptor < 0 || fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    bool is_folder = descriptor >= 0 && S_ISDIR(info.st_mode);
    tide_tool_error("--input %s: %s", path,
                    descriptor < 0 ? strerror(errno)
                    : is_folder    ? "a file is expected, not a folder"
                                   : "it is no regular file");
    if (descriptor >= 0) close(descriptor);
    return false;
  }
  ssize_t got = pread(descriptor, head, sizeof head, 0);
  bool png = got >= 8 && memcmp(head, signature, sizeof signature) == 0;
  bool good = false;
  if (info.st_size == 0) tide_tool_error("--input %s: the file is empty", path);
  else if (png && got < (ssize_t)sizeof head)
    tide_tool_error("--input %s: it is no whole PNG: it ends after %zd bytes", path, got);
  else if (png) good = use_png(program, path, descriptor, head, &info);
  else good = use_raw(program, path, (uint64_t)info.st_size);
  close(descriptor);
  return good;
}
