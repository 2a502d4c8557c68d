/* What the policy promises, beside what the process may have. */
#include "service_rig.h"

struct told {
  char text[1024];
  size_t length;
};

/* In a process that may have so many descriptors and bytes of address space; 0: as many as we. */
static struct told told_of(const char *policy, uint64_t descriptors, uint64_t bytes) {
  char folder[] = "/tmp/tidemark-test-XXXXXX", path[64];
  struct told told;
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/socket", folder);
  struct tide_service_params params = {.struct_size = sizeof params,
                                       .socket = path,
                                       .policy = policy,
                                       .policy_length = strlen(policy),
                                       .workers = 1};
  struct tide_service *service;
  CHECK_OK(tide_service_create(&params, &service, NULL));
  struct rlimit limit;
  if (descriptors) {
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = descriptors;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  if (bytes) {
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  told.length = tide_service_shortages(service, told.text, sizeof told.text);
  /* Cut, it says how long it would be. */
  char few[20];
  CHECK_EQ_U64(tide_service_shortages(service, few, sizeof few), told.length);
  CHECK(strncmp(few, told.text, sizeof few - 1) == 0);
  CHECK_EQ_U64(tide_service_shortages(service, NULL, 0), told.length);
  tide_service_destroy(service);
  rmdir(folder);
  return told;
}

static const char few_quotas[] = "clients 4\ndefault bytes 1M buffers 1 operations 4\n";

TEST(quotas_that_fit_are_not_told) {
  struct told told = told_of(few_quotas, 41, 0); /* 16, 5 for each client and for one that leaves */
  CHECK_EQ_STR(told.text, "");
  CHECK_EQ_U64(told.length, 0);
}

TEST(descriptors_that_are_too_few) {
  struct told told = told_of(few_quotas, 40, 0);
  CHECK_EQ_STR(told.text, "the policy promises more descriptors than the process may have: 41 for "
                          "4 clients and those that leave, but 40 (RLIMIT_NOFILE)\n");
}

TEST(an_address_space_that_is_too_small) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  SKIP("the sanitizer's own address space is larger than any limit");
#endif
  struct told told = told_of("clients 64\ndefault bytes 64M connections 64", 0, 1u << 30);
  CHECK(strstr(told.text, "more address space") &&
        strstr(told.text, "for 64 clients and those that leave, but 1.0 GiB (RLIMIT_AS)\n"));
}

TEST(memory_that_is_not_there) {
  struct told told = told_of("clients 4096\ndefault bytes 1024G", 0, 0);
  CHECK(strstr(told.text, "more memory than the process may have: 4607.0 TiB for 4096 clients and "
                          "those that leave, but "));
  CHECK(strstr(told.text, "(this machine)\n") || strstr(told.text, "(memory.max)\n"));
}

/* Clients with rules of their own count as many as may connect. */
TEST(rules_of_single_uids) {
  static const struct {
    const char *policy, *clients;
  } rows[] = {
      {"clients 100\ndefault denied\nuid 7 allowed connections 3 bytes 1G", "for 3 clients"},
      {"clients 2\ndefault denied\nuid 7 allowed connections 3 bytes 1G", "for 2 clients"},
      {"clients 100\ndefault connections 0\nuid 7 connections 3 bytes 1G\nuid 8 connections 4 "
       "bytes 1",
       "for 7 clients"},
      {"clients 100\nuid 7 connections 3 bytes 1G", "for 100 clients"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct told told = told_of(rows[i].policy, 20, 0);
    if (!strstr(told.text, rows[i].clients)) FAIL("row %u: %s", (unsigned)i, told.text);
  }
}

/* Each need has its own worst crowd, those with the largest need first, in any order of the lines.
 */
TEST(each_need_is_that_of_its_worst_crowd) {
  static const struct {
    const char *policy, *descriptors;
  } rows[] = {
      /* 5 of uid 7 and 2 that leave, and 5 others */
      {"clients 10\ndefault bytes 1G buffers 1\nuid 7 connections 5 bytes 1 buffers 100",
       "have: 769 for 10 clients"},
      /* 2 of uid 8, and 1 that leaves */
      {"clients 2\ndefault denied\nuid 7 allowed connections 2 buffers 1\n"
       "uid 8 allowed connections 2 buffers 100",
       "have: 328 for 2 clients"},
      {"clients 2\ndefault denied\nuid 8 allowed connections 2 buffers 100\n"
       "uid 7 allowed connections 2 buffers 1",
       "have: 328 for 2 clients"},
      /* A uid with one connection has none that leaves beside it. */
      {"clients 2\ndefault denied\nuid 7 allowed connections 1 buffers 100",
       "have: 120 for 1 clients"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct told told = told_of(rows[i].policy, 20, 0);
    if (!strstr(told.text, rows[i].descriptors)) FAIL("row %u: %s", (unsigned)i, told.text);
  }
}

TEST_MAIN(CASE(quotas_that_fit_are_not_told), CASE(descriptors_that_are_too_few),
          CASE(an_address_space_that_is_too_small), CASE(memory_that_is_not_there),
          CASE(rules_of_single_uids), CASE(each_need_is_that_of_its_worst_crowd))
