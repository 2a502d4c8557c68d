/* wic/uffd.h: descriptors of userfaultfd. */
#ifndef TIDE_WIC_UFFD_H
#define TIDE_WIC_UFFD_H

#include "tidemark/base.h"

/* Opens a userfaultfd descriptor with these features. Where permitted it also handles the kernel's
 * own faults; *out_user_only tells. TIDE_DENIED, TIDE_UNSUPPORTED, TIDE_FULL, TIDE_NOMEM: no
 * descriptor was opened. */
enum tide_status tide_uffd_open(uint64_t features, int *out_fd, bool *out_user_only);

/* Reads at most TIDE_UFFD_BATCH pending faults: the touched addresses as offsets from `base`.
 * Returns their number. */
#define TIDE_UFFD_BATCH 16
size_t tide_uffd_faults(int fd, const void *base, size_t out_offsets[TIDE_UFFD_BATCH]);

#endif
