/* Formats a program in the one layout. Only spaces and line ends change, never a token, so the
 * result is the same program. Comments are tokens here. */
#include "base/text.h"
#include "program/ast.h"
#include "program/lex.h"

#define INDENT 2
#define CONTINUATION 4 /* indentation of an operation's further lines */

struct formatter {
  struct tide_lexer lexer;
  struct tide_text out;
  struct tide_token token;
  struct tide_token code; /* the last token that is no comment */
  bool began;             /* something was written */
  bool after_comment;     /* the last token written is a comment */
  uint32_t newlines;      /* line ends in the text since the last token written */
  uint32_t depth;         /* depth of blocks */
  uint32_t brackets;
  bool operation;        /* this statement has had its ':' */
  bool clause;           /* this statement has had a clause */
  bool host;             /* `code` is the colon of `host:` */
  bool body;             /* `code` is the word behind ':' */
  bool behind_operand;   /* the token before `code` ends an operand */
  int comments_continue; /* comment lines belong to the statement: 1; they do not: 0; not known: -1
                          */
};

static const char *text_of(const struct formatter *f, const struct tide_token *token) {
  return f->lexer.text + token->at;
}

static bool is_clause_word(const struct formatter *f, const struct tide_lexer *behind,
                           const struct tide_token *token) {
  if (token->kind != TIDE_TOKEN_WORD || !tide_word_is_clause(text_of(f, token), token->length))
    return false;
  struct tide_lexer ahead = *behind;
  struct tide_token next;
  tide_lexer_next(&ahead, &next);
  return !tide_token_mark(&next, '='); /* otherwise an argument of that name */
}

/* True if the token behind these comment lines continues the statement before them. */
static bool comments_continue(struct formatter *f) {
  if (f->comments_continue < 0) {
    struct tide_lexer ahead = f->lexer;
    struct tide_token token;
    do tide_lexer_next(&ahead, &token);
    while (token.kind == TIDE_TOKEN_COMMENT || token.kind == TIDE_TOKEN_NEWLINE);
    f->comments_continue =
        tide_token_mark(&f->code, ',') || (f->operation && is_clause_word(f, &ahead, &token));
  }
  return f->comments_continue;
}

static bool continues_statement(struct formatter *f) {
  if (f->token.kind == TIDE_TOKEN_COMMENT) return comments_continue(f);
  return tide_token_mark(&f->code, ',') ||
         (f->operation && is_clause_word(f, &f->lexer, &f->token));
}

/* ---- between two tokens of a line ----------------------------------------------------- */

static bool is_one_of(const struct formatter *f, const struct tide_token *token,
                      const char *const *words) {
  for (; *words; words++) {
    if (tide_token_is(&f->lexer, token, *words)) return true;
  }
  return false;
}

/* True for words that an operand follows. Some of them may also be names, where no operand
 * precedes. */
static bool is_leading_word(const struct formatter *f, const struct tide_token *token) {
  static const char *const always[] = {"and", "cost", "if",      "initial",
                                       "not", "or",   "require", NULL};
  static const char *const behind[] = {"after", "capacity", "in", "priority", "step", NULL};
  return f->body || is_one_of(f, token, always) ||
         (f->behind_operand && is_one_of(f, token, behind));
}

static bool ends_operand(const struct formatter *f, const struct tide_token *token) {
  if (token->kind == TIDE_TOKEN_NUMBER) return true;
  if (token->kind == TIDE_TOKEN_WORD) return !is_leading_word(f, token);
  return tide_token_mark(token, ')') || tide_token_mark(token, ']');
}

static bool is_arithmetic(const struct tide_token *token) {
  if (token->kind != TIDE_TOKEN_MARK) return false;
  switch (token->mark) {
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case TIDE_MARK_RANGE: return true;
    default: return false;
  }
}

static bool is_call(const struct formatter *f, const struct tide_token *token) {
  return tide_token_is(&f->lexer, token, "min") || tide_token_is(&f->lexer, token, "max");
}

static unsigned spaces_before(struct formatter *f) {
  const struct tide_token *before = &f->code, *token = &f->token;
  bool argument = f->operation && !f->clause && f->brackets == 0;
  if (token->kind == TIDE_TOKEN_COMMENT) return 2;
  if (tide_token_mark(before, '(') || tide_token_mark(before, '[')) return 0;
  if (is_arithmetic(before)) return 0; /* also behind a sign */
  if (argument && (tide_token_mark(before, '=') || tide_token_mark(token, '='))) return 0;
  if (is_arithmetic(token)) return ends_operand(f, before) ? 0 : 1;
  if (token->kind == TIDE_TOKEN_MARK) {
    switch (token->mark) {
      case ',':
      case ')':
      case ']':
      case '[':
      case ':': return 0;
      case '(': return is_call(f, before) ? 0 : 1;
      default: return 1;
    }
  }
  bool clause =
      f->operation && !tide_token_mark(before, ':') && is_clause_word(f, &f->lexer, token);
  return clause ? 2 : 1;
}

/* ---- lines ------------------------------------------------------------------------------ */

static void write_spaces(struct formatter *f, uint32_t count) {
  while (count-- > 0) tide_text_bytes(&f->out, " ", 1);
}

/* True if a line begins here even where the text has none. */
static bool needs_line_break(const struct formatter *f) {
  if (!f->began || f->token.kind == TIDE_TOKEN_COMMENT) return false;
  if (tide_token_mark(&f->code, '{') || tide_token_mark(&f->token, '}')) return true;
  return tide_token_mark(&f->code, '}') && !tide_token_is(&f->lexer, &f->token, "else");
}

static void begin_line(struct formatter *f) {
  bool closes = tide_token_mark(&f->token, '}');
  bool continued = f->began && continues_statement(f);
  bool after_open = tide_token_mark(&f->code, '{') && !f->after_comment;
  if (f->began) tide_text_bytes(&f->out, "\n", 1);
  if (f->began && f->newlines > 1 && !continued && !closes && !after_open)
    tide_text_bytes(&f->out, "\n", 1);
  if (!continued && f->token.kind != TIDE_TOKEN_COMMENT) f->operation = f->clause = f->body = false;
  write_spaces(f,
               (f->depth - (closes && f->depth ? 1 : 0)) * INDENT + (continued ? CONTINUATION : 0));
}

static void note_mark(struct formatter *f) {
  switch (f->token.mark) {
    case '{': f->depth++; break;
    case '}': f->depth -= f->depth > 0; break;
    case '(':
    case '[': f->brackets++; break;
    case ')':
    case ']': f->brackets -= f->brackets > 0; break;
    case ':': f->operation = true; break;
    default: break;
  }
}

static void write_token(struct formatter *f) {
  const struct tide_token *token = &f->token;
  const char *text = text_of(f, token);
  uint32_t length = token->length;
  bool comment = token->kind == TIDE_TOKEN_COMMENT;
  while (comment &&
         (text[length - 1] == ' ' || text[length - 1] == '\t' || text[length - 1] == '\r'))
    length--;
  if (!f->began || f->newlines || needs_line_break(f)) begin_line(f);
  else write_spaces(f, spaces_before(f));
  tide_text_bytes(&f->out, text, length);
  f->began = true;
  f->newlines = 0;
  f->after_comment = comment;
  if (comment) return;
  f->comments_continue = -1;
  if (f->operation && (is_clause_word(f, &f->lexer, token) ||
                       (f->host && tide_token_is(&f->lexer, token, "external"))))
    f->clause = true;
  f->behind_operand = ends_operand(f, &f->code);
  f->body = token->kind == TIDE_TOKEN_WORD && tide_token_mark(&f->code, ':');
  f->host = tide_token_mark(token, ':') && tide_token_is(&f->lexer, &f->code, "host");
  if (token->kind == TIDE_TOKEN_MARK) note_mark(f);
  f->code = *token;
}

size_t tide_program_format(const struct tide_program *program, char *buffer, size_t size) {
  struct formatter f = {.comments_continue = -1};
  tide_text_init(&f.out, buffer, size);
  tide_lexer_init(&f.lexer, program->text, program->length);
  f.lexer.comments = true;
  for (;;) {
    tide_lexer_next(&f.lexer, &f.token);
    if (f.token.kind == TIDE_TOKEN_END) break;
    if (f.token.kind == TIDE_TOKEN_NEWLINE) f.newlines++;
    else write_token(&f);
  }
  if (f.began) tide_text_bytes(&f.out, "\n", 1);
  return f.out.length;
}
