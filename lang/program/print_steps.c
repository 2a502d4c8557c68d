/* Prints steps as lines of a program without loops, parameters and expressions. */
#include "base/alloc.h"
#include "program/plan.h"

static void print_bytes(struct tide_text *text, const char *bytes) {
  tide_text_format(text, "\"");
  for (; *bytes; bytes++) {
    switch (*bytes) {
      case '"': tide_text_format(text, "\\\""); break;
      case '\\': tide_text_format(text, "\\\\"); break;
      case '\n': tide_text_format(text, "\\n"); break;
      case '\t': tide_text_format(text, "\\t"); break;
      case '{': tide_text_format(text, "{{"); break;
      default: tide_text_bytes(text, bytes, 1); break;
    }
  }
  tide_text_format(text, "\"");
}

static void print_buffer(struct tide_text *text, const struct tide_plan *plan,
                         const struct tide_step_argument *a) {
  const struct tide_plan_buffer *buffer = &plan->buffers[a->index];
  tide_text_format(text, "%s", buffer->label);
  if (a->offset || a->size != buffer->size) {
    tide_text_format(text, "[%llu, %llu]", (unsigned long long)a->offset,
                     (unsigned long long)a->size);
  }
}

static void print_arguments(struct tide_text *text, const struct tide_plan *plan,
                            const struct tide_step *step) {
  const char *before = " ";
  for (size_t i = 0; i < step->body->param_count; i++) {
    const struct tide_param *param = &step->body->params[i];
    const struct tide_step_argument *a = &step->arguments[i];
    bool absent =
        param->optional && (param->kind == TIDE_PARAM_INTEGER ? a->integer == param->fallback
                            : param->kind == TIDE_PARAM_TEXT  ? !a->text
                                                              : a->index == TIDE_PLAN_NONE);
    if (absent) continue;
    tide_text_format(text, "%s", before);
    if (i > 0 || param->optional) tide_text_format(text, "%s=", param->name);
    before = ", ";
    switch (param->kind) {
      case TIDE_PARAM_INTEGER: tide_text_format(text, "%lld", (long long)a->integer); break;
      case TIDE_PARAM_TEXT: print_bytes(text, a->text); break;
      case TIDE_PARAM_FILE: tide_text_format(text, "%s", plan->files[a->index].label); break;
      case TIDE_PARAM_IN:
      case TIDE_PARAM_OUT:
      case TIDE_PARAM_INOUT: print_buffer(text, plan, a); break;
    }
  }
}

static void print_values(struct tide_text *text, const struct tide_plan *plan, const char *clause,
                         const char *mark, const struct tide_step_value *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    tide_text_format(text, "%s%s %s %llu", i ? ", " : clause,
                     plan->timelines[values[i].timeline].label, mark,
                     (unsigned long long)values[i].value);
  }
}

/* Prints the cost in the largest unit that divides it: "2ms". */
static void print_time(struct tide_text *text, const char *clause, uint64_t cost) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  while (unit < 3 && cost % 1000 == 0) {
    cost /= 1000;
    unit++;
  }
  tide_text_format(text, "%s%llu%s", clause, (unsigned long long)cost, units[unit]);
}

static void print_takes(struct tide_text *text, const struct tide_plan *plan,
                        const struct tide_step *step) {
  const char *before = step->took ? " " : "  take ";
  for (size_t i = 0; i < step->take_count; i++) {
    bool again = false;
    for (size_t k = 0; k < i; k++) again |= step->takes[k].buffer == step->takes[i].buffer;
    if (again) continue;
    tide_text_format(text, "%s%s", before, plan->buffers[step->takes[i].buffer].label);
    before = ", ";
  }
  if (step->after) print_time(text, " after ", step->after);
}

static void print_operation(struct tide_text *text, const struct tide_plan *plan,
                            const struct tide_step *step) {
  if (step->kind == TIDE_STEP_PART) {
    const struct tide_plan_collective *c = &plan->collectives[step->collective];
    tide_text_format(text, "%s: %s", c->label, step->body->class_.name);
    print_arguments(text, plan, step);
  } else {
    tide_text_format(text, "%s: %s", plan->queues[step->queue].label, step->body->class_.name);
    print_arguments(text, plan, step);
  }
  if (step->took) print_takes(text, plan, step);
  print_values(text, plan, "  wait ", ">=", step->waits, step->wait_count);
  if (step->take_count && !step->took) print_takes(text, plan, step);
  else print_values(text, plan, "  signal ", "=", step->signals, step->signal_count);
  if (step->cost) print_time(text, "  cost ", step->cost);
  if (step->label) {
    tide_text_format(text, "  label ");
    print_bytes(text, step->label);
  }
  if (step->flags & TIDE_MAY_BE_PASSED) tide_text_format(text, "  passable");
  if (step->kind == TIDE_STEP_PART) {
    tide_text_format(text, "  # part %u on %s, instance %llu", step->member,
                     plan->queues[step->queue].label, (unsigned long long)step->instance);
  }
}

size_t tide_step_print(const struct tide_plan *plan, const struct tide_step *step, char *buffer,
                       size_t size) {
  struct tide_text text;
  tide_text_init(&text, buffer, size);
  switch (step->kind) {
    case TIDE_STEP_END: break;
    case TIDE_STEP_OPERATION:
    case TIDE_STEP_PART: print_operation(&text, plan, step); break;
    case TIDE_STEP_ALLOC:
    case TIDE_STEP_FREE:
      tide_text_format(&text, "%s: %s %s", plan->queues[step->queue].label,
                       step->kind == TIDE_STEP_ALLOC ? "alloc" : "free",
                       plan->buffers[step->buffer].label);
      break;
    case TIDE_STEP_HOST_SIGNAL:
      print_values(&text, plan, "host: signal ", "=", step->signals, step->signal_count);
      break;
    case TIDE_STEP_HOST_EXTERNAL:
      print_values(&text, plan, "host: external ", "=", step->signals, step->signal_count);
      break;
    case TIDE_STEP_HOST_WAIT:
      print_values(&text, plan, "host: wait ", ">=", step->waits, step->wait_count);
      break;
  }
  return text.length;
}
