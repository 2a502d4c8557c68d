/* vulkan-calls KIND: programs without a mistake, each about calls that a layer may get wrong.
 *
 *   blocked    a thread waits for what comes last; all others go on meanwhile
 *   covers     a signal stands for all that the queue did before
 *   crossed    a wait comes before its signal, on another queue: hangs where the driver has one
 *   devices    two devices in two threads
 *   events     a queue waits for an event that the host sets when another queue is done
 *   forks      a child does the work, after its parent has made an instance
 *   handler    a handler of its own for SIGQUIT
 *   lost       goes on after the device is lost
 *   many       10 000 submissions behind one that the host opens last
 *   pingpong   the device waits for the host, and the host for the device
 *   polls      never blocks: polls a fence and a timeline
 *   presents   shows three frames; a layer below has to play the window system
 *   queries    waits for timestamps, and for nothing else
 *   reuse      one binary semaphore, signalled and awaited again and again
 *   sleeps     never looks: sleeps, and reads the memory
 *   stages     two signals of one batch: what the narrow one carries, the wide one does not */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define SIZE 4096

static void check(VkResult result, const char *call) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: VkResult %d\n", call, (int)result);
  exit(1);
}
#define CHECK(call) check(call, #call)

struct machine {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queues[2];
  VkCommandPool pool;
  VkDeviceMemory memory;
  VkBuffer buffer;
  VkCommandBuffer fill;
  uint32_t *words;
};

static void run_polls(void);

static void make_device(struct machine *m) {
  static const float priorities[2] = {1, 1};
  uint32_t count = 1, families = 1;
  VkQueueFamilyProperties family;
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_3};
  VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                   .pApplicationInfo = &application};
  CHECK(vkCreateInstance(&instance, NULL, &m->instance));
  if (vkEnumeratePhysicalDevices(m->instance, &count, &m->physical) < 0 || !count) exit(1);
  vkGetPhysicalDeviceQueueFamilyProperties(m->physical, &families, &family);
  uint32_t queues = family.queueCount < 2 ? 1 : 2;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueCount = queues,
                                   .pQueuePriorities = priorities};
  VkPhysicalDeviceVulkan13Features newer = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .synchronization2 = VK_TRUE};
  VkPhysicalDeviceVulkan12Features features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = &newer,
      .timelineSemaphore = VK_TRUE};
  VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
  CHECK(vkCreateDevice(m->physical, &device, NULL, &m->device));
  vkGetDeviceQueue(m->device, 0, 0, &m->queues[0]);
  vkGetDeviceQueue(m->device, 0, queues - 1, &m->queues[1]);
}

static void make_buffer(struct machine *m) {
  VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = SIZE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  VkPhysicalDeviceMemoryProperties memory;
  VkMemoryRequirements needs;
  VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  CHECK(vkCreateBuffer(m->device, &buffer, NULL, &m->buffer));
  vkGetBufferMemoryRequirements(m->device, m->buffer, &needs);
  vkGetPhysicalDeviceMemoryProperties(m->physical, &memory);
  while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) ||
         (memory.memoryTypes[allocate.memoryTypeIndex].propertyFlags & wanted) != wanted)
    allocate.memoryTypeIndex++;
  allocate.allocationSize = needs.size;
  CHECK(vkAllocateMemory(m->device, &allocate, NULL, &m->memory));
  CHECK(vkBindBufferMemory(m->device, m->buffer, m->memory, 0));
  CHECK(vkMapMemory(m->device, m->memory, 0, SIZE, 0, (void **)&m->words));
  memset(m->words, 0, SIZE);
}

static void make(struct machine *m, uint32_t word) {
  VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandBufferCount = 1};
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  make_device(m);
  make_buffer(m);
  CHECK(vkCreateCommandPool(m->device, &pool, NULL, &m->pool));
  allocate.commandPool = m->pool;
  CHECK(vkAllocateCommandBuffers(m->device, &allocate, &m->fill));
  CHECK(vkBeginCommandBuffer(m->fill, &begin));
  vkCmdFillBuffer(m->fill, m->buffer, 0, SIZE, word);
  vkCmdPipelineBarrier(m->fill, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                       &to_host, 0, NULL, 0, NULL);
  CHECK(vkEndCommandBuffer(m->fill));
}

static void destroy(struct machine *m) {
  CHECK(vkDeviceWaitIdle(m->device));
  vkDestroyCommandPool(m->device, m->pool, NULL);
  vkDestroyBuffer(m->device, m->buffer, NULL);
  vkFreeMemory(m->device, m->memory, NULL);
  vkDestroyDevice(m->device, NULL);
  vkDestroyInstance(m->instance, NULL);
}

static VkSemaphore make_timeline(const struct machine *m) {
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkSemaphore timeline;
  CHECK(vkCreateSemaphore(m->device, &info, NULL, &timeline));
  return timeline;
}

/* A wait for its value says that the commands are done, and not that the driver is done with it. */
static void drop(const struct machine *m, VkSemaphore semaphore) {
  CHECK(vkDeviceWaitIdle(m->device));
  vkDestroySemaphore(m->device, semaphore, NULL);
}

static VkFence make_fence(const struct machine *m) {
  VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence;
  CHECK(vkCreateFence(m->device, &info, NULL, &fence));
  return fence;
}

/* The fill, behind timeline >= wait, then timeline = signal; 0: neither. */
static VkResult submit(const struct machine *m, VkQueue queue, VkSemaphore timeline, uint64_t wait,
                       uint64_t signal, VkFence fence) {
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = wait != 0,
                                          .pWaitSemaphoreValues = &wait,
                                          .signalSemaphoreValueCount = signal != 0,
                                          .pSignalSemaphoreValues = &signal};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &values,
                       .waitSemaphoreCount = wait != 0,
                       .pWaitSemaphores = &timeline,
                       .pWaitDstStageMask = &stages,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &m->fill,
                       .signalSemaphoreCount = signal != 0,
                       .pSignalSemaphores = &timeline};
  return vkQueueSubmit(queue, 1, &info, fence);
}

static VkResult await(const struct machine *m, VkSemaphore timeline, uint64_t value) {
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &timeline,
                              .pValues = &value};
  return vkWaitSemaphores(m->device, &info, UINT64_MAX);
}

static void host_signal(const struct machine *m, VkSemaphore timeline, uint64_t value) {
  VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = value};
  CHECK(vkSignalSemaphore(m->device, &info));
}

static void pause_ms(long ms) {
  struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
}

static void print_words(const char *kind, const struct machine *m) {
  printf("%s: %08x %08x\n", kind, m->words[0], m->words[SIZE / 4 - 1]);
}

/* ---- the kinds --------------------------------------------------------------------------------
 */

struct waiter {
  const struct machine *m;
  VkSemaphore timeline;
};

static void *wait_for_the_end(void *user) {
  const struct waiter *waiter = user;
  CHECK(await(waiter->m, waiter->timeline, 1));
  return NULL;
}

static void run_blocked(void) {
  struct machine m;
  pthread_t thread;
  make(&m, 0xb10c);
  VkSemaphore end = make_timeline(&m), steps = make_timeline(&m);
  struct waiter waiter = {&m, end};
  if (pthread_create(&thread, NULL, wait_for_the_end, &waiter) != 0) exit(1);
  for (uint64_t i = 1; i <= 200; i++) {
    CHECK(submit(&m, m.queues[i % 2], steps, i - 1, i, VK_NULL_HANDLE));
    if (i % 10 == 0) CHECK(await(&m, steps, i));
  }
  print_words("blocked", &m);
  host_signal(&m, end, 1);
  pthread_join(thread, NULL);
  drop(&m, steps);
  drop(&m, end);
  destroy(&m);
}

static void run_covers(void) {
  struct machine m;
  make(&m, 0xc0e5);
  VkSemaphore timeline = make_timeline(&m);
  uint64_t one = 1;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .signalSemaphoreValueCount = 1,
                                          .pSignalSemaphoreValues = &one};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &values,
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &timeline};
  CHECK(submit(&m, m.queues[0], VK_NULL_HANDLE, 0, 0, VK_NULL_HANDLE));
  CHECK(vkQueueSubmit(m.queues[0], 1, &info, VK_NULL_HANDLE));
  CHECK(await(&m, timeline, 1));
  print_words("covers", &m);
  drop(&m, timeline);
  destroy(&m);
}

static void run_crossed(void) {
  struct machine m;
  make(&m, 0xc055);
  VkSemaphore timeline = make_timeline(&m);
  CHECK(submit(&m, m.queues[1], timeline, 1, 2, VK_NULL_HANDLE));
  CHECK(submit(&m, m.queues[0], timeline, 0, 1, VK_NULL_HANDLE));
  CHECK(await(&m, timeline, 2));
  print_words("crossed", &m);
  drop(&m, timeline);
  destroy(&m);
}

static void *run_device(void *user) {
  struct machine *m = user;
  for (int round = 0; round < 20; round++) {
    make(m, 0xde71ce);
    VkSemaphore timeline = make_timeline(m);
    for (uint64_t i = 1; i <= 10; i++)
      CHECK(submit(m, m->queues[i % 2], timeline, i - 1, i, VK_NULL_HANDLE));
    CHECK(await(m, timeline, 10));
    if (round == 19) print_words("devices", m);
    drop(m, timeline);
    destroy(m);
  }
  return NULL;
}

static void run_devices(void) {
  struct machine machines[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, run_device, &machines[i]) != 0) exit(1);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void run_events(void) {
  struct machine m;
  VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandBufferCount = 1};
  VkCommandBuffer waits;
  VkEvent event;
  make(&m, 0xe7e);
  VkFence fence = make_fence(&m);
  CHECK(vkCreateEvent(m.device, &info, NULL, &event));
  allocate.commandPool = m.pool;
  CHECK(vkAllocateCommandBuffers(m.device, &allocate, &waits));
  CHECK(vkBeginCommandBuffer(waits, &begin));
  vkCmdWaitEvents(waits, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                  NULL, 0, NULL, 0, NULL);
  CHECK(vkEndCommandBuffer(waits));
  VkSubmitInfo submit_info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &waits};
  bool has_two = m.queues[0] != m.queues[1]; /* behind the event, on one queue, it would hang */
  if (has_two) CHECK(vkQueueSubmit(m.queues[0], 1, &submit_info, VK_NULL_HANDLE));
  CHECK(submit(&m, m.queues[1], VK_NULL_HANDLE, 0, 0, fence));
  CHECK(vkWaitForFences(m.device, 1, &fence, VK_TRUE, UINT64_MAX));
  if (!has_two) CHECK(vkQueueSubmit(m.queues[0], 1, &submit_info, VK_NULL_HANDLE));
  CHECK(vkSetEvent(m.device, event));
  print_words("events", &m);
  CHECK(vkDeviceWaitIdle(m.device));
  vkDestroyFence(m.device, fence, NULL);
  vkDestroyEvent(m.device, event, NULL);
  destroy(&m);
}

static void run_forks(void) {
  struct machine m;
  int status;
  make(&m, 0);
  destroy(&m);
  pid_t child = fork();
  if (child == 0) {
    run_polls();
    exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status) exit(1);
}

static volatile sig_atomic_t quits;
static void count_quit(int number) {
  (void)number;
  quits++;
}

static void run_handler(void) {
  struct machine m;
  signal(SIGQUIT, count_quit);
  make(&m, 0x4a);
  raise(SIGQUIT);
  printf("handler: %d\n", (int)quits);
  destroy(&m);
}

static void run_lost(void) {
  struct machine m;
  VkResult result = VK_SUCCESS;
  make(&m, 0x1057);
  VkSemaphore timeline = make_timeline(&m);
  for (uint64_t i = 1; i <= 20 && result == VK_SUCCESS; i++) {
    result = submit(&m, m.queues[i % 2], timeline, i - 1, i, VK_NULL_HANDLE);
    if (result == VK_SUCCESS && i % 4 == 0) result = await(&m, timeline, i);
  }
  puts(result == VK_ERROR_DEVICE_LOST ? "lost: VK_ERROR_DEVICE_LOST" : "lost: not lost");
  exit(0); /* what belongs to the device is not destroyed: some of it is still to come, for ever */
}

static void run_many(void) {
  struct machine m;
  make(&m, 0x3a4);
  VkSemaphore timeline = make_timeline(&m);
  CHECK(submit(&m, m.queues[0], timeline, 1, 2, VK_NULL_HANDLE));
  for (uint64_t i = 3; i <= 10000; i++)
    CHECK(submit(&m, m.queues[0], timeline, 0, i, VK_NULL_HANDLE));
  host_signal(&m, timeline, 1);
  CHECK(await(&m, timeline, 10000));
  print_words("many", &m);
  drop(&m, timeline);
  destroy(&m);
}

static void run_pingpong(void) {
  struct machine m;
  make(&m, 0x9199);
  VkSemaphore timeline = make_timeline(&m);
  for (uint64_t i = 0; i < 20; i++) {
    CHECK(submit(&m, m.queues[i % 2], timeline, 2 * i + 1, 2 * i + 2, VK_NULL_HANDLE));
    pause_ms(20);
    host_signal(&m, timeline, 2 * i + 1);
    CHECK(await(&m, timeline, 2 * i + 2));
  }
  print_words("pingpong", &m);
  drop(&m, timeline);
  destroy(&m);
}

/* The layer below takes the present, whatever the swapchain. */
static void run_presents(void) {
  struct machine m;
  VkSemaphoreCreateInfo binary = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  VkSemaphore drawn;
  VkSwapchainKHR chain = VK_NULL_HANDLE;
  uint32_t image = 0;
  make(&m, 0x5ee);
  CHECK(vkCreateSemaphore(m.device, &binary, NULL, &drawn));
  VkPresentInfoKHR show = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &drawn,
                           .swapchainCount = 1,
                           .pSwapchains = &chain,
                           .pImageIndices = &image};
  PFN_vkQueuePresentKHR present =
      (PFN_vkQueuePresentKHR)vkGetDeviceProcAddr(m.device, "vkQueuePresentKHR");
  if (!present) exit(1);
  for (int frame = 0; frame < 3; frame++) {
    CHECK(submit(&m, m.queues[0], drawn, 0, 1, VK_NULL_HANDLE));
    CHECK(present(m.queues[0], &show));
  }
  CHECK(vkDeviceWaitIdle(m.device));
  print_words("presents", &m);
  vkDestroySemaphore(m.device, drawn, NULL);
  destroy(&m);
}

static void run_queries(void) {
  struct machine m;
  uint64_t times[2] = {0, 0};
  VkQueryPool queries;
  VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                .queryCount = 2};
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  make(&m, 0);
  CHECK(vkCreateQueryPool(m.device, &info, NULL, &queries));
  CHECK(vkResetCommandPool(m.device, m.pool, 0));
  CHECK(vkBeginCommandBuffer(m.fill, &begin));
  vkCmdResetQueryPool(m.fill, queries, 0, 2);
  vkCmdWriteTimestamp(m.fill, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
  vkCmdWriteTimestamp(m.fill, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
  CHECK(vkEndCommandBuffer(m.fill));
  CHECK(submit(&m, m.queues[0], VK_NULL_HANDLE, 0, 0, VK_NULL_HANDLE));
  CHECK(vkGetQueryPoolResults(m.device, queries, 0, 2, sizeof times, times, sizeof times[0],
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  printf("queries: %s\n", times[0] && times[1] >= times[0] ? "both, in order" : "wrong");
  CHECK(vkDeviceWaitIdle(m.device));
  vkDestroyQueryPool(m.device, queries, NULL);
  destroy(&m);
}

static void run_reuse(void) {
  struct machine m;
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSemaphore semaphore;
  make(&m, 0x2e05e);
  CHECK(vkCreateSemaphore(m.device, &info, NULL, &semaphore));
  for (int i = 0; i < 20; i++) {
    VkSubmitInfo submits[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &semaphore},
                               {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &semaphore,
                                .pWaitDstStageMask = &stages}};
    CHECK(vkQueueSubmit(m.queues[0], 1, &submits[0], VK_NULL_HANDLE));
    CHECK(vkQueueSubmit(m.queues[0], 1, &submits[1], VK_NULL_HANDLE));
  }
  CHECK(submit(&m, m.queues[0], VK_NULL_HANDLE, 0, 0, VK_NULL_HANDLE));
  CHECK(vkDeviceWaitIdle(m.device));
  print_words("reuse", &m);
  drop(&m, semaphore);
  destroy(&m);
}

static void submit2(const struct machine *m, const VkSemaphoreSubmitInfo *wait,
                    const VkSemaphoreSubmitInfo *signals, uint32_t signal_count) {
  PFN_vkQueueSubmit2 call = (PFN_vkQueueSubmit2)vkGetDeviceProcAddr(m->device, "vkQueueSubmit2");
  VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                        .waitSemaphoreInfoCount = wait != NULL,
                        .pWaitSemaphoreInfos = wait,
                        .signalSemaphoreInfoCount = signal_count,
                        .pSignalSemaphoreInfos = signals};
  CHECK(call(m->queues[0], 1, &info, VK_NULL_HANDLE));
}

/* By what the narrow signal tells, the wide one may still be to come: no wait for it is "known". */
static void run_stages(void) {
  struct machine m;
  make(&m, 0);
  VkSemaphore narrow = make_timeline(&m), wide = make_timeline(&m);
  VkSemaphoreSubmitInfo signals[2] = {{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                       .semaphore = narrow,
                                       .value = 1,
                                       .stageMask = VK_PIPELINE_STAGE_2_COPY_BIT},
                                      {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                       .semaphore = wide,
                                       .value = 1,
                                       .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT}};
  VkSemaphoreSubmitInfo waits[2] = {signals[0], signals[1]};
  waits[0].stageMask = waits[1].stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  submit2(&m, NULL, signals, 2);
  submit2(&m, &waits[0], NULL, 0);
  submit2(&m, &waits[1], NULL, 0);
  submit2(&m, &waits[1], NULL, 0); /* known by the one before */
  puts("stages: submitted");
  CHECK(vkDeviceWaitIdle(m.device));
  drop(&m, wide);
  drop(&m, narrow);
  destroy(&m);
}

static void run_polls(void) {
  struct machine m;
  uint64_t value = 0;
  make(&m, 0x9011);
  VkSemaphore timeline = make_timeline(&m);
  VkFence fence = make_fence(&m);
  for (uint64_t i = 1; i <= 9; i++)
    CHECK(
        submit(&m, m.queues[i % 2], timeline, 0, i == 9 ? 1 : 0, i == 9 ? fence : VK_NULL_HANDLE));
  while (vkGetFenceStatus(m.device, fence) == VK_NOT_READY) pause_ms(1);
  while (value < 1) CHECK(vkGetSemaphoreCounterValue(m.device, timeline, &value));
  print_words("polls", &m);
  CHECK(vkDeviceWaitIdle(m.device));
  vkDestroyFence(m.device, fence, NULL);
  drop(&m, timeline);
  destroy(&m);
}

static void run_sleeps(void) {
  struct machine m;
  make(&m, 0x51ee);
  CHECK(submit(&m, m.queues[0], VK_NULL_HANDLE, 0, 0, VK_NULL_HANDLE));
  for (int i = 0; i < 1000 && ((volatile uint32_t *)m.words)[0] != 0x51ee; i++) pause_ms(10);
  CHECK(vkQueueWaitIdle(m.queues[0]));
  print_words("sleeps", &m);
  destroy(&m);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } kinds[] = {{"covers", run_covers},     {"blocked", run_blocked}, {"crossed", run_crossed},
               {"devices", run_devices},   {"events", run_events},   {"forks", run_forks},
               {"handler", run_handler},   {"lost", run_lost},       {"many", run_many},
               {"pingpong", run_pingpong}, {"polls", run_polls},     {"presents", run_presents},
               {"queries", run_queries},   {"reuse", run_reuse},     {"sleeps", run_sleeps},
               {"stages", run_stages}};
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (argc != 2 || strcmp(argv[1], kinds[i].name) != 0) continue;
    kinds[i].run();
    return 0;
  }
  fputs("usage: vulkan-calls KIND, as the top of calls.c lists them\n", stderr);
  return 2;
}
