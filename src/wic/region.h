/* wic/region.h: memory with two views. In the readers' view the kernel stalls a thread that loads
 * from a missing page, maps pages, and drops them. */
#ifndef TIDE_WIC_REGION_H
#define TIDE_WIC_REGION_H

#include "wic/uffd.h"

struct tide_region {
  char *reader,
      *writer; /* two mappings of the same pages; the reader's are missing until they are mapped */
  size_t bytes, page;
  int memory, faults; /* descriptors: of the memory, and of userfaultfd */
  bool user_only, signals;
};

/* Opens a region. `signals`: a faulting thread gets SIGBUS and is not stalled. TIDE_DENIED,
 * TIDE_UNSUPPORTED, TIDE_FULL, TIDE_NOMEM. */
enum tide_status tide_region_open(struct tide_region *region, const char *label, size_t bytes,
                                  bool signals);
void tide_region_close(struct tide_region *region);
/* Returns the bytes of a page. */
size_t tide_region_page(void);

/* Maps pages and wakes the threads that are stalled on them. */
void tide_region_map(struct tide_region *region, size_t offset, size_t bytes);
/* Makes the threads that are stalled there retry their loads. */
void tide_region_wake(struct tide_region *region, size_t offset, size_t bytes);
/* Makes pages missing again. No thread may be reading them. */
void tide_region_drop(struct tide_region *region, size_t offset, size_t bytes);
/* Shows zeros, regardless of the writers' view, and wakes the stalled threads. The zeros stay until
 * tide_region_restore. */
enum tide_status tide_region_blank(struct tide_region *region, size_t offset, size_t bytes);
enum tide_status tide_region_restore(struct tide_region *region, size_t offset, size_t bytes);

/* Reads pending faults, as offsets, without blocking. Returns their number. */
size_t tide_region_faults(struct tide_region *region, size_t out_offsets[TIDE_UFFD_BATCH]);

#endif
