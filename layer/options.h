/* layer/options.h: the options from the environment (protocol.h has their form). */
#ifndef TIDE_LAYER_OPTIONS_H
#define TIDE_LAYER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum layer_mode { LAYER_EXPLAIN, LAYER_EXPLORE, LAYER_AUDIT };

struct layer_options {
  enum layer_mode mode;
  bool is_off; /* the environment could not be parsed: every call is passed on unchanged */
  uint64_t seed;
  uint32_t queues;
  bool families, in_queue, trace;
  uint64_t drop_edge;                 /* 0: none */
  uint32_t dropped_classes;           /* bits of enum layer_wait_class */
  uint64_t after_first, after_second; /* the first is held until the second is released; 0: none */
  uint64_t prefix;                    /* UINT64_MAX: the whole recorded order */
  char directory[4096], replay[4096]; /* empty: none */
};

/* Read from the environment once; the same for the whole process. */
const struct layer_options *layer_options(void);
/* Reads an option string. False: `why` tells the error and its column. */
bool layer_options_parse(struct layer_options *options, const char *text, char *why,
                         unsigned why_size);

#endif
