/* wic/uffd.h: who may handle page faults. */
#ifndef TIDE_WIC_UFFD_H
#define TIDE_WIC_UFFD_H

#include "tidemark/base.h"

/* A descriptor of userfaultfd with these features, of the kernel's own faults included where that
 * is allowed. TIDE_DENIED, TIDE_UNSUPPORTED, TIDE_FULL, TIDE_NOMEM: then there is none. */
enum tide_status tide_uffd_open(uint64_t features, int *out_fd, bool *out_user_only);

/* What stands waiting for a page, at most so many at once: how far behind `base` each touched. */
#define TIDE_UFFD_BATCH 16
size_t tide_uffd_faults(int fd, const void *base, size_t out_offsets[TIDE_UFFD_BATCH]);

#endif
