/* mods/words.h: words that stand for numbers in custom forms. */
#ifndef TIDE_MODS_WORDS_H
#define TIDE_MODS_WORDS_H

/* Comparisons; their place is the attribute's value. */
static const char *const tide_integer_predicates[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                                      "sge", "ult", "ule", "ugt", "uge"};
static const char *const tide_float_predicates[] = {"false", "oeq", "ogt", "oge", "olt", "ole",
                                                    "one",   "ord", "ueq", "ugt", "uge", "ult",
                                                    "ule",   "une", "uno", "true"};
#define TIDE_INTEGER_PREDICATES 10
#define TIDE_FLOAT_PREDICATES 16

/* In rawConstantIndices: the index is an operand. */
#define TIDE_GEP_DYNAMIC INT32_MIN

#endif
