/* Holding submissions, and picking the next one to release. */
#include "layer/explore.h"
#include "layer/submission_trace.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define READY_MOST 256

/* ---- ready submissions ---------------------------------------------------------- */

static bool wait_is_released(const struct layer_wait *wait) {
  return wait->dropped || wait->semaphore->external || wait->semaphore->released >= wait->value;
}

static bool waits_are_released(const struct layer_submission *submission) {
  for (uint32_t i = 0; i < submission->wait_count; i++)
    if (!wait_is_released(&submission->waits[i])) return false;
  return true;
}

/* True if a submission signals a binary semaphore before the semaphore's last wait was released: it
 * must be unsignalled at a signal. */
static bool signals_twice(const struct layer_submission *submission) {
  for (uint32_t i = 0; i < submission->signal_count; i++) {
    const struct layer_signal *signal = &submission->signals[i];
    const struct layer_semaphore *semaphore = signal->semaphore;
    if (semaphore->timeline || semaphore->external) continue;
    if (semaphore->waits_started + 1 < signal->value) return true;
  }
  return false;
}

static void report_twice(const struct layer_submission *submission) {
  struct layer_text name, by;
  for (uint32_t i = 0; i < submission->signal_count; i++)
    if (!submission->signals[i].semaphore->timeline)
      layer_finding("signalled-twice",
                    "%s may signal %s before the wait for its last signal: nothing orders them",
                    layer_name_submission(submission, &by),
                    layer_name_semaphore(submission->signals[i].semaphore, &name));
}

static bool is_withheld(const struct layer_explorer *explorer,
                        const struct layer_submission *submission) {
  const struct layer_options *options = layer_options();
  if (submission->number != options->after_first) return false;
  for (const struct layer_submission *at = explorer->first; at; at = at->next)
    if (at->number == options->after_second) return true;
  return submission->queue->device->counts.submissions < options->after_second;
}

/* Appends the ready submissions of a queue. */
static size_t find_ready_in(const struct layer_explorer *explorer, const struct layer_queue *queue,
                            bool withholds, struct layer_submission **ready, size_t count) {
  bool jumps = false;
  for (uint64_t epoch = queue->released + 1; epoch <= queue->submitted && count < READY_MOST;
       epoch++) {
    struct layer_submission *at = layer_submission_at(queue, epoch);
    if (!at || at->state != LAYER_HELD) continue;
    if (!waits_are_released(at) || !layer_host_events_are_set(queue->device, at)) break;
    if (jumps && at->is_linked) break;
    if (signals_twice(at)) {
      /* After a jump, the missing wait may belong to a submission that this one would overtake. */
      if (!jumps) report_twice(at);
      break;
    }
    if (!withholds || !is_withheld(explorer, at)) ready[count++] = at;
    if (!layer_options()->in_queue || at->is_linked) break;
    jumps = true;
  }
  return count;
}

static void sort_by_number(struct layer_submission **ready, size_t count) {
  for (size_t i = 1; i < count; i++) {
    struct layer_submission *moved = ready[i];
    size_t at = i;
    for (; at > 0 && ready[at - 1]->number > moved->number; at--) ready[at] = ready[at - 1];
    ready[at] = moved;
  }
}

static size_t find_ready(struct layer_device *device, struct layer_submission **ready) {
  size_t count = 0;
  for (int withholds = 1; withholds >= 0 && count == 0; withholds--)
    for (uint32_t i = 0; i < device->queue_count; i++)
      if (device->queues[i]->held)
        count = find_ready_in(device->explorer, device->queues[i], withholds, ready, count);
  sort_by_number(ready, count);
  return count;
}

/* ---- releasing ------------------------------------------------------------------- */

static void unlink_held(struct layer_explorer *explorer, struct layer_submission *submission) {
  struct layer_submission **link = &explorer->first, *before = NULL;
  while (*link != submission) {
    before = *link;
    link = &(*link)->next;
  }
  *link = submission->next;
  if (explorer->last == submission) explorer->last = before;
}

static void report_backwards(const struct layer_submission *submission,
                             const struct layer_signal *signal) {
  struct layer_semaphore *semaphore = signal->semaphore;
  struct layer_text name, by;
  if (semaphore->is_accused) return;
  semaphore->is_accused = true;
  layer_finding("value-backwards",
                "%s signals %s = %llu behind submission %llu, which signals %llu: nothing orders "
                "the two",
                layer_name_submission(submission, &by), layer_name_semaphore(semaphore, &name),
                (unsigned long long)signal->value, (unsigned long long)semaphore->released_by,
                (unsigned long long)semaphore->released);
}

/* Marks and reports the signals that would not raise their semaphore, before the driver's call: the
 * driver does not get them. */
static void check_signals(struct layer_submission *submission) {
  for (uint32_t i = 0; i < submission->signal_count; i++) {
    struct layer_signal *signal = &submission->signals[i];
    if (!signal->semaphore->timeline || signal->value > signal->semaphore->released) continue;
    signal->backwards = true;
    report_backwards(submission, signal);
  }
}

/* Publishes the signals after the driver's call: waiters may see them. */
static void publish_signals(struct layer_device *device, struct layer_submission *submission) {
  for (uint32_t i = 0; i < submission->signal_count; i++) {
    struct layer_signal *signal = &submission->signals[i];
    if (signal->backwards) continue;
    signal->semaphore->released = signal->value;
    signal->semaphore->released_by = submission->number;
  }
  submission->state = LAYER_RELEASED;
  device->explorer->is_unfinished = true;
  submission->released_ns = layer_now_ns();
  submission->queue->held--;
  device->explorer->urgent -= submission->is_urgent;
  layer_queue_advance(submission->queue);
  unlink_held(device->explorer, submission);
  device->explorer->generation++;
  pthread_cond_broadcast(&device->changed);
}

/* Returns the oldest submission that is not released, if the driver has its commands already. */
static struct layer_submission *next_started(const struct layer_queue *queue) {
  struct layer_submission *at = layer_submission_at(queue, queue->released + 1);
  return at && at->state == LAYER_STARTED ? at : NULL;
}

/* `lock` is held before and after, not during the call. A driver that refuses a submission leaves
 * the program waiting for it: for the program, the device is lost. */
static void pass_to_driver(struct layer_device *device, struct layer_submission *submission,
                           unsigned parts) {
  struct layer_text name;
  bool lost = device->lost;
  pthread_mutex_unlock(&device->lock);
  VkResult result = lost ? VK_ERROR_DEVICE_LOST : layer_release(submission, parts);
  if (result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST) {
    layer_limit("the driver refused %s: VkResult %d", layer_name_submission(submission, &name),
                (int)result);
    result = VK_ERROR_DEVICE_LOST;
  }
  layer_check_lost(device, result);
  pthread_mutex_lock(&device->lock);
}

static void pass_waits(struct layer_device *device, struct layer_submission *submission) {
  if (submission->waits_are_gone || !submission->wait_count) return;
  submission->waits_are_gone = true;
  for (uint32_t i = 0; i < submission->wait_count; i++)
    submission->waits[i].semaphore->waits_started += !submission->waits[i].semaphore->timeline;
  pass_to_driver(device, submission, LAYER_PART_WAITS);
}

/* Releases a submission, behind the waits of those that it overtakes, and the signals of those that
 * had overtaken it. */
static void release_submission(struct layer_device *device, struct layer_submission *submission) {
  struct layer_queue *queue = submission->queue;
  bool signals = submission->epoch == queue->released + 1;
  unsigned parts = LAYER_PART_COMMANDS | (signals ? LAYER_PART_SIGNALS : 0) |
                   (submission->waits_are_gone ? 0 : LAYER_PART_WAITS);
  for (uint64_t epoch = queue->released + 1; epoch < submission->epoch; epoch++) {
    struct layer_submission *overtaken = layer_submission_at(queue, epoch);
    if (overtaken && overtaken->state == LAYER_HELD) pass_waits(device, overtaken);
  }
  for (uint32_t i = 0; !submission->waits_are_gone && i < submission->wait_count; i++)
    submission->waits[i].semaphore->waits_started += !submission->waits[i].semaphore->timeline;
  layer_commands_released(device, submission);
  layer_trace_start(submission);
  if (signals) check_signals(submission);
  pass_to_driver(device, submission, parts);
  if (!signals) {
    submission->state = LAYER_STARTED;
    return;
  }
  publish_signals(device, submission);
  for (struct layer_submission *at; (at = next_started(queue));) {
    check_signals(at);
    pass_to_driver(device, at, LAYER_PART_SIGNALS);
    publish_signals(device, at);
  }
}

static void count_pick(struct layer_device *device, size_t ready, enum layer_pick_reason reason) {
  struct layer_counts *counts = &device->counts;
  counts->picks++;
  counts->timer += reason == LAYER_PICK_TIMER;
  counts->bound += reason == LAYER_PICK_BOUND;
  counts->flushed += reason == LAYER_PICK_FLUSH;
  if (ready > 1) counts->choices++;
  else counts->forced++;
}

/* Describes the wait that would order two submissions: for a timeline that the first one
 * signals. */
static void describe_missing_wait(const struct layer_submission *first,
                                  const struct layer_submission *second, char *text, size_t size) {
  struct layer_text name;
  if (first->queue == second->queue) {
    snprintf(text, size, ": a barrier between them would order them");
    return;
  }
  for (uint32_t i = 0; i < first->signal_count; i++) {
    const struct layer_signal *signal = &first->signals[i];
    if (!signal->semaphore->timeline) continue;
    snprintf(text, size, ": a wait for %s >= %llu would order them",
             layer_name_semaphore(signal->semaphore, &name), (unsigned long long)signal->value);
    return;
  }
  snprintf(text, size, "%s",
           first->signal_count
               ? ""
               : ": the earlier one signals nothing that the later one could wait for");
}

static void report_after(const struct layer_explorer *explorer,
                         const struct layer_submission *second) {
  struct layer_text first_name, second_name;
  char wait[256];
  if (second->number != layer_options()->after_second) return;
  for (const struct layer_submission *at = explorer->first; at; at = at->next) {
    if (at->number != layer_options()->after_first) continue;
    describe_missing_wait(at, second, wait, sizeof wait);
    layer_finding("order", "%s went before %s, which came earlier%s",
                  layer_name_submission(second, &second_name),
                  layer_name_submission(at, &first_name), wait);
  }
}

/* Makes one pick. False: no submission is ready. Takes the locks. */
static bool pick_submission(struct layer_device *device, enum layer_pick_reason reason) {
  struct layer_submission *ready[READY_MOST];
  pthread_mutex_lock(&device->release_lock);
  pthread_mutex_lock(&device->lock);
  size_t count = find_ready(device, ready);
  if (count) {
    size_t chosen = layer_order_choose(device->explorer, ready, count, reason);
    count_pick(device, count, reason);
    report_after(device->explorer, ready[chosen]);
    release_submission(device, ready[chosen]);
  }
  pthread_mutex_unlock(&device->lock);
  pthread_mutex_unlock(&device->release_lock);
  if (count && reason != LAYER_PICK_BLOCKED) layer_order_flush();
  return count > 0;
}

/* ---- calls that block ------------------------------------------------------------ */

bool layer_is_released(const struct layer_target *target) {
  if (target->semaphore)
    return target->semaphore->external || target->semaphore->released >= target->value;
  if (target->fence) {
    const struct layer_fence *fence = target->fence;
    if (fence->external || fence->signalled) return true;
    if (!fence->queue) return false;
    const struct layer_submission *at = layer_submission_at(fence->queue, fence->epoch);
    return !at || at->state == LAYER_RELEASED;
  }
  return target->queue->released >= target->value;
}

static bool call_is_released(const struct layer_host_call *call) {
  for (uint32_t i = 0; i < call->count; i++)
    if (layer_is_released(&call->targets[i]) == call->any) return call->any;
  return !call->any;
}

bool layer_explore_is_released(struct layer_device *device, const struct layer_host_call *call) {
  pthread_mutex_lock(&device->lock);
  bool released = call_is_released(call);
  pthread_mutex_unlock(&device->lock);
  return released;
}

static struct timespec real_time(uint64_t deadline_ns) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t at = layer_now_ns(), rest = deadline_ns > at ? deadline_ns - at : 0;
  uint64_t ns = (uint64_t)now.tv_nsec + rest;
  return (struct timespec){.tv_sec = now.tv_sec + (time_t)(ns / 1000000000u),
                           .tv_nsec = (long)(ns % 1000000000u)};
}

/* Sleeps until something changes. False: the deadline has passed. `lock` is held. */
static bool await_change(struct layer_device *device, uint64_t generation, uint64_t deadline_ns) {
  while (device->explorer->generation == generation && !device->lost) {
    if (!deadline_ns) {
      pthread_cond_wait(&device->changed, &device->lock);
      continue;
    }
    struct timespec until = real_time(deadline_ns);
    if (pthread_cond_timedwait(&device->changed, &device->lock, &until) == ETIMEDOUT &&
        layer_now_ns() >= deadline_ns)
      return false;
  }
  return !device->lost;
}

bool layer_explore_until(struct layer_device *device, const struct layer_host_call *call,
                         uint64_t deadline_ns) {
  struct layer_explorer *explorer = device->explorer;
  bool goes_on = true;
  pthread_mutex_lock(&device->lock);
  explorer->active_ns = layer_now_ns();
  explorer->blocked++;
  while (goes_on && !call_is_released(call)) {
    uint64_t generation = explorer->generation;
    pthread_mutex_unlock(&device->lock);
    bool picked = pick_submission(device, LAYER_PICK_BLOCKED);
    pthread_mutex_lock(&device->lock);
    if (!picked && explorer->generation == generation)
      goes_on = await_change(device, generation, deadline_ns);
  }
  explorer->blocked--;
  explorer->active_ns = layer_now_ns();
  goes_on = call_is_released(call);
  pthread_mutex_unlock(&device->lock);
  layer_order_flush();
  return goes_on;
}

void layer_explore_poll(struct layer_device *device) {
  pthread_mutex_lock(&device->lock);
  device->explorer->active_ns = layer_now_ns();
  pthread_mutex_unlock(&device->lock);
  (void)pick_submission(device, LAYER_PICK_BLOCKED);
  layer_order_flush();
}

void layer_explore_flush(struct layer_device *device, const char *why) {
  pthread_mutex_lock(&device->lock);
  uint64_t most = device->counts.submissions;
  bool holds = device->explorer->first != NULL;
  pthread_mutex_unlock(&device->lock);
  if (!holds) return;
  layer_limit("held submissions were released in order: %s", why);
  while (most-- && pick_submission(device, LAYER_PICK_FLUSH)) {}
}

/* Waits for the driver to finish a family's queue. Several threads share that queue, so no idle
 * wait is allowed on it: the layer submits a fence of its own behind all that was released. */
static void finish_family(struct layer_device *device, VkQueue real, uint64_t patience_ns) {
  VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence;
  if (device->next_layer.CreateFence(device->handle, &info, NULL, &fence) != VK_SUCCESS) return;
  pthread_mutex_lock(&device->release_lock);
  VkResult result = device->next_layer.QueueSubmit(real, 0, NULL, fence);
  pthread_mutex_unlock(&device->release_lock);
  if (layer_check_lost(device, result) == VK_SUCCESS)
    result = layer_check_lost(
        device, device->next_layer.WaitForFences(device->handle, 1, &fence, VK_TRUE, patience_ns));
  if (result != VK_TIMEOUT) device->next_layer.DestroyFence(device->handle, fence, NULL);
}

void layer_explore_finish(struct layer_device *device, uint64_t patience_ns) {
  layer_order_flush();
  pthread_mutex_lock(&device->lock);
  device->explorer->is_unfinished = false; /* set again by a release meanwhile */
  pthread_mutex_unlock(&device->lock);
  for (uint32_t i = 0; i < LAYER_FAMILIES_MOST; i++)
    if (device->explorer->real[i]) finish_family(device, device->explorer->real[i], patience_ns);
}

/* ---- arrivals, and the timer ----------------------------------------------------- */

/* Releases submissions that another process or driver waits for as soon as they are ready, with all
 * predecessors. */
void layer_explore_urge(struct layer_device *device) {
  bool goes_on = true;
  while (goes_on) {
    pthread_mutex_lock(&device->lock);
    goes_on = device->explorer->urgent > 0;
    pthread_mutex_unlock(&device->lock);
    goes_on = goes_on && pick_submission(device, LAYER_PICK_FLUSH);
  }
}

bool layer_explore_hold(struct layer_queue *queue, struct layer_submission *submission) {
  struct layer_device *device = queue->device;
  struct layer_explorer *explorer = device->explorer;
  pthread_mutex_lock(&device->lock);
  submission->state = LAYER_HELD;
  if (!layer_ledger_submit(queue, submission)) {
    pthread_mutex_unlock(&device->lock);
    return false;
  }
  explorer->urgent += submission->is_urgent;
  submission->is_linked =
      layer_commands_link(device, submission->commands, submission->command_count);
  queue->held++;
  if (explorer->last) explorer->last->next = submission;
  else explorer->first = submission;
  explorer->last = submission;
  explorer->active_ns = submission->arrived_ns = layer_now_ns();
  explorer->generation++;
  pthread_cond_broadcast(&device->changed);
  bool is_full = queue->held >= LAYER_HELD_MOST;
  pthread_mutex_unlock(&device->lock);
  if (is_full) (void)pick_submission(device, LAYER_PICK_BOUND);
  layer_explore_urge(device);
  return true;
}

static uint64_t quiet_ns(const struct layer_explorer *explorer) {
  if (!explorer->first || explorer->blocked) return 0;
  return layer_now_ns() - explorer->active_ns;
}

/* True if the timer must pick: a program that neither blocks nor polls would wait for ever. `lock`
 * is held at entry and return, not in between. */
static bool timer_is_due(struct layer_device *device) {
  struct layer_explorer *explorer = device->explorer;
  if (quiet_ns(explorer) < LAYER_TIMER_NS) return false;
  pthread_mutex_unlock(&device->lock);
  bool idle = layer_process_is_idle();
  pthread_mutex_lock(&device->lock);
  if (idle) return quiet_ns(explorer) >= LAYER_TIMER_NS;
  if (quiet_ns(explorer) < explorer->spin_ns) return false;
  explorer->spin_ns =
      explorer->spin_ns / 2 > LAYER_TIMER_NS ? explorer->spin_ns / 2 : LAYER_TIMER_NS;
  return true;
}

static void *run_timer(void *user) {
  struct layer_device *device = user;
  struct layer_explorer *explorer = device->explorer;
  pthread_mutex_lock(&device->lock);
  while (!explorer->timer_stops) {
    struct timespec until = real_time(layer_now_ns() + LAYER_TIMER_NS / 4);
    pthread_cond_timedwait(&explorer->timer_wakes, &device->lock, &until);
    bool picked = !explorer->timer_stops && timer_is_due(device);
    while (picked) { /* all that is ready: the program has had its time */
      pthread_mutex_unlock(&device->lock);
      picked = pick_submission(device, LAYER_PICK_TIMER);
      pthread_mutex_lock(&device->lock);
      picked = picked && !explorer->timer_stops && quiet_ns(explorer) > 0;
    }
  }
  pthread_mutex_unlock(&device->lock);
  return NULL;
}

bool layer_explore_init(struct layer_device *device) {
  struct layer_explorer *explorer = device->explorer;
  explorer->random.state = layer_options()->seed;
  explorer->spin_ns = LAYER_SPIN_NS;
  explorer->kept_end = &explorer->kept;
  device->instance->next_layer.GetPhysicalDeviceMemoryProperties(device->physical,
                                                                 &explorer->memory);
  if (pthread_cond_init(&explorer->timer_wakes, NULL) != 0) return false;
  explorer->timer_runs = pthread_create(&explorer->timer, NULL, run_timer, device) == 0;
  return explorer->timer_runs;
}

static void report_unfinished(struct layer_device *device) {
  struct layer_text name;
  for (const struct layer_submission *at = device->explorer->first; at; at = at->next)
    layer_finding("destroyed-in-use", "the device was destroyed before the program saw %s finish",
                  layer_name_submission(at, &name));
}

void layer_explore_fini(struct layer_device *device) {
  struct layer_explorer *explorer = device->explorer;
  pthread_mutex_lock(&device->lock);
  report_unfinished(device);
  explorer->timer_stops = true;
  pthread_cond_signal(&explorer->timer_wakes);
  pthread_mutex_unlock(&device->lock);
  pthread_join(explorer->timer, NULL);
  while (pick_submission(device, LAYER_PICK_FLUSH)) {}
  layer_explore_finish(device, UINT64_MAX);
  layer_keep_settle(device);
  layer_commands_fini(explorer);
}
