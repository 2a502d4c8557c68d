/* Conjugate gradients over a stack of planes of nodes: N + 1 planes of the producer's, with the
 * consumers' N planes between them. A node has to do with the 27 around it, so a matrix row of one
 * device needs values of the other. Several right-hand sides at once make messages of 64 KiB.
 *
 * One exchange an iteration (the form of Chronopoulos and Gear: both dot products belong to the
 * same vector): down go the two scalars of the iteration and the residual's values that a
 * consumer's rows need, gathered in random order; back come its own and its part of the dot
 * products. */
#ifndef PATTERNS_CG_H
#define PATTERNS_CG_H

#include "run.h"

#define CG_X 15
#define CG_Y 17
#define CG_NODES (CG_X * CG_Y) /* of a plane */

/* The matrix's rows of one plane: out[node][27], by z, y, x from -1 to 1; the middle is the
 * diagonal. What lies outside is 0. The same answer each time. */
typedef void cg_rows(uint64_t seed, uint32_t plane, uint32_t planes, double (*out)[27]);

void *cg_create(const struct settings *settings, cg_rows *rows);
void cg_destroy(void *state);
bool cg_produce(struct run *r);
bool cg_consume(struct run *r, uint32_t index);
bool cg_check(const struct settings *settings, void *state, char *said, size_t size);

#endif
