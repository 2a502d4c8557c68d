/* tidemark/tidemark.h: everything. */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include "tidemark/base.h"
#include "tidemark/causal.h"
#include "tidemark/timeline.h"
#include "tidemark/memory.h"
#include "tidemark/sched.h"
#include "tidemark/backend.h"

#endif
