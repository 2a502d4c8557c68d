/* Runs a kernel of a module on a GPU. The module gives the kernel's shape and the types of its
 * arguments; the PTX is the module's lowered code. */
#include "base/check.h"
#include "base/alloc.h"
#include "base/text.h"
#include "mods/kernel_shape.h"
#include "tidemark/cuda.h"

#define ARGUMENTS_MAX 256

/* An argument's memory: the caller's, a pinned copy that both sides can access, the device's. */
struct buffer {
  void *data;
  uint64_t size;
  void *pinned;
  uint64_t address;
};

struct tide_mods_gpu {
  struct tide_context *context;
  struct tide_device *cuda;
  struct tide_cuda_module *module;
  struct tide_cuda_launch launch;
  unsigned char parameters[8 * ARGUMENTS_MAX];
  struct buffer buffers[ARGUMENTS_MAX];
  uint32_t buffer_count;
};

/* ---- parameters ---- */

/* Appends a parameter. PTX lays parameters out as the members of a C struct. */
static void put_parameter(struct tide_mods_gpu *gpu, const void *bytes, size_t size) {
  size_t at = (gpu->launch.size + size - 1) / size * size;
  TIDE_ASSERT(at + size <= sizeof gpu->parameters);
  memcpy(gpu->parameters + at, bytes, size);
  gpu->launch.size = at + size;
}

static void put_integer(struct tide_mods_gpu *gpu, int64_t value, unsigned bits) {
  size_t size = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  if (bits < 64) value &= ((int64_t)1 << bits) - 1;
  put_parameter(gpu, &value, size); /* little-endian, like the device */
}

static void put_float(struct tide_mods_gpu *gpu, double value, uint32_t kind) {
  float narrow = (float)value;
  if (kind == TIDE_IR_F64) put_parameter(gpu, &value, 8);
  else if (kind == TIDE_IR_F16) put_integer(gpu, tide_exec_to_f16(narrow), 16);
  else if (kind == TIDE_IR_BF16) put_integer(gpu, tide_exec_to_bf16(narrow), 16);
  else put_parameter(gpu, &narrow, 4);
}

/* Allocates device memory, and pinned memory to copy through: the caller's memory need not be
 * pinned. */
static enum tide_status put_buffer(struct tide_mods_gpu *gpu,
                                   const struct tide_mods_argument *argument) {
  struct buffer *buffer = &gpu->buffers[gpu->buffer_count++];
  size_t size = argument->size ? argument->size : 1;
  *buffer = (struct buffer){.data = argument->data, .size = argument->size};
  enum tide_status status = tide_cuda_alloc(gpu->cuda, size, &buffer->address);
  if (status == TIDE_OK) status = tide_cuda_alloc_host(gpu->cuda, size, &buffer->pinned);
  if (status == TIDE_OK) put_parameter(gpu, &buffer->address, 8);
  return status;
}

static enum tide_status put_argument(struct tide_mods_gpu *gpu, const struct tide_ir *ir,
                                     tide_ir_type type, const struct tide_mods_argument *argument) {
  const struct tide_ir_type_record *record = tide_ir_type_of(ir, type);
  if (record->kind == TIDE_IR_LLVM_POINTER)
    return argument->size && !argument->data ? TIDE_MISMATCH : put_buffer(gpu, argument);
  if (record->kind == TIDE_IR_FLOAT) put_float(gpu, argument->number, record->a);
  else if (record->kind == TIDE_IR_INTEGER) put_integer(gpu, argument->integer, record->a);
  else if (record->kind == TIDE_IR_INDEX) put_integer(gpu, argument->integer, 64);
  else return TIDE_MISMATCH;
  return TIDE_OK;
}

static enum tide_status put_arguments(struct tide_mods_gpu *gpu, struct tide_ir *ir,
                                      tide_ir_op kernel,
                                      const struct tide_mods_run_params *params) {
  enum tide_status status = TIDE_OK;
  tide_ir_block entry = tide_ir_body(ir, kernel, 0);
  uint32_t count = entry ? tide_ir_block_of(ir, entry)->argument_count : 0;
  if (params->argument_count != count || count > ARGUMENTS_MAX) {
    tide_exec_complain(ir, kernel, TIDE_MISMATCH, &status,
                       "is launched with another number of arguments than it takes");
    return status;
  }
  for (uint32_t i = 0; i < count && status == TIDE_OK; i++)
    status = put_argument(gpu, ir, tide_ir_type_of_value(ir, tide_ir_argument(ir, entry, i)),
                          &params->arguments[i]);
  if (status == TIDE_MISMATCH)
    tide_exec_complain(ir, kernel, status, &status,
                       "is launched with an argument that doesn't fit its type");
  return status;
}

/* ---- the module and its PTX ---- */

static enum tide_status load_kernel(struct tide_mods_gpu *gpu, struct tide_ir *ir,
                                    const struct tide_mods_run_params *params, const char *ptx,
                                    struct tide_diag *diag) {
  struct tide_ir_parse_params parse = {
      .text = params->text, .length = params->length, .file = params->file ? params->file : "-"};
  struct tide_exec_shape shape;
  enum tide_status status = tide_ir_parse(ir, &parse);
  if (status == TIDE_OK) status = tide_ir_verify(ir, NULL);
  if (status != TIDE_OK) return status;
  tide_ir_op kernel = tide_exec_find_kernel(ir, params->kernel, &status);
  if (!kernel || !tide_exec_take_shape(ir, kernel, params, &shape, &status)) return status;
  memcpy(gpu->launch.grid, shape.grid, sizeof shape.grid);
  memcpy(gpu->launch.block, shape.block, sizeof shape.block);
  /* A cluster of one is no cluster: kernels without cluster operations run on every GPU. */
  if (shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1)
    memcpy(gpu->launch.cluster, shape.cluster, sizeof shape.cluster);
  status = put_arguments(gpu, ir, kernel, params);
  if (status == TIDE_OK) status = tide_cuda_load(gpu->cuda, ptx, &gpu->module, diag);
  if (status != TIDE_OK) return status;
  const char *name = tide_ir_get_text(ir, kernel, TIDE_NAME_SYM_NAME);
  status = tide_cuda_find(gpu->module, name, &gpu->launch.kernel, diag);
  if (status == TIDE_NOT_FOUND)
    return tide_diag_set(diag, TIDE_MISMATCH, "the PTX has no kernel '%s'", name);
  return status;
}

enum tide_status tide_mods_gpu_create(struct tide_context *context, struct tide_device *cuda,
                                      const struct tide_mods_run_params *params, const char *ptx,
                                      struct tide_mods_gpu **out_gpu, struct tide_diag *diag) {
  struct tide_ir *ir = NULL;
  *out_gpu = NULL;
  struct tide_mods_gpu *gpu = tide_alloc(tide_context_allocator(context), 1, sizeof *gpu);
  if (!gpu) return TIDE_NOMEM;
  gpu->context = context;
  gpu->cuda = cuda;
  enum tide_status status = tide_ir_create(tide_context_allocator(context), &ir);
  if (status == TIDE_OK) {
    ir->sink = params->sink;
    status = load_kernel(gpu, ir, params, ptx, diag);
  }
  tide_ir_destroy(ir);
  if (status == TIDE_OK) *out_gpu = gpu;
  else tide_mods_gpu_destroy(gpu);
  return status;
}

void tide_mods_gpu_destroy(struct tide_mods_gpu *gpu) {
  if (!gpu) return;
  for (uint32_t i = 0; i < gpu->buffer_count; i++) {
    tide_cuda_free(gpu->cuda, gpu->buffers[i].address);
    tide_cuda_free_host(gpu->cuda, gpu->buffers[i].pinned);
  }
  tide_cuda_unload(gpu->module);
  tide_free(tide_context_allocator(gpu->context), gpu, 1, sizeof *gpu);
}

/* ---- on a stream ---- */

static uint64_t address_of(const struct buffer *buffer) { return (uintptr_t)buffer->pinned; }

enum tide_status tide_mods_gpu_load(struct tide_mods_gpu *gpu, struct tide_cuda_stream *stream) {
  enum tide_status status = TIDE_OK;
  for (uint32_t i = 0; i < gpu->buffer_count && status == TIDE_OK; i++) {
    struct buffer *buffer = &gpu->buffers[i];
    if (buffer->size) memcpy(buffer->pinned, buffer->data, buffer->size);
    status = tide_cuda_copy(stream, buffer->address, address_of(buffer), buffer->size);
  }
  return status;
}

enum tide_status tide_mods_gpu_start(struct tide_mods_gpu *gpu, struct tide_cuda_stream *stream) {
  gpu->launch.arguments = gpu->parameters;
  return tide_cuda_launch(stream, &gpu->launch);
}

enum tide_status tide_mods_gpu_store(struct tide_mods_gpu *gpu, struct tide_cuda_stream *stream,
                                     uint64_t deadline) {
  enum tide_status status = TIDE_OK;
  for (uint32_t i = 0; i < gpu->buffer_count && status == TIDE_OK; i++)
    status = tide_cuda_copy(stream, address_of(&gpu->buffers[i]), gpu->buffers[i].address,
                            gpu->buffers[i].size);
  enum tide_status ended = tide_cuda_stream_wait(stream, deadline);
  if (status == TIDE_OK) status = ended;
  for (uint32_t i = 0; i < gpu->buffer_count && status == TIDE_OK; i++)
    if (gpu->buffers[i].size)
      memcpy(gpu->buffers[i].data, gpu->buffers[i].pinned, gpu->buffers[i].size);
  return status;
}
