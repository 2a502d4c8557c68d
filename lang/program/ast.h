/* program/ast.h: a parsed program. It never changes after tide_program_parse.
 *
 * Expressions are postfix code, so that no nesting depth can exhaust the evaluator's stack. Every
 * name becomes a symbol. The values of number symbols, and the table entries of array symbols, are
 * kept by the plan. */
#ifndef TIDE_PROGRAM_AST_H
#define TIDE_PROGRAM_AST_H

#include "program/arena.h"
#include "tidemark/program.h"

enum tide_verb {
  TIDE_VERB_NUMBER, /* value */
  TIDE_VERB_NAME,   /* name: its length while parsing; then its symbol */
  TIDE_VERB_NEGATE,
  TIDE_VERB_NOT,
  TIDE_VERB_ADD,
  TIDE_VERB_SUBTRACT,
  TIDE_VERB_MULTIPLY,
  TIDE_VERB_DIVIDE,
  TIDE_VERB_REMAINDER,
  TIDE_VERB_LESS,
  TIDE_VERB_LESS_EQUAL,
  TIDE_VERB_GREATER,
  TIDE_VERB_GREATER_EQUAL,
  TIDE_VERB_EQUAL,
  TIDE_VERB_DIFFERENT,
  TIDE_VERB_MINIMUM,
  TIDE_VERB_MAXIMUM,
  TIDE_VERB_AND_SKIP, /* false on top: jumps, and keeps the value; else drops it */
  TIDE_VERB_OR_SKIP,
  TIDE_VERB_TRUTH /* converts to 0 or 1 */
};

struct tide_instruction {
  uint32_t verb;
  uint32_t place; /* offset in the text */
  union {
    int64_t value;
    uint32_t name;
    uint32_t jump; /* index of an instruction */
  };
};

#define TIDE_EXPRESSION_STACK 160 /* values at once; the parser's limits ensure it */

struct tide_code { /* an expression; count 0: none */
  uint32_t at, count;
  uint32_t place; /* offset in the text */
};

struct tide_name { /* a span of the text */
  uint32_t at, length, line, column;
};

/* "tile {i}": literal parts and names. */
struct tide_string_part {
  struct tide_string_part *next;
  struct tide_name text; /* a literal with its escapes, or a name */
  bool is_name;
  uint32_t symbol;
};
struct tide_string {
  struct tide_string_part *parts; /* NULL: empty, or not given */
  uint32_t line, column;
  bool given;
};

/* NAME, NAME[index] or NAME[*]. */
struct tide_reference {
  struct tide_name name;
  uint32_t symbol;
  bool indexed, all;
  struct tide_code index;
};

enum tide_argument_form { TIDE_FORM_EXPRESSION, TIDE_FORM_REFERENCE, TIDE_FORM_STRING };

struct tide_program_argument {
  struct tide_program_argument *next;
  enum tide_argument_form form;
  uint32_t line, column;
  struct tide_name name; /* length 0: by position */
  struct tide_code value;
  struct tide_reference reference;
  bool sliced;
  struct tide_code offset, size;
  struct tide_string string;
};

struct tide_point_clause { /* a wait or signal */
  struct tide_point_clause *next;
  struct tide_reference timeline;
  struct tide_code value;
};

enum tide_statement_kind {
  TIDE_STATEMENT_OPERATION, /* on a queue or a collective, by the target's kind */
  TIDE_STATEMENT_ALLOC,
  TIDE_STATEMENT_FREE,
  TIDE_STATEMENT_HOST_SIGNAL,
  TIDE_STATEMENT_HOST_EXTERNAL,
  TIDE_STATEMENT_HOST_WAIT,
  TIDE_STATEMENT_LET,
  TIDE_STATEMENT_REQUIRE,
  TIDE_STATEMENT_FOR,
  TIDE_STATEMENT_IF
};

struct tide_statement {
  struct tide_statement *next;
  enum tide_statement_kind kind;
  uint32_t number; /* counts all statements */
  uint32_t line, column;
};

/* An operation, an alloc, a free or an action of the host. */
struct tide_operation_statement {
  struct tide_statement base;
  struct tide_reference target;
  struct tide_name body;
  struct tide_program_argument *arguments; /* alloc, free: the buffers */
  struct tide_point_clause *waits, *signals;
  struct tide_program_argument *takes; /* buffers that it takes by fault */
  struct tide_code after;              /* the takes' `after` time */
  struct tide_code cost;
  struct tide_string label;
  bool passable;
};

struct tide_let_statement {
  struct tide_statement base;
  struct tide_name name;
  uint32_t symbol;
  struct tide_code value;
};

struct tide_require_statement {
  struct tide_statement base;
  struct tide_code condition;
  struct tide_string message;
};

struct tide_for_statement {
  struct tide_statement base;
  struct tide_name name;
  uint32_t symbol;
  struct tide_code from, to, step;
  struct tide_statement *body;
};

struct tide_if_statement {
  struct tide_statement base;
  struct tide_code condition;
  struct tide_statement *then, *otherwise;
};

enum tide_symbol_kind {
  TIDE_SYMBOL_NUMBER, /* a number parameter, a let, a loop's variable, member, members */
  TIDE_SYMBOL_TEXT,   /* a text parameter */
  TIDE_SYMBOL_DEVICE,
  TIDE_SYMBOL_QUEUE,
  TIDE_SYMBOL_TIMELINE,
  TIDE_SYMBOL_BUFFER,
  TIDE_SYMBOL_FILE,
  TIDE_SYMBOL_COLLECTIVE,
  TIDE_SYMBOL_HOST
};

struct tide_symbol {
  enum tide_symbol_kind kind;
  struct tide_name name; /* line 0: built in */
  const char *text;      /* the name, terminated */
  bool array;
  bool local; /* declared in a block */
  bool takes; /* a queue: some operation of it takes */
  bool taken; /* a buffer: some operation takes it */
};

/* Predefined symbols. */
enum { TIDE_SYMBOL_MEMBER, TIDE_SYMBOL_MEMBERS, TIDE_SYMBOL_THE_HOST, TIDE_SYMBOL_FIRST };

enum tide_declaration_kind {
  TIDE_DECLARE_PARAM,
  TIDE_DECLARE_LET,
  TIDE_DECLARE_REQUIRE,
  TIDE_DECLARE_DEVICE,
  TIDE_DECLARE_QUEUE,
  TIDE_DECLARE_TIMELINE,
  TIDE_DECLARE_BUFFER,
  TIDE_DECLARE_SCRATCH,
  TIDE_DECLARE_FILE,
  TIDE_DECLARE_COLLECTIVE
};

struct tide_declared { /* a name in a declaration */
  struct tide_declared *next;
  struct tide_name name;
  uint32_t symbol;
  bool array;
  struct tide_code count;
};

struct tide_option {
  struct tide_option *next;
  struct tide_name key;
  struct tide_code value; /* or `text` */
  struct tide_string text;
};

struct tide_member { /* a member of a collective */
  struct tide_member *next;
  struct tide_reference queue;
};

struct tide_declaration {
  struct tide_declaration *next;
  enum tide_declaration_kind kind;
  uint32_t line, column;
  struct tide_declared *names;
  struct tide_code value; /* param, let: the value; require: the condition; buffer: the size;
                             timeline: initial; queue: priority */
  struct tide_code capacity;
  struct tide_string text; /* param: the text; require: the message; file: the path */
  struct tide_name device_kind;
  struct tide_option *options;
  struct tide_reference device; /* queue: its device */
  struct tide_member *members;
  enum tide_file_mode mode;
};

struct tide_program {
  const struct tide_allocator *allocator;
  struct tide_arena arena;
  char *text; /* a copy, terminated */
  uint32_t length;
  struct tide_instruction *code;
  size_t code_count, code_capacity;
  struct tide_symbol *symbols;
  size_t symbol_count, symbol_capacity;
  struct tide_declaration *declarations;
  struct tide_statement *statements;
  uint32_t statement_count;
  struct tide_program_param *params;
  size_t param_count;
  bool resolved;
};

/* Returns "a queue", "a number" … */
const char *tide_symbol_kind_text(enum tide_symbol_kind kind);
/* Finds the line and column of an offset in the text. Scans the text from the start, so it is for
 * errors only. */
void tide_program_location(const struct tide_program *program, uint32_t place, uint32_t *out_line,
                           uint32_t *out_column);

#endif
