/* wic/region.h: memory with two views, and what the kernel does for one of them: it stalls whoever
 * loads from a page that is missing, maps pages, takes them back. */
#ifndef TIDE_WIC_REGION_H
#define TIDE_WIC_REGION_H

#include "wic/uffd.h"

struct tide_region {
  char *reader, *writer; /* the same pages; the reader's are missing until they are mapped */
  size_t bytes, page;
  int memory, faults; /* descriptors; `faults`: of userfaultfd */
  bool user_only, signals;
};

/* signals: who faults gets SIGBUS and is not stalled. TIDE_DENIED, TIDE_UNSUPPORTED, TIDE_FULL,
 * TIDE_NOMEM. */
enum tide_status tide_region_open(struct tide_region *region, const char *label, size_t bytes,
                                  bool signals);
void tide_region_close(struct tide_region *region);
/* Bytes a page. */
size_t tide_region_page(void);

/* Pages appear, and whoever is stalled on them goes on. */
void tide_region_map(struct tide_region *region, size_t offset, size_t bytes);
/* Whoever is stalled there tries again. */
void tide_region_wake(struct tide_region *region, size_t offset, size_t bytes);
/* Pages are missing again: nobody reads them. */
void tide_region_drop(struct tide_region *region, size_t offset, size_t bytes);
/* Zeros appear, whatever the writers' view holds, and whoever is stalled goes on. Until restored.
 */
enum tide_status tide_region_blank(struct tide_region *region, size_t offset, size_t bytes);
enum tide_status tide_region_restore(struct tide_region *region, size_t offset, size_t bytes);

/* Takes faults that came, their offsets, without blocking; how many. */
size_t tide_region_faults(struct tide_region *region, size_t out_offsets[TIDE_UFFD_BATCH]);

#endif
