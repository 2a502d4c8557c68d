/* Consumers that load what a failed operation was to announce: the signal of 5 fails, and a fault
 * that waits for 3 is answered with zeros and the failure, early or late. */
#include "wic_rig.h"

static enum tide_status wait_and_fail(void *arguments) {
  const bool *go = *(const bool **)arguments;
  while (!__atomic_load_n(go, __ATOMIC_ACQUIRE)) usleep(100);
  return tide_body_report(TIDE_IO, 5, "the camera is gone");
}
static const struct tide_body_class failing = {.name = "failing", .host = wait_and_fail};

TEST(faults_hear_of_a_failed_signal) {
  struct rig rig;
  struct reader early, late;
  struct tide_device *device;
  struct tide_queue *queue;
  struct tide_failure why;
  bool go = false, *address = &go;
  rig_open(&rig, TIDE_PARAMS(tide_medium_params, .pages = 64));
  CHECK_OK(tide_cpu_open(rig.context, NULL, &device));
  CHECK_OK(tide_queue_create(device, NULL, &queue));
  struct tide_signal five = {.timeline = rig.line, .value = 5};
  struct tide_operation operation = {.label = "capture",
                                     .body = &failing,
                                     .arguments = &address,
                                     .arguments_size = sizeof address,
                                     .signals = &five,
                                     .signal_count = 1};
  CHECK_OK(tide_queue_submit(queue, &operation, NULL, NULL));
  struct tide_request request = rig_wants(&rig, 3, 8192);
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  reader_start(&early, &rig, request, 0);
  rig_until_stalled(&rig, 1);
  __atomic_store_n(&go, true, __ATOMIC_RELEASE);
  reader_join(&early, TIDE_IO);
  request = rig_wants(&rig, 3, 8192);
  CHECK_OK(tide_medium_request(rig.medium, &request, 1));
  reader_start(&late, &rig, request, 0);
  reader_join(&late, TIDE_IO);
  CHECK(tide_timeline_failure(rig.line, 3, &why) && why.code == 5);
  CHECK(strcmp(why.operation, "capture") == 0 && strcmp(why.text, "the camera is gone") == 0);
  tide_queue_destroy(queue);
  tide_device_close(device);
  rig_close(&rig);
}

TEST_MAIN(CASE(faults_hear_of_a_failed_signal))
