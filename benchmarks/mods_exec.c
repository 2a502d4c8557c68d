/* Kernels on the CPU: how fast instructions run, and what a launch of many CTAs costs. */
#include "bench.h"
#include "tidemark/context.h"
#include "tidemark/mods.h"

#include <stdio.h>
#include <string.h>

/* One CTA of one warp; `%n` turns of a loop with six simple operations: integers and floats. */
static const char simple[] =
    "gpu.module @m {\n"
    "  gpu.func @k(%out: !llvm.ptr, %n: i32) kernel attributes {known_block_size = array<i32: 32, "
    "1, 1>} {\n"
    "    %zero = arith.constant 0 : i32\n"
    "    %one = arith.constant 1 : i32\n"
    "    %f0 = arith.constant 0.0 : f32\n"
    "    %half = arith.constant 0.5 : f32\n"
    "    %a:2 = scf.for %i = %zero to %n step %one iter_args(%s = %zero, %f = %f0) -> (i32, f32) : "
    "i32 {\n"
    "      %x = arith.muli %s, %i : i32\n"
    "      %y = arith.xori %x, %i : i32\n"
    "      %z = arith.addi %y, %one : i32\n"
    "      %g = arith.mulf %f, %half : f32\n"
    "      %h = arith.addf %g, %half : f32\n"
    "      %w = arith.subi %z, %s : i32\n"
    "      scf.yield %w, %h : i32, f32\n"
    "    }\n"
    "    llvm.store %a#0, %out : i32, !llvm.ptr\n"
    "    gpu.return\n"
    "  }\n"
    "}\n";
#define SIMPLE_OPS 6 /* of a turn, as MLIR counts them: the loop's own are not */

/* Clusters of two; all come to a barrier of the CTA and one of the cluster, twice. */
static const char barriers[] =
    "gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {\n"
    "  gpu.func @k() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {\n"
    "    gpu.barrier\n"
    "    nvvm.cluster.arrive\n"
    "    nvvm.cluster.wait\n"
    "    gpu.barrier\n"
    "    nvvm.cluster.arrive\n"
    "    nvvm.cluster.wait\n"
    "    gpu.return\n"
    "  }\n"
    "}\n";

static struct tide_context *context;

static void *open_context(void) {
  return tide_context_create(NULL, &context) == TIDE_OK ? context : bench_skip("no memory");
}
static void close_context(void *state) { tide_context_destroy(state); }

static uint64_t run(struct tide_mods_run_params *params) {
  struct tide_mods_run *run;
  struct tide_mods_run_stats stats;
  BENCH_CHECK(tide_mods_run_create(context, params, &run) == TIDE_OK);
  uint64_t begin = bench_spent();
  BENCH_CHECK(tide_mods_run_step(run, UINT64_MAX) == TIDE_OK);
  uint64_t spent = bench_spent() - begin;
  tide_mods_run_statistics(run, &stats);
  tide_mods_run_destroy(run);
  return spent ? spent : 1;
}

static double simple_ops(void *state) {
  (void)state;
  uint64_t out = 0;
  int64_t turns = bench_smoke() ? 1000 : 20000;
  struct tide_mods_argument arguments[] = {{.data = &out, .size = sizeof out}, {.integer = turns}};
  struct tide_mods_run_params params = {.struct_size = sizeof params,
                                        .text = simple,
                                        .length = sizeof simple - 1,
                                        .arguments = arguments,
                                        .argument_count = 2};
  uint64_t spent = run(&params);
  return (double)turns * 32 * SIMPLE_OPS / (double)spent * 1e3;
}

/* 1024 CTAs of 128 threads, from the text to the end of the last. */
static double many_ctas(void *state) {
  (void)state;
  struct tide_mods_run_params params = {.struct_size = sizeof params,
                                        .text = barriers,
                                        .length = sizeof barriers - 1,
                                        .grid = {bench_smoke() ? 64 : 1024, 1, 1}};
  uint64_t begin = bench_spent();
  (void)run(&params);
  return (double)(bench_spent() - begin) / 1e6;
}

const struct bench_figure bench_mods_exec[] = {{.name = "simple_ops",
                                                .unit = "M/s",
                                                .better = BENCH_MORE,
                                                .setup = open_context,
                                                .teardown = close_context,
                                                .measure_ours = simple_ops},
                                               {.name = "ctas_1024_barriers",
                                                .unit = "ms",
                                                .better = BENCH_LESS,
                                                .setup = open_context,
                                                .teardown = close_context,
                                                .measure_ours = many_ctas},
                                               {0}};
