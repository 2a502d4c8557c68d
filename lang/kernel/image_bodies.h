/* kernel/image_bodies.h: a slice seen as rows of pixels. A slice is an image by itself: bytes
 * outside of it are never touched; pixels outside of it count as copies of the nearest edge. */
#ifndef TIDE_KERNEL_IMAGE_BODIES_H
#define TIDE_KERNEL_IMAGE_BODIES_H

#include "kernel/builtin_bodies.h"

#define TIDE_CHANNELS_MOST 4

struct tide_image {
  unsigned char *rows;
  size_t row; /* bytes */
  size_t height;
};

/* Describes the buffer as an image. False unless the buffer is a whole number of rows of `width`
 * pixels of `pixel` bytes. */
static inline bool tide_image_of(const struct tide_argument *buffer, int64_t width, size_t pixel,
                                 struct tide_image *out_image) {
  if (width < 1 || width > INT32_MAX || !tide_argument_of(buffer, 1)) return false;
  size_t row = (size_t)width * pixel;
  if (buffer->size % row != 0) return false;
  *out_image = (struct tide_image){buffer->data, row, buffer->size / row};
  return true;
}

/* Describes the first two arguments as images of one size that do not overlap. The third is their
 * width. */
static inline bool tide_image_pair(const struct tide_argument *a, size_t pixel,
                                   struct tide_image *out_from, struct tide_image *out_to) {
  return tide_image_of(&a[0], a[2].integer, pixel, out_from) &&
         tide_image_of(&a[1], a[2].integer, pixel, out_to) && a[0].size == a[1].size &&
         !tide_argument_overlap(&a[0], &a[1]);
}

/* Describes the images of blur's arguments. False: an argument is invalid. */
bool tide_blur_images(const struct tide_argument *a, struct tide_image *out_from,
                      struct tide_image *out_to);

#endif
