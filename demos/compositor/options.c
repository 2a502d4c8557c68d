/* The command line. */
#include "compositor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tidemark demo compositor [OPTIONS]\n"
    "A browser composites what its renderers draw; all of them are processes that need not\n"
    "trust each other, and one of them is hostile.\n\n"
    "  --frames N         how many (24)\n"
    "  --size WxH         of a frame: multiples of 4, from 64x64 to 2048x2048 (480x320)\n"
    "  --out DIR          where the PNGs go (out/compositor)\n"
    "  --hostile yes|no   whether the hostile renderer takes part (yes)\n"
    "  --check            runs with it and without it: what the others drew must be the same,\n"
    "                     and as one process alone draws it\n"
    "  --socket PATH      of a service that runs; else it starts one\n"
    "  --trust-uid UID    whose service that may be, besides root's and one's own\n"
    "  --kill NAME@MS     kills one of the processes after so many milliseconds (12.5, say):\n"
    "                     photo, video, page, advert, hostile, browser or service\n"
    "  --limit SECONDS    whoever is not done by then is killed, and it has failed (60)\n"
    "  --json             prints numbers for programs\n"
    "  --help             this text\n";

static bool wrong(const char *format, const char *what) {
  fputs("tidemark demo compositor: ", stderr);
  fprintf(stderr, format, what);
  fputs("; see tidemark demo compositor --help\n", stderr);
  return false;
}

static bool parse(const char *text, uint64_t least, uint64_t most, char end, uint64_t *out,
                  const char **out_rest) {
  char *rest;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  unsigned long long number = strtoull(text, &rest, 10);
  if (errno || number < least || number > most || *rest != end) return false;
  *out = number;
  if (out_rest) *out_rest = rest + 1;
  return true;
}

static bool take_size(const char *value, struct options *o) {
  uint64_t width, height;
  const char *rest;
  if (!parse(value, 64, 2048, 'x', &width, &rest) || !parse(rest, 64, 2048, '\0', &height, NULL) ||
      width % 4 || height % 4)
    return wrong("--size takes WIDTHxHEIGHT, multiples of 4 from 64 to 2048, not '%s'", value);
  o->scene.width = (uint32_t)width;
  o->scene.height = (uint32_t)height;
  return true;
}

static bool take_kill(const char *value, struct options *o) {
  const char *place = strchr(value, '@');
  char *rest;
  for (int who = 0; place && who < PROCESSES; who++) {
    size_t length = strlen(who_names[who]);
    if (length != (size_t)(place - value) || memcmp(value, who_names[who], length) != 0) continue;
    double after = strtod(place + 1, &rest);
    if (rest == place + 1 || *rest || !(after >= 0 && after <= 1e6)) break;
    o->kill = who;
    o->kill_after = (uint64_t)(after * 1000);
    return true;
  }
  return wrong("--kill takes a process and milliseconds, photo@5 say, not '%s'", value);
}

static bool take_count(const char *name, const char *value, uint64_t most, uint64_t *out) {
  char text[64];
  if (parse(value, 1, most, '\0', out, NULL)) return true;
  snprintf(text, sizeof text, "%s takes a number from 1 to %u", name, (unsigned)most);
  return wrong("%s", text);
}

static bool take(const char *name, const char *value, struct options *o) {
  uint64_t count;
  if (strcmp(name, "--frames") == 0) {
    if (!take_count(name, value, 9999, &count)) return false;
    o->scene.frames = (uint32_t)count;
    return true;
  }
  if (strcmp(name, "--limit") == 0) return take_count(name, value, 100000, &o->limit);
  if (strcmp(name, "--trust-uid") == 0) {
    if (!take_count(name, value, UINT32_MAX - 1, &count)) return false;
    o->scene.trust_uid = (uint32_t)count;
    return true;
  }
  if (strcmp(name, "--size") == 0) return take_size(value, o);
  if (strcmp(name, "--kill") == 0) return take_kill(value, o);
  if (strcmp(name, "--out") == 0 && *value) return o->scene.folder = value, true;
  if (strcmp(name, "--socket") == 0 && *value) return o->scene.socket = value, true;
  if (strcmp(name, "--hostile") == 0 && (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0))
    return o->scene.hostile = value[0] == 'y', true;
  return wrong("%s does not take this value", name);
}

/* All options: FLAGS without a value, then those with one. */
enum { FLAGS = 3 };
static const char *const names[] = {"--check",  "--json",    "--help",      "--frames",
                                    "--limit",  "--size",    "--kill",      "--out",
                                    "--socket", "--hostile", "--trust-uid", NULL};

static bool takes_value(const char *name) {
  for (const char *const *at = names + FLAGS; *at; at++)
    if (strcmp(name, *at) == 0) return true;
  return false;
}

static bool unknown_option(const char *name, option_hint *hint) {
  char text[160];
  for (size_t i = 0; i < FLAGS; i++)
    if (strcmp(name, names[i]) == 0) return wrong("%s takes no value", name);
  snprintf(text, sizeof text, "there is no option %%s%s", hint ? hint(name, names) : "");
  return wrong(text, name);
}

bool read_options(int argc, char **argv, option_hint *hint, struct options *out_options) {
  *out_options = (struct options){.scene = {.width = 480,
                                            .height = 320,
                                            .frames = 24,
                                            .hostile = true,
                                            .folder = "out/compositor"},
                                  .limit = 60,
                                  .kill = -1};
  for (int i = 1; i < argc; i++) {
    char name[32];
    const char *equals = strchr(argv[i], '='), *value = equals ? equals + 1 : NULL;
    size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
    snprintf(name, sizeof name, "%.*s", (int)length, argv[i]);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
      fputs(help, stdout);
      return out_options->help = true;
    }
    if (strcmp(argv[i], "--check") == 0) out_options->check = true;
    else if (strcmp(argv[i], "--json") == 0) out_options->json = true;
    else if (!takes_value(name)) return unknown_option(name, hint);
    else if (!value && ++i == argc) return wrong("%s needs a value", name);
    else if (!take(name, value ? value : argv[i], out_options)) return false;
  }
  /* The hostile one's rows: an eighth of them. */
  out_options->scene.band = out_options->scene.height / 8 / 4 * 4;
  return true;
}
