/* device/descriptor_copy.h: a duplicate of a caller's descriptor. */
#ifndef TIDE_DEVICE_DESCRIPTOR_COPY_H
#define TIDE_DEVICE_DESCRIPTOR_COPY_H

#include "tidemark/base.h"

/* The duplicate is closed on exec. TIDE_INVALID: no open descriptor; TIDE_FULL: none is left. */
enum tide_status tide_descriptor_copy(int descriptor, int *out_copy, struct tide_diag *diag);

#endif
