/* Doing an exchange for a worker that asked for it. */
#include "sched/delegation.h"

#include "base/memory.h"

#define ANSWER_LINES                                                                               \
  ((sizeof(struct tide_delegation) - offsetof(struct tide_delegation, answered)) / TIDE_CACHE_LINE)

static void give(struct tide_task *task, struct tide_work *work) {
  task->body = work->body;
  /* Whoever is told that it is over may look at what the body left there. */
  task->arguments = work->has_many || work->body->over ? tide_work_arguments(work) : NULL;
  if (!task->arguments) memcpy(task->few, work->arguments.few, sizeof task->few);
}

void tide_delegation_answer(struct tide_sched *sched) {
  struct tide_delegation *request = tide_exchange(&sched->delegated, NULL);
  if (!request) return;                                  /* it was taken back */
  tide_fetch_to_write(&request->answered, ANSWER_LINES); /* while the exchange goes on */
  /* First what the submit leaves to be settled: who is ready by it has his turn, and what it ended
   * is its own to call back. Nobody is kicked for what the exchange may take at once. */
  request->device->exchanging = true;
  tide_sched_settle(sched);
  struct tide_fired before = sched->host;
  tide_fired_init(&sched->host);
  size_t count = tide_device_exchange_locked(request->device, request->works, request->count,
                                             request->works, request->most, &request->more);
  request->calls = sched->host;
  tide_fired_init(&sched->host);
  if (before.first) sched->host = before; /* an empty one points to itself */
  for (size_t i = 0; i < count; i++) give(&request->tasks[i], request->works[i]);
  request->count = request->task_count = (uint32_t)count;
  tide_store_release(&request->answered, ++request->answers);
}
