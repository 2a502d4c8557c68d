/* Semaphores that two VkDevices share by a descriptor: over a driver without a GPU, and over the
 * one that is installed, where it has them. */
#include "fake_vulkan.h"

#include "tidemark/cpu.h"
#include "tidemark/tidemark.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

/* A process: a context with a VkDevice. */
struct side {
  struct tide_context *context;
  struct tide_device *gpu;
  VkSemaphore semaphore;
};
static struct side first, second;
static struct tide_diag diag;

static void open_fake(struct side *side) {
  struct tide_vulkan_params params = fake_vulkan_params();
  CHECK_OK(tide_context_create(NULL, &side->context));
  CHECK_OK(tide_vulkan_open(side->context, &params, &side->gpu, &diag));
}

static void open_real(struct side *side) {
  if (test_slowdown() > 1) SKIP("a Vulkan driver under a sanitizer");
  CHECK_OK(tide_context_create(NULL, &side->context));
  enum tide_status status = tide_vulkan_open(side->context, NULL, &side->gpu, &diag);
  if (status == TIDE_UNSUPPORTED) SKIP("%s", diag.text);
  CHECK_OK(status);
}

static struct tide_timeline *make_line(struct side *side) {
  struct tide_timeline *line;
  CHECK_OK(tide_timeline_create(side->context, NULL, &line));
  return line;
}

static void destroy(struct side *side) {
  tide_vulkan_semaphore_destroy(side->gpu, side->semaphore);
  tide_context_destroy(side->context);
}

/* What one side signals reaches the other one, which answers; both sides need two semaphores. */
static void play(void) {
  struct side answer[2] = {first, second};
  int there, back;
  CHECK_OK(tide_vulkan_semaphore_create(first.gpu, &first.semaphore, &there, &diag));
  CHECK_OK(tide_vulkan_semaphore_open(second.gpu, there, &second.semaphore, &diag));
  CHECK_OK(tide_vulkan_semaphore_create(second.gpu, &answer[1].semaphore, &back, &diag));
  CHECK_OK(tide_vulkan_semaphore_open(first.gpu, back, &answer[0].semaphore, &diag));
  CHECK(close(there) == 0 && close(back) == 0); /* they are the caller's */
  struct tide_timeline *ping = make_line(&first), *pong = make_line(&second), *seen, *answered;
  CHECK_OK(tide_vulkan_import(second.gpu, second.semaphore, "seen", &seen, &diag));
  CHECK_OK(tide_vulkan_import(first.gpu, answer[0].semaphore, "answered", &answered, &diag));
  for (uint64_t i = 1; i <= 20; i++) {
    CHECK_OK(tide_vulkan_export(first.gpu, ping, i, first.semaphore, i, &diag));
    CHECK_OK(tide_vulkan_export(second.gpu, pong, i, answer[1].semaphore, 2 * i, &diag));
    CHECK_STATUS(tide_timeline_wait(seen, i, 0), TIDE_TIMEOUT);
    CHECK_OK(tide_timeline_signal_external(ping, i));
    CHECK_OK(tide_timeline_wait(seen, i, TIDE_FOREVER));
    CHECK_OK(tide_timeline_signal_external(pong, i));
    CHECK_OK(tide_timeline_wait(answered, 2 * i, TIDE_FOREVER));
  }
  tide_vulkan_release(second.gpu, seen);
  tide_vulkan_release(first.gpu, answered);
  for (int i = 0; i < 2; i++) tide_vulkan_semaphore_destroy(answer[i].gpu, answer[i].semaphore);
  destroy(&second);
  destroy(&first);
}

TEST(two_devices_share_semaphores) {
  fake_vulkan.shares = true;
  open_fake(&first), open_fake(&second);
  play();
  CHECK_EQ_U64(fake_vulkan.wrong, 0);
  for (uint32_t i = 0; i < fake_vulkan.semaphore_count; i++)
    CHECK(!fake_vulkan.semaphores[i].exists);
}

TEST(a_driver_without_them_says_so) {
  int descriptor = -1;
  VkSemaphore semaphore;
  open_fake(&first);
  uint32_t count = fake_vulkan.semaphore_count;
  CHECK_STATUS(tide_vulkan_semaphore_create(first.gpu, &semaphore, &descriptor, &diag),
               TIDE_UNSUPPORTED);
  CHECK(strstr(diag.text, "fake shares no timeline semaphores"));
  CHECK_STATUS(tide_vulkan_semaphore_open(first.gpu, 0, &semaphore, &diag), TIDE_UNSUPPORTED);
  CHECK(descriptor == -1 && fake_vulkan.semaphore_count == count);
  tide_context_destroy(first.context);
}

static uint32_t live_semaphores(void) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < fake_vulkan.semaphore_count; i++)
    live += fake_vulkan.semaphores[i].exists;
  return live;
}

TEST(wrong_descriptors_are_refused) {
  int descriptor = -1, file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  VkSemaphore semaphore;
  struct rlimit limit;
  fake_vulkan.shares = true;
  open_fake(&first);
  uint32_t live = live_semaphores();
  CHECK_STATUS(tide_vulkan_semaphore_open(first.gpu, -1, &semaphore, &diag), TIDE_INVALID);
  CHECK_STATUS(tide_vulkan_semaphore_open(first.gpu, file, &semaphore, &diag), TIDE_INVALID);
  CHECK(strstr(diag.text, "importing a semaphore's descriptor"));
  CHECK(fcntl(file, F_GETFD) != -1);
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = (rlim_t)file + 1;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK_STATUS(tide_vulkan_semaphore_open(first.gpu, file, &semaphore, &diag), TIDE_FULL);
  limit.rlim_cur = before;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  fake_vulkan.refuse_shares = 1;
  CHECK_STATUS(tide_vulkan_semaphore_create(first.gpu, &semaphore, &descriptor, &diag), TIDE_NOMEM);
  CHECK_EQ_U64(live_semaphores(), live);
  close(file);
  tide_context_destroy(first.context);
}

TEST(real_devices_share_semaphores) {
  int descriptor;
  open_real(&first), open_real(&second);
  enum tide_status status =
      tide_vulkan_semaphore_create(first.gpu, &first.semaphore, &descriptor, &diag);
  if (status == TIDE_UNSUPPORTED) SKIP("%s", diag.text);
  CHECK_OK(status);
  close(descriptor);
  tide_vulkan_semaphore_destroy(first.gpu, first.semaphore);
  play();
}

TEST_MAIN(CASE(two_devices_share_semaphores), CASE(a_driver_without_them_says_so),
          CASE(wrong_descriptors_are_refused), CASE(real_devices_share_semaphores))
