/* As a user sees it: the shared library and the installed headers, nothing else. */
#include "tidemark/base.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  if (strcmp(tide_status_name(TIDE_OK), "TIDE_OK") != 0) {
    puts("FAIL links_and_calls: tide_status_name");
    return 1;
  }
  puts("PASS links_and_calls");
  return 0;
}
