/* tidemark/tidemark.h: all public headers, of three libraries; a program links those that it uses.
 */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include "tidemark/base.h"
#include "tidemark/clock.h"
#include "tidemark/causal.h"
#include "tidemark/context.h"
#include "tidemark/timeline.h"
#include "tidemark/shared.h"
#include "tidemark/point.h"
#include "tidemark/memory.h"
#include "tidemark/device.h"
#include "tidemark/queue.h"
#include "tidemark/channel.h"
#include "tidemark/backend.h"
#include "tidemark/body.h"
#include "tidemark/cpu.h"
#include "tidemark/file.h"
#include "tidemark/cuda.h"
#include "tidemark/descriptor.h"
#include "tidemark/fiber.h"
#include "tidemark/wic.h"
#include "tidemark/service.h"
#include "tidemark/cluster.h"

/* libtidemark-lang */
#include "tidemark/trace.h"
#include "tidemark/program.h"
#include "tidemark/run.h"
#include "tidemark/sim.h"
#include "tidemark/kernel.h"

/* libtidemark-mods */
#include "tidemark/mods.h"

#endif
