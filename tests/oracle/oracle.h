/* tests/oracle/oracle.h: random programs against the public API, and a ground truth beside them.
 *
 * A *world* is one context and one scheduler; a *program* is a set of devices, queues, timelines
 * and buffers in it with a random stream of its own. The test is the backend: it decides when work
 * is taken and handed back, when the host signals, what fails. The library tells what it does
 * through the sink; from that, and from what was submitted, the truth is worked out with unbounded
 * sets and compared at every start, import, elision, reuse and publication.
 *
 * Since epochs of an axis finish in order, a set of finished operations is one number an axis:
 * struct vec. For each operation two are kept: `start`, what must have finished before it starts
 * according to the declared waits, the queue's order and what the host had seen; and `finish`, what
 * has finished when it has. */
#ifndef TESTS_ORACLE_ORACLE_H
#define TESTS_ORACLE_ORACLE_H

#include "base/random.h"
#include "tidemark/tidemark.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_AXES 48
#define MAX_QUEUES 16
#define MAX_DEVICES 4
#define MAX_TIMELINES 40
#define MAX_OPS 700
#define MAX_EPOCHS 700
#define MAX_WAITS 14 /* of one operation; mostly up to FEW_WAITS */
#define FEW_WAITS 5
#define MAX_SIGNALS 3
#define MAX_USES 3
#define MAX_RECORDS 700
#define MAX_BUFFERS 256
#define MAX_READERS 32
#define MAX_COLLECTIVES 3
#define MAX_INSTANCES 64
#define MAX_MEMBERS 4
#define MAX_HOSTS 2
#define MAX_PROGRAMS 2
#define MAX_WAKERS 64
#define MAX_STEPS 256

struct vec {
  uint32_t at[MAX_AXES];
};

struct op;
struct queue;
struct program;
struct world;
struct home;
struct waker;

/* ---- timelines ---------------------------------------------------------------- */

struct record {
  uint64_t value;
  int axis; /* -1: external */
  uint64_t epoch;
  struct op *op;  /* pending ones */
  uint32_t count; /* reached ones: what the record listed */
  uint64_t hash;
  bool tainted;
};

/* FOREIGN: of another machine; the value, the failure and the pending records are what was told. */
enum line_kind { LINE_NORMAL, LINE_PROGRESS, LINE_COLLECTIVE, LINE_FOREIGN };

struct line {
  struct tide_timeline *handle;
  struct program *program;
  enum line_kind kind;
  char label[16];
  enum tide_scope scope;
  bool operations_only, multi, dead;
  int owner; /* the queue that signals it, unless multi; -1: the host */
  const void *home;
  struct queue *queue;           /* LINE_PROGRESS */
  struct collective *collective; /* LINE_COLLECTIVE */
  uint64_t value, initial, fail_from;
  enum tide_status status;
  uint32_t history;
  uint32_t reached_count, pending_count;
  bool excused;                     /* somebody may have failed it: host, cancel, destroy … */
  struct record *reached, *pending; /* room for MAX_RECORDS */
};

/* Does it have records of its own, which are listed here? */
static inline bool has_records(const struct line *line) {
  return line->kind == LINE_NORMAL || line->kind == LINE_FOREIGN;
}

/* ---- operations ----------------------------------------------------------------- */

enum op_state {
  OP_NEW,
  OP_REFUSED,
  OP_HELD,
  OP_ENTERED,
  OP_STARTED,
  OP_ENDED,
  OP_PUBLISHED,
  OP_LEFT
};

struct wait {
  struct line *line;
  uint64_t value;
  uint8_t class_, reason;
  bool seen, gone;   /* classified; failed */
  struct vec brings; /* what a wait that is issued implies */
  int record_axis;   /* the smallest tracked record that serves: -1 none */
  uint64_t record_epoch, record_value;
  int cause; /* what was imported; -1: nothing */
  uint64_t cause_epoch;
};

struct emission {
  struct line *line;
  uint64_t value;
  bool external;
  bool done;
};

struct op {
  struct program *program;
  struct queue *queue;
  uint32_t id;
  char label[12];
  uint64_t sequence, epoch;
  enum op_state state;
  uint32_t flags;
  uint32_t wait_count, signal_count, use_count, classes_seen;
  struct wait waits[MAX_WAITS];
  struct emission signals[MAX_SIGNALS];
  struct buffer *uses[MAX_USES];
  enum tide_access access[MAX_USES];
  bool has_body, brief, refused, cancelled, tainted, ran, lost;
  bool excused; /* accepted, and failed, though its signals were out of order at the submit */
  bool was_held, failed_before; /* at its submit; it had failed when it entered */
  bool expelled; /* held, and found to wait for itself when another one was cancelled */
  bool cyclic;   /* found to wait for itself when it entered: it awaits and touches nothing */
  enum tide_status status;
  struct instance *instance;
  struct vec known, start, finish;
  struct vec declared; /* race-free programs: what was declared to be before it */
  struct tide_work *work;
  struct op *device_before;    /* what a sequential device's hand does before it */
  uint64_t queue_value;        /* race-free programs: what it signals of its queue's own timeline */
  uint64_t inputs, fold, twin; /* what its body computed, and what it does in the sequential run */
};

/* ---- queues and devices ----------------------------------------------------------- */

struct axis {
  tide_axis id;
  struct program *program;
  uint32_t local;                /* its number within the program */
  struct queue *queue;           /* or */
  struct collective *collective; /* or a host */
  uint32_t given, published, prefix;
  bool over;           /* certified or closed: all of it counts as finished */
  bool home;           /* of another machine: `prefix` is the truth there */
  struct op **ops;     /* by epoch */
  struct vec *records; /* of a host axis, by epoch */
};

struct queue {
  struct program *program;
  struct tide_queue *handle;
  struct device *device;
  int index, axis;
  char label[12];
  struct line *progress;
  uint32_t operations, waits, signals, buffers, mask;
  uint64_t accepted;
  bool destroyed, gone;
  bool member; /* of a collective */
  struct op *by_sequence[MAX_EPOCHS];
  struct vec
      start;      /* of the newest entered operation, plus, where completion is in order, its end */
  struct vec end; /* its finish */
  struct vec declared;
  uint64_t signal_index; /* race-free programs: the newest value of its own timeline */
};

struct device {
  struct program *program;
  struct tide_device *handle;
  struct tide_backend backend;
  char label[12];
  bool in_order, sequential, awake, lost, certified;
  uint32_t stopped_until; /* its workers stand still before this step */
  struct op *out[MAX_OPS];
  uint32_t out_count;
  uint32_t kicks;
};

struct instance {
  struct collective *collective;
  uint32_t number, submitted;
  uint64_t kind;
  struct op *parts[MAX_MEMBERS];
  bool lacking; /* a part that will never come */
  bool whole;   /* the last part has entered */
};

struct collective {
  struct tide_collective *handle;
  struct line *progress;
  int axis;
  uint32_t count;
  struct queue *members[MAX_MEMBERS];
  uint32_t next[MAX_MEMBERS];
  struct instance instances[MAX_INSTANCES];
  struct vec finishes[MAX_INSTANCES];
  uint32_t entered;
  bool lost; /* a member is: what lacks a part never gets it */
};

struct host {
  int axis;
  struct tide_position position;
  TIDE_FRONTIER_STORAGE(frontier, 64);
  struct vec knows;
};

/* ---- buffers ------------------------------------------------------------------------ */

struct buffer {
  struct tide_buffer *handle;
  unsigned char *data;
  size_t size, span;
  enum tide_reuse reuse;
  bool freed, imported;
  struct vec past;   /* all that its past implies */
  struct vec listed; /* what its past lists */
  struct op *users[MAX_OPS];
  uint32_t user_count;
  struct op *writer;               /* race-free programs */
  struct op *readers[MAX_READERS]; /* since then */
  uint32_t reader_count;
  unsigned char *twin; /* the same bytes in the sequential run */
  struct queue *freed_by;
};

/* ---- a program -------------------------------------------------------------------------- */

/* Chances are in 1/1000 of an action or an operation. */
struct config {
  uint32_t steps, devices, queues, timelines, hosts;
  uint32_t capacity_ops; /* of a queue; 0: large */
  uint32_t in_order_chance;
  uint32_t hold, passable, multi, external_signal, host_owned, operations_only, narrow,
      progress_wait;
  uint32_t fail, cancel, host_fail, destroy, lose, destroy_line;
  uint32_t host_signal, external_host;
  uint32_t buffers, free_elsewhere, host_free, limit, wait_first;
  uint32_t collectives, pause, batch, bad, bodyless, query;
  uint32_t crossed;    /* parts are submitted one by one, beside held operations */
  uint32_t take, give; /* how eager the backend is */
  uint32_t signal_chance;
  uint32_t stop;   /* all workers of a device stop for a while */
  uint32_t scarce; /* there is no memory for a step */
  uint32_t wakes;  /* the host wants to be called */
  uint32_t many;   /* operations have up to MAX_WAITS waits */
  uint32_t homes;  /* another machine does something */
  uint32_t tiny;   /* queues have room for few waits, signals and buffers; pools for few buffers */
  uint8_t frontier;
  uint32_t history;
  bool kicked; /* take only when kicked */
  bool racefree;
  bool check;       /* check mode */
  uint32_t racy;    /* race-free programs: needed waits that are left out, or ask for too little */
  bool contracts;   /* check what calls answer, too */
  const bool *skip; /* steps that are left out, by number from 1; NULL: none */
};

struct program {
  struct world *world;
  struct config config;
  struct tide_random random;
  int index;
  struct device devices[MAX_DEVICES];
  struct queue *queues[MAX_QUEUES];
  struct line *lines[MAX_TIMELINES];
  struct line *own_lines[MAX_QUEUES]; /* race-free programs: one a queue */
  struct collective *collectives[MAX_COLLECTIVES];
  struct host hosts[MAX_HOSTS];
  struct op *ops[MAX_OPS];
  struct buffer *buffers[MAX_BUFFERS];
  uint32_t device_count, queue_count, line_count, collective_count, host_count, op_count,
      buffer_count;
  struct tide_pool *pool;
  struct home *home;   /* NULL: there is no other machine */
  bool epochs_moved;   /* a held operation has left, or entered and closed a cycle */
  struct vec declared; /* race-free programs: whose end the host has asked for, and their past */
  struct waker *wakers[MAX_WAKERS];
  uint32_t waker_count;
  uint64_t seed;
  uint32_t step;
  struct op *submitting;
  uint64_t *notes; /* what it did and knew, one hash an event, to compare runs; NULL: not kept */
  uint32_t note_count, axis_count;
  uint64_t noted; /* all notes as one hash */
};

struct world {
  uint64_t seed;
  struct tide_context *context;
  struct tide_sink sink;
  struct program programs[MAX_PROGRAMS];
  uint32_t program_count;
  struct axis axes[MAX_AXES];
  uint32_t axis_count;
  bool paused, ending, contracts;
  bool trying; /* what is said is about things that belong to no program */
  /* What other threads do while the library blocks; false: nothing. NULL: it may not block. */
  bool (*meanwhile)(struct world *world);
  uint64_t events;
  struct tide_context_stats counted;
  uint64_t checks, elided_checked;
  struct {
    const void *handle;
    struct vec past, signaller; /* all that the entries imply; all that the signaller does */
    struct vec listed;          /* the entries; of a tainted past its signaller */
    bool tainted, has_signaller;
    enum tide_reuse reuse;
  } alloc; /* what the last one said */
  /* A wait that was issued though its signaller was known: an error, unless a frontier was tainted.
   */
  char needless[200];
  bool blurred;
  /* the end by violation */
  jmp_buf out;
  char why[512];
  bool verbose;
  /* check mode */
  bool checking;
  uint32_t findings, findings_seen;
  const char *finding;
  struct tide_diag last_finding;
  /* history: the newest lines, when verbose */
  char (*lines)[200];
  uint32_t line_next;
};

#define LOG_LINES 4000

/* ---- world.c ---- */
struct outcome {
  bool violated;
  char why[512];
  uint32_t steps;
  struct tide_context_stats stats;
  struct tide_pool_stats pool;
  uint64_t checks;
  uint64_t noted; /* a hash of all that the program did and knew */
};
_Noreturn void violation(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define ENSURE(world, what, ...)                                                                   \
  do {                                                                                             \
    if (!(what)) violation((world), __VA_ARGS__);                                                  \
  } while (0)
void note_line(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define LOG(world, ...)                                                                            \
  do {                                                                                             \
    if ((world)->verbose) note_line((world), __VA_ARGS__);                                         \
  } while (0)
/* Memory that lives until the world ends; zeroed, or not. */
void *keep(size_t size);
void *keep_raw(size_t size);
void world_open(struct world *world, uint64_t seed, uint8_t frontier_capacity, bool check);
void world_close(struct world *world);
void memory_reset(void);
/* The worlds from here on have memory of another kind, in which a program must do the same: at
 * other addresses, in the same order, and with other bytes where nothing was written. 0: the usual
 * kind. */
void memory_vary(uint64_t number);
size_t memory_live(void);
/* So many more allocations of the library succeed; UINT32_MAX: all. */
void memory_allow(uint32_t count);
void print_history(const struct world *world, uint32_t most);

/* ---- truth.c ---- */
void vec_max(struct vec *to, const struct vec *from);
bool vec_has(const struct vec *vec, int axis, uint64_t epoch);
int axis_find(struct world *world, tide_axis id);
int axis_add(struct program *program, tide_axis id);
bool finished(struct world *world, int axis, uint64_t epoch);
void finished_now(struct world *world, struct vec *out);
const struct vec *finish_of(struct world *world, int axis, uint64_t epoch);
void frontier_vec(struct world *world, const struct tide_frontier *frontier, struct vec *out);
uint64_t frontier_hash(struct world *world, const struct tide_frontier *frontier);
#define MAX_NOTES 8192
void note_event(struct op *op, const struct tide_event *event);
void prefix_update(struct world *world, int axis);
const char *axis_text(struct world *world, int axis);

/* ---- lines.c: what is known about timelines ---- */
struct line *line_find(struct world *world, const void *handle);
uint64_t line_value(struct line *line);
bool line_failed(const struct line *line, uint64_t value);
/* The smallest pending record >= value; `tracked`: that is not external. */
bool line_pending(struct line *line, uint64_t value, bool tracked, struct record *out);
/* The record that must answer for a reached value; false: nothing is known. */
bool line_reached(struct line *line, uint64_t value, struct record *out, bool *exact);
uint64_t line_top(struct line *line);
struct record *line_newest_pending(struct line *line);
struct record *line_reserved_from(struct line *line, uint64_t value);
void line_add_pending(struct line *line, struct op *op, uint64_t value, bool external);
void line_drop_pending(struct line *line, struct op *op);

/* ---- watch.c: the sink ---- */
void watch(void *self, const struct tide_event *event);

/* ---- enter.c ---- */
void watch_enter(struct op *op, const struct tide_event *event);
void watch_class(struct op *op, const struct tide_event *event);
/* After watch_enter, for an operation that waits for nothing. */
void watch_entered_alone(struct op *op);

/* ---- buffers.c ---- */
void watch_alloc(struct world *world, const struct tide_event *event);
void buffers_check_start(struct op *op);
/* The operation does not touch its buffers after all. */
void buffers_forget(struct op *op);
void buffers_pasts(struct op *op, struct vec *into);
struct buffer *buffer_alloc(struct program *program, struct queue *queue, size_t size);
void buffer_free(struct program *program, struct buffer *buffer, struct queue *queue);
void buffer_random(struct program *program);
void twin_run(struct op *op);
void body_begin(struct op *op);
void body_end(struct op *op);

/* ---- compose.c ---- */
uint64_t pick(struct program *program, uint64_t limit);
bool chance(struct program *program, uint32_t of_thousand);
struct op *compose(struct program *program, struct queue *queue);
struct op *compose_part(struct program *program, struct op *op);
/* Draws nothing; an empty operation to be filled in. */
struct op *op_new(struct program *program, struct queue *queue);
void op_add_wait(struct op *op, struct line *line, uint64_t value);

/* ---- submit.c ---- */
enum tide_status submit(struct op *op);
bool fails_at_entry(const struct op *op);
void submit_batch(struct program *program, struct queue *queue, uint32_t count);
void submit_instance(struct program *program, struct collective *collective);
void submit_part(struct program *program, struct collective *collective);

/* ---- home.c: another machine ---- */
void home_make(struct program *program);
void home_step(struct program *program);
void home_run_out(struct program *program);
void home_end(struct program *program);
bool home_is_lost(const struct program *program);
/* Is this the record of a value that is reached there? axis -1: only the value is told. */
bool home_record(struct world *world, const struct line *line, int axis, uint64_t epoch,
                 uint64_t value);

/* ---- make.c ---- */
struct line *line_make(struct program *program, enum line_kind kind);
void program_make(struct program *program, struct world *world, const struct config *config,
                  uint64_t seed);
struct queue *queue_make(struct program *program);
struct queue *queue_any(struct program *program);
/* Queues that are not lost; false: too many collectives already. */
bool collective_make(struct program *program, struct queue *const *members, uint32_t count);

/* ---- settled.c: what must be so between two calls ---- */
void check_settled(struct program *program);
/* An untainted frontier stands for all of the queue's past. */
void check_position(struct queue *queue);
bool op_failing(struct op *op);
/* True if another part of its instance has failed, or will never come. */
bool instance_fails(const struct op *op);

/* ---- cycles.c ---- */
/* Would this operation wait for itself if it entered now, or were held? `fails`: if it entered as
 * one that has failed. */
bool closes_cycle(struct op *op, bool enters, bool fails);
/* If epochs mean other operations than before: notes the held ones that wait for themselves now. */
void expel_cyclic(struct program *program);

/* ---- races.c ---- */
void check_races(struct op *op);
void host_saw_ends(struct program *program, struct op *const *ops, uint32_t count);
/* Race-free programs: the operation that a wait puts this one behind; NULL: none. */
const struct op *named_by(const struct program *program, const struct line *line, uint64_t value);
void heard_finding(void *user, const struct tide_diag *diag);

/* ---- drive.c ---- */
void program_step(struct program *program);
/* Takes and hands back until nothing moves any more. */
void program_run_out(struct program *program);
void device_exchange(struct device *device, uint32_t give, uint32_t take);
void device_certify(struct device *device);
void queue_destroy(struct queue *queue);
bool host_signal(struct program *program, struct line *line, uint64_t value, struct host *host);
/* What a host signal must stay below. */
uint64_t line_host_limit(struct line *line);

/* ---- wakes.c ---- */
void wake_random(struct program *program);
void check_wakes(struct program *program);
void wakes_cancel(struct program *program);
void wakes_end(struct program *program);

/* ---- scarce.c ---- */
void scarce_random(struct program *program);

/* ---- lose.c: collectives whose members are lost ---- */
/* Before the library is told, and after. `queue` NULL: all of the device. */
void members_go(struct program *program, const struct queue *queue, const struct device *device);
void members_gone(struct program *program);

/* ---- ending.c ---- */
void program_end(struct program *program);
/* When all programs have ended: a pool may wait for what any of them did. */
void program_close(struct program *program);

/* ---- run.c ---- */
/* One program in a world of its own. */
void run_seed(uint64_t seed, const struct config *config, bool verbose, bool contracts,
              struct outcome *out);
void draw_config(uint64_t seed, struct config *out);
/* True if the program does something else in memory of another kind. `usual`: what it does in the
 * usual one. */
bool differs_elsewhere(uint64_t seed, const struct config *config, bool contracts, uint64_t number,
                       const struct outcome *usual);

/* ---- again.c ---- */
/* Says whether a violation is seen again: in this process, in other memory, and in a process of its
 * own with these arguments, which end with NULL. Says, too, if this process does not run what the
 * program's file has. */
void show_again(uint64_t seed, const struct config *config, bool contracts,
                const struct outcome *outcome, char **arguments);
/* Logs the state of the library's searches for cycles, and its diagnosis. */
void log_searches(const struct op *op);

/* ---- shrink.c ---- */
/* Takes away what a violation does not need: features of the configuration, then steps. `config` is
 * left as the smallest that still violates. Returns how many steps are left. */
uint32_t shrink(uint64_t seed, struct config *config, bool contracts, struct outcome *outcome);
/* "--set a=1 … --skip 1-4,7": how to do it again. */
void print_config(const struct config *drawn, const struct config *config);
/* The settings as an array, for taking them away one by one. */
size_t config_fields(struct config *config, uint32_t **out_fields, const char **out_names,
                     size_t most);
/* "1-4,7": false when it is no such list. The steps are remembered until the next call. */
bool skip_set(struct config *config, const char *text);

/* "name=value"; false: no such name. */
bool config_set(struct config *config, const char *text);
#endif
