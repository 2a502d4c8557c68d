/* program/name_table.h: which names are known where. */
#ifndef TIDE_PROGRAM_NAMES_H
#define TIDE_PROGRAM_NAMES_H

#include "program/ast.h"
#include "program/errors.h"

/* The names that are visible at one place of the text. Leaving a block takes away what was added
 * last, so entries never need to move. */
struct tide_names {
  struct tide_program *program;
  struct tide_errors *errors;
  uint32_t *slots; /* symbol + 1; 0 = empty */
  size_t slot_count;
  uint32_t *visible; /* symbols, oldest first */
  size_t visible_count, visible_capacity;
};

bool tide_names_init(struct tide_names *names, struct tide_program *program,
                     struct tide_errors *errors);
void tide_names_fini(struct tide_names *names);
/* A new symbol; an error when the name is taken. */
bool tide_names_add(struct tide_names *names, const struct tide_name *name,
                    enum tide_symbol_kind kind, bool array, bool local, uint32_t *out_symbol);
/* Forgets all but the `count` oldest. */
void tide_names_leave(struct tide_names *names, size_t count);
/* NULL when there is none. */
const struct tide_symbol *tide_names_find(const struct tide_names *names, const char *text,
                                          size_t length);

/* ", did you mean 'left'?" or nothing: the nearest of the given candidates. */
struct tide_suggestion {
  const char *text; /* what came */
  size_t length;
  const char *best;
  size_t best_length;
  unsigned best_distance;
  size_t best_prefix; /* letters at the start that are the same */
};
void tide_suggestion_begin(struct tide_suggestion *suggestion, const char *text, size_t length);
void tide_suggestion_offer(struct tide_suggestion *suggestion, const char *candidate,
                           size_t length);
/* The hint, as text to append; lives in `buffer`. */
const char *tide_suggestion_text(const struct tide_suggestion *suggestion, char *buffer,
                                 size_t size);
#define TIDE_GUESS_TEXT_MAX (TIDE_PROGRAM_NAME_MAX + 24)

#endif
