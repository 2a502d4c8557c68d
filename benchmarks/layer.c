/* What the Vulkan layer adds to a submit: empty submissions, each with a wait for the one before
 * and a signal, and a host wait for every sixteenth. A child for each round: the loader takes
 * layers from the environment when an instance is made. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define SUBMISSIONS 20000
#define IN_FLIGHT 16

enum { CALL, WHOLE };

struct program {
  VkInstance instance;
  VkDevice device;
  VkQueue queue;
  VkSemaphore timeline;
};

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static bool make_program(struct program *program) {
  static const float priority = 1;
  VkPhysicalDevice physical;
  uint32_t count = 1;
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_2};
  VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                   .pApplicationInfo = &application};
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkPhysicalDeviceVulkan12Features features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
  VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                     .pNext = &type};
  if (vkCreateInstance(&instance, NULL, &program->instance) != VK_SUCCESS ||
      vkEnumeratePhysicalDevices(program->instance, &count, &physical) < 0 || !count ||
      vkCreateDevice(physical, &device, NULL, &program->device) != VK_SUCCESS)
    return false;
  vkGetDeviceQueue(program->device, 0, 0, &program->queue);
  return vkCreateSemaphore(program->device, &semaphore, NULL, &program->timeline) == VK_SUCCESS;
}

static void submit(const struct program *program, uint64_t number) {
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  uint64_t wait = number - 1;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = 1,
                                          .pWaitSemaphoreValues = &wait,
                                          .signalSemaphoreValueCount = 1,
                                          .pSignalSemaphoreValues = &number};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &values,
                       .waitSemaphoreCount = 1,
                       .pWaitSemaphores = &program->timeline,
                       .pWaitDstStageMask = &stages,
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &program->timeline};
  if (vkQueueSubmit(program->queue, 1, &info, VK_NULL_HANDLE) != VK_SUCCESS) _exit(1);
}

static void await(const struct program *program, uint64_t number) {
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &program->timeline,
                              .pValues = &number};
  if (vkWaitSemaphores(program->device, &info, UINT64_MAX) != VK_SUCCESS) _exit(1);
}

static void run_program(double out_values[2]) {
  struct program program;
  double in_calls = 0, begin;
  if (!make_program(&program)) _exit(2);
  begin = now_ns();
  for (uint64_t number = 1; number <= SUBMISSIONS; number++) {
    double before = now_ns();
    submit(&program, number);
    in_calls += now_ns() - before;
    if (number % IN_FLIGHT == 0) await(&program, number);
  }
  out_values[CALL] = in_calls / SUBMISSIONS;
  out_values[WHOLE] = (now_ns() - begin) / SUBMISSIONS;
}

/* Chooses the layer of this build, even where another one is installed. */
static bool choose_layer(const char *mode) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
  char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
  if (!mode) return true;
  if (!slash) return false;
  strcpy(slash, "/layer");
  return setenv("VK_LAYER_PATH", path, 1) == 0 &&
         setenv("VK_INSTANCE_LAYERS", "VK_LAYER_TIDEMARK_causality", 1) == 0 &&
         setenv("TIDEMARK_VULKAN", mode, 1) == 0;
}

static const char *measure(const void *what, unsigned side, double *out_values) {
  const char *const *modes = what;
  int ends[2], status;
  if (pipe(ends) != 0) return "no pipe";
  pid_t child = fork();
  if (child < 0) return "no process";
  if (child == 0) {
    double values[2];
    if (!choose_layer(modes[side])) _exit(2);
    run_program(values);
    _exit(write(ends[1], values, sizeof values) == sizeof values ? 0 : 1);
  }
  close(ends[1]);
  bool good = read(ends[0], out_values, 2 * sizeof *out_values) == 2 * sizeof *out_values;
  close(ends[0]);
  if (waitpid(child, &status, 0) != child || !good) return "no Vulkan driver with timelines";
  return NULL;
}

static const char *const modes[] = {"explain", "audit", "explore,seed=1", NULL};
static const struct bench_contest submits = {
    .sides = {"explain", "audit", "explore", "the driver alone"},
    .values = {{"vkQueueSubmit", "ns", BENCH_LESS}, {"all, a submission", "ns", BENCH_LESS}},
    .measure = measure,
    .what = modes};

const struct bench_figure bench_layer[] = {{.name = "submit", .contest = &submits, .rounds = 9},
                                           {0}};
