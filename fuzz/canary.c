/* A planted bug: crashes on one word out of 2^48. Guessing will not find it; following
 * coverage does, letter by letter. ./test fails when the fuzzer does *not* find it. */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char word[] = "canary";
  for (size_t i = 0; i < 6; i++) {
    if (i >= size || data[i] != (uint8_t)word[i]) return 0;
  }
  __builtin_trap();
}
