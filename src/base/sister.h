/* base/sister.h: the mark of symbols that libtidemark exports to libtidemark-lang and
 * libtidemark-mods alone.
 *
 * TIDE_SISTER marks the declaration; tidemark.map puts the name into the version node
 * TIDEMARK_PRIVATE_0, which belongs to no interface. The three libraries come from one build. */
#ifndef TIDE_BASE_SISTER_H
#define TIDE_BASE_SISTER_H

#define TIDE_SISTER __attribute__((visibility("default")))

#endif
