/* mods/words.h: words for numbers in custom forms. */
#ifndef TIDE_MODS_WORDS_H
#define TIDE_MODS_WORDS_H

/* Comparisons; a word's index is the attribute's value. */
static const char *const tide_integer_predicates[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                                      "sge", "ult", "ule", "ugt", "uge"};
static const char *const tide_float_predicates[] = {"false", "oeq", "ogt", "oge", "olt", "ole",
                                                    "one",   "ord", "ueq", "ugt", "uge", "ult",
                                                    "ule",   "une", "uno", "true"};
#define TIDE_INTEGER_PREDICATES 10
#define TIDE_FLOAT_PREDICATES 16

/* Mark in rawConstantIndices: this index is an operand. */
#define TIDE_GEP_DYNAMIC INT32_MIN

#endif
