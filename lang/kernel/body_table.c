/* The built-in bodies: names, parameters and a one-line description of each. */
#include "base/alloc.h"
#include "kernel/builtin_bodies.h"

/* A freestanding build has the descriptions without the functions: a simulation needs the
 * parameters of a body and never runs one. */
#if __STDC_HOSTED__ && !defined(TIDE_FREESTANDING)
#define RUN(name) tide_body_##name
#define RING(name) tide_body_##name##_io
#define COMMANDS(name) (const struct tide_body_ops *)(const void *)&tide_##name##_vulkan
#else
static enum tide_status not_here(void *arguments) {
  (void)arguments;
  return TIDE_UNSUPPORTED;
}
static const struct tide_body_ops commands_elsewhere = {TIDE_OPS_VULKAN};
static enum tide_status not_on_a_ring(const void *arguments, struct tide_io *out_io) {
  (void)arguments, (void)out_io;
  return TIDE_UNSUPPORTED;
}
#define RUN(name) not_here
#define RING(name) not_on_a_ring
#define COMMANDS(name) &commands_elsewhere
#endif

#define IN(name)                                                                                   \
  { name, TIDE_PARAM_IN, false, 0 }
#define OUT(name)                                                                                  \
  { name, TIDE_PARAM_OUT, false, 0 }
#define INOUT(name)                                                                                \
  { name, TIDE_PARAM_INOUT, false, 0 }
#define MAYBE(name)                                                                                \
  { name, TIDE_PARAM_INOUT, true, 0 }
#define FILE_(name)                                                                                \
  { name, TIDE_PARAM_FILE, false, 0 }
#define NUMBER(name)                                                                               \
  { name, TIDE_PARAM_INTEGER, false, 0 }
#define NUMBER_OR(name, fallback)                                                                  \
  { name, TIDE_PARAM_INTEGER, true, fallback }
#define MEMBERS                                                                                    \
  INOUT("b0"), MAYBE("b1"), MAYBE("b2"), MAYBE("b3"), MAYBE("b4"), MAYBE("b5"), MAYBE("b6"),       \
      MAYBE("b7")

static const struct tide_param add[] = {IN("a"), IN("b"), OUT("out")};
static const struct tide_param gather[] = {NUMBER("part"), NUMBER("parts"), MEMBERS};
static const struct tide_param blur[] = {IN("from"), OUT("to"), NUMBER("width"), NUMBER("radius"),
                                         NUMBER_OR("channels", 1)};
static const struct tide_param broadcast[] = {NUMBER("part"), NUMBER("parts"), NUMBER("root"),
                                              MEMBERS};
static const struct tide_param combine[] = {IN("from"), INOUT("into")};
static const struct tide_param copy[] = {IN("from"), OUT("to")};
static const struct tide_param downsample[] = {IN("from"), OUT("to"), NUMBER("width"),
                                               NUMBER("factor"), NUMBER_OR("channels", 1)};
static const struct tide_param fill[] = {OUT("out"), NUMBER_OR("value", 0)};
static const struct tide_param gemm[] = {IN("a"), IN("b"), INOUT("c"), NUMBER("n")};
static const struct tide_param hash[] = {IN("from"), OUT("out"), NUMBER_OR("seed", 0)};
static const struct tide_param iota[] = {OUT("out"), NUMBER_OR("start", 0)};
static const struct tide_param png_read[] = {FILE_("file"), OUT("out"), NUMBER_OR("width", 0),
                                             NUMBER_OR("height", 0), NUMBER_OR("channels", 1)};
static const struct tide_param png_write[] = {IN("from"), FILE_("file"), NUMBER("width"),
                                              NUMBER("height"), NUMBER_OR("channels", 1)};
static const struct tide_param read_[] = {FILE_("file"), NUMBER("offset"), OUT("into")};
static const struct tide_param reduce[] = {IN("from"), OUT("out")};
static const struct tide_param sort[] = {INOUT("data")};
static const struct tide_param spin[] = {NUMBER("microseconds")};
static const struct tide_param stencil[] = {IN("from"), OUT("to"), NUMBER("width")};
static const struct tide_param sync_[] = {FILE_("file")};
static const struct tide_param write_[] = {FILE_("file"), NUMBER("offset"), IN("from")};

#define WITH(params) params, sizeof params / sizeof params[0]
#define NONE NULL, 0
#define HOST(body)                                                                                 \
  { .name = #body, .host = RUN(body) }
#define FAILING(body)                                                                              \
  { .name = #body, .host = RUN(body), .fails = true }
/* Also for a Vulkan device. */
#define VULKAN(body)                                                                               \
  { .name = #body, .host = RUN(body), .ops = COMMANDS(body) }
#define EMPTY(body)                                                                                \
  { .name = #body, .host = RUN(body), .ops = COMMANDS(body), .non_blocking = true, .empty = true }
#define STORAGE(body, file_ops)                                                                    \
  { .name = #body, .host = RUN(body), .ops = &file_ops.ops }

static const struct tide_file_ops read_ops = {{TIDE_OPS_FILE}, TIDE_IO_READ, RING(read)};
static const struct tide_file_ops sync_ops = {{TIDE_OPS_FILE}, TIDE_IO_SYNC, RING(sync)};
static const struct tide_file_ops write_ops = {{TIDE_OPS_FILE}, TIDE_IO_WRITE, RING(write)};

/* Sorted by name for the binary search of tide_kernel_find. */
static const struct tide_body bodies[] = {
    {HOST(add), WITH(add), "out = a + b, in 32-bit words"},
    {HOST(allgather), WITH(gather), "part p copies slice p of buffer p to all other buffers"},
    {HOST(allreduce), WITH(gather),
     "part p sums slice p of all buffers, in 32-bit words, into all of them"},
    {VULKAN(blur), WITH(blur), "box blur of 8-bit rows; edges are clamped within the slice"},
    {HOST(broadcast), WITH(broadcast), "part p copies slice p of buffer `root` to all others"},
    {HOST(combine), WITH(combine), "folds 8-byte digests, in order, into one"},
    {VULKAN(copy), WITH(copy), "to = from; sizes are equal"},
    {HOST(downsample), WITH(downsample),
     "8-bit image scaled down: each pixel the mean of factor x factor"},
    {FAILING(fail), NONE, "fails, to see what depends on it"},
    {VULKAN(fill), WITH(fill), "every byte = value mod 256"},
    {VULKAN(gemm), WITH(gemm), "c += a * b, n x n floats, by rows"},
    {HOST(hash), WITH(hash), "out = the 8-byte XXH3 digest of from"},
    {HOST(iota), WITH(iota), "64-bit words start, start + 1, ..."},
    {EMPTY(nop), NONE, "nothing"},
    {HOST(png_read), WITH(png_read), "decodes a PNG file to 8-bit rows; 0 = any width or height"},
    {HOST(png_write), WITH(png_write), "8-bit rows, 1 to 4 channels, to a PNG file"},
    {STORAGE(read, read_ops), WITH(read_), "reads the whole buffer from a file"},
    {VULKAN(reduce), WITH(reduce), "out = the sum of 64-bit words"},
    {HOST(sort), WITH(sort), "32-bit words in ascending order"},
    {HOST(spin), WITH(spin), "keeps its worker busy"},
    {VULKAN(stencil), WITH(stencil), "32-bit grid: (4 x centre + 4 neighbours) / 8, edges clamped"},
    {STORAGE(sync, sync_ops), WITH(sync_), "waits until the file's bytes are on the disk"},
    {STORAGE(write, write_ops), WITH(write_), "writes the whole buffer to a file"},
};

const struct tide_body *tide_kernel_bodies(size_t *out_count) {
  *out_count = sizeof bodies / sizeof bodies[0];
  return bodies;
}

const struct tide_body *tide_kernel_find(const char *name) {
  size_t low = 0, high = sizeof bodies / sizeof bodies[0];
  while (name && low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(name, bodies[middle].class_.name);
    if (order == 0) return &bodies[middle];
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}
