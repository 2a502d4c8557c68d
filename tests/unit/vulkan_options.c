/* The words that `tidemark vulkan` hands to the layer in the environment. */
#include "harness.h"

#include "layer/options.h"
#include "layer/protocol.h"

#include <string.h>

static struct layer_options read_good(const char *text) {
  struct layer_options options;
  char why[256] = "";
  if (!layer_options_parse(&options, text, why, sizeof why)) FAIL("'%s': %s", text, why);
  return options;
}

/* Refused, with a message that names the word and its column. */
static void check_refused(const char *text, const char *word, const char *column) {
  struct layer_options options;
  char why[256] = "";
  CHECK(!layer_options_parse(&options, text, why, sizeof why));
  CHECK(strstr(why, word) != NULL);
  CHECK(strstr(why, column) != NULL);
}

TEST(modes) {
  CHECK_EQ_U64(read_good("explain").mode, LAYER_EXPLAIN);
  CHECK_EQ_U64(read_good("audit").mode, LAYER_AUDIT);
  struct layer_options options = read_good("explore");
  CHECK_EQ_U64(options.mode, LAYER_EXPLORE);
  CHECK_EQ_U64(options.seed, 0);
  CHECK_EQ_U64(options.queues, 3);
  CHECK_EQ_U64(options.prefix, UINT64_MAX);
  CHECK(!options.families && !options.in_queue && !options.trace && !options.is_off);
}

TEST(all_words) {
  struct layer_options options = read_good(
      "explore,seed=18446744073709551615,queues=16,families,in-queue,drop-edge=7,drop=own+needed,"
      "after=3:4,prefix=0,trace");
  CHECK_EQ_U64(options.seed, UINT64_MAX);
  CHECK_EQ_U64(options.queues, TIDE_VULKAN_QUEUES_MOST);
  CHECK(options.families && options.in_queue && options.trace);
  CHECK_EQ_U64(options.drop_edge, 7);
  CHECK_EQ_U64(options.dropped_classes, 1u << 2 | 1u << 4);
  CHECK_EQ_U64(options.after_first, 3);
  CHECK_EQ_U64(options.after_second, 4);
  CHECK_EQ_U64(options.prefix, 0);
}

TEST(wrong_words) {
  check_refused("", "explain, explore or audit", "column 1");
  check_refused("explorer", "'explorer'", "column 1");
  check_refused("seed=1", "'seed=1'", "column 1");
  check_refused("explore,", "''", "column 9");
  check_refused("explore,seed=", "'seed='", "column 9");
  check_refused("explore,seed=18446744073709551616", "18446744073709551616", "column 9");
  check_refused("explore,seed=-1", "'seed=-1'", "column 9");
  check_refused("explore,queues=0", "'queues=0'", "column 9");
  check_refused("explore,queues=17", "'queues=17'", "column 9");
  check_refused("explore,families,queues", "'queues'", "column 18");
  check_refused("explore,drop=", "'drop='", "column 9");
  check_refused("explore,drop=own+", "'drop=own+'", "column 9");
  check_refused("explore,drop=owned", "'drop=owned'", "column 9");
  check_refused("explore,after=3", "'after=3'", "column 9");
  check_refused("explore,after=0:3", "'after=0:3'", "column 9");
  check_refused("explore,after=3:", "'after=3:'", "column 9");
  check_refused("explore,families=1", "'families=1'", "column 9");
}

TEST_MAIN(CASE(modes), CASE(all_words), CASE(wrong_words))
