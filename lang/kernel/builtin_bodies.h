/* kernel/builtin_bodies.h: declarations and helpers of the built-in bodies.
 *
 * Every body is `enum tide_status tide_body_NAME(void *arguments)`. body_table.c describes its
 * parameters; the arguments arrive in that order. A body trusts no argument: it checks every size
 * before it touches a byte, and returns TIDE_INVALID. */
#ifndef TIDE_KERNEL_BUILTIN_BODIES_H
#define TIDE_KERNEL_BUILTIN_BODIES_H

#include "tidemark/kernel.h"

enum tide_status tide_body_add(void *arguments);
enum tide_status tide_body_allgather(void *arguments);
enum tide_status tide_body_allreduce(void *arguments);
enum tide_status tide_body_blur(void *arguments);
enum tide_status tide_body_broadcast(void *arguments);
enum tide_status tide_body_combine(void *arguments);
enum tide_status tide_body_copy(void *arguments);
enum tide_status tide_body_downsample(void *arguments);
enum tide_status tide_body_fail(void *arguments);
enum tide_status tide_body_fill(void *arguments);
enum tide_status tide_body_gemm(void *arguments);
enum tide_status tide_body_hash(void *arguments);
enum tide_status tide_body_iota(void *arguments);
enum tide_status tide_body_nop(void *arguments);
enum tide_status tide_body_png_read(void *arguments);
enum tide_status tide_body_png_write(void *arguments);
enum tide_status tide_body_read(void *arguments);
enum tide_status tide_body_reduce(void *arguments);
enum tide_status tide_body_sort(void *arguments);
enum tide_status tide_body_spin(void *arguments);
enum tide_status tide_body_stencil(void *arguments);
enum tide_status tide_body_sync(void *arguments);
enum tide_status tide_body_write(void *arguments);

/* Describe read, write and sync for a storage ring. */
enum tide_status tide_body_read_io(const void *arguments, struct tide_io *out_io);
enum tide_status tide_body_write_io(const void *arguments, struct tide_io *out_io);
enum tide_status tide_body_sync_io(const void *arguments, struct tide_io *out_io);

/* The commands of bodies for a Vulkan device. A table without Vulkan's headers names them, too. */
struct tide_vulkan_ops;
extern const struct tide_vulkan_ops tide_blur_vulkan, tide_copy_vulkan, tide_fill_vulkan,
    tide_gemm_vulkan, tide_nop_vulkan, tide_reduce_vulkan, tide_stencil_vulkan;

/* True if the body's arguments are valid. */
bool tide_copy_is_valid(const struct tide_argument *arguments);
bool tide_gemm_is_valid(const struct tide_argument *arguments);
bool tide_reduce_is_valid(const struct tide_argument *arguments);

/* Slices of buffers start at any byte. */
typedef uint32_t tide_any_u32 __attribute__((aligned(1), may_alias));
typedef uint64_t tide_any_u64 __attribute__((aligned(1), may_alias));
typedef float tide_any_float __attribute__((aligned(1), may_alias));

/* True if the buffer's size is a multiple of `unit` and the buffer, unless empty, has an
 * address. */
static inline bool tide_argument_of(const struct tide_argument *buffer, uint64_t unit) {
  return buffer->size % unit == 0 && (buffer->size == 0 || buffer->data != NULL) &&
         buffer->size <= (uint64_t)PTRDIFF_MAX;
}

static inline bool tide_argument_overlap(const struct tide_argument *a,
                                         const struct tide_argument *b) {
  uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
  return a->size && b->size && x < y + b->size && y < x + a->size;
}

#endif
