/* The verifier's rules as things that a test switches off: what mods_rules.mutant puts into a copy
 * of the verifier. */
#ifndef TESTS_MODS_RULES_H
#define TESTS_MODS_RULES_H

#include "mods/ir.h"

#include <stdbool.h>

struct tide_rule {
  const char *file;
  unsigned line;
  const char *says; /* its format and what goes into it, as they stand there */
};

/* All of them, put together by the linker. */
extern const struct tide_rule *const __start_tide_rules[];
extern const struct tide_rule *const __stop_tide_rules[];
extern const struct tide_rule *tide_rule_off; /* NULL: none */

bool tide_rule_is_on(const struct tide_rule *rule);
/* True if the last rule that spoke was on. */
bool tide_rule_spoke(void);

#define TIDE_RULE_CALL(call, ir, at, ...)                                                          \
  ({                                                                                               \
    static const struct tide_rule rule_ = {__FILE__, __LINE__, #__VA_ARGS__};                      \
    static const struct tide_rule *const listed_ __attribute__((section("tide_rules"), used)) =    \
        &rule_;                                                                                    \
    (void)listed_;                                                                                 \
    tide_rule_is_on(&rule_) ? (call)(ir, at, __VA_ARGS__) : true;                                  \
  })
#define tide_ir_error(ir, at, ...) TIDE_RULE_CALL(tide_ir_error, ir, at, __VA_ARGS__)
#define tide_ir_op_error(ir, at, ...) TIDE_RULE_CALL(tide_ir_op_error, ir, at, __VA_ARGS__)
#define tide_ir_op_warning(ir, at, ...) TIDE_RULE_CALL(tide_ir_op_warning, ir, at, __VA_ARGS__)
#define tide_ir_note(ir, at, ...) (tide_rule_spoke() ? (tide_ir_note)(ir, at, __VA_ARGS__) : true)

#endif
