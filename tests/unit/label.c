/* Labels: filtered and cut where they enter; names of what has none. */
#include "harness.h"

#include "base/label.h"
#include "fake_device.h"

#include <stdio.h>

#define LONG "0123456789012345678901234567890" /* 31 bytes */

static const char *copied(const char *label) {
  static char out[TIDE_LABEL_SIZE + 1];
  memset(out, 'Z', sizeof out);
  tide_label_copy(out, label);
  CHECK(out[TIDE_LABEL_SIZE] == 'Z');
  return out;
}

TEST(label_is_cut_at_31_bytes) {
  CHECK_EQ_STR(copied(NULL), "");
  CHECK_EQ_STR(copied(""), "");
  CHECK_EQ_STR(copied("blur 'tile' ~"), "blur 'tile' ~");
  CHECK_EQ_STR(copied(LONG), LONG);
  CHECK_EQ_STR(copied(LONG "1"), LONG);
  CHECK_EQ_STR(copied(LONG "\303\251\n"), LONG);
}

TEST(label_is_cut_between_characters) {
  char label[80] = "", want[80] = "";
  for (int fill = 26; fill <= 31; fill++) { /* U+20AC is three bytes */
    snprintf(label, sizeof label, "%.*s\342\202\254\342\202\254", fill, LONG);
    snprintf(want, sizeof want, "%.*s%s", fill, LONG, fill <= 28 ? "\342\202\254" : "");
    CHECK_EQ_STR(copied(label), want);
  }
}

TEST(label_is_one_line_that_a_terminal_prints) {
  CHECK_EQ_STR(copied("\033[31mred\n"), "?[31mred?");
  CHECK_EQ_STR(copied("a\tb\x7f\001"), "a?b??");
  CHECK_EQ_STR(copied("caf\303\251 \360\237\214\212"), "caf\303\251 \360\237\214\212");
  CHECK_EQ_STR(copied("\302\233[2J"), "?[2J");                  /* U+009B is a CSI */
  CHECK_EQ_STR(copied("a\342\200\250b\342\200\251c"), "a?b?c"); /* line separators */
  CHECK_EQ_STR(copied("\377\300\200x\303"), "???x?");           /* no UTF-8 */
  CHECK_EQ_STR(copied("\355\240\200"), "???");                  /* a surrogate */
}

TEST(names_of_what_has_no_label) {
  char name[TIDE_LABEL_SIZE];
  tide_label_name(name, "mine", "timeline", 3);
  CHECK_EQ_STR(name, "mine");
  tide_label_name(name, NULL, "timeline", 3);
  CHECK_EQ_STR(name, "timeline 3");
  tide_label_name(name, "", "collective", UINT64_MAX);
  CHECK_EQ_STR(name, "collective 18446744073709551615");
  CHECK_EQ_STR(tide_label_operation(name, "nap", 7), "nap #7");
  CHECK_EQ_STR(tide_label_operation(name, NULL, 7), "empty #7");
  CHECK_EQ_STR(tide_label_operation(name, "", 7), "empty #7");
  CHECK_EQ_STR(tide_label_operation(name, "a\nb", 7), "a?b #7");
  CHECK_EQ_STR(tide_label_operation(name, LONG, 1234567), "0123456789012345678901 #1234567");
  CHECK_EQ_STR(tide_label_operation(name, "012345678901234567890\342\202\254", 1234567),
               "012345678901234567890 #1234567");
}

/* ---- every text of one line ------------------------------------------------------------ */

#define WILD "\033]0;t\007\nx"
#define TAMED "?]0;t??x"

static bool is_text(const char *text, bool lines) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    if ((*c < ' ' && !(lines && *c == '\n')) || *c == 0x7f) return false;
  return true;
}

struct seen {
  uint64_t events;
  bool bad;
};

static void see(void *self, const struct tide_event *event) {
  struct seen *seen = self;
  seen->events++;
  if (event->label) seen->bad |= !is_text(event->label, false) || !event->label[0];
  if (event->object_label) seen->bad |= !is_text(event->object_label, false);
}

TEST(no_text_is_more_than_a_line) {
  struct fake f;
  struct seen seen = {0};
  fake_open(&f, true, 0);
  f.sink = (struct tide_sink){.event = see, .self = &seen};
  struct tide_timeline *t = fake_timeline(&f, WILD, false);
  struct tide_queue *q = fake_queue(&f, WILD);
  struct tide_pool *pool = NULL;
  struct tide_buffer *buffer = NULL, *plain = NULL;
  struct tide_collective *all = NULL;
  CHECK_OK(tide_pool_create(f.context, TIDE_PARAMS(tide_pool_params, .label = WILD), &pool));
  CHECK_OK(tide_pool_alloc(pool, 64, NULL, WILD, &buffer));
  CHECK_OK(tide_pool_alloc(pool, 64, NULL, NULL, &plain));
  CHECK_OK(tide_collective_create(&q, 1, WILD, &all));
  CHECK_EQ_STR(tide_timeline_label(t), TAMED);
  CHECK_EQ_STR(tide_queue_label(q), TAMED);
  CHECK_EQ_STR(tide_buffer_label(buffer), TAMED);
  CHECK_EQ_STR(tide_buffer_label(plain), "buffer 2");
  CHECK_EQ_STR(tide_timeline_label(tide_collective_progress(all)), TAMED);
  CHECK_OK(SUBMIT(q, .label = WILD, WAITS({t, 5})));
  char text[1024];
  tide_context_diagnose(f.context, text, sizeof text);
  CHECK_EQ_STR(text, "queue '" TAMED "': operation '" TAMED "' (1) is held '" TAMED
                     "' >= 5 (at 0; nothing has promised it)\n");
  struct tide_diag diag = {.status = TIDE_OK};
  CHECK_STATUS(
      tide_queue_submit(q, &OPERATION(.label = WILD, WAITS({t, 3}), SIGNALS({t, 2})), NULL, &diag),
      TIDE_INVALID);
  CHECK_EQ_STR(diag.text,
               "operation '" TAMED "' waits for timeline '" TAMED "' >= 3 and signals only 2");
  tide_pool_free(buffer, NULL);
  tide_pool_free(plain, NULL);
  CHECK(seen.events > 0 && !seen.bad);
  tide_collective_destroy(all);
  tide_queue_destroy(q);
  fake_close(&f);
}

#define PLAIN(...) tide_queue_submit(q, &(struct tide_operation){__VA_ARGS__}, NULL, NULL)

TEST(names_in_messages) {
  struct fake f;
  fake_open(&f, true, 0);
  struct tide_timeline *t = NULL;
  struct tide_queue *q = NULL;
  static const struct tide_body_class nap = {.name = "nap", .host = fake_never};
  CHECK_OK(tide_timeline_create(f.context, NULL, &t));
  CHECK_OK(tide_queue_create(f.device, NULL, &q));
  char want[256], text[1024];
  struct tide_diag diag = {.status = TIDE_OK};
  CHECK_OK(PLAIN(.body = &nap, WAITS({t, 1})));
  CHECK_OK(PLAIN(.body = NULL));
  tide_context_diagnose(f.context, text, sizeof text);
  snprintf(want, sizeof want,
           "queue '%s': operation 'nap #1' is held '%s' >= 1 (at 0; nothing has promised it)\n"
           "queue '%s': operation 'empty #2' is held behind the one before it\n",
           tide_queue_label(q), tide_timeline_label(t), tide_queue_label(q));
  CHECK_EQ_STR(text, want);
  CHECK(strncmp(tide_queue_label(q), "queue ", 6) == 0);
  CHECK(strncmp(tide_timeline_label(t), "timeline ", 9) == 0);
  CHECK_STATUS(
      tide_queue_submit(q, &(struct tide_operation){.body = &nap, WAITS({t, 3}), SIGNALS({t, 2})},
                        NULL, &diag),
      TIDE_INVALID);
  snprintf(want, sizeof want, "operation 'nap #3' waits for timeline '%s' >= 3 and signals only 2",
           tide_timeline_label(t));
  CHECK_EQ_STR(diag.text, want);
  tide_queue_destroy(q);
  fake_close(&f);
}

TEST_MAIN(CASE(label_is_cut_at_31_bytes), CASE(label_is_cut_between_characters),
          CASE(label_is_one_line_that_a_terminal_prints), CASE(names_of_what_has_no_label),
          CASE(no_text_is_more_than_a_line), CASE(names_in_messages))
