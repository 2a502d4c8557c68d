/* The combiner: does the exchange that a worker has posted (delegation.h). */
#include "sched/delegation.h"

#include "base/alloc.h"

#define ANSWER_LINES                                                                               \
  ((sizeof(struct tide_delegation) - offsetof(struct tide_delegation, answered)) / TIDE_CACHE_LINE)

static void copy_task(struct tide_task *task, struct tide_work *work) {
  task->body = work->body;
  /* The body class's `over` may read the results that the body stored there. */
  task->arguments = work->has_many || work->body->over ? tide_work_arguments(work) : NULL;
  if (!task->arguments) memcpy(task->few, work->arguments.few, sizeof task->few);
}

void tide_delegation_answer(struct tide_sched *sched) {
  struct tide_delegation *request = tide_exchange(&sched->delegated, NULL);
  if (!request) return; /* none was posted, or the worker took it back */
  tide_fetch_to_write(&request->answered, ANSWER_LINES); /* during the exchange */
  /* The submit is settled first: operations that it made ready take part in the exchange, and its
   * callbacks stay with this thread. No kick for works that the exchange may take. */
  request->device->exchanging = true;
  tide_sched_settle(sched);
  struct tide_fired before = sched->host;
  tide_fired_init(&sched->host);
  size_t count = tide_device_exchange_locked(request->device, request->works, request->count,
                                             request->works, request->most, &request->more);
  /* The worker also calls the callbacks of operations that the exchange has skipped. */
  tide_sched_settle(sched);
  request->calls = sched->host;
  tide_fired_init(&sched->host);
  if (before.first) sched->host = before; /* an empty list points to itself */
  for (size_t i = 0; i < count; i++) copy_task(&request->tasks[i], request->works[i]);
  request->count = request->task_count = (uint32_t)count;
  tide_store_release(&request->answered, ++request->answers);
}
