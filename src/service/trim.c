/* Freed memory goes back to the system.
 *
 * malloc keeps freed memory that lies below memory in use. So hundreds of megabytes stay after a
 * rush of clients. The serving thread gives them back when it has nothing else to do. That takes
 * about a millisecond for four megabytes, so it begins soon after the first memory was freed, and
 * takes at most a tenth of the time. */
#include "service/served.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define DELAY 100000000ull /* ns from the first freed memory on: most of the others follow */
#define SHARE 10u          /* 1 / SHARE of the time */

void tide_trim_note(struct tide_service *service) {
  uint64_t at = tide_service_now() + DELAY;
  if (service->trim_at != TIDE_FOREVER || service->params.allocator) return;
  service->trim_at = at > service->trim_next ? at : service->trim_next;
}

void tide_trim_if_due(struct tide_service *service) {
  uint64_t begin = tide_service_now();
  if (begin < service->trim_at) return;
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
  uint64_t end = tide_service_now();
  service->trim_at = TIDE_FOREVER;
  service->trim_next = end + (SHARE - 1) * (end - begin);
}
