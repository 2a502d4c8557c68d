/* Starts the processes, watches them, and says what came of it. */
#include "compositor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534 /* whom renderers run as, when the demo has the choice */
#define PARENT PROCESSES
#define DESCRIPTORS (4 * PROCESSES + 4)

/* One run. All descriptors are made before the first process, and each process closes those of
 * others: so everybody hears of everybody's end. */
struct stage {
  const struct options *options;
  struct scene scene;
  struct report *reports;
  struct outcome *outcome;
  struct {
    int descriptor;
    unsigned owner;
  } all[DESCRIPTORS];
  unsigned count;
  int links[LAYERS], to_browser[LAYERS], nested[2], ready[2];
  int life[PROCESSES], lives[PROCESSES]; /* readable when it has ended; its own end of that */
  pid_t pids[PROCESSES];
  bool own_service;
  char socket_folder[64], socket_path[96];
};

static void fatal(const char *what) {
  fprintf(stderr, "tidemark demo compositor: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void own(struct stage *s, int descriptor, unsigned owner) {
  s->all[s->count].descriptor = descriptor;
  s->all[s->count++].owner = owner;
}

static void close_all_but(struct stage *s, unsigned owner) {
  for (unsigned i = 0; i < s->count; i++) {
    if (s->all[i].descriptor < 0 || s->all[i].owner == owner) continue;
    close(s->all[i].descriptor);
    s->all[i].descriptor = -1;
  }
}

static bool takes_part(const struct stage *s, unsigned who) {
  return who == HOSTILE ? s->scene.hostile : who != SERVICE || s->own_service;
}

/* ---- descriptors ---------------------------------------------------------------------- */

static void connect_two(struct stage *s, int ends[2], unsigned first, unsigned second) {
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fatal("socketpair");
  own(s, ends[0], first);
  own(s, ends[1], second);
}

static void connect_all(struct stage *s) {
  for (unsigned who = 0; who < PROCESSES; who++) {
    int ends[2];
    s->life[who] = s->lives[who] = -1;
    if (who < LAYERS) s->links[who] = s->to_browser[who] = -1;
    if (!takes_part(s, who)) continue;
    if (pipe2(ends, O_CLOEXEC) != 0) fatal("pipe");
    own(s, s->life[who] = ends[0], PARENT);
    own(s, s->lives[who] = ends[1], who);
    if (who >= LAYERS) continue;
    connect_two(s, ends, BROWSER, who);
    s->links[who] = ends[0];
    s->to_browser[who] = ends[1];
  }
  connect_two(s, s->nested, PAGE, ADVERT);
  if (pipe2(s->ready, O_CLOEXEC) != 0) fatal("pipe");
  own(s, s->ready[0], PARENT);
  own(s, s->ready[1], SERVICE);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* Renderers are strangers to the service: it gives them less than the browser. */
static void become_stranger(const struct stage *s, unsigned who) {
  if (who < LAYERS && s->own_service && geteuid() == 0 && setgid(NOBODY) == 0)
    (void)!setuid(NOBODY);
  prctl(PR_SET_DUMPABLE, 1);
}

static _Noreturn void play(struct stage *s, unsigned who) {
  struct party me = {
      .who = (enum who)who, .scene = &s->scene, .report = &s->reports[who], .reports = s->reports};
  pid_t parent = getppid();
  close_all_but(s, who);
  become_stranger(s, who);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);
  switch (who) {
    case SERVICE: run_service(&me, s->ready[1]); break;
    case BROWSER: run_browser(&me, s->links); break;
    case HOSTILE: run_hostile(&me, s->to_browser[who]); break;
    case PAGE: run_renderer(&me, s->to_browser[who], s->nested[0]); break;
    case ADVERT: run_renderer(&me, s->to_browser[who], s->nested[1]); break;
    default: run_renderer(&me, s->to_browser[who], -1); break;
  }
  exit(0);
}

static void start(struct stage *s, unsigned who) {
  s->outcome->ends[who] = -1;
  if (!takes_part(s, who)) return;
  s->pids[who] = fork();
  if (s->pids[who] < 0) fatal("fork");
  if (s->pids[who] == 0) play(s, who);
}

/* False: it has ended instead. */
static bool await_service(struct stage *s) {
  char byte;
  if (!s->own_service) return true;
  start(s, SERVICE);
  close(s->ready[1]);
  for (unsigned i = 0; i < s->count; i++)
    if (s->all[i].descriptor == s->ready[1]) s->all[i].descriptor = -1;
  return read(s->ready[0], &byte, 1) == 1;
}

static void reap(struct stage *s, unsigned who) {
  while (waitpid(s->pids[who], &s->outcome->ends[who], 0) < 0 && errno == EINTR) {}
  s->pids[who] = 0;
  s->life[who] = -1; /* its descriptor is closed with the others */
}

static unsigned left(const struct stage *s, bool with_service) {
  unsigned count = 0;
  for (unsigned who = 0; who < PROCESSES; who++)
    count += s->pids[who] > 0 && (with_service || who != SERVICE);
  return count;
}

/* Until all are over; at the deadline whoever is left is killed. */
static void watch(struct stage *s, bool with_service, uint64_t deadline, uint64_t kill_at) {
  while (left(s, with_service)) {
    struct pollfd polls[PROCESSES];
    uint64_t time = now(), until = kill_at < deadline ? kill_at : deadline;
    for (unsigned who = 0; who < PROCESSES; who++)
      polls[who] = (struct pollfd){s->pids[who] > 0 ? s->life[who] : -1, POLLIN, 0};
    struct timespec t = {.tv_nsec = 0};
    if (until > time)
      t = (struct timespec){(time_t)((until - time) / SECOND), (long)((until - time) % SECOND)};
    int ready = ppoll(polls, PROCESSES, &t, NULL);
    for (unsigned who = 0; ready > 0 && who < PROCESSES; who++)
      if (polls[who].revents) reap(s, who);
    if (ready > 0) continue;
    if (now() >= kill_at) {
      if (s->pids[s->options->kill] > 0) kill(s->pids[s->options->kill], SIGKILL);
      kill_at = TIDE_FOREVER;
    } else if (now() >= deadline) {
      s->outcome->hung = true;
      for (unsigned who = 0; who < PROCESSES; who++)
        if (s->pids[who] > 0) kill(s->pids[who], SIGKILL);
      deadline = TIDE_FOREVER;
    }
  }
}

/* ---- the verdict ------------------------------------------------------------------------------
 */

static bool may_fail(const struct options *options, unsigned who) {
  return options->kill == (int)who || (options->kill == PAGE && who == ADVERT);
}

static bool ended_well(const struct options *options, const struct outcome *outcome, unsigned who) {
  int end = outcome->ends[who];
  if (end == -1 || (who < HOSTILE && may_fail(options, who))) return true;
  if (who == HOSTILE) return WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL;
  return WIFEXITED(end) && WEXITSTATUS(end) == 0;
}

/* An honest layer is in every frame, and the service had nothing against it. */
static bool served_well(const struct options *options, const struct outcome *outcome,
                        unsigned who) {
  const struct report *r = &outcome->reports[who];
  return who >= HOSTILE || options->kill >= 0 || (!r->missing && !r->refused);
}

static void judge(const struct stage *s) {
  struct outcome *outcome = s->outcome;
  outcome->good = !outcome->hung && outcome->reports[BROWSER].frames == s->scene.frames;
  for (unsigned who = 0; who < PROCESSES; who++)
    outcome->good = outcome->good && ended_well(s->options, outcome, who) &&
                    served_well(s->options, outcome, who);
}

/* ---- one run ------------------------------------------------------------------------------------
 */

static void open_stage(struct stage *s) {
  const char *temporary = getenv("TMPDIR");
  s->own_service = !s->scene.socket;
  if (s->own_service) {
    if (!temporary || strlen(temporary) > 30) temporary = "/tmp";
    snprintf(s->socket_folder, sizeof s->socket_folder, "%s/tidemark-demo-XXXXXX", temporary);
    if (!mkdtemp(s->socket_folder)) fatal(s->socket_folder);
    /* The renderers may have another uid. */
    if (chmod(s->socket_folder, 0711) != 0) fatal(s->socket_folder);
    snprintf(s->socket_path, sizeof s->socket_path, "%s/socket", s->socket_folder);
    s->scene.socket = s->socket_path;
  }
  s->reports = mmap(NULL, PROCESSES * sizeof *s->reports, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (s->reports == MAP_FAILED) fatal("shared memory");
  connect_all(s);
}

static void close_stage(struct stage *s) {
  close_all_but(s, PARENT + 1);
  memcpy(s->outcome->reports, s->reports, PROCESSES * sizeof *s->reports);
  munmap(s->reports, PROCESSES * sizeof *s->reports);
  if (!s->own_service) return;
  char lock[sizeof s->socket_path + 8];
  snprintf(lock, sizeof lock, "%s.lock", s->socket_path);
  unlink(s->socket_path); /* a service that was killed leaves both */
  unlink(lock);
  rmdir(s->socket_folder);
}

void run_demo(const struct options *options, bool hostile, const char *folder,
              struct outcome *out_outcome) {
  struct stage s = {.options = options, .scene = options->scene, .outcome = out_outcome};
  uint64_t deadline = now() + options->limit * SECOND;
  memset(out_outcome, 0, sizeof *out_outcome);
  for (unsigned who = 0; who < PROCESSES; who++) out_outcome->ends[who] = -1;
  snprintf(out_outcome->folder, sizeof out_outcome->folder, "%s", folder);
  s.scene.hostile = hostile;
  s.scene.folder = out_outcome->folder;
  fflush(NULL);
  open_stage(&s);
  if (await_service(&s)) {
    uint64_t kill_at = options->kill < 0 ? TIDE_FOREVER : now() + options->kill_after * 1000;
    start(&s, BROWSER);
    for (unsigned who = 0; who < LAYERS; who++) start(&s, who);
    close_all_but(&s, PARENT);
    watch(&s, false, deadline, kill_at);
  }
  if (s.pids[SERVICE] > 0) kill(s.pids[SERVICE], SIGTERM);
  watch(&s, true, deadline, TIDE_FOREVER);
  close_stage(&s);
  judge(&s);
}

/* ---- the command -------------------------------------------------------------------------------
 */

static void make_folder(const char *path) {
  char part[4096];
  size_t length = strlen(path);
  if (length >= sizeof part - 32) {
    errno = ENAMETOOLONG;
    fatal("--out");
  }
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i]) continue;
    snprintf(part, sizeof part, "%.*s", (int)i, path);
    if (mkdir(part, 0777) != 0 && errno != EEXIST) fatal(part);
  }
}

uint64_t compare_frames(const struct scene *scene, const char *folder) {
  size_t size = (size_t)scene->width * scene->height * 4;
  unsigned char *both = malloc(2 * size);
  uint64_t different = 0;
  if (!both) fatal("memory");
  for (uint64_t frame = 1; frame <= scene->frames; frame++) {
    char path[4200];
    frame_path(folder, frame, path, sizeof path);
    bool same = read_png(path, scene->width, scene->height, both) &&
                reference_frame(scene, frame, both + size) &&
                memcmp(both, both + size, layer_size(scene, PHOTO)) == 0;
    different += !same;
  }
  free(both);
  return different;
}

/* One of two runs: its frames must be what one process alone would draw. */
static bool check_run(const struct options *options, bool hostile, struct outcome *out_outcome,
                      uint64_t *out_different) {
  char folder[4096];
  snprintf(folder, sizeof folder, "%.4000s/%s", options->scene.folder,
           hostile ? "with" : "without");
  make_folder(folder);
  run_demo(options, hostile, folder, out_outcome);
  *out_different = compare_frames(&options->scene, folder);
  return out_outcome->good && !*out_different;
}

/* With the hostile renderer and without it: what the others drew must be the same. */
static bool check(const struct options *options, struct outcome *out_outcome, char *out_said,
                  size_t size) {
  uint64_t without, with;
  if (!check_run(options, false, out_outcome, &without)) {
    snprintf(out_said, size, "%u of %u frames are wrong, without the hostile one",
             (unsigned)without, options->scene.frames);
    return false;
  }
  uint64_t hash = out_outcome->reports[BROWSER].hash;
  bool good = check_run(options, true, out_outcome, &with);
  if (good && out_outcome->reports[BROWSER].hash == hash) {
    snprintf(out_said, size, "all %u frames are the same without the hostile one, bit by bit",
             options->scene.frames);
    return true;
  }
  snprintf(out_said, size, "%u of %u frames are wrong, and none without the hostile one",
           (unsigned)with, options->scene.frames);
  return false;
}

int compositor_demo(int argc, char **argv, option_hint *hint) {
  struct options options;
  char said[128] = "";
  if (!read_options(argc, argv, hint, &options)) return 2;
  if (options.help) return 0;
  struct outcome *outcome = calloc(1, sizeof *outcome);
  if (!outcome) fatal("memory");
  make_folder(options.scene.folder);
  bool good;
  if (options.check) {
    good = check(&options, outcome, said, sizeof said);
  } else {
    run_demo(&options, options.scene.hostile, options.scene.folder, outcome);
    good = outcome->good;
  }
  if (options.json) print_json(&options, outcome, said);
  else print_outcome(&options, outcome, said);
  free(outcome);
  return good ? 0 : 1;
}
