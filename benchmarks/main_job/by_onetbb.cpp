/* oneTBB's parallel_pipeline: read, measure and write are filters; four strips are under way. */
#include "hand_job.h"

#include <memory>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_pipeline.h>

namespace tbb = oneapi::tbb;

enum { WINDOW = 4 };

struct window {
  size_t strip;
  std::unique_ptr<unsigned char[]> raw, soft;
};

int main(int argc, char **argv) {
  struct job job;
  job_open(&job, argc, argv);
  window windows[WINDOW];
  for (window &one : windows) {
    one.raw.reset(new unsigned char[job_strip_most(&job)]);
    one.soft.reset(new unsigned char[job_strip_most(&job)]);
  }
  size_t next = 0;
  tbb::parallel_pipeline(
      WINDOW,
      tbb::make_filter<void, window *>(tbb::filter_mode::serial_in_order,
                                       [&](tbb::flow_control &control) -> window * {
                                         if (next == job.strips) {
                                           control.stop();
                                           return nullptr;
                                         }
                                         window *one = &windows[next % WINDOW];
                                         one->strip = next++;
                                         return one;
                                       }) &
          tbb::make_filter<window *, window *>(
              tbb::filter_mode::parallel,
              [&](window *one) {
                job_read(&job, one->strip, one->raw.get());
                job_measure(&job, one->strip, one->raw.get(), one->soft.get());
                job_write(&job, one->strip, one->soft.get());
                return one;
              }) &
          tbb::make_filter<window *, void>(tbb::filter_mode::serial_in_order, [](window *) {}));
  tbb::parallel_invoke([&] { job_finish(&job); }, [&] { job_sync(&job); });
  return 0;
}
