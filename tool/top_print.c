/* The table of `tidemark top`: one walk over the service's answers, and two printers. */
#include "tool/top.h"
#include "tool/tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAITS_ROOM (1 << 14)

struct page;

/* A printer's calls, in their order: for each client its channels, then its timelines. */
struct printer {
  void (*client)(struct page *page, const struct tide_session_client_stats *client);
  void (*channel)(struct page *page, const struct tide_session_channel_stats *channel);
  void (*timelines)(struct page *page, uint32_t channels_left); /* all channels have been printed */
  void (*timeline)(struct page *page, const struct tide_session_timeline_stats *timeline);
  void (*client_over)(struct page *page, uint32_t timelines_left);
  void (*waits)(struct page *page, const char *text); /* all clients have been printed */
};
struct page {
  const struct tide_top_view *view;
  const struct printer *printer;
  FILE *to;
  struct tide_json json;
  uint64_t now;
  uint64_t clients, outstanding;
};

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t outstanding_of(const struct tide_session_client_stats *c) {
  uint64_t over = c->kept + c->broken;
  return c->promised > over ? c->promised - over : 0;
}

static const char *kind_of(const struct tide_session_timeline_stats *t) {
  return t->kind == TIDE_SESSION_FUTURE     ? "timeline"
         : t->kind == TIDE_SESSION_COMPOUND ? "compound"
                                            : "stand-in";
}

static const char *state_of(const struct tide_session_timeline_stats *t) {
  if (t->broken) return "broken";
  if (t->value) return "retired";
  return t->queued ? "defined" : "undefined";
}

/* ---- text ------------------------------------------------------------------------------ */

static void text_client(struct page *page, const struct tide_session_client_stats *c) {
  FILE *to = page->to;
  if (page->clients == 1)
    fprintf(to, "%6s %-20s %6s %7s %6s %8s %6s %6s %5s %5s %5s %10s %9s %7s\n", "client", "label",
            "uid", "pid", "open", "kept", "broken", "missed", "lines", "parts", "waits", "bytes",
            "commands", "refused");
  fprintf(to, "%6llu %-20s %6u %7u %6llu %8llu %6llu %6llu %5u %5u %5u %10llu %9llu %7llu%s",
          (unsigned long long)c->client, c->label, c->uid, c->pid,
          (unsigned long long)outstanding_of(c), (unsigned long long)c->kept,
          (unsigned long long)c->broken, (unsigned long long)c->missed, c->timelines, c->parts,
          c->waits, (unsigned long long)c->bytes, (unsigned long long)c->commands,
          (unsigned long long)c->refused, c->trusted ? "  trusted" : "");
  if (c->paced)
    fprintf(to, "  paced %llu time%s", (unsigned long long)c->paced, tide_tool_plural(c->paced));
  fputc('\n', to);
}

static void text_channel(struct page *page, const struct tide_session_channel_stats *c) {
  fprintf(
      page->to,
      "         channel  %-20s priority %2u now %2u  %llu taken  %llu over  %llu of %u under way",
      c->label[0] ? c->label : "-", c->base, c->priority, (unsigned long long)c->submitted,
      (unsigned long long)c->over, (unsigned long long)(c->submitted - c->over), c->capacity);
  if (c->failure) fprintf(page->to, "  failed: %s", tide_status_text(c->failure));
  fputc('\n', page->to);
}

static void text_left(struct page *page, uint32_t left, const char *what) {
  if (left) fprintf(page->to, "         and %u more %s\n", left, what);
}

static void text_timelines(struct page *page, uint32_t left) { text_left(page, left, "channels"); }
static void text_over(struct page *page, uint32_t left) { text_left(page, left, "timelines"); }

static void text_due(struct page *page, uint64_t deadline) {
  if (deadline == TIDE_FOREVER) fputs("  due never", page->to);
  else if (deadline <= page->now) fputs("  due now", page->to);
  else if (deadline) fprintf(page->to, "  due in %.3f s", (double)(deadline - page->now) / 1e9);
}

static void text_timeline(struct page *page, const struct tide_session_timeline_stats *t) {
  FILE *to = page->to;
  fprintf(to, "         %s %-20s #%u.%u", kind_of(t), t->label[0] ? t->label : "-", t->timeline,
          t->generation);
  if (t->kind != TIDE_SESSION_FUTURE) fprintf(to, "  %s", state_of(t));
  else
    fprintf(to, "  at %llu of %llu  %llu owed  %llu queued  %llu broken%s",
            (unsigned long long)t->value, (unsigned long long)t->newest,
            (unsigned long long)t->owed, (unsigned long long)t->queued,
            (unsigned long long)t->broken, t->cut ? " or more" : "");
  if (t->parts) fprintf(to, "  %u part%s", t->parts, tide_tool_plural(t->parts));
  if (t->owed) text_due(page, t->oldest_deadline);
  fputc('\n', to);
}

static void text_waits(struct page *page, const char *text) {
  fprintf(page->to, "%llu client%s, %llu promise%s outstanding\n",
          (unsigned long long)page->clients, tide_tool_plural(page->clients),
          (unsigned long long)page->outstanding, tide_tool_plural(page->outstanding));
  if (text[0]) fprintf(page->to, "\n%s", text);
}

static const struct printer as_text = {text_client,   text_channel, text_timelines,
                                       text_timeline, text_over,    text_waits};

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_client(struct page *page, const struct tide_session_client_stats *c) {
  struct tide_json *json = &page->json;
  tide_json_open(json, NULL, '{');
  tide_json_number(json, "client", c->client);
  tide_json_text(json, "label", c->label);
  tide_json_number(json, "uid", c->uid);
  tide_json_number(json, "pid", c->pid);
  tide_json_bool(json, "trusted", c->trusted);
  tide_json_number(json, "promised", c->promised);
  tide_json_number(json, "outstanding", outstanding_of(c));
  tide_json_number(json, "kept", c->kept);
  tide_json_number(json, "broken", c->broken);
  tide_json_number(json, "missed", c->missed);
  tide_json_number(json, "timeline_count", c->timelines);
  tide_json_number(json, "channel_count", c->channels);
  tide_json_number(json, "parts", c->parts);
  tide_json_number(json, "grants", c->grants);
  tide_json_number(json, "waits", c->waits);
  tide_json_number(json, "bytes", c->bytes);
  tide_json_number(json, "commands", c->commands);
  tide_json_number(json, "refused", c->refused);
  tide_json_number(json, "paced", c->paced);
  tide_json_number(json, "spent_ns", c->spent);
  tide_json_number(json, "rounds", c->rounds);
  tide_json_open(json, "channels", '[');
}

static void json_channel(struct page *page, const struct tide_session_channel_stats *c) {
  struct tide_json *json = &page->json;
  tide_json_open(json, NULL, '{');
  tide_json_text(json, "label", c->label);
  tide_json_number(json, "base_priority", c->base);
  tide_json_number(json, "priority", c->priority);
  tide_json_number(json, "submitted", c->submitted);
  tide_json_number(json, "over", c->over);
  tide_json_number(json, "capacity", c->capacity);
  tide_json_text(json, "failure", c->failure ? tide_status_name(c->failure) : "");
  tide_json_close(json, '}');
}

static void json_timelines(struct page *page, uint32_t left) {
  tide_json_close(&page->json, ']');
  tide_json_number(&page->json, "channels_not_shown", left);
  tide_json_open(&page->json, "timelines", '[');
}

static void json_timeline(struct page *page, const struct tide_session_timeline_stats *t) {
  struct tide_json *json = &page->json;
  uint64_t due = t->oldest_deadline;
  tide_json_open(json, NULL, '{');
  tide_json_text(json, "kind", kind_of(t));
  tide_json_text(json, "label", t->label);
  tide_json_number(json, "timeline", t->timeline);
  tide_json_number(json, "generation", t->generation);
  if (t->kind != TIDE_SESSION_FUTURE) tide_json_text(json, "state", state_of(t));
  tide_json_number(json, "value", t->value);
  tide_json_number(json, "newest", t->newest);
  tide_json_number(json, "owed", t->owed);
  tide_json_number(json, "queued", t->queued);
  tide_json_number(json, "broken", t->broken);
  tide_json_bool(json, "at_least", t->cut);
  tide_json_number(json, "capacity", t->capacity);
  tide_json_number(json, "parts", t->parts);
  if (t->owed && due != TIDE_FOREVER)
    tide_json_number(json, "oldest_due_in_ns", due > page->now ? due - page->now : 0);
  tide_json_close(json, '}');
}

static void json_over(struct page *page, uint32_t left) {
  tide_json_close(&page->json, ']');
  tide_json_number(&page->json, "timelines_not_shown", left);
  tide_json_close(&page->json, '}');
}

static void json_waits(struct page *page, const char *text) {
  tide_json_close(&page->json, ']');
  tide_json_number(&page->json, "client_count", page->clients);
  tide_json_number(&page->json, "outstanding", page->outstanding);
  tide_json_text(&page->json, "waits", text);
  tide_json_close(&page->json, '}');
  fputc('\n', page->to);
}

static const struct printer as_json = {json_client,   json_channel, json_timelines,
                                       json_timeline, json_over,    json_waits};

/* ---- the walk ---------------------------------------------------------------------------- */

static uint32_t left_of(uint32_t all, uint32_t shown) { return all > shown ? all - shown : 0; }

/* Prints a client. A client that has gone has no more rows: TIDE_NOT_FOUND ends them. */
static void walk_client(struct page *page, const struct tide_session_client_stats *client) {
  const struct tide_top_view *view = page->view;
  struct tide_session_channel_stats channel;
  struct tide_session_timeline_stats timeline;
  uint32_t channels = 0, timelines = 0, place = 0;
  page->printer->client(page, client);
  for (; channels < view->rows; channels++) {
    if (tide_session_channel_stats(view->session, client->client, channels, &channel) != TIDE_OK)
      break;
    page->printer->channel(page, &channel);
  }
  page->printer->timelines(page, left_of(client->channels, channels));
  for (; timelines < view->rows; timelines++) {
    if (tide_session_timeline_stats(view->session, client->client, &place, &timeline) != TIDE_OK)
      break;
    page->printer->timeline(page, &timeline);
  }
  page->printer->client_over(page, left_of(client->timelines, timelines));
}

enum tide_status tide_top_print(const struct tide_top_view *view, FILE *to) {
  struct page page = {.view = view,
                      .printer = view->json ? &as_json : &as_text,
                      .to = to,
                      .json = tide_tool_json(to),
                      .now = now_ns()};
  struct tide_session_client_stats client;
  enum tide_status status;
  char *waits = malloc(WAITS_ROOM);
  size_t length = 0;
  if (!waits) return TIDE_NOMEM;
  if (view->json) {
    tide_json_open(&page.json, NULL, '{');
    tide_json_open(&page.json, "clients", '[');
  }
  for (uint32_t i = 0; (status = tide_session_client_stats(view->session, i, &client)) == TIDE_OK;
       i++) {
    page.clients++;
    page.outstanding += outstanding_of(&client);
    walk_client(&page, &client);
  }
  if (status == TIDE_NOT_FOUND)
    status = tide_session_diagnose(view->session, waits, WAITS_ROOM, &length);
  if (status == TIDE_OK) page.printer->waits(&page, waits);
  free(waits);
  return status;
}
