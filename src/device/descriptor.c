/* Descriptors that signal timelines, polled by one thread of the context, and eventfds that wait.
 */
#include "tidemark/descriptor.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/text.h"
#include "device/descriptor_copy.h"
#include "device/transfer.h"
#include "timeline/timeline_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 64

/* The context's thread, and the descriptors that it polls. */
struct tide_descriptors {
  struct tide_owned owned;
  struct tide_context *context;
  int epoll, stop; /* stop: an eventfd; its entry in the epoll has no data */
  struct tide_thread *thread;
  struct tide_lock lock;
  struct tide_link signallers;
};

struct signaller {
  struct tide_link link;
  int descriptor; /* a duplicate */
  struct tide_timeline *timeline;
  uint64_t value;
};

static struct signaller *signaller_of(struct tide_link *link) {
  return TIDE_CONTAINER(link, struct signaller, link);
}

static enum tide_status explain_errno(struct tide_diag *diag, int error, const char *what) {
  enum tide_status status = error == EMFILE || error == ENFILE || error == ENOSPC
                                ? TIDE_FULL
                                : tide_status_of_errno(error);
  return tide_diag_set(diag, status, "%s: %s", what, strerror(error));
}

enum tide_status tide_descriptor_copy(int descriptor, int *out_copy, struct tide_diag *diag) {
  *out_copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (*out_copy >= 0) return TIDE_OK;
  if (errno == EBADF) return tide_diag_set(diag, TIDE_INVALID, "no open descriptor");
  return explain_errno(diag, errno, "duplicating a descriptor");
}

/* ---- the thread -------------------------------------------------------------------------- */

static void unlink_signaller(struct tide_descriptors *all, struct signaller *signaller) {
  tide_lock_take(&all->lock, all->context->platform);
  tide_list_remove(&signaller->link);
  tide_lock_give(&all->lock);
}

/* Frees a signaller that is not listed. The epoll would keep a duplicate's entry beyond its close.
 */
static void free_signaller(struct tide_descriptors *all, struct signaller *signaller) {
  (void)epoll_ctl(all->epoll, EPOLL_CTL_DEL, signaller->descriptor, NULL);
  close(signaller->descriptor);
  tide_timeline_release(signaller->timeline);
  tide_free(all->context->allocator, signaller, 1, sizeof *signaller);
}

/* Returns the highest value below the signaller's that the timeline gets from a descriptor. */
static uint64_t expected_below(struct tide_descriptors *all, const struct signaller *signaller) {
  uint64_t below = 0;
  tide_lock_take(&all->lock, all->context->platform);
  for (struct tide_link *at = all->signallers.next; at != &all->signallers; at = at->next) {
    const struct signaller *other = signaller_of(at);
    if (other->timeline == signaller->timeline && other->value < signaller->value &&
        other->value > below)
      below = other->value;
  }
  tide_lock_give(&all->lock);
  return below;
}

static void fail_value(struct tide_descriptors *all, const struct signaller *signaller,
                       enum tide_status status, int code, const char *reason) {
  struct tide_failure failure = {.status = status, .code = code};
  snprintf(failure.text, sizeof failure.text, "the descriptor for timeline '%s' >= %llu %s",
           signaller->timeline->label, (unsigned long long)signaller->value, reason);
  tide_timeline_fail_external(signaller->timeline, signaller->value, expected_below(all, signaller),
                              &failure);
}

/* Returns the error of a sync_file's fence, negative; 0: none, or no sync_file. */
static int fence_error(int descriptor) {
  struct sync_file_info info = {.num_fences = 0};
  return ioctl(descriptor, SYNC_IOC_FILE_INFO, &info) == 0 && info.status < 0 ? info.status : 0;
}

static void end_signaller(struct tide_descriptors *all, struct signaller *signaller,
                          uint32_t events) {
  struct tide_timeline *timeline = signaller->timeline;
  int error = fence_error(signaller->descriptor);
  unlink_signaller(all, signaller);
  if (error) {
    fail_value(all, signaller, TIDE_FAILED, -error, "has a fence that has failed");
  } else if (!(events & EPOLLIN) || events & EPOLLERR) {
    bool has_error = events & EPOLLERR;
    fail_value(all, signaller, TIDE_IO, 0, has_error ? "has an error" : "has hung up");
  } else {
    enum tide_status status = tide_timeline_signal(timeline, signaller->value, NULL);
    if (status != TIDE_OK && tide_timeline_query(timeline) < signaller->value)
      fail_value(all, signaller, status, 0, "would pass a value that an operation is to signal");
  }
  free_signaller(all, signaller);
}

static void descriptors_main(void *argument) {
  struct tide_descriptors *all = argument;
  struct epoll_event events[EVENTS_AT_ONCE];
  for (;;) {
    int count = epoll_wait(all->epoll, events, EVENTS_AT_ONCE, -1);
    for (int i = 0; i < count; i++) {
      if (!events[i].data.ptr) return;
      end_signaller(all, events[i].data.ptr, events[i].events);
    }
  }
}

/* ---- life -------------------------------------------------------------------------------- */

static void destroy_descriptors(struct tide_descriptors *all) {
  const struct tide_platform *platform = all->context->platform;
  if (all->thread) {
    (void)eventfd_write(all->stop, 1);
    platform->join(platform->self, all->thread);
  }
  for (struct tide_link *link; (link = tide_list_pop_front(&all->signallers));)
    free_signaller(all, signaller_of(link));
  if (all->stop >= 0) close(all->stop);
  if (all->epoll >= 0) close(all->epoll);
  tide_free(all->context->allocator, all, 1, sizeof *all);
}

static void destroy_owned(struct tide_owned *owned) {
  destroy_descriptors(TIDE_CONTAINER(owned, struct tide_descriptors, owned));
}
static const struct tide_owned_ops owned_ops = {.destroy = destroy_owned};

static enum tide_status start_descriptors(struct tide_descriptors *all, struct tide_diag *diag) {
  const struct tide_platform *platform = all->context->platform;
  struct epoll_event stop = {.events = EPOLLIN};
  all->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (all->epoll >= 0) all->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (all->stop < 0 || epoll_ctl(all->epoll, EPOLL_CTL_ADD, all->stop, &stop) != 0)
    return explain_errno(diag, errno, "an epoll for descriptors");
  enum tide_status status =
      platform->spawn(platform->self, "tide-descriptor", descriptors_main, all, &all->thread);
  return status == TIDE_OK ? TIDE_OK : tide_diag_set(diag, status, "no thread for descriptors");
}

/* Returns the context's, which the first call makes; NULL: an error. */
static struct tide_descriptors *find_descriptors(struct tide_context *context,
                                                 enum tide_status *out_status,
                                                 struct tide_diag *diag) {
  struct tide_descriptors *all = tide_load_acquire(&context->descriptors), *none = NULL;
  if (all) return all;
  all = tide_alloc(context->allocator, 1, sizeof *all);
  *out_status = TIDE_NOMEM;
  if (!all) return NULL;
  all->context = context;
  all->epoll = all->stop = -1;
  tide_lock_init(&all->lock);
  tide_list_init(&all->signallers);
  *out_status = start_descriptors(all, diag);
  bool is_first =
      *out_status == TIDE_OK && tide_compare_exchange(&context->descriptors, &none, all);
  if (is_first) {
    tide_context_own(context, TIDE_OWNED_DESCRIPTORS, &all->owned, &owned_ops);
    return all;
  }
  destroy_descriptors(all);
  return none; /* another thread's, which was quicker */
}

/* ---- from outside ------------------------------------------------------------------------ */

static enum tide_status check_signal(const struct tide_context *context,
                                     const struct tide_timeline *timeline, struct tide_diag *diag) {
  if (!timeline || timeline->context != context)
    return tide_diag_set(diag, TIDE_INVALID, "a descriptor needs a timeline of its context");
  enum tide_status status = tide_timeline_refuses_hosts(timeline);
  if (status == TIDE_OK) return TIDE_OK;
  return tide_diag_set(diag, status, "hosts may not signal timeline '%s'", timeline->label);
}

/* Lists the signaller and has it polled. The thread may free it at once. */
static enum tide_status begin_signaller(struct tide_descriptors *all, struct signaller *signaller,
                                        struct tide_diag *diag) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = signaller};
  tide_lock_take(&all->lock, all->context->platform);
  tide_list_push_back(&all->signallers, &signaller->link);
  tide_lock_give(&all->lock);
  if (epoll_ctl(all->epoll, EPOLL_CTL_ADD, signaller->descriptor, &event) == 0) return TIDE_OK;
  int error = errno;
  unlink_signaller(all, signaller);
  free_signaller(all, signaller);
  if (error == EPERM)
    return tide_diag_set(diag, TIDE_UNSUPPORTED,
                         "the descriptor cannot be polled: it is a regular file, or the like");
  return explain_errno(diag, error, "polling a descriptor");
}

enum tide_status tide_descriptor_signal(struct tide_context *context, int descriptor,
                                        struct tide_timeline *timeline, uint64_t value,
                                        struct tide_diag *diag) {
  enum tide_status status = check_signal(context, timeline, diag);
  if (status != TIDE_OK) return status;
  struct tide_descriptors *all = find_descriptors(context, &status, diag);
  struct signaller *signaller = all ? tide_alloc(context->allocator, 1, sizeof *signaller) : NULL;
  if (!signaller) {
    if (all || status == TIDE_NOMEM) return tide_diag_set(diag, TIDE_NOMEM, "no memory");
    return status;
  }
  status = tide_descriptor_copy(descriptor, &signaller->descriptor, diag);
  if (status != TIDE_OK) {
    tide_free(context->allocator, signaller, 1, sizeof *signaller);
    return status;
  }
  signaller->timeline = timeline;
  signaller->value = value;
  tide_timeline_retain(timeline);
  return begin_signaller(all, signaller, diag);
}

/* ---- exports ----------------------------------------------------------------------------- */

struct exported {
  struct tide_timepoint timepoint;
  struct tide_context *context;
  int descriptor; /* a duplicate */
};

static void end_exported(struct tide_timepoint *timepoint, enum tide_status status) {
  struct exported *exported = TIDE_CONTAINER(timepoint, struct exported, timepoint);
  (void)status;
  (void)eventfd_write(exported->descriptor, 1);
  close(exported->descriptor);
  tide_free(exported->context->allocator, exported, 1, sizeof *exported);
}

enum tide_status tide_descriptor_export(struct tide_timeline *timeline, uint64_t value,
                                        int *out_descriptor, struct tide_diag *diag) {
  if (!timeline) return tide_diag_set(diag, TIDE_INVALID, "there is no timeline to export");
  if (timeline->scope < TIDE_SCOPE_PROCESS)
    return tide_diag_set(diag, TIDE_SCOPE, "the scope of timeline '%s' is %s, not process",
                         timeline->label, tide_scope_name(timeline->scope));
  struct tide_context *context = timeline->context;
  struct exported *exported = tide_alloc(context->allocator, 1, sizeof *exported);
  if (!exported) return tide_diag_set(diag, TIDE_NOMEM, "no memory");
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor >= 0) exported->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0 || exported->descriptor < 0) {
    int error = errno;
    if (descriptor >= 0) close(descriptor);
    tide_free(context->allocator, exported, 1, sizeof *exported);
    return explain_errno(diag, error, "an eventfd for a timeline");
  }
  exported->context = context;
  exported->timepoint =
      (struct tide_timepoint){.timeline = timeline, .value = value, .call = end_exported};
  enum tide_status status = tide_timepoint_add(&exported->timepoint);
  TIDE_ASSERT(status == TIDE_OK);
  *out_descriptor = descriptor;
  return TIDE_OK;
}
