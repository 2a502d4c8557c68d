/* A naive model of points: everything is computed anew, from all that is known, whenever something
 * has happened. No list of who waits for whom, no counts. */
#ifndef TESTS_POINTS_MODEL_H
#define TESTS_POINTS_MODEL_H

#include "tidemark/point.h"

#define CLIENTS 3
#define CHANNELS 4
#define FUTURES 12
#define POINTS 400
#define COMMANDS 300
#define NODES 2000
#define WATCHES 64

enum kind { PROMISE, COMPOUND, STAND_IN };
enum op { LEAF, ALL, ANY };

struct mnode {
  enum op op;
  int point; /* of a leaf */
  int child, sibling;
  bool scheduled;
};

struct mpoint {
  enum kind kind;
  struct tide_point name;
  int client, future, command; /* command: -1: not queued */
  int root;                    /* of a compound; -1: not defined */
  uint32_t domain;
  bool believed; /* a stand-in, reported scheduled */
  uint64_t deadline;
  bool ended, settled, scheduled, named;
  bool concluded; /* it broke by its parts: with the status of one of them */
  enum tide_status status;
};

struct mcommand {
  int channel, previous;
  int waits[4], wait_count;
  bool done, scheduled, passable;
};

struct mfuture {
  int client, channel; /* channel: -1: the host's */
  bool alive, gone;    /* gone: destroyed; alive: its names are known */
  uint64_t newest, queued;
  enum tide_status closed;
};

struct mwatch {
  bool waiting;
  int client, point;
  int assumed[2], assumed_count; /* points */
  bool fires;                    /* by now */
  enum tide_status status;
};

struct model {
  struct mnode nodes[NODES];
  struct mpoint points[POINTS];
  struct mcommand commands[COMMANDS];
  struct mfuture futures[FUTURES];
  struct mwatch watches[WATCHES];
  int node_count, point_count, command_count;
  int tails[CHANNELS]; /* the last command that is not done; -1 */
  bool narrow[CLIENTS];
  uint32_t narrow_domains[CLIENTS]; /* bits */
  uint32_t trusted;                 /* bits */
};

extern struct model m;

void model_reset(void);
/* After anything: ends, then schedules. */
void model_update(void);
/* At the end of each call: which waits for "schedulable" fire. */
void model_watches(void);
/* One promise or undefined compound breaks; nothing when it has ended. */
void model_break(int point, enum tide_status status);
/* Would the command (the newest) or the compound ever be scheduled? */
bool model_possible(int command, int compound);
/* 0: undecided, 1: good, 2: broken. */
int model_value(int node);
bool model_named(int point);
/* Is this status one that a part that broke has? */
bool model_blames(int node, enum tide_status status);

#endif
