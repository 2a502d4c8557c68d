/* A bounded queue of lines, and the thread that writes them. */
#include "tool/event_log.h"
#include "base/atomic.h"
#include "tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE 512     /* bytes of the longest line */
#define BATCH 4096   /* a pipe takes that much as a whole or not at all */
#define RETRY_MS 100 /* between two tries to write a file */
#define CLOSE_TIME 1000000000ull
#define JOIN_TIME 3000000000ull /* CLOSE_TIME, and time for a write that does not return */

struct line {
  size_t length;
  char bytes[LINE];
};

struct tide_event_log {
  const char *path;
  pthread_t writer;
  int bell;         /* wakes the writer */
  int farewell;     /* the writer has ended */
  uint32_t reopens; /* atomic; set by SIGHUP */
  pthread_mutex_t lock;
  /* Guarded by the lock. */
  char *queue;          /* bytes first .. first + length, modulo the size */
  size_t first, length; /* only the writer removes bytes */
  uint64_t dropped;     /* events since the last "dropped" line */
  uint64_t lost;        /* events lost so far */
  uint64_t end_by;      /* the deadline for the writer; 0: none */
  bool is_idle;         /* the writer waits for its bell */
  /* Used by the writer only. */
  int file;   /* -1: not open; the next try opens it */
  int error;  /* the error that prevents writes; 0: none */
  int reason; /* the last error that was reported */
  bool is_regular;
  bool is_torn; /* the file ends with a part of a line that could not be cut off */
  bool is_amid; /* a device took only a part of the queue's first line */
};

void tide_tool_print_now(int descriptor, const char *format, ...) {
  char text[BATCH];
  struct pollfd one = {.fd = descriptor, .events = POLLOUT};
  va_list list;
  va_start(list, format);
  int length = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (length >= (int)sizeof text) length = sizeof text - 1;
  if (length > 0 && poll(&one, 1, 0) == 1 && one.revents & POLLOUT)
    (void)!write(descriptor, text, (size_t)length);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- lines ----------------------------------------------------------------------------- */

static void add_bytes(void *self, const char *bytes, size_t size) {
  struct line *line = self;
  if (size > LINE - 1 - line->length) size = LINE - 1 - line->length;
  memcpy(line->bytes + line->length, bytes, size);
  line->length += size;
}

static struct tide_json begin_line(struct line *line, uint64_t time, const char *event) {
  struct tide_json json = {.write = add_bytes, .self = line, .dense = true};
  line->length = 0;
  tide_json_open(&json, NULL, '{');
  tide_json_number(&json, "time", time);
  tide_json_text(&json, "event", event);
  return json;
}

static void end_line(struct line *line, struct tide_json *json) {
  tide_json_close(json, '}');
  line->bytes[line->length++] = '\n';
}

static const char *const kinds[] = {[TIDE_SERVICE_CONNECTED] = "connected",
                                    [TIDE_SERVICE_TURNED_AWAY] = "turned away",
                                    [TIDE_SERVICE_GONE] = "gone",
                                    [TIDE_SERVICE_REFUSED] = "refused",
                                    [TIDE_SERVICE_PACED] = "paced"};

/* Formats an event. A label has 31 bytes, so the longest line is shorter than LINE. */
static void format_event(struct line *line, const struct tide_service_event *event) {
  struct tide_json json = begin_line(line, event->time, kinds[event->kind]);
  tide_json_number(&json, "client", event->client);
  tide_json_number(&json, "uid", event->uid);
  tide_json_number(&json, "pid", event->pid);
  tide_json_text(&json, "label", event->label ? event->label : "");
  tide_json_text(&json, "status", tide_status_name(event->status));
  if (event->what) {
    tide_json_text(&json, "command", event->what);
    tide_json_number(&json, "sequence", event->sequence);
  }
  end_line(line, &json);
}

static void format_dropped(struct line *line, uint64_t count) {
  struct tide_json json = begin_line(line, now_ns(), "dropped");
  tide_json_number(&json, "count", count);
  end_line(line, &json);
}

/* ---- the queue, under the lock ------------------------------------------------------------- */

static bool push_line(struct tide_event_log *log, const struct line *line) {
  if (line->length > TIDE_EVENT_LOG_ROOM - log->length) return false;
  size_t at = (log->first + log->length) % TIDE_EVENT_LOG_ROOM;
  size_t until_end = TIDE_EVENT_LOG_ROOM - at;
  size_t head = line->length < until_end ? line->length : until_end;
  memcpy(log->queue + at, line->bytes, head);
  memcpy(log->queue, line->bytes + head, line->length - head);
  log->length += line->length;
  return true;
}

/* Queues the line about dropped events before any later event. */
static bool push_dropped(struct tide_event_log *log) {
  struct line line;
  if (!log->dropped) return true;
  format_dropped(&line, log->dropped);
  if (!push_line(log, &line)) return false;
  log->dropped = 0;
  return true;
}

/* Copies whole lines, and leaves them in the queue. Returns their size. */
static size_t copy_lines(const struct tide_event_log *log, char batch[BATCH]) {
  size_t size = log->length < BATCH ? log->length : BATCH, whole = 0;
  for (size_t i = 0; i < size; i++) {
    batch[i] = log->queue[(log->first + i) % TIDE_EVENT_LOG_ROOM];
    if (batch[i] == '\n') whole = i + 1;
  }
  return whole;
}

static void take_out(struct tide_event_log *log, size_t size) {
  log->first = (log->first + size) % TIDE_EVENT_LOG_ROOM;
  log->length -= size;
  (void)!push_dropped(log);
}

/* Returns the number of events in the queue: lines about dropped events do not count. */
static uint64_t count_events(const struct tide_event_log *log) {
  char line[LINE + 1];
  uint64_t count = 0;
  size_t used = 0;
  for (size_t i = 0; i < log->length; i++) {
    line[used++] = log->queue[(log->first + i) % TIDE_EVENT_LOG_ROOM];
    if (line[used - 1] != '\n') continue;
    line[used] = 0;
    count += !strstr(line, "\"event\":\"dropped\"");
    used = 0;
  }
  return count;
}

static void ring_bell(int bell) {
  uint64_t one = 1;
  (void)!write(bell, &one, sizeof one);
}

void tide_event_log_add(void *user, const struct tide_service_event *event) {
  struct tide_event_log *log = user;
  struct line line;
  format_event(&line, event);
  pthread_mutex_lock(&log->lock);
  bool fits = push_dropped(log) && push_line(log, &line);
  log->dropped += !fits;
  log->lost += !fits;
  bool wakes = log->is_idle;
  log->is_idle = false;
  pthread_mutex_unlock(&log->lock);
  if (wakes) ring_bell(log->bell);
}

/* ---- the file, on the writer's thread ------------------------------------------------------ */

/* True if the file ends with a part of a line: a service was killed, or the machine stopped. */
static bool ends_amid_line(const char *path, off_t size) {
  char last = '\n';
  int fd = size ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
  if (fd < 0) return false;
  bool amid = pread(fd, &last, 1, size - 1) == 1 && last != '\n';
  close(fd);
  return amid;
}

/* Opens the path; an open file is closed only on success. False: see errno; ENXIO: no process reads
 * the FIFO yet. */
static bool open_file(struct tide_event_log *log) {
  struct stat stat;
  int fd = open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0640);
  if (fd < 0) return false;
  if (log->file >= 0) close(log->file);
  log->file = fd;
  log->is_regular = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
  log->is_torn = log->is_regular && ends_amid_line(log->path, stat.st_size);
  return true;
}

static bool is_fifo(const char *path) {
  struct stat there;
  return stat(path, &there) == 0 && S_ISFIFO(there.st_mode);
}

static const char *say_why(const char *path, int error) {
  if (!error) return "it was not written fast enough";
  if ((error == ENXIO || error == EPIPE) && is_fifo(path)) return "no process reads it";
  return strerror(error);
}

/* Reports an error that prevents writes, once for each reason. */
static void report_failure(struct tide_event_log *log, int error) {
  if (log->error == error) return;
  log->error = log->reason = error;
  tide_tool_print_now(STDERR_FILENO,
                      "tidemark: %s: %s; up to %u KiB of events wait, further ones are dropped\n",
                      log->path, say_why(log->path, error), TIDE_EVENT_LOG_ROOM >> 10);
}

/* Drops the rest of a line that begins in another file. */
static void skip_rest(struct tide_event_log *log) {
  if (!log->is_amid) return;
  log->is_amid = false;
  pthread_mutex_lock(&log->lock);
  while (log->length) {
    bool last = log->queue[log->first] == '\n';
    take_out(log, 1);
    if (last) break;
  }
  log->lost++;
  pthread_mutex_unlock(&log->lock);
}

static void reopen_file(struct tide_event_log *log) {
  if (open_file(log)) skip_rest(log);
  else if (log->file < 0) report_failure(log, errno);
  else
    tide_tool_print_now(STDERR_FILENO, "tidemark: %s: %s; the old file is written on\n", log->path,
                        strerror(errno));
}

/* Removes a part of a line from the end of the file, unless another process has appended since. */
static void cut_off(struct tide_event_log *log, size_t torn) {
  struct stat stat;
  if (!torn) return;
  off_t end = lseek(log->file, 0, SEEK_CUR);
  log->is_torn = end < (off_t)torn || fstat(log->file, &stat) != 0 || stat.st_size != end ||
                 ftruncate(log->file, end - (off_t)torn) != 0;
}

/* Writes lines. Returns the number of bytes that are done; -1: see errno. If a full file took a
 * part of a line, the part is cut off. A device that took a part of a line gets the rest later. */
static ssize_t write_lines(struct tide_event_log *log, const char *batch, size_t size) {
  size_t done = 0;
  ssize_t taken = 1;
  if (log->is_torn && write(log->file, "\n", 1) != 1) return -1;
  log->is_torn = false;
  while (done < size && (taken = write(log->file, batch + done, size - done)) > 0)
    done += (size_t)taken;
  int error = taken < 0 ? errno : ENOSPC;
  size_t whole = done;
  while (whole && batch[whole - 1] != '\n') whole--;
  if (log->is_regular) cut_off(log, done - whole);
  else if (done) log->is_amid = done > whole;
  if (!log->is_regular) whole = done;
  errno = error;
  return whole ? (ssize_t)whole : -1;
}

/* ---- the writer ---------------------------------------------------------------------------- */

/* Waits for the bell, for space in the file, or until the time has passed. */
static void wait_for(struct tide_event_log *log, bool for_room, int milliseconds) {
  uint64_t count;
  struct pollfd polls[2] = {{.fd = log->bell, .events = POLLIN},
                            {.fd = for_room ? log->file : -1, .events = POLLOUT}};
  if (poll(polls, 2, milliseconds) > 0 && polls[0].revents)
    (void)!read(log->bell, &count, sizeof count);
}

/* Handles a write that failed with `error`, and waits. False: the log ends. */
static bool wait_for_file(struct tide_event_log *log, int error, uint64_t end_by) {
  bool for_room = error == EAGAIN;
  if (!for_room) report_failure(log, error);
  if (error == EPIPE && log->file >= 0) { /* the FIFO is opened again for its next reader */
    close(log->file);
    log->file = -1;
  }
  if (end_by && (!for_room || now_ns() >= end_by)) return false;
  wait_for(log, for_room, RETRY_MS);
  return true;
}

/* Writes one batch, or waits for lines. False: the log ends. */
static bool write_some(struct tide_event_log *log) {
  char batch[BATCH];
  if (tide_exchange(&log->reopens, 0u) || log->file < 0) reopen_file(log);
  pthread_mutex_lock(&log->lock);
  size_t size = copy_lines(log, batch);
  uint64_t end_by = log->end_by;
  log->is_idle = !size;
  pthread_mutex_unlock(&log->lock);
  if (!size) {
    if (end_by) return false;
    wait_for(log, false, log->file < 0 ? RETRY_MS : -1);
    return true;
  }
  if (log->file < 0) return wait_for_file(log, log->error, end_by);
  ssize_t written = write_lines(log, batch, size);
  if (written < 0) return wait_for_file(log, errno, end_by);
  log->error = 0;
  pthread_mutex_lock(&log->lock);
  take_out(log, (size_t)written);
  pthread_mutex_unlock(&log->lock);
  return true;
}

static void *write_all(void *user) {
  struct tide_event_log *log = user;
  while (write_some(log)) continue;
  ring_bell(log->farewell);
  return NULL;
}

/* Starts the writer with all signals blocked: other threads handle them. */
static bool start_writer(struct tide_event_log *log) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&log->writer, NULL, write_all, log);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return error == 0;
}

/* ---- beginning and end --------------------------------------------------------------------- */

static void free_log(struct tide_event_log *log) {
  if (log->file >= 0) close(log->file);
  if (log->bell >= 0) close(log->bell);
  if (log->farewell >= 0) close(log->farewell);
  pthread_mutex_destroy(&log->lock);
  free(log->queue);
  free(log);
}

struct tide_event_log *tide_event_log_open(const char *path) {
  struct tide_event_log *log = calloc(1, sizeof *log);
  if (!log) {
    tide_tool_error("%s: out of memory", path);
    return NULL;
  }
  pthread_mutex_init(&log->lock, NULL);
  log->path = path;
  log->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  log->farewell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  log->queue = malloc(TIDE_EVENT_LOG_ROOM);
  log->file = -1;
  bool opened = open_file(log);
  if (!opened && errno == ENXIO && is_fifo(path)) {
    report_failure(log, ENXIO);
    opened = true; /* the writer opens it later */
  }
  if (opened && log->bell >= 0 && log->farewell >= 0 && log->queue && start_writer(log)) return log;
  tide_tool_error("%s: %s", path, strerror(errno));
  free_log(log);
  return NULL;
}

void tide_event_log_reopen(struct tide_event_log *log) {
  int error = errno;
  tide_exchange(&log->reopens, 1u);
  ring_bell(log->bell);
  errno = error;
}

/* Waits for the writer's end. False: it is in a write that does not return. */
static bool join_writer(struct tide_event_log *log) {
  struct pollfd end = {.fd = log->farewell, .events = POLLIN};
  uint64_t until = now_ns() + JOIN_TIME, at;
  int ready = 0;
  while (ready <= 0 && (at = now_ns()) < until)
    ready = poll(&end, 1, (int)((until - at) / 1000000u) + 1);
  return ready > 0 && pthread_join(log->writer, NULL) == 0;
}

bool tide_event_log_close(struct tide_event_log *log) {
  pthread_mutex_lock(&log->lock);
  log->end_by = now_ns() + CLOSE_TIME;
  pthread_mutex_unlock(&log->lock);
  ring_bell(log->bell);
  bool ended = join_writer(log);
  pthread_mutex_lock(&log->lock);
  uint64_t lost = log->lost + count_events(log);
  pthread_mutex_unlock(&log->lock);
  int error = ended ? log->reason : 0;
  bool closed = true;
  if (ended && log->file >= 0) {
    closed = close(log->file) == 0;
    if (!closed) error = errno;
    log->file = -1;
  }
  bool good = !lost && closed;
  if (!good)
    tide_tool_print_now(STDERR_FILENO, "tidemark: %s: %llu event%s lost: %s\n", log->path,
                        (unsigned long long)lost, lost == 1 ? " was" : "s were",
                        say_why(log->path, error));
  if (ended) free_log(log);
  return good;
}
