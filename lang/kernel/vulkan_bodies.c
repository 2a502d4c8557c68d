/* nop, fill, copy, blur, stencil, reduce and gemm as commands of a Vulkan device. Their results are
 * those of the host's bodies, byte for byte. Only in gemm the bits of a NaN are the driver's, and
 * it may take numbers for 0 that are too small for an ordinary float.
 *
 * The shaders are in kernel/shaders, and as C arrays beside their source. A dispatch without bytes
 * is none. */
#define VK_NO_PROTOTYPES
#include "kernel/image_bodies.h"
#include "kernel/shaders/blur.h"
#include "kernel/shaders/fill.h"
#include "kernel/shaders/gemm.h"
#include "kernel/shaders/reduce.h"
#include "kernel/shaders/stencil.h"
#include "tidemark/vulkan.h"

#define WORD sizeof(uint32_t)
#define GROUPS_MOST 65535u /* that every device takes; they share more work */

#define KERNEL(name, buffers, constants)                                                           \
  static const struct tide_vulkan_kernel name##_kernel = {                                         \
      #name, tide_shader_##name, sizeof tide_shader_##name, buffers, constants}
KERNEL(blur, 2, 6);
KERNEL(fill, 1, 2);
KERNEL(gemm, 3, 1);
KERNEL(reduce, 2, 1);
KERNEL(stencil, 2, 2);

#define OPS(body)                                                                                  \
  const struct tide_vulkan_ops tide_##body##_vulkan = {{TIDE_OPS_VULKAN}, record_##body}

static struct tide_vulkan_slice slice_of(const struct tide_argument *argument) {
  return (struct tide_vulkan_slice){argument->data, argument->size};
}

/* Reports a slice that the shaders cannot count in their integers. */
static enum tide_status check_size(const char *name, uint64_t size, uint64_t most) {
  if (size <= most) return TIDE_OK;
  return tide_body_report(TIDE_UNSUPPORTED, 0, "%s: a GPU takes at most %lu bytes, not %lu", name,
                          (unsigned long)most, (unsigned long)size);
}

/* Returns the workgroups for so much work, `size` parts each. If that is too many, they do more. */
static uint32_t groups_for(uint64_t work, uint32_t size) {
  uint64_t groups = (work + size - 1) / size;
  return groups < GROUPS_MOST ? (uint32_t)groups : GROUPS_MOST;
}

/* Returns the most words that so many bytes at any address are parts of. */
static uint64_t words_of(uint64_t size) { return size / WORD + 2; }

/* ---- nop ------------------------------------------------------------------------- */

static enum tide_status record_nop(const void *arguments, struct tide_device *gpu,
                                   VkCommandBuffer commands) {
  (void)arguments, (void)gpu, (void)commands;
  return TIDE_OK;
}
OPS(nop);

/* ---- fill ------------------------------------------------------------------------ */

static enum tide_status dispatch_fill(struct tide_device *gpu, VkCommandBuffer commands,
                                      const struct tide_argument *out, int64_t value) {
  uint32_t byte = (uint32_t)((uint64_t)value & 255);
  struct tide_vulkan_dispatch dispatch = {.kernel = &fill_kernel,
                                          .buffers = {slice_of(out)},
                                          .constants = {(uint32_t)out->size, byte * 0x01010101u},
                                          .groups = {groups_for(words_of(out->size), 64)}};
  return tide_vulkan_dispatch(gpu, commands, &dispatch);
}

static enum tide_status record_fill(const void *arguments, struct tide_device *gpu,
                                    VkCommandBuffer commands) {
  const struct tide_argument *a = arguments;
  if (!tide_argument_of(&a[0], 1)) return TIDE_INVALID;
  if (!a[0].size) return TIDE_OK;
  enum tide_status status = check_size("fill", a[0].size, UINT32_MAX);
  return status == TIDE_OK ? dispatch_fill(gpu, commands, &a[0], a[1].integer) : status;
}
OPS(fill);

/* ---- copy ------------------------------------------------------------------------ */

/* The host's body copies between slices that overlap; commands cannot. */
static enum tide_status record_copy(const void *arguments, struct tide_device *gpu,
                                    VkCommandBuffer commands) {
  const struct tide_argument *a = arguments;
  if (!tide_copy_is_valid(a)) return TIDE_INVALID;
  if (!a[0].size) return TIDE_OK;
  if (tide_argument_overlap(&a[0], &a[1]))
    return tide_body_report(TIDE_UNSUPPORTED, 0, "copy: a GPU needs slices that do not overlap");
  return tide_vulkan_copy(gpu, commands, a[1].data, a[0].data, a[0].size);
}
OPS(copy);

/* ---- blur ------------------------------------------------------------------------ */

/* Returns the rows after which the same columns make words again. */
static uint32_t rows_per_word(size_t row) { return row % 4 == 0 ? 1 : row % 2 == 0 ? 2 : 4; }

static enum tide_status record_blur(const void *arguments, struct tide_device *gpu,
                                    VkCommandBuffer commands) {
  const struct tide_argument *a = arguments;
  struct tide_image from, to;
  if (!tide_blur_images(a, &from, &to)) return TIDE_INVALID;
  if (!a[0].size) return TIDE_OK;
  enum tide_status status = check_size("blur", a[0].size, INT32_MAX / 4);
  if (status != TIDE_OK) return status;
  uint32_t down = rows_per_word(from.row), words = (uint32_t)(from.row / (WORD / down));
  /* 4 columns of 32 words each. No group may do more, see the shader. */
  uint64_t steps = (words_of(a[0].size) + words - 1) / words;
  uint64_t groups = (words + 3) / 4 * ((steps + 31) / 32);
  struct tide_vulkan_dispatch dispatch = {
      .kernel = &blur_kernel,
      .buffers = {slice_of(&a[0]), slice_of(&a[1])},
      .constants = {(uint32_t)a[0].size, (uint32_t)from.row, (uint32_t)a[4].integer,
                    (uint32_t)a[3].integer, down, words},
      .groups = {groups_for(groups, 1), (uint32_t)((groups + GROUPS_MOST - 1) / GROUPS_MOST)}};
  return tide_vulkan_dispatch(gpu, commands, &dispatch);
}
OPS(blur);

/* ---- stencil --------------------------------------------------------------------- */

static enum tide_status record_stencil(const void *arguments, struct tide_device *gpu,
                                       VkCommandBuffer commands) {
  const struct tide_argument *a = arguments;
  struct tide_image from, to;
  if (!tide_image_pair(a, WORD, &from, &to)) return TIDE_INVALID;
  if (!a[0].size) return TIDE_OK;
  enum tide_status status = check_size("stencil", a[0].size, UINT32_MAX);
  if (status != TIDE_OK) return status;
  struct tide_vulkan_dispatch dispatch = {
      .kernel = &stencil_kernel,
      .buffers = {slice_of(&a[0]), slice_of(&a[1])},
      .constants = {(uint32_t)a[2].integer, (uint32_t)(a[0].size / WORD)},
      .groups = {groups_for(words_of(a[0].size), 64)}};
  return tide_vulkan_dispatch(gpu, commands, &dispatch);
}
OPS(stencil);

/* ---- reduce ---------------------------------------------------------------------- */

/* The workgroups add their sums to a result that is 0 first. The host's body also takes a result
 * among the words that it sums up. */
static enum tide_status record_reduce(const void *arguments, struct tide_device *gpu,
                                      VkCommandBuffer commands) {
  const struct tide_argument *a = arguments;
  if (!tide_reduce_is_valid(a)) return TIDE_INVALID;
  if (tide_argument_overlap(&a[0], &a[1]))
    return tide_body_report(TIDE_UNSUPPORTED, 0, "reduce: a GPU needs slices that do not overlap");
  enum tide_status status = check_size("reduce", a[0].size, UINT32_MAX);
  if (status == TIDE_OK) status = dispatch_fill(gpu, commands, &a[1], 0);
  if (status != TIDE_OK || !a[0].size) return status;
  uint64_t count = a[0].size / sizeof(uint64_t);
  struct tide_vulkan_dispatch dispatch = {.kernel = &reduce_kernel,
                                          .buffers = {slice_of(&a[0]), slice_of(&a[1])},
                                          .constants = {(uint32_t)count},
                                          .groups = {groups_for(count, 128 * 64)}};
  tide_vulkan_barrier(gpu, commands);
  return tide_vulkan_dispatch(gpu, commands, &dispatch);
}
OPS(reduce);

/* ---- gemm ------------------------------------------------------------------------ */

static enum tide_status record_gemm(const void *arguments, struct tide_device *gpu,
                                    VkCommandBuffer commands) {
  const struct tide_argument *a = arguments;
  if (!tide_gemm_is_valid(a)) return TIDE_INVALID;
  if (!a[0].size) return TIDE_OK;
  enum tide_status status = check_size("gemm", a[0].size, UINT32_MAX);
  if (status != TIDE_OK) return status;
  uint32_t n = (uint32_t)a[3].integer, tiles = (n + 31) / 32;
  struct tide_vulkan_dispatch dispatch = {
      .kernel = &gemm_kernel,
      .buffers = {slice_of(&a[0]), slice_of(&a[1]), slice_of(&a[2])},
      .constants = {n},
      .groups = {tiles, tiles}};
  return tide_vulkan_dispatch(gpu, commands, &dispatch);
}
OPS(gemm);
