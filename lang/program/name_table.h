/* program/name_table.h: the names visible at a position of the text. */
#ifndef TIDE_PROGRAM_NAME_TABLE_H
#define TIDE_PROGRAM_NAME_TABLE_H

#include "program/ast.h"
#include "program/errors.h"

/* The visible names. Leaving a block removes the names that were added last, so entries never need
 * to move. */
struct tide_names {
  struct tide_program *program;
  struct tide_errors *errors;
  uint32_t *slots; /* hash table: symbol + 1; 0: empty */
  size_t slot_count;
  uint32_t *visible; /* symbols, oldest first */
  size_t visible_count, visible_capacity;
};

bool tide_names_init(struct tide_names *names, struct tide_program *program,
                     struct tide_errors *errors);
void tide_names_fini(struct tide_names *names);
/* Adds a symbol; an error when the name is taken. */
bool tide_names_add(struct tide_names *names, const struct tide_name *name,
                    enum tide_symbol_kind kind, bool array, bool local, uint32_t *out_symbol);
/* Removes all but the `count` oldest. */
void tide_names_leave(struct tide_names *names, size_t count);
/* Returns the symbol of a name; NULL: none. */
const struct tide_symbol *tide_names_find(const struct tide_names *names, const char *text,
                                          size_t length);

/* The candidate nearest to a misspelt name. */
struct tide_suggestion {
  const char *text; /* the misspelt name */
  size_t length;
  const char *best;
  size_t best_length;
  unsigned best_distance;
  size_t best_prefix; /* letters at the start that are equal */
};
void tide_suggestion_begin(struct tide_suggestion *suggestion, const char *text, size_t length);
void tide_suggestion_offer(struct tide_suggestion *suggestion, const char *candidate,
                           size_t length);
/* Returns the hint, as text to append; it lives in `buffer`. */
const char *tide_suggestion_text(const struct tide_suggestion *suggestion, char *buffer,
                                 size_t size);
#define TIDE_SUGGESTION_MAX (TIDE_PROGRAM_NAME_MAX + 24)

#endif
