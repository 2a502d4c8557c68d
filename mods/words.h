/* mods/words.h: words for numbers in custom forms. */
#ifndef TIDE_MODS_WORDS_H
#define TIDE_MODS_WORDS_H

/* Comparisons; a word's index is the attribute's value. */
static const char *const tide_integer_predicates[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                                      "sge", "ult", "ule", "ugt", "uge"};
static const char *const tide_float_predicates[] = {"false", "oeq", "ogt", "oge", "olt", "ole",
                                                    "one",   "ord", "ueq", "ugt", "uge", "ult",
                                                    "ule",   "une", "uno", "true"};
/* What #llvm.linkage<…> and #llvm.cconv<…> take, and the words of `visibility_` and `unnamed_addr`,
 * by number. */
static const char *const tide_linkages[] = {
    "private",   "internal",    "available_externally", "linkonce", "weak",    "common",
    "appending", "extern_weak", "linkonce_odr",         "weak_odr", "external"};
static const char *const tide_conventions[] = {
    "ccc",         "fastcc",          "coldcc",         "cc_10",        "cc_11",
    "anyregcc",    "preserve_mostcc", "preserve_allcc", "swiftcc",      "cxx_fast_tlscc",
    "tailcc",      "cfguard_checkcc", "swifttailcc",    "ptx_kernelcc", "ptx_devicecc",
    "spir_funccc", "spir_kernelcc",   "amdgpu_kernelcc"};
static const char *const tide_visibilities[] = {"default", "hidden", "protected"};
static const char *const tide_unnamed[] = {"", "local_unnamed_addr", "unnamed_addr"};
#define TIDE_WORDS(words) (sizeof(words) / sizeof *(words))

static const char *const tide_roundings[] = {"to_nearest_even", "downward", "upward", "toward_zero",
                                             "to_nearest_away"};
#define TIDE_ROUNDINGS 5
#define TIDE_INTEGER_PREDICATES 10
#define TIDE_FLOAT_PREDICATES 16

/* Mark in rawConstantIndices: this index is an operand. */
#define TIDE_GEP_DYNAMIC INT32_MIN

#endif
