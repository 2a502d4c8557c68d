/* The compositor: a browser and its renderers, each a process of its own, and none of them needs to
 * believe another. What they share is a Tidemark service, and the sockets between them, over which
 * they pass tokens and numbers.
 *
 *      photo  --.
 *      video  --+-- buffers, promises -->  browser  -->  frame-0001.png ...
 *      page   --'  <-- buffers back ---'
 *        advert (in the page: both swap together, or neither)
 *      hostile (in a band of its own at the bottom)
 *
 * demo.c starts the processes and says what came of it; browser.c listens to renderers and
 * screen.c composes; renderer.c, painters.c and embedder.c draw; hostile.c does not play by the
 * rules. link.c passes messages, picture.c has pixels and PNGs, reference.c
 * knows what must come out. Begin with renderer.c.
 * Use cases are numbered as in docs/points.md. */
#ifndef COMPOSITOR_H
#define COMPOSITOR_H

#include <stdio.h>
#include <tidemark/kernel.h>
#include <tidemark/service.h>

#define SECOND 1000000000ull
#define PATIENCE (20 * SECOND) /* for what must come: afterwards something is wrong */
#define PROMISE (10 * SECOND)  /* the deadline of promises; no service allows more */
#define WINDOWS 2              /* buffers of each renderer, and of the screen */

enum who { PHOTO, VIDEO, PAGE, ADVERT, HOSTILE, LAYERS, BROWSER = LAYERS, SERVICE, PROCESSES };
extern const char *const who_names[PROCESSES];

/* ---- what is to be done ------------------------------------------------------------------- */

struct scene {
  uint32_t width, height; /* pixels of a frame */
  uint32_t band;          /* the hostile one's rows; the others have those above */
  uint32_t frames;
  bool hostile;
  const char *socket; /* of the service */
  uint32_t trust_uid; /* whose service it may be, besides root's and one's own */
  const char *folder; /* for the frames */
};

/* Bytes of a layer; where it lies in a frame. */
uint64_t layer_size(const struct scene *scene, enum who who);
uint64_t layer_offset(const struct scene *scene, enum who who);
/* How many frames it may have queued that were not composed. */
uint64_t layer_ahead(enum who who);

/* ---- what came of it: in memory that all processes share ------------------------------------ */

struct report {
  uint64_t frames;  /* drawn; the browser: written */
  uint64_t waits;   /* that the service does for it */
  uint64_t wakes;   /* calls that really blocked, from the first frame on */
  uint64_t early;   /* buffers it drew into that were not free yet */
  uint64_t boosts;  /* of others */
  uint64_t lowered; /* itself */
  uint64_t refused; /* commands that the service did not execute */
  /* What the browser saw of this layer: */
  uint64_t shown, missing;
  uint64_t ended[TIDE_STATUS_COUNT]; /* its promises, by how they ended */
  uint64_t guesses;                  /* tokens that were none */
  uint64_t hash;                     /* of all frames, above the band */
  char refusal[64];                  /* the last one */
  char problem[160];
};

/* ---- a process ------------------------------------------------------------------------------- */

struct party {
  enum who who;
  const struct scene *scene;
  struct report *report;  /* its own */
  struct report *reports; /* of all; only the browser writes into those of others */
  struct tide_session *session;
  bool flowing; /* frames are under way: from now on wakes count */
  /* A command of this number was refused; NULL: it is only counted. */
  void (*refused)(void *user, uint64_t sequence);
  void *user;
};

uint64_t now(void);
/* Connects. */
void party_open(struct party *me);
void party_close(struct party *me);
/* Gives up when the status is not good: says so in the report, and ends the process. */
void must(const struct party *me, enum tide_status status, const char *what);
_Noreturn void give_up(const struct party *me, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Waits for a point; counts whether that blocked. */
enum tide_status await(struct party *me, struct tide_point point);
/* What was promised is known to the service, so that it may be told to others: a message over a
 * socket may be there before the promise. Blocks. */
void tell(struct party *me);
/* The point `value` of a timeline. */
struct tide_point at(struct tide_point timeline, uint64_t value);

/* Each returns when all is done; what goes wrong ends the process. */
void run_browser(struct party *me, const int links[LAYERS]);
void run_renderer(struct party *me, int browser, int nested);
void run_hostile(struct party *me, int browser);
void run_service(struct party *me, int ready); /* writes a byte when it listens */

/* ---- link.c: messages between processes ---------------------------------------------------------
 */

enum message_kind {
  HELLO = 1, /* renderer: tokens of its timeline `drawn`, and of its buffers */
  WELCOME,   /* browser: the token of the timeline `returned` */
  PROMISED,  /* renderer: frames up to `value` are promised */
  SWAP,      /* embedder: frame `value` is this point's, and the nested one's if `nested` */
  RETURNED   /* browser: the buffers of frames up to `value` will be free */
};
struct message {
  uint32_t kind, nested;
  uint64_t value;
  struct tide_token tokens[1 + WINDOWS];
};

/* False: nobody is there, or does not read what it is sent. Never blocks. */
bool send_message(int link, const struct message *message);
enum heard { NOTHING_YET, HEARD, HUNG_UP };
/* Never blocks. What has another size is a hang-up. */
enum heard hear_message(int link, struct message *out_message);
/* Sleeps until a link or the session has something, and runs the session's calls; links of -1 are
 * left out. False: the deadline passed. */
bool listen_to(struct party *me, const int *links, unsigned count, uint64_t deadline);

/* ---- picture.c: pixels are R, G, B, alpha ---------------------------------------------------- */

/* Opaque, but for `tiled`, which is in squares of 4 x 4 pixels. */
void paint_photo(const struct scene *scene, uint64_t frame, unsigned char *pixels);
void paint_page(const struct scene *scene, uint64_t frame, unsigned char *tiled);
void paint_sprite(uint32_t width, uint32_t height, unsigned char *pixels);
void paint_backdrop(const struct scene *scene, unsigned char *pixels);

/* The video is noise, and a line that grows. */
struct video_place {
  uint64_t top, rows;
  uint64_t noise; /* two pixels; the next two are one more */
  uint64_t line_left, line_top, line_rows, line_pixels;
  unsigned char line_grey;
};
struct video_place video_place(const struct scene *scene, uint64_t frame);
/* The advert is a small picture that wanders. */
#define SPRITE_WIDTH 32
#define SPRITE_HEIGHT 16
void sprite_place(const struct scene *scene, uint64_t frame, uint64_t *out_left, uint64_t *out_top);

/* What the honest ones' rows of a frame must be. False: no memory. */
bool reference_frame(const struct scene *scene, uint64_t frame, unsigned char *pixels);

void frame_path(const char *folder, uint64_t frame, char *out_path, size_t size);
bool write_png(const char *path, uint32_t width, uint32_t height, const unsigned char *pixels);
/* Into width x height pixels. */
bool read_png(const char *path, uint32_t width, uint32_t height, unsigned char *pixels);

/* ---- demo.c, options.c, report.c
 * ------------------------------------------------------------------ */

struct options {
  struct scene scene;
  bool check, json, help;
  uint64_t limit;      /* seconds until the watchdog bites */
  int kill;            /* who; -1: nobody */
  uint64_t kill_after; /* microseconds */
};

struct outcome {
  struct report reports[PROCESSES];
  int ends[PROCESSES]; /* wait statuses; -1: there was no such process */
  bool hung, good;
  char folder[4096];
};

/* Returns text to append to the message about an unknown option; `options` ends with NULL. */
typedef const char *option_hint(const char *word, const char *const *options);
/* False: it has said why. hint: may be NULL. */
bool read_options(int argc, char **argv, option_hint *hint, struct options *out_options);
/* Runs it once, in `folder`. */
void run_demo(const struct options *options, bool hostile, const char *folder,
              struct outcome *out_outcome);
void print_outcome(const struct options *options, const struct outcome *outcome, const char *check);
void print_json(const struct options *options, const struct outcome *outcome, const char *check);
/* The rows above the band: how many frames differ from what they must be, or are not there. */
uint64_t compare_frames(const struct scene *scene, const char *folder);

/* All of it; returns the exit status. */
int compositor_demo(int argc, char **argv, option_hint *hint);

#endif
