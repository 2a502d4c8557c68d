/* A parameter struct without its size: the refusal says so, wherever the call has room for it. */
#include "harness.h"

#include "base/params.h"
#include "tidemark/cuda.h"
#include "tidemark/run.h"
#include "tidemark/service.h"
#include "tidemark/sim.h"
#include "tidemark/vulkan.h"

#include <stdio.h>
#include <string.h>

#define MISSING(type)                                                                              \
  "struct_size of struct " #type " is missing: it is 0, expected sizeof(struct " #type ")"

#define REFUSED(type, call)                                                                        \
  do {                                                                                             \
    struct type none = {.struct_size = 0};                                                         \
    struct tide_diag diag = {.status = TIDE_OK};                                                   \
    CHECK_STATUS(call, TIDE_INVALID);                                                              \
    CHECK_EQ_STR(diag.text, MISSING(type));                                                        \
    CHECK_STATUS(diag.status, TIDE_INVALID);                                                       \
  } while (0)

TEST(a_diag_says_that_the_size_is_missing) {
  struct tide_run *run;
  struct tide_simulation *simulation;
  struct tide_session *session;
  struct tide_service *service;
  struct tide_device *device;
  struct tide_context *context;
  CHECK_OK(tide_context_create(NULL, &context));
  REFUSED(tide_run_params, tide_run_create(&none, &diag, &run));
  REFUSED(tide_simulation_params, tide_simulate(&none, &diag, &simulation));
  REFUSED(tide_session_params, tide_session_connect(&none, &session, &diag));
  REFUSED(tide_service_params, tide_service_create(&none, &service, &diag));
  REFUSED(tide_cuda_params, tide_cuda_open(context, &none, &device, &diag));
  REFUSED(tide_vulkan_params, tide_vulkan_open(context, &none, &device, &diag));
  tide_context_destroy(context);
}

TEST(a_report_says_that_the_size_is_missing) {
  struct tide_diag diag = {.status = TIDE_OK};
  struct tide_report report = {.diags = &diag, .capacity = 1, .count = 7};
  struct tide_program *program;
  struct tide_plan *plan;
  CHECK_STATUS(
      tide_program_parse(&(struct tide_program_params){.struct_size = 0}, &report, &program),
      TIDE_INVALID);
  CHECK_EQ_U64(report.count, 1);
  CHECK_EQ_STR(diag.text, MISSING(tide_program_params));
  CHECK_STATUS(tide_plan_create(NULL, &(struct tide_plan_params){.struct_size = 0}, &report, &plan),
               TIDE_INVALID);
  CHECK_EQ_U64(report.count, 1);
  CHECK_EQ_STR(diag.text, MISSING(tide_plan_params));
}

TEST(a_newer_struct_is_named) {
  struct {
    size_t struct_size;
    uint64_t field, newer;
  } given = {sizeof given, 1, 2};
  struct {
    size_t struct_size;
    uint64_t field;
  } own;
  struct tide_diag diag = {.status = TIDE_OK};
  CHECK_STATUS(tide_params_copy_named(&own, sizeof own, &given, "some_params", &diag),
               TIDE_UNSUPPORTED);
  CHECK_EQ_STR(diag.text,
               "struct some_params has 24 bytes, and sets a field that this library does "
               "not know: there it has 16");
  given.newer = 0;
  CHECK_OK(tide_params_copy_named(&own, sizeof own, &given, "some_params", &diag));
  CHECK(own.field == 1 && own.struct_size == sizeof own);
  CHECK_OK(tide_params_copy_named(&own, sizeof own, NULL, "some_params", NULL));
  CHECK(own.field == 0);
}

TEST_MAIN(CASE(a_diag_says_that_the_size_is_missing), CASE(a_report_says_that_the_size_is_missing),
          CASE(a_newer_struct_is_named))
