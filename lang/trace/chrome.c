/* Kept events as Chrome's trace JSON.
 *
 * First, the start and end of every operation are gathered by (axis, epoch). Then each operation
 * gets a lane of its queue: one lane where operations do not overlap, as many lanes as run at once
 * where a device works out of order. Then the JSON is written. */
#include "base/alloc.h"
#include "base/text.h"
#include "tidemark/queue.h"
#include "trace/event_ring.h"

#define SIGNALS_SEEN 4096 /* events before the end of a stall that are searched for its signal */

struct slice {
  uint64_t axis, epoch;
  uint64_t start, end; /* 0: not traced */
  uint64_t event;      /* the event that ended it: its labels and status */
  uint32_t track, lane;
  bool is_out; /* begins with the submission: the start is not known */
};

struct track {
  uint64_t axis; /* of the queue; of a member: its machine number alone, which no axis is */
  uint32_t lanes;
  uint64_t event; /* an event that names the queue, or the member */
  uint64_t *free; /* by lane: the end of its last slice */
  uint32_t capacity;
};

struct writing {
  const struct tide_trace *trace;
  const struct tide_allocator *allocator;
  const struct tide_trace_writer *writer;
  enum tide_status status;
  char buffer[4096];
  size_t used;
  bool comma;
  uint64_t origin; /* the first event's time */
  uint64_t flows;
  struct slice *slices; /* order of first appearance */
  size_t slice_count, slice_capacity;
  uint32_t *table; /* hash table over the slices: index + 1 */
  size_t table_mask;
  struct track *tracks;
  size_t track_count, track_capacity;
};

/* ---- text ------------------------------------------------------------------------ */

static void flush_buffer(struct writing *w) {
  if (w->status == TIDE_OK && w->used)
    w->status = w->writer->write(w->writer->self, w->buffer, w->used);
  w->used = 0;
}

static void put_format(struct writing *w, const char *format, ...) TIDE_PRINTF(2, 3);
static void put_format(struct writing *w, const char *format, ...) {
  char text[512];
  struct tide_text to;
  va_list list;
  va_start(list, format);
  tide_text_init(&to, text, sizeof text);
  tide_text_format_list(&to, format, list);
  va_end(list);
  size_t length = to.length < sizeof text ? to.length : sizeof text - 1;
  if (w->used + length > sizeof w->buffer) flush_buffer(w);
  memcpy(w->buffer + w->used, text, length);
  w->used += length;
}

/* Writes a JSON string, which is UTF-8. Replaces invalid bytes: labels may be cut inside a
 * character. */
static void put_string(struct writing *w, const char *string) {
  put_format(w, "\"");
  for (const char *c = string; *c; c++) {
    size_t length = tide_text_utf8(c);
    if (*c == '"' || *c == '\\') put_format(w, "\\%c", *c);
    else if ((*c > 0 && *c < 32) || *c == 127) put_format(w, "\\u%04x", (unsigned)*c);
    else if (!length) put_format(w, "\\ufffd");
    else put_format(w, "%.*s", (int)length, c);
    if (length > 1) c += length - 1;
  }
  put_format(w, "\"");
}

/* Writes microseconds since the first event, with nanoseconds as decimals. */
static void put_time(struct writing *w, const char *key, uint64_t time) {
  uint64_t ns = time > w->origin ? time - w->origin : 0;
  put_format(w, ",\"%s\":%lu.%03u", key, (unsigned long)(ns / 1000), (unsigned)(ns % 1000));
}

static void begin_event(struct writing *w, const char *phase) {
  put_format(w, "%s{\"ph\":\"%s\",\"pid\":1", w->comma ? ",\n" : "", phase);
  w->comma = true;
}

/* ---- tracks and slices ---------------------------------------------------------------- */

static size_t slot_of(const struct writing *w, uint64_t axis, uint64_t epoch) {
  uint64_t hash = (axis * 0x9e3779b97f4a7c15u) ^ (epoch * 0xc2b2ae3d27d4eb4fu);
  size_t slot = (size_t)(hash ^ hash >> 32) & w->table_mask;
  while (w->table[slot]) {
    const struct slice *slice = &w->slices[w->table[slot] - 1];
    if (slice->axis == axis && slice->epoch == epoch) break;
    slot = (slot + 1) & w->table_mask;
  }
  return slot;
}

static struct slice *find_slice(const struct writing *w, uint64_t axis, uint64_t epoch) {
  uint32_t index = w->table[slot_of(w, axis, epoch)];
  return index ? &w->slices[index - 1] : NULL;
}

static struct slice *make_slice(struct writing *w, uint64_t axis, uint64_t epoch) {
  size_t slot = slot_of(w, axis, epoch);
  if (!w->table[slot]) {
    w->slices[w->slice_count] = (struct slice){.axis = axis, .epoch = epoch};
    w->table[slot] = (uint32_t)++w->slice_count;
  }
  return &w->slices[w->table[slot] - 1];
}

static struct track *make_track(struct writing *w, uint64_t axis, uint64_t event) {
  for (size_t i = 0; i < w->track_count; i++)
    if (w->tracks[i].axis == axis) return &w->tracks[i];
  if (w->track_count == w->track_capacity) {
    size_t capacity = w->track_capacity ? w->track_capacity * 2 : 16;
    struct track *tracks = tide_alloc(w->allocator, capacity, sizeof *tracks);
    if (!tracks) return NULL;
    if (w->track_count) memcpy(tracks, w->tracks, w->track_count * sizeof *tracks);
    tide_free(w->allocator, w->tracks, w->track_capacity, sizeof *tracks);
    w->tracks = tracks;
    w->track_capacity = capacity;
  }
  struct track *track = &w->tracks[w->track_count++];
  *track = (struct track){.axis = axis, .event = event};
  return track;
}

static bool take_lane(struct writing *w, struct track *track, struct slice *slice) {
  uint32_t lane = 0;
  while (lane < track->lanes && track->free[lane] > slice->start) lane++;
  if (lane == track->capacity) {
    uint32_t capacity = track->capacity ? track->capacity * 2 : 4;
    uint64_t *free = tide_alloc(w->allocator, capacity, sizeof *free);
    if (!free) return false;
    if (track->capacity) memcpy(free, track->free, track->capacity * sizeof *free);
    tide_free(w->allocator, track->free, track->capacity, sizeof *free);
    track->free = free;
    track->capacity = capacity;
  }
  if (lane == track->lanes) track->lanes++;
  track->free[lane] = slice->end;
  slice->lane = lane;
  return true;
}

/* A slice begins with the start, or with the submission to a device that runs ahead. An operation
 * without a body has no start: its slice is empty. */
static bool makes_slice(uint8_t kind) {
  return kind == TIDE_EVENT_START || kind == TIDE_EVENT_OUT || kind == TIDE_EVENT_FINISH;
}

static bool is_of_member(uint8_t kind) {
  return kind == TIDE_EVENT_SEND || kind == TIDE_EVENT_RECEIVE || kind == TIDE_EVENT_LOST;
}

static uint64_t axis_of_member(const struct tide_traced *event) {
  return (uint64_t)(event->member + 1) << 48;
}

/* Members of a session have their tracks below the queues. */
static bool gather_members(struct writing *w) {
  for (uint64_t i = tide_trace_first(w->trace); i < w->trace->count; i++) {
    const struct tide_traced *event = tide_trace_at(w->trace, i);
    if (is_of_member(event->kind) && !make_track(w, axis_of_member(event), i)) return false;
  }
  return true;
}

static bool gather_slices(struct writing *w) {
  const struct tide_trace *trace = w->trace;
  bool whole = tide_trace_first(trace) == 0; /* no start was lost */
  for (uint64_t i = tide_trace_first(trace); i < trace->count; i++) {
    const struct tide_traced *event = tide_trace_at(trace, i);
    if (!makes_slice(event->kind)) continue;
    if (!event->epoch) continue; /* finished before it entered */
    struct track *track = make_track(w, event->axis, i);
    if (!track) return false;
    struct slice *slice = make_slice(w, event->axis, event->epoch);
    slice->track = (uint32_t)(track - w->tracks);
    slice->event = i;
    bool is_end = event->kind == TIDE_EVENT_FINISH;
    *(is_end ? &slice->end : &slice->start) = event->time;
    if (is_end && whole && !slice->start && !event->status) slice->start = event->time;
    slice->is_out |= event->kind == TIDE_EVENT_OUT;
  }
  /* Starts come in order within a queue, so a lane is free when its last slice has ended. */
  for (size_t i = 0; i < w->slice_count; i++) {
    struct slice *slice = &w->slices[i];
    if (!slice->start || !slice->end) continue;
    if (!take_lane(w, &w->tracks[slice->track], slice)) return false;
  }
  return true;
}

/* Returns a thread id that sorts tracks by queue, then lane. */
static unsigned long thread_of(const struct slice *slice) {
  return (unsigned long)slice->track * 1000 + slice->lane + 1;
}

/* Returns the thread id of an axis's first lane; 0: it has no track. */
static unsigned long thread_of_axis(const struct writing *w, uint64_t axis) {
  for (size_t i = 0; i < w->track_count; i++)
    if (w->tracks[i].axis == axis) return (unsigned long)i * 1000 + 1;
  return 0;
}

/* ---- writing ---------------------------------------------------------------------------- */

static void name_track(const struct tide_traced *event, uint32_t lane, struct tide_text *text) {
  if (is_of_member(event->kind))
    tide_text_format(text, "machine %u (%s)", event->member, event->label);
  else tide_text_format(text, "%s", event->object);
  if (lane) tide_text_format(text, " (%u)", lane + 1);
}

static void write_tracks(struct writing *w) {
  begin_event(w, "M");
  put_format(w, ",\"name\":\"process_name\",\"args\":{\"name\":\"tidemark\"}}");
  for (size_t i = 0; i < w->track_count; i++) {
    const struct track *track = &w->tracks[i];
    uint32_t lanes = track->lanes ? track->lanes : 1;
    for (uint32_t lane = 0; lane < lanes; lane++) {
      char name[64];
      struct tide_text text;
      tide_text_init(&text, name, sizeof name);
      name_track(tide_trace_at(w->trace, track->event), lane, &text);
      begin_event(w, "M");
      put_format(w, ",\"tid\":%lu,\"name\":\"thread_name\",\"args\":{\"name\":",
                 (unsigned long)i * 1000 + lane + 1);
      put_string(w, name);
      put_format(w, "}}");
    }
  }
}

static void write_slice(struct writing *w, const struct slice *slice) {
  const struct tide_traced *event = tide_trace_at(w->trace, slice->event);
  bool ran = slice->start && slice->end;
  if (!ran && !event->status) return;
  begin_event(w, ran ? "X" : "i");
  put_format(w, ",\"tid\":%lu,\"cat\":\"%s\",\"name\":", thread_of(slice),
             slice->is_out ? "submission" : "operation");
  put_string(w, event->label[0] ? event->label : "operation");
  put_time(w, "ts", ran ? slice->start : slice->end);
  if (ran)
    put_format(w, ",\"dur\":%lu.%03u", (unsigned long)((slice->end - slice->start) / 1000),
               (unsigned)((slice->end - slice->start) % 1000));
  else put_format(w, ",\"s\":\"t\"");
  if (event->status) put_format(w, ",\"cname\":\"terrible\"");
  put_format(w, ",\"args\":{\"epoch\":%lu,\"status\":\"%s\"", (unsigned long)slice->epoch,
             tide_status_name((enum tide_status)event->status));
  if (tide_trace_failure(w->trace, event)) {
    put_format(w, ",\"failure\":");
    put_string(w, tide_trace_failure(w->trace, event));
  }
  put_format(w, "}}");
}

static void write_end_of_flow(struct writing *w, const char *phase, const char *category,
                              const struct slice *slice, uint64_t time) {
  begin_event(w, phase);
  put_format(w, ",\"tid\":%lu,\"cat\":\"%s\",\"name\":\"%s\",\"id\":%lu", thread_of(slice),
             category, category, (unsigned long)w->flows);
  put_time(w, "ts", time);
  if (*phase == 'f') put_format(w, ",\"bp\":\"e\"");
  put_format(w, "}");
}

/* Writes an arrow from the end of an operation to the start of its waiter. A viewer drops an arrow
 * that goes back in time. Ends that are noticed late (the host polls a foreign device) are
 * therefore moved to the waiter's start. */
static void write_flow(struct writing *w, const struct tide_traced *event) {
  static const char *const categories[] = {[TIDE_WAIT_FAILED] = NULL,
                                           [TIDE_WAIT_RESOLVED] = "resolved",
                                           [TIDE_WAIT_ELIDED] = "elided",
                                           [TIDE_WAIT_ISSUED] = "issued",
                                           [TIDE_WAIT_HELD] = NULL};
  static const char *const primitives[] = {"kept by the host", "implied", "barrier", "native wait",
                                           "reached wait"};
  const struct slice *from = find_slice(w, event->cause_axis, event->cause_epoch);
  const struct slice *to = find_slice(w, event->axis, event->epoch);
  bool is_issued = event->kind == TIDE_EVENT_GAP || event->class_ == TIDE_WAIT_ISSUED;
  const char *category = NULL;
  if (event->kind == TIDE_EVENT_KEPT)
    category = event->class_ <= TIDE_PRIMITIVE_REACHED ? primitives[event->class_] : NULL;
  else if (to && to->is_out && is_issued) return; /* KEPT says more */
  else if (event->kind == TIDE_EVENT_GAP) category = "memory";
  else if (event->class_ <= TIDE_WAIT_HELD) category = categories[event->class_];
  if (!category || !event->cause_axis) return;
  if (!from || !to || !from->start || !from->end || !to->start || !to->end) return;
  w->flows++;
  uint64_t end = from->end > from->start ? from->end - 1 : from->end;
  if (end > to->start && to->start >= from->start) end = to->start;
  write_end_of_flow(w, "s", category, from, end);
  write_end_of_flow(w, "f", category, to, to->start);
}

static void write_counter(struct writing *w, const struct tide_traced *event) {
  if (!event->object[0] && !event->label[0]) return;
  begin_event(w, "C");
  put_format(w, ",\"name\":");
  put_string(w, event->object[0] ? event->object : event->label);
  put_time(w, "ts", event->time);
  put_format(w, ",\"args\":{\"value\":%lu}}", (unsigned long)event->value);
}

static void write_memory(struct writing *w, const struct tide_traced *event) {
  static const char *const reuses[] = {"known", "finished", "gap", "fresh"};
  bool alloc = event->kind == TIDE_EVENT_ALLOC;
  unsigned long thread = thread_of_axis(w, event->axis);
  begin_event(w, "i");
  put_format(w, ",\"tid\":%lu,\"s\":\"%s\",\"cat\":\"memory\",\"name\":", thread,
             thread ? "t" : "p");
  char name[64];
  struct tide_text text;
  tide_text_init(&text, name, sizeof name);
  tide_text_format(&text, "%s %s", alloc ? "alloc" : "free", event->label);
  put_string(w, name);
  put_time(w, "ts", event->time);
  put_format(w, ",\"args\":{\"bytes\":%lu", (unsigned long)event->value);
  if (alloc && event->class_ < 4) put_format(w, ",\"reuse\":\"%s\"", reuses[event->class_]);
  put_format(w, "}}");
}

/* Returns the operation that ended a stall by its signal, from the last events before the resume
 * event; NULL: not found. */
static const struct slice *find_signaller(const struct writing *w, uint64_t resume) {
  const struct tide_traced *end = tide_trace_at(w->trace, resume);
  uint64_t first = tide_trace_first(w->trace);
  for (uint64_t i = resume; i > first && resume - i < SIGNALS_SEEN; i--) {
    const struct tide_traced *event = tide_trace_at(w->trace, i - 1);
    if (event->kind == TIDE_EVENT_SIGNAL && event->value == end->value &&
        strcmp(event->object, end->object) == 0)
      return event->axis ? find_slice(w, event->axis, event->epoch) : NULL;
  }
  return NULL;
}

/* Writes a stall. Both its events are traced after the operation, the stall event directly before
 * the resume event. */
static void write_stall(struct writing *w, uint64_t resume) {
  const struct tide_traced *end = tide_trace_at(w->trace, resume);
  const struct tide_traced *begun = tide_trace_at(w->trace, resume - 1);
  const struct slice *slice = find_slice(w, end->axis, end->epoch);
  if (resume == tide_trace_first(w->trace) || begun->kind != TIDE_EVENT_STALL ||
      begun->axis != end->axis || begun->epoch != end->epoch || !slice || !slice->start)
    return;
  uint64_t time = end->time > begun->time ? end->time - begun->time : 0;
  char name[64];
  struct tide_text text;
  tide_text_init(&text, name, sizeof name);
  tide_text_format(&text, "stalled: %s", end->label);
  begin_event(w, "X");
  put_format(w, ",\"tid\":%lu,\"cat\":\"stall\",\"name\":", thread_of(slice));
  put_string(w, name);
  put_time(w, "ts", begun->time);
  put_format(w, ",\"dur\":%lu.%03u,\"args\":{\"timeline\":", (unsigned long)(time / 1000),
             (unsigned)(time % 1000));
  put_string(w, end->object);
  put_format(w, ",\"value\":%lu,\"status\":\"%s\"}}", (unsigned long)end->value,
             tide_status_name((enum tide_status)end->status));
  const struct slice *from = find_signaller(w, resume);
  if (!from || !from->start || !from->end) return;
  w->flows++;
  write_end_of_flow(w, "s", "resume", from, from->end > from->start ? from->end - 1 : from->end);
  write_end_of_flow(w, "f", "resume", slice, end->time);
}

static void name_crossing(const struct tide_traced *event, struct tide_text *text) {
  static const char *const received[] = {"promised", "reached", "failed"};
  unsigned long value = (unsigned long)event->value;
  if (event->kind == TIDE_EVENT_LOST) {
    tide_text_format(text, "lost");
  } else if (event->kind == TIDE_EVENT_RECEIVE) {
    tide_text_format(text, "%s: %lu %s", event->object, value,
                     event->class_ < 3 ? received[event->class_] : "?");
  } else {
    tide_text_format(text, "%s: %lu sent", event->object, value);
    if (event->cause_value)
      tide_text_format(text, ", up to %lu promised", (unsigned long)event->cause_value);
  }
}

/* Writes an instant on the track of a session's member. */
static void write_crossing(struct writing *w, const struct tide_traced *event) {
  char name[128], signaller[64];
  struct tide_text text;
  tide_text_init(&text, name, sizeof name);
  name_crossing(event, &text);
  begin_event(w, "i");
  put_format(w, ",\"tid\":%lu,\"s\":\"%s\",\"cat\":\"session\",\"name\":",
             thread_of_axis(w, axis_of_member(event)), event->kind == TIDE_EVENT_LOST ? "p" : "t");
  put_string(w, name);
  put_time(w, "ts", event->time);
  if (event->status) put_format(w, ",\"cname\":\"terrible\"");
  put_format(w, ",\"args\":{\"status\":\"%s\"", tide_status_name((enum tide_status)event->status));
  if (event->axis) {
    tide_axis_print(event->axis, signaller, sizeof signaller);
    put_format(w, ",\"signaller\":\"%s\",\"epoch\":%lu", signaller, (unsigned long)event->epoch);
  }
  if (tide_trace_failure(w->trace, event)) {
    put_format(w, ",\"failure\":");
    put_string(w, tide_trace_failure(w->trace, event));
  }
  put_format(w, "}}");
}

static void write_all(struct writing *w) {
  const struct tide_trace *trace = w->trace;
  put_format(w,
             "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"lost_events\":%lu},\"traceEvents\":[\n",
             (unsigned long)tide_trace_lost(trace));
  write_tracks(w);
  for (size_t i = 0; i < w->slice_count; i++) write_slice(w, &w->slices[i]);
  for (uint64_t i = tide_trace_first(trace); i < trace->count; i++) {
    const struct tide_traced *event = tide_trace_at(trace, i);
    if (event->kind == TIDE_EVENT_WAIT_CLASS || event->kind == TIDE_EVENT_GAP ||
        event->kind == TIDE_EVENT_KEPT)
      write_flow(w, event);
    else if (event->kind == TIDE_EVENT_SIGNAL) write_counter(w, event);
    else if (event->kind == TIDE_EVENT_RESUME) write_stall(w, i);
    else if (event->kind == TIDE_EVENT_ALLOC || event->kind == TIDE_EVENT_FREE)
      write_memory(w, event);
    else if (is_of_member(event->kind)) write_crossing(w, event);
  }
  put_format(w, "\n]}\n");
  flush_buffer(w);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool make_tables(struct writing *w) {
  const struct tide_trace *trace = w->trace;
  size_t table = 64;
  for (uint64_t i = tide_trace_first(trace); i < trace->count; i++) {
    const struct tide_traced *event = tide_trace_at(trace, i);
    w->slice_capacity += makes_slice(event->kind);
    if (event->time && (!w->origin || event->time < w->origin)) w->origin = event->time;
  }
  while (table < 2 * w->slice_capacity) table *= 2;
  w->table_mask = table - 1;
  w->slices = tide_alloc(w->allocator, w->slice_capacity, sizeof *w->slices);
  w->table = tide_alloc(w->allocator, table, sizeof *w->table);
  return w->slices && w->table && gather_slices(w) && gather_members(w);
}

static void free_tables(struct writing *w) {
  for (size_t i = 0; i < w->track_count; i++)
    tide_free(w->allocator, w->tracks[i].free, w->tracks[i].capacity, sizeof *w->tracks[i].free);
  tide_free(w->allocator, w->tracks, w->track_capacity, sizeof *w->tracks);
  tide_free(w->allocator, w->slices, w->slice_capacity, sizeof *w->slices);
  tide_free(w->allocator, w->table, w->table_mask + 1, sizeof *w->table);
}

enum tide_status tide_trace_write(struct tide_trace *trace,
                                  const struct tide_trace_writer *writer) {
  const struct tide_allocator *a = trace->params.allocator;
  struct writing *w = tide_alloc(a, 1, sizeof *w);
  if (!w) return TIDE_NOMEM;
  w->trace = trace;
  w->allocator = a;
  w->writer = writer;
  if (make_tables(w)) write_all(w);
  else w->status = TIDE_NOMEM;
  enum tide_status status = w->status;
  free_tables(w);
  tide_free(a, w, 1, sizeof *w);
  return status;
}
