/* Runs: a module and a launch behind the public interface, and the axis of their progress. */
#include "base/params.h"
#include "mods/exec.h"
#include "mods/kernel_shape.h"
#include "base/alloc.h"
#include "tidemark/queue.h"

#define STEPS_MAX ((uint64_t)1 << 36)
#define MEMORY_MAX ((uint64_t)1 << 32)
#define ARGUMENTS_MAX 256
#define FRONTIER_CAPACITY 16

struct tide_mods_run {
  struct tide_context *context;
  struct tide_ir *ir;
  struct tide_exec_program program;
  struct tide_exec_machine machine;
  struct tide_exec_memory globals[ARGUMENTS_MAX];
  uint32_t global_count;
  struct tide_timeline *progress;
  uint64_t value; /* the progress timeline's value */
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(frontier, FRONTIER_CAPACITY);
  bool registered, ended;
};

/* ---- arguments ---- */

static bool take_argument(struct tide_mods_run *run, tide_ir_type type,
                          const struct tide_mods_argument *argument, int64_t *out_slot) {
  const struct tide_ir_type_record *record = tide_ir_type_of(run->ir, type);
  if (record->kind == TIDE_IR_LLVM_POINTER) {
    if ((!argument->data && argument->size) || (uintptr_t)argument->data % 8 ||
        argument->size > TIDE_EXEC_OFFSET_MASK / 2)
      return false;
    *out_slot = (int64_t)tide_exec_pointer(TIDE_EXEC_GLOBAL, run->global_count, 0);
    run->globals[run->global_count++] = (struct tide_exec_memory){argument->data, argument->size};
    return true;
  }
  if (record->kind == TIDE_IR_FLOAT) {
    bool exact = record->a == TIDE_IR_F32 || record->a == TIDE_IR_F64;
    float narrow = exact ? (float)argument->number : tide_exec_odd(argument->number);
    if (record->a == TIDE_IR_F16) narrow = tide_exec_from_f16(tide_exec_to_f16(narrow));
    if (record->a == TIDE_IR_BF16) narrow = tide_exec_from_bf16(tide_exec_to_bf16(narrow));
    if (record->a == TIDE_IR_TF32) narrow = tide_exec_to_tf32(narrow);
    *out_slot =
        record->a == TIDE_IR_F64 ? tide_exec_of_f64(argument->number) : tide_exec_of_f32(narrow);
    return true;
  }
  if (record->kind != TIDE_IR_INTEGER && record->kind != TIDE_IR_INDEX) return false;
  unsigned bits = record->kind == TIDE_IR_INDEX ? 64 : record->a;
  *out_slot = tide_exec_narrow((uint64_t)argument->integer, bits < 64 ? 64 - bits : 0);
  return true;
}

static bool take_arguments(struct tide_mods_run *run, tide_ir_op kernel,
                           const struct tide_mods_run_params *params, int64_t *slots,
                           enum tide_status *status) {
  tide_ir_block entry = tide_ir_body(run->ir, kernel, 0);
  uint32_t count = run->program.argument_count;
  if (params->argument_count != count || count > ARGUMENTS_MAX)
    return tide_exec_complain(run->ir, kernel, TIDE_MISMATCH, status,
                              "is launched with another number of arguments than it takes");
  for (uint32_t i = 0; i < count; i++)
    if (!take_argument(run, tide_ir_type_of_value(run->ir, tide_ir_argument(run->ir, entry, i)),
                       &params->arguments[i], &slots[i]))
      return tide_exec_complain(run->ir, kernel, TIDE_MISMATCH, status,
                                "is launched with an argument that doesn't fit its type");
  return true;
}

/* ---- progress ---- */

static enum tide_status advance_progress(void *self) {
  struct tide_mods_run *run = self;
  if (!run->progress) {
    run->position.epoch++;
    return tide_tracker_advance(tide_context_tracker(run->context), run->position.axis,
                                run->position.epoch);
  }
  return tide_timeline_signal(run->progress, ++run->value, &run->position);
}

static enum tide_status take_axis(struct tide_mods_run *run) {
  enum tide_status status =
      tide_lease_take(tide_context_lease(run->context), TIDE_DOMAIN_KERNEL, &run->position.axis);
  tide_frontier_init(&run->frontier.frontier, FRONTIER_CAPACITY);
  run->position.frontier = &run->frontier.frontier;
  if (status == TIDE_OK)
    status = tide_tracker_register(tide_context_tracker(run->context), run->position.axis);
  run->registered = status == TIDE_OK;
  return status;
}

/* ---- the public interface ---- */

static enum tide_status load_module(struct tide_mods_run *run,
                                    const struct tide_mods_run_params *params) {
  enum tide_status status = tide_ir_create(tide_context_allocator(run->context), &run->ir);
  if (status != TIDE_OK) return status;
  run->ir->sink = params->sink;
  struct tide_ir_parse_params parse = {
      .text = params->text, .length = params->length, .file = params->file ? params->file : "-"};
  status = tide_ir_parse(run->ir, &parse);
  return status == TIDE_OK ? tide_ir_verify(run->ir, NULL) : status;
}

static enum tide_status launch_kernel(struct tide_mods_run *run,
                                      const struct tide_mods_run_params *params) {
  struct tide_exec_machine_params machine = {
      .program = &run->program,
      .globals = run->globals,
      .seed = params->seed,
      .steps_max = params->steps_max ? params->steps_max : STEPS_MAX,
      .memory_max = params->memory_max ? params->memory_max : MEMORY_MAX};
  int64_t slots[ARGUMENTS_MAX];
  enum tide_status status = TIDE_OK;
  tide_ir_op kernel = tide_exec_find_kernel(run->ir, params->kernel, &status);
  if (!kernel || !tide_exec_take_shape(run->ir, kernel, params, &machine.shape, &status))
    return status;
  status = tide_exec_translate(&run->program, run->ir, kernel, &machine.shape,
                               tide_context_allocator(run->context));
  if (status != TIDE_OK || !take_arguments(run, kernel, params, slots, &status)) return status;
  machine.arguments = slots;
  machine.global_count = run->global_count;
  status = tide_exec_machine_init(&run->machine, &machine);
  if (status == TIDE_EXHAUSTED)
    tide_ir_op_error(run->ir, kernel, "needs %llu bytes for this launch",
                     (unsigned long long)tide_exec_machine_memory(&run->program, &machine.shape));
  if (status != TIDE_OK) return status;
  run->machine.progress = advance_progress;
  run->machine.progress_self = run;
  return take_axis(run);
}

enum tide_status tide_mods_run_create(struct tide_context *context,
                                      const struct tide_mods_run_params *params,
                                      struct tide_mods_run **out_run) {
  struct tide_mods_run_params own;
  enum tide_status known = tide_params_copy(&own, sizeof own, params);
  *out_run = NULL;
  if (known != TIDE_OK) return known;
  params = &own;
  struct tide_mods_run *run = tide_alloc(tide_context_allocator(context), 1, sizeof *run);
  if (!run) return TIDE_NOMEM;
  run->context = context;
  if (params->progress) {
    tide_timeline_retain(params->progress);
    run->progress = params->progress;
    run->value = tide_timeline_query(params->progress);
  }
  enum tide_status status = load_module(run, params);
  if (status == TIDE_OK) status = launch_kernel(run, params);
  if (status != TIDE_OK) {
    tide_mods_run_destroy(run);
    return status;
  }
  *out_run = run;
  return TIDE_OK;
}

enum tide_status tide_mods_run_step(struct tide_mods_run *run, uint64_t steps) {
  enum tide_status status = tide_exec_machine_run(&run->machine, steps);
  if (status == TIDE_TIMEOUT || run->ended) return status;
  run->ended = true;
  if (status == TIDE_OK) {
    (void)tide_tracker_close(tide_context_tracker(run->context), run->position.axis);
    return status;
  }
  if (run->progress) tide_timeline_fail(run->progress, status);
  (void)tide_tracker_fail(tide_context_tracker(run->context), run->position.axis, status);
  (void)tide_tracker_certify(tide_context_tracker(run->context), run->position.axis);
  return status;
}

void tide_mods_run_destroy(struct tide_mods_run *run) {
  if (!run) return;
  if (run->registered && !run->ended) {
    if (run->progress) tide_timeline_fail(run->progress, TIDE_CANCELLED);
    (void)tide_tracker_fail(tide_context_tracker(run->context), run->position.axis, TIDE_CANCELLED);
    (void)tide_tracker_certify(tide_context_tracker(run->context), run->position.axis);
  }
  tide_exec_machine_fini(&run->machine);
  if (run->program.allocator) tide_exec_program_fini(&run->program);
  tide_ir_destroy(run->ir);
  tide_timeline_release(run->progress);
  tide_free(tide_context_allocator(run->context), run, 1, sizeof *run);
}

enum tide_status tide_mods_run_import(struct tide_mods_run *run, struct tide_timeline *timeline,
                                      uint64_t value) {
  if (run->position.epoch || run->ended) return TIDE_VALUE;
  return tide_timeline_import(timeline, value, &run->position);
}

tide_axis tide_mods_run_axis(const struct tide_mods_run *run) { return run->position.axis; }

void tide_mods_run_statistics(const struct tide_mods_run *run,
                              struct tide_mods_run_stats *out_stats) {
  const struct tide_exec_machine *machine = &run->machine;
  *out_stats = (struct tide_mods_run_stats){.instructions = machine->steps,
                                            .time = machine->time,
                                            .ctas = machine->cta_count,
                                            .threads = machine->thread_count,
                                            .windows = machine->windows,
                                            .throttles = machine->throttles,
                                            .tiles = machine->tiles};
}

/* ---- the mailbox ---- */

enum tide_status tide_mods_run_query(struct tide_mods_run *run, uint32_t from, uint32_t to) {
  struct tide_exec_machine *machine = &run->machine;
  if (from >= machine->cta_count || to >= machine->cta_count) return TIDE_NOT_FOUND;
  struct tide_exec_cta *asks = &machine->ctas[from], *asked = &machine->ctas[to];
  if (asks->cluster != asked->cluster || !asks->in_window || !asked->in_window) return TIDE_DENIED;
  if (asked->query == TIDE_QUERY_ASKED) return TIDE_BUSY;
  asked->query = TIDE_QUERY_ASKED;
  return TIDE_OK;
}

enum tide_status tide_mods_run_reply(struct tide_mods_run *run, uint32_t to,
                                     uint64_t *out_progress) {
  if (to >= run->machine.cta_count) return TIDE_NOT_FOUND;
  struct tide_exec_cta *asked = &run->machine.ctas[to];
  switch ((enum tide_exec_query)asked->query) {
    case TIDE_QUERY_ASKED: return TIDE_TIMEOUT;
    case TIDE_QUERY_LOST: return TIDE_CANCELLED;
    case TIDE_QUERY_ANSWERED: *out_progress = asked->reply; return TIDE_OK;
    case TIDE_QUERY_NONE: break;
  }
  return TIDE_NOT_FOUND;
}

/* ---- runs as operations ---- */

static enum tide_status run_all(void *arguments) {
  struct tide_mods_run *run = *(struct tide_mods_run **)arguments;
  return tide_mods_run_step(run, UINT64_MAX);
}

const struct tide_body_class *tide_mods_body(void) {
  static const struct tide_body_class class = {.name = "mods", .host = run_all};
  return &class;
}
