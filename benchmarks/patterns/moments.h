/* What the moments of a watched run say.
 *
 * Of a message, Tc is when its reader asked for it (C1 is done), Tp when its writer gave it. A
 * consumer waits from Tc to Tp when Tp is later; then, and when it has ended, it has nothing to do,
 * else it could run.
 *
 *   apart, deviation   of Tp - Tc over all messages to consumers, in parts of the time that a
 *                      consumer has for a message: its life divided by its messages
 *   awaited            while some consumer waits
 *   both               while some consumer waits and another one could run: the least of waiting
 *                      and runnable work, moment by moment
 *   hidden             how much C1 and C2 the consumers' core did in that time: the rest was spent
 *                      on looking, on switching, on faults. Only where they have one core
 *   early              of all consumers, those that have not come to Tc, as waiting goes on: from
 *                      the first that waits for a message with this number to the last that is
 * given one; a mean over all messages of a consumer others_left        the work beside the
 * consumers that is not done: from the first wait to the last message of the run */
#ifndef PATTERNS_MOMENTS_H
#define PATTERNS_MOMENTS_H

#include "run.h"

/* After a run that went through or was cut: then until that. Before its exchange is closed. */
void moments_summarise(struct run *r, struct outcome *out);

#endif
