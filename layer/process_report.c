/* The report of a process: counts, findings, limits, and explain's account. protocol.h has the
 * format. */
#include "layer/build_id.h"
#include "layer/explore.h"
#include "layer/layer.h"
#include "layer/protocol.h"
#include "layer/submission_trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define NOTES_MOST 256
#define KEPT_MOST (1u << 20) /* bytes of the reports that destroyed devices left */

struct note {
  char text[512];
  uint64_t count;
};
struct notes {
  struct note *rows;
  size_t count;
};

static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the notes */
static pthread_mutex_t report_lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards all other state, one report at a time */
static struct notes findings, limits;
static struct layer_counts kept_counts;
static char *kept_text;
static size_t kept_length;
static char *last_explanation;
static size_t last_length;
static int wake = -1; /* an eventfd */
static pid_t process;

/* ---- findings and limits --------------------------------------------------------- */

static void add_note(struct notes *notes, const char *prefix, const char *format, va_list list) {
  char raw[512], text[512];
  size_t length = (size_t)snprintf(raw, sizeof raw, "%s", prefix);
  vsnprintf(raw + length, sizeof raw - length, format, list);
  layer_clean_text(text, sizeof text, raw);
  pthread_mutex_lock(&note_lock);
  if (!notes->rows) notes->rows = calloc(NOTES_MOST, sizeof *notes->rows);
  size_t at = 0;
  while (notes->rows && at < notes->count && strcmp(notes->rows[at].text, text) != 0) at++;
  if (notes->rows && at < NOTES_MOST) {
    strcpy(notes->rows[at].text, text);
    notes->rows[at].count++;
    if (at == notes->count) notes->count++;
  }
  pthread_mutex_unlock(&note_lock);
}

void layer_finding(const char *kind, const char *format, ...) {
  char prefix[64];
  va_list list;
  va_start(list, format);
  snprintf(prefix, sizeof prefix, "%s ", kind);
  add_note(&findings, prefix, format, list);
  va_end(list);
}

void layer_limit(const char *format, ...) {
  va_list list;
  va_start(list, format);
  add_note(&limits, "", format, list);
  va_end(list);
}

static void print_notes(const struct notes *notes, const char *key, bool counted, FILE *to) {
  pthread_mutex_lock(&note_lock);
  for (size_t i = 0; i < notes->count; i++) {
    fprintf(to, "%s %s", key, notes->rows[i].text);
    if (counted && notes->rows[i].count > 1)
      fprintf(to, " (%llu times)", (unsigned long long)notes->rows[i].count);
    fputc('\n', to);
  }
  pthread_mutex_unlock(&note_lock);
}

/* ---- counts ---------------------------------------------------------------------- */

static void add_counts(struct layer_counts *to, const struct layer_counts *from) {
  const uint64_t *source = (const uint64_t *)from;
  uint64_t *target = (uint64_t *)to;
  for (size_t i = 0; i < sizeof *to / sizeof *target; i++) target[i] += source[i];
}

static void print_counts(const struct layer_counts *counts, FILE *to) {
  const struct {
    const char *name;
    uint64_t count;
  } rows[] = {{"submissions", counts->submissions},
              {"waits", counts->waits},
              {"signals", counts->signals},
              {"picks", counts->picks},
              {"choices", counts->choices},
              {"forced", counts->forced},
              {"timer", counts->timer},
              {"bound", counts->bound},
              {"flushed", counts->flushed},
              {"edges", counts->edges},
              {"dropped", counts->dropped},
              {"forgotten", counts->forgotten}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    fprintf(to, "count %s %llu\n", rows[i].name, (unsigned long long)rows[i].count);
  for (int i = 0; i < LAYER_WAIT_CLASSES; i++)
    fprintf(to, "count %s %llu\n", layer_class_name((enum layer_wait_class)i),
            (unsigned long long)counts->classes[i]);
}

/* ---- the report ------------------------------------------------------------------ */

struct writing {
  FILE *to;
  struct layer_counts counts;
  FILE *explanation; /* NULL: none is wanted */
};

static void print_device(struct layer_device *device, FILE *to) {
  fprintf(to, "device %s\n", device->name);
  if (device->clocks.out_of_memory)
    fprintf(to, "limit out of memory: from some point on waits were counted as needed\n");
  if (device->counts.forgotten)
    fprintf(to, "limit %llu submission%s dropped from the ledger, not yet seen to finish\n",
            (unsigned long long)device->counts.forgotten,
            device->counts.forgotten == 1 ? " was" : "s were");
  if (layer_options()->mode != LAYER_EXPLAIN) layer_audit_print(device, to);
}

static void write_device(struct layer_device *device, void *user) {
  struct writing *writing = user;
  pthread_mutex_lock(&device->lock);
  add_counts(&writing->counts, &device->counts);
  print_device(device, writing->to);
  if (writing->explanation) layer_explain(device, writing->explanation);
  pthread_mutex_unlock(&device->lock);
}

void layer_report_keep(struct layer_device *device) {
  char *text = NULL;
  size_t length = 0;
  FILE *to = open_memstream(&text, &length);
  if (to) {
    print_device(device, to);
    fclose(to);
  }
  pthread_mutex_lock(&report_lock);
  add_counts(&kept_counts, &device->counts);
  char *grown = text && kept_length + length < KEPT_MOST
                    ? realloc(kept_text, kept_length + length + 1)
                    : NULL;
  if (grown) {
    memcpy(grown + kept_length, text, length + 1);
    kept_text = grown;
    kept_length += length;
  }
  pthread_mutex_unlock(&report_lock);
  free(text);
}

static const char *process_name(char *name, size_t size) {
  char raw[64];
  snprintf(raw, sizeof raw, "process %d", (int)getpid());
  int descriptor = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  ssize_t length = descriptor < 0 ? 0 : read(descriptor, raw, sizeof raw - 1);
  if (descriptor >= 0) close(descriptor);
  if (length > 0) raw[length - (raw[length - 1] == '\n')] = 0;
  layer_clean_text(name, size, raw);
  return name;
}

static void print_identity(FILE *to) {
  Dl_info info = {.dli_fname = NULL};
  char file[1024];
  int found = dladdr((void *)(uintptr_t)layer_report, &info);
  layer_clean_text(file, sizeof file, found && info.dli_fname ? info.dli_fname : "?");
  fprintf(to, "layer %s %s %s\n", tide_layer_version, tide_layer_build, file);
}

/* Prints the limits of the mode. */
static void print_mode_limits(FILE *to) {
  static const char *const texts[] = {
      [LAYER_EXPLAIN] =
          "limit whether a submission has finished is known from timelines, fences and idle "
          "queues: one that signals only binary semaphores counts as unfinished until then\n",
      [LAYER_EXPLORE] =
          "limit only the order of whole submissions was changed: not that of commands within "
          "one, nor pipeline stages, nor when memory becomes visible\n",
      [LAYER_AUDIT] =
          "limit a wait also makes memory visible: where it goes, a memory barrier may be "
          "needed in its place\n"};
  fputs(texts[layer_options()->mode], to);
}

static void write_report(FILE *to, enum layer_reason reason) {
  static const char *const modes[] = {"explain", "explore", "audit"};
  static const char *const reasons[] = {"exit", "request", "lost"};
  char name[64];
  struct writing writing = {.to = to, .counts = kept_counts};
  bool explains = reason != LAYER_REASON_EXIT;
  fprintf(to, "%s\nprocess %ld %s\nmode %s\nreason %s\n", TIDE_VULKAN_REPORT_HEAD, (long)process,
          process_name(name, sizeof name), modes[layer_options()->mode], reasons[reason]);
  print_identity(to);
  if (kept_text) fwrite(kept_text, 1, kept_length, to);
  if (explains) {
    free(last_explanation);
    last_explanation = NULL;
    writing.explanation = open_memstream(&last_explanation, &last_length);
  }
  layer_for_each_device(write_device, &writing);
  if (writing.explanation) fclose(writing.explanation);
  if (layer_options()->mode == LAYER_AUDIT) layer_audit_verdict(&writing.counts, to);
  if (layer_options()->mode == LAYER_EXPLAIN && !explains)
    fprintf(to, "verdict it came to its end%s\n",
            last_explanation ? "; before, when it was asked:" : ": nothing hangs");
  if (last_explanation) fwrite(last_explanation, 1, last_length, to); /* later reports keep it */
  print_counts(&writing.counts, to);
  if (layer_options()->mode == LAYER_EXPLORE)
    fprintf(to, "schedule %016llx\n", (unsigned long long)layer_explore_schedule());
  print_mode_limits(to);
  print_notes(&findings, "finding", false, to);
  print_notes(&limits, "limit", true, to);
  fputs("end\n", to);
}

static void write_file(enum layer_reason reason) {
  layer_order_flush();
  const char *directory = layer_options()->directory;
  char path[4160], temporary[4192];
  snprintf(path, sizeof path, "%s/%ld.report", directory, (long)process);
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE *to = fopen(temporary, "we");
  if (!to) return;
  write_report(to, reason);
  bool good = !ferror(to);
  if (fclose(to) == 0 && good) rename(temporary, path);
  if (layer_options()->trace) layer_trace_write();
}

void layer_report(enum layer_reason reason) {
  if (getpid() != process || layer_options()->is_off)
    return; /* a fork's child has its parent's ledger */
  pthread_mutex_lock(&report_lock);
  if (layer_options()->directory[0]) write_file(reason);
  else if (reason != LAYER_REASON_EXIT) write_report(stderr, reason);
  pthread_mutex_unlock(&report_lock);
}

VkResult layer_check_lost(struct layer_device *device, VkResult result) {
  if (result != VK_ERROR_DEVICE_LOST) return result;
  pthread_mutex_lock(&device->lock);
  bool is_first = !device->lost;
  device->lost = true;
  pthread_cond_broadcast(&device->changed);
  pthread_mutex_unlock(&device->lock);
  if (!is_first) return result;
  layer_finding("device-lost", "the driver said that the device is lost: %s", device->name);
  layer_report(LAYER_REASON_LOST);
  return result;
}

/* ---- SIGQUIT --------------------------------------------------------------------- */

/* True if a descriptor is still the layer's. A program that closes all descriptors, as daemons do,
 * may have a file of its own under the old number: no byte of that is touched. */
static bool is_still(int descriptor, const char *kind) {
  char path[64], target[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length <= 0) return false;
  target[length] = 0;
  return strcmp(target, kind) == 0;
}

#define EVENT "anon_inode:[eventfd]"
#define INOTIFY "anon_inode:inotify"

static void ask_for_report(int signal) {
  (void)signal;
  int saved = errno;
  uint64_t one = 1;
  if (is_still(wake, EVENT)) {
    ssize_t ignored = write(wake, &one, sizeof one);
    (void)ignored;
  }
  errno = saved;
}

/* Opens a watch of the directory. The tool asks by a file, since a signal would interrupt the
 * program's own calls. -1: none. */
static int watch_directory(void) {
  const char *directory = layer_options()->directory;
  char path[4160];
  int watch = directory[0] ? inotify_init1(IN_CLOEXEC) : -1;
  if (watch < 0 || inotify_add_watch(watch, directory, IN_CREATE) < 0) return -1;
  snprintf(path, sizeof path, "%s/%ld.ready", directory, (long)process);
  int ready = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (ready >= 0) close(ready);
  return watch;
}

/* True if a file named "ask" came. */
static bool is_asked(int watch) {
  char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
  ssize_t length = read(watch, buffer, sizeof buffer);
  bool asked = false;
  for (ssize_t at = 0; at < length;) {
    const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
    asked |= event->len && strcmp(event->name, TIDE_VULKAN_ASK) == 0;
    at += (ssize_t)(sizeof *event + event->len);
  }
  return asked;
}

static void *answer_requests(void *unused) {
  struct pollfd waits[] = {{.fd = wake, .events = POLLIN},
                           {.fd = watch_directory(), .events = POLLIN}};
  uint64_t count;
  for (;;) {
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return unused;
    if (!is_still(waits[0].fd, EVENT)) waits[0].fd = -1;
    if (!is_still(waits[1].fd, INOTIFY)) waits[1].fd = -1;
    if (waits[0].fd < 0 && waits[1].fd < 0) return unused;
    bool asked = waits[0].fd >= 0 && (waits[0].revents & POLLIN) &&
                 read(wake, &count, sizeof count) == sizeof count;
    asked |= waits[1].fd >= 0 && (waits[1].revents & POLLIN) && is_asked(waits[1].fd);
    if (asked) layer_report(LAYER_REASON_REQUEST);
  }
}

/* Installs the SIGQUIT handler, unless the program has its own. */
static void catch_quit(void) {
  struct sigaction old, now = {.sa_handler = ask_for_report, .sa_flags = SA_RESTART};
  if (sigaction(SIGQUIT, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
    sigaction(SIGQUIT, &now, NULL);
}

static void start_thread(void) {
  pthread_t thread;
  sigset_t all, before;
  process = getpid();
  wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool runs = pthread_create(&thread, NULL, answer_requests, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!runs) return;
  pthread_detach(thread);
  catch_quit();
}

/* Resets all, in the child of a fork: the child has no thread that answers, and no report yet. */
static void begin_anew(void) {
  pthread_mutex_init(&note_lock, NULL);
  pthread_mutex_init(&report_lock, NULL);
  findings.count = limits.count = 0;
  kept_counts = (struct layer_counts){0};
  kept_length = last_length = 0;
  if (kept_text) kept_text[0] = 0;
  process = 0;
  wake = -1;
  layer_order_forget();
  layer_state_forget();
}

void layer_report_start(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool follows_forks;
  pthread_mutex_lock(&lock);
  if (!follows_forks) follows_forks = pthread_atfork(NULL, NULL, begin_anew) == 0;
  if (process != getpid()) start_thread();
  pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void report_exit(void) {
  if (process) layer_report(LAYER_REASON_EXIT);
}
