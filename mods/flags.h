/* mods/flags.h: the words of overflow<…> and fastmath<…>. */
#ifndef TIDE_MODS_FLAGS_H
#define TIDE_MODS_FLAGS_H

#include "base/text.h"

enum tide_flags { TIDE_FLAGS_OVERFLOW, TIDE_FLAGS_FASTMATH };

/* Reads the words between < and >, with commas. False: *out_wrong is the offset of a text that is
 * no such word. */
bool tide_flags_read(enum tide_flags flags, const char *text, size_t length, uint32_t *out_bits,
                     size_t *out_wrong);
/* Appends the words in MLIR's order. */
void tide_flags_print(enum tide_flags flags, uint32_t bits, struct tide_text *out);
/* Returns the words for a message. */
const char *tide_flags_words(enum tide_flags flags);

#endif
