/* Pixels by the CPU, and PNG files. */
#include "compositor.h"

#include <png.h>
#include <string.h>

struct color {
  unsigned char r, g, b, a;
};

static void put(unsigned char *pixel, struct color color) { memcpy(pixel, &color, 4); }

/* Rings that move over a slope. */
void paint_photo(const struct scene *scene, uint64_t frame, unsigned char *pixels) {
  int64_t w = scene->width, h = scene->height - scene->band;
  for (int64_t y = 0; y < h; y++) {
    for (int64_t x = 0; x < w; x++) {
      int64_t dx = x - w / 3, dy = y - h / 2;
      unsigned ring = (unsigned)((dx * dx + dy * dy) / 64 - (int64_t)frame * 4) & 127;
      unsigned high = ring < 64 ? ring : 127 - ring;
      put(pixels + (y * w + x) * 4,
          (struct color){(unsigned char)(40 + x * 120 / w), (unsigned char)(60 + high),
                         (unsigned char)(90 + y * 150 / h), 255});
    }
  }
}

/* A translucent page with lines of text that scroll. */
static struct color page_color(int64_t w, int64_t h, uint64_t frame, int64_t x, int64_t y) {
  if (x < w / 2 || x >= w - w / 16 || y < h / 16 || y >= h / 2) return (struct color){0, 0, 0, 0};
  uint64_t row = (uint64_t)y + frame * 2;
  uint64_t length = (uint64_t)w / 4 + row / 10 * 37 % ((uint64_t)w / 8 + 1);
  bool ink = row % 10 < 4 && x > w / 2 + 8 && (uint64_t)(x - w / 2) < length;
  return ink ? (struct color){20, 20, 40, 255} : (struct color){250, 246, 230, 190};
}

/* Squares of 4 x 4 pixels, row by row. */
void paint_page(const struct scene *scene, uint64_t frame, unsigned char *tiled) {
  int64_t w = scene->width, h = scene->height - scene->band;
  for (int64_t y = 0; y < h; y++)
    for (int64_t x = 0; x < w; x++) {
      int64_t square = y / 4 * (w / 4) + x / 4;
      put(tiled + (square * 16 + y % 4 * 4 + x % 4) * 4, page_color(w, h, frame, x, y));
    }
}

void paint_sprite(uint32_t width, uint32_t height, unsigned char *pixels) {
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++)
      put(pixels + ((size_t)y * width + x) * 4,
          (struct color){230, (unsigned char)(40 + x * 6), (unsigned char)(y * 12),
                         (unsigned char)(255 - x * 2)});
}

/* What is seen where nobody has drawn. */
void paint_backdrop(const struct scene *scene, unsigned char *pixels) {
  for (uint32_t y = 0; y < scene->height; y++)
    for (uint32_t x = 0; x < scene->width; x++) {
      unsigned char grey = (x / 8 + y / 8) % 2 ? 96 : 80;
      put(pixels + ((size_t)y * scene->width + x) * 4, (struct color){grey, grey, grey, 255});
    }
}

/* ---- what is drawn by commands ------------------------------------------------------------- */

struct video_place video_place(const struct scene *scene, uint64_t frame) {
  uint64_t rows = scene->height - scene->band, top = rows / 8 * 5, tall = rows / 4;
  return (struct video_place){.top = top,
                              .rows = tall,
                              .noise = 0xa0402060a0000000u + (frame * 5 % 256 << 16) +
                                       (frame * 3 % 128 << 32),
                              .line_left = 4,
                              .line_top = top + tall / 2,
                              .line_rows = 6,
                              .line_pixels = (scene->width - 8) * frame / scene->frames,
                              .line_grey = 0xe0};
}

void sprite_place(const struct scene *scene, uint64_t frame, uint64_t *out_left,
                  uint64_t *out_top) {
  *out_left = (scene->width - SPRITE_WIDTH) * frame / scene->frames;
  *out_top = (scene->height - scene->band) / 8;
}

/* ---- files --------------------------------------------------------------------------------- */

void frame_path(const char *folder, uint64_t frame, char *out_path, size_t size) {
  snprintf(out_path, size, "%s/frame-%04u.png", folder, (unsigned)frame);
}

bool write_png(const char *path, uint32_t width, uint32_t height, const unsigned char *pixels) {
  png_image image = {
      .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGBA};
  return png_image_write_to_file(&image, path, 0, pixels, 0, NULL);
}

bool read_png(const char *path, uint32_t width, uint32_t height, unsigned char *pixels) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_file(&image, path)) return false;
  image.format = PNG_FORMAT_RGBA;
  if (image.width == width && image.height == height)
    return png_image_finish_read(&image, NULL, pixels, 0, NULL);
  png_image_free(&image);
  return false;
}
