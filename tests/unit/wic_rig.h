/* A medium, a timeline that tags are values of, and what a test fills pages with. */
#ifndef TESTS_UNIT_WIC_RIG_H
#define TESTS_UNIT_WIC_RIG_H

#include "causal/context_state.h"
#include "harness.h"
#include "tidemark/tidemark.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ull

struct rig {
  struct tide_context *context;
  struct tide_medium *medium;
  struct tide_timeline *line;
};

static inline uint64_t rig_now(const struct rig *rig) {
  return rig->context->platform->now(rig->context->platform->self);
}

/* Skips where the kernel has no userfaultfd for us. */
static inline void rig_open(struct rig *rig, const struct tide_medium_params *params) {
  CHECK_OK(tide_context_create(NULL, &rig->context));
  enum tide_status status = tide_medium_create(rig->context, params, &rig->medium);
  if (status == TIDE_DENIED) SKIP("no right to use userfaultfd");
  if (status == TIDE_UNSUPPORTED) SKIP("no userfaultfd with minor faults in this kernel");
  CHECK_OK(status);
  CHECK_OK(tide_timeline_create(rig->context, NULL, &rig->line));
}
static inline void rig_close(struct rig *rig) {
  tide_medium_destroy(rig->medium);
  tide_timeline_destroy(rig->line);
  tide_context_destroy(rig->context);
}

static inline struct tide_request rig_wants(const struct rig *rig, uint64_t value, size_t bytes) {
  return (struct tide_request){
      .bytes = bytes, .tags = {{rig->line, value}}, .tag_count = 1, .deadline = 0};
}

/* Words that no other message has. */
static inline void fill(void *room, size_t bytes, uint64_t what) {
  uint64_t *words = room;
  for (size_t i = 0; i < bytes / 8; i++) words[i] = what * 0x9e3779b97f4a7c15u + i;
}
static inline bool holds(const void *data, size_t bytes, uint64_t what) {
  const volatile uint64_t *words = data;
  for (size_t i = 0; i < bytes / 8; i++)
    if (words[i] != what * 0x9e3779b97f4a7c15u + i) return false;
  return true;
}
static inline bool zeros(const void *data, size_t bytes) {
  const volatile uint64_t *words = data;
  for (size_t i = 0; i < bytes / 8; i++)
    if (words[i]) return false;
  return true;
}

/* A thread that loads from a request's pages, and finishes it. */
struct reader {
  struct rig *rig;
  struct tide_request request;
  pthread_t thread;
  uint64_t what; /* that is expected; 0: zeros */
  bool good;
  enum tide_status status;
};
static inline void *rig_read(void *argument) {
  struct reader *reader = argument;
  size_t bytes = reader->request.bytes / 8 * 8;
  reader->good = reader->what ? holds(reader->request.data, bytes, reader->what)
                              : zeros(reader->request.data, bytes);
  reader->status = tide_request_finish(reader->rig->medium, &reader->request, NULL);
  return NULL;
}
static inline void reader_start(struct reader *reader, struct rig *rig, struct tide_request request,
                                uint64_t what) {
  *reader = (struct reader){.rig = rig, .request = request, .what = what};
  CHECK(pthread_create(&reader->thread, NULL, rig_read, reader) == 0);
}
static inline void reader_join(struct reader *reader, enum tide_status status) {
  CHECK(pthread_join(reader->thread, NULL) == 0);
  CHECK(reader->good);
  CHECK_STATUS(reader->status, status);
}

static inline struct tide_medium_info rig_info(struct rig *rig) {
  struct tide_medium_info info;
  tide_medium_info(rig->medium, &info);
  return info;
}
/* Until nobody holds a request, who makes data appear included. */
static inline void rig_until_idle(struct rig *rig) {
  while (rig_info(rig).requests) usleep(100);
}
/* Until so many requests have a fault that waits. */
static inline void rig_until_stalled(struct rig *rig, uint64_t count) {
  while (rig_info(rig).stalled < count) usleep(100);
}

#endif
