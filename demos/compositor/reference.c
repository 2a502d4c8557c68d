/* The frames as one process draws them alone, with plain loops: what --check compares with. */
#include "compositor.h"

#include <stdlib.h>
#include <string.h>

static void put_over(const unsigned char *from, unsigned char *onto, uint64_t size) {
  for (uint64_t i = 0; i < size; i += 4) {
    unsigned alpha = from[i + 3];
    for (unsigned c = 0; c < 3; c++)
      onto[i + c] =
          (unsigned char)((from[i + c] * alpha + onto[i + c] * (255 - alpha) + 127) / 255);
    onto[i + 3] = (unsigned char)(alpha + onto[i + 3] * (255 - alpha) / 255);
  }
}

static void draw_page(const struct scene *scene, uint64_t frame, unsigned char *layer,
                      unsigned char *tiled) {
  uint64_t width = scene->width, rows = scene->height - scene->band;
  paint_page(scene, frame, tiled);
  for (uint64_t y = 0; y < rows; y++)
    for (uint64_t x = 0; x < width; x++) {
      uint64_t square = y / 4 * (width / 4) + x / 4;
      memcpy(layer + (y * width + x) * 4, tiled + (square * 16 + y % 4 * 4 + x % 4) * 4, 4);
    }
}

static void draw_video(const struct scene *scene, uint64_t frame, unsigned char *layer) {
  struct video_place at = video_place(scene, frame);
  unsigned char *row = layer + at.top * scene->width * 4;
  for (uint64_t i = 0; i < at.rows * scene->width / 2; i++)
    memcpy(row + i * 8, &(uint64_t){at.noise + i}, 8);
  for (uint64_t y = 0; y < at.line_rows; y++)
    memset(layer + ((at.line_top + y) * scene->width + at.line_left) * 4, at.line_grey,
           at.line_pixels * 4);
}

static void draw_advert(const struct scene *scene, uint64_t frame, unsigned char *layer,
                        unsigned char *sprite) {
  uint64_t left, top;
  sprite_place(scene, frame, &left, &top);
  paint_sprite(SPRITE_WIDTH, SPRITE_HEIGHT, sprite);
  for (uint64_t y = 0; y < SPRITE_HEIGHT; y++)
    memcpy(layer + ((top + y) * scene->width + left) * 4, sprite + y * SPRITE_WIDTH * 4,
           SPRITE_WIDTH * 4);
}

bool reference_frame(const struct scene *scene, uint64_t frame, unsigned char *pixels) {
  uint64_t size = layer_size(scene, PHOTO);
  unsigned char *layer = malloc(2 * size), *spare = layer + size;
  if (!layer) return false;
  paint_photo(scene, frame, pixels);
  for (int who = VIDEO; who <= ADVERT; who++) {
    memset(layer, 0, size);
    if (who == VIDEO) draw_video(scene, frame, layer);
    if (who == PAGE) draw_page(scene, frame, layer, spare);
    if (who == ADVERT) draw_advert(scene, frame, layer, spare);
    put_over(layer, pixels, size);
  }
  free(layer);
  return true;
}
