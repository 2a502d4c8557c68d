/* layer/layer.h: VK_LAYER_TIDEMARK_causality, the core's clocks under a Vulkan program.
 *
 * The model. The layer stands between a program and its driver. Each batch of a submit, each
 * present and each sparse bind becomes a *submission* with waits and signals, in one form for all
 * calls. The *ledger* keeps, for each device:
 *
 *   queue       its submissions that have not been seen to finish, and its knowledge (clocks)
 *   semaphore   a record for each signal: the value, the signaller, the signaller's clock
 *   fence       the submission that signals it
 *   thread      its knowledge, from waits and polls
 *   host call   one that blocks now, and its targets
 *
 * A binary semaphore is a timeline here: its n-th signal has the value n, its n-th wait waits for
 * n.
 *
 * explain and audit pass every call on as it came, after recording it in the ledger. explore keeps
 * submissions, as copies, and releases them in another legal order (explore.h).
 *
 * Locks. `device->lock` guards the ledger and all below it. It is never held across a call of the
 * driver that may wait. `device->release_lock`, taken before it, keeps the driver's calls in the
 * order of the picks.
 *
 * Source: "Vulkan Specification", on synchronization and queues; "Layer Interface to the Loader".
 */
#ifndef TIDE_LAYER_LAYER_H
#define TIDE_LAYER_LAYER_H

#include "causal/shadow.h"
#include "layer/calls.h"
#include "layer/options.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define TIDE_LAYER_NAME_SIZE 64
#define TIDE_LAYER_IMPORTS 8 /* stage masks that a queue's knowledge is kept apart for */

struct layer_device;

/* A table from handles to objects; a handle has one object. Zeroed storage is an empty one. */
struct layer_table {
  struct layer_entry {
    uint64_t handle;
    void *object;
    struct layer_entry *next;
  } * *buckets;
  size_t bucket_count, count;
};

void *layer_table_find(const struct layer_table *table, uint64_t handle);
/* Adds an object, and replaces one that has the handle. False: no memory. */
bool layer_table_put(struct layer_table *table, uint64_t handle, void *object);
/* Removes and returns the object of a handle; NULL: none. */
void *layer_table_take(struct layer_table *table, uint64_t handle);
void layer_table_fini(struct layer_table *table, void (*destroy)(void *object));

struct layer_semaphore {
  VkSemaphore handle;
  uint32_t references; /* references of the handle, and of waits and signals of submissions */
  bool timeline, destroyed;
  bool external;          /* another process or driver may signal it: nothing is known of it */
  uint64_t serial;        /* the key of the semaphore's records */
  uint64_t initial;       /* value at creation */
  uint64_t submitted;     /* highest value that a submission or the host signals */
  uint64_t waits;         /* binary: waits so far */
  uint64_t waits_started; /* binary, explore: waits that were released */
  uint64_t released;      /* explore: highest value that was passed to the driver */
  uint64_t released_by;   /* the submission that signals it; 0: the host */
  bool is_accused;        /* a first finding was reported: later ones result from it */
  uint64_t seen;          /* highest value that any thread has seen */
  struct tide_shadow *records;
  char name[TIDE_LAYER_NAME_SIZE];
};

struct layer_fence {
  VkFence handle;
  struct layer_queue *queue; /* the signaller's queue; NULL: no submission is pending */
  uint64_t epoch;
  bool signalled;                 /* seen by a thread */
  bool external;                  /* another process, driver or the window system signals it */
  bool imported;                  /* also after a reset */
  struct tide_shadow_clock clock; /* the knowledge of the fence's submission */
  char name[TIDE_LAYER_NAME_SIZE];
};

/* Classes of waits, by the knowledge that already implies them, in order of precedence. */
enum layer_wait_class {
  LAYER_WAIT_SEEN,  /* the submitting thread has seen the signaller finish */
  LAYER_WAIT_KNOWN, /* an earlier wait of the queue implies it */
  LAYER_WAIT_OWN,   /* an earlier submission of the same queue signals it: needs a barrier instead;
                       not for presents and sparse binds, where none can stand */
  LAYER_WAIT_SIBLING, /* another wait of the submission implies it */
  LAYER_WAIT_NEEDED,
  LAYER_WAIT_CLASSES
};

struct layer_wait {
  struct layer_semaphore *semaphore;
  uint64_t value;
  VkPipelineStageFlags2 stages;
  enum layer_wait_class class_;
  struct layer_queue *signaller; /* NULL: unknown when it was submitted */
  uint64_t signaller_epoch;
  bool dropped; /* dropped by --drop or --drop-edge */
};

struct layer_signal {
  struct layer_semaphore *semaphore;
  uint64_t value;
  VkPipelineStageFlags2 stages;
  bool backwards; /* explore: would not raise the semaphore, so not passed to the driver */
};

enum layer_kind { LAYER_SUBMIT, LAYER_PRESENT, LAYER_SPARSE };

/* explore: HELD -> RELEASED, or HELD -> STARTED (its signals wait for earlier ones) -> RELEASED. */
enum layer_state { LAYER_HELD, LAYER_STARTED, LAYER_RELEASED };

struct layer_submission {
  uint64_t number; /* number from 1, in the order of arrival, over all devices */
  uint64_t epoch;  /* number from 1, in the queue */
  struct layer_queue *queue;
  enum layer_kind kind;
  enum layer_state state;
  bool is_linked;      /* explore: synchronisation commands order it against its neighbours */
  bool waits_are_gone; /* explore: the driver has them already */
  bool is_urgent;      /* explore: another process or driver waits for its signals */
  bool uses_submit2;
  VkSubmitFlags flags;
  uint64_t arrived_ns, released_ns;
  struct layer_fence *fence; /* set only in the last batch of a submit */
  uint32_t wait_count, signal_count, command_count;
  struct layer_wait *waits;
  struct layer_signal *signals;
  VkCommandBuffer *commands;
  struct layer_submission *next; /* explore: held, in the order of arrival */
};

/* The knowledge that a queue gained by waits at these stages. */
struct layer_import {
  VkPipelineStageFlags2 stages;
  struct tide_shadow_clock clock;
};

struct layer_queue {
  void *loader_data; /* first: a virtual queue is a dispatchable handle */
  VkQueue handle;    /* the program's handle */
  VkQueue real;      /* the driver's queue */
  struct layer_device *device;
  uint32_t index; /* index among the device's queues */
  uint32_t family, index_in_family, real_family;
  uint64_t submitted, done;       /* epochs: the newest; all up to it have been seen to finish */
  uint64_t released;              /* all up to it are RELEASED */
  uint64_t held;                  /* explore: number of submissions that are not RELEASED */
  struct layer_submission **ring; /* epochs done + 1 to submitted, at epoch % ring_size */
  size_t ring_size;
  struct layer_import imports[TIDE_LAYER_IMPORTS];
  size_t import_count;
  struct tide_shadow_clock published; /* the knowledge of the queue's newest submission */
  char name[TIDE_LAYER_NAME_SIZE];
};

/* A call of the program that blocks now; on the stack of its thread. */
struct layer_host_call {
  const char *name; /* "vkWaitForFences" */
  uint64_t thread, since_ns;
  bool any; /* any of the targets suffices */
  uint32_t count;
  struct layer_target {
    struct layer_semaphore *semaphore; /* or */
    struct layer_fence *fence;         /* or */
    struct layer_queue *queue;
    uint64_t value;
  } * targets;
  struct layer_host_call *next;
};

/* Equal waits: with one class, queue and signaller. */
struct layer_wait_group {
  enum layer_wait_class class_;
  const struct layer_queue *queue, *signaller;
  uint64_t count;
  char example[2 * TIDE_LAYER_NAME_SIZE + 64]; /* the first of them */
};
#define TIDE_LAYER_GROUPS 256
#define TIDE_LAYER_EDGES 1024 /* described in the report; later ones are only counted */

struct layer_counts {
  uint64_t submissions, waits, signals;
  uint64_t classes[LAYER_WAIT_CLASSES];
  uint64_t picks, choices, forced, timer, bound, flushed, edges, dropped;
  uint64_t forgotten; /* submissions that were dropped from the ledger unfinished */
};

struct layer_device {
  struct layer_device *next; /* the list of state.c, which outlives the device */
  _Atomic(void *) key;
  VkDevice handle;
  bool is_used;
  VkPhysicalDevice physical;
  struct layer_instance *instance;
  struct layer_device_calls next_layer;
  PFN_vkSetDeviceLoaderData set_loader_data;
  char name[2 * VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
  bool is_cpu; /* layout transitions do nothing */
  _Atomic(bool) lost;
  uint32_t real_families;

  pthread_mutex_t lock, release_lock;
  pthread_cond_t changed; /* a submission came, a value rose, something was released */
  struct tide_shadow_table clocks;
  struct layer_table semaphores, fences, names;
  struct layer_queue *queues[64];
  _Atomic(uint32_t) queue_count; /* grows under the lock; calls look queues up without it */
  struct layer_host_call *host_calls;
  struct layer_counts counts;
  uint64_t next_serial;
  struct tide_shadow_clock scratch;
  struct layer_wait_group *groups; /* TIDE_LAYER_GROUPS of them */
  size_t group_count;
  char (*edges)[3 * TIDE_LAYER_NAME_SIZE]; /* the first TIDE_LAYER_EDGES */
  struct layer_explorer *explorer;         /* NULL in the other modes */
};

/* ---- state.c: instances and devices, numbers of threads and submissions ---- */

struct layer_device *layer_device_of(const void *dispatchable);
struct layer_instance *layer_instance_of(const void *dispatchable);
const struct tide_allocator *layer_allocator(void);
/* Returns a number of the calling thread, from 1. */
uint64_t layer_thread(void);
uint64_t layer_now_ns(void);
uint64_t layer_next_number(void);
/* Returns zeroed storage, which no look-up finds until it is published; NULL: no memory. */
struct layer_device *layer_device_make(void);
struct layer_instance *layer_instance_make(void);
/* Publishes the storage: from here on the handle's key finds it. */
void layer_device_publish(struct layer_device *device);
void layer_instance_publish(struct layer_instance *instance);
/* Hides the storage from look-ups. Recycling also gives it to the next device or instance. */
void layer_device_hide(struct layer_device *device);
void layer_device_recycle(struct layer_device *device);
void layer_instance_recycle(struct layer_instance *instance);
/* Forgets the parent's devices and instances, in the child of a fork. */
void layer_state_forget(void);
/* Visits each device. No device comes or goes meanwhile. */
void layer_for_each_device(void (*visit)(struct layer_device *device, void *user), void *user);

/* ---- ledger.c; all but the first with the device's lock held ---- */

bool layer_ledger_init(struct layer_device *device);
void layer_ledger_fini(struct layer_device *device);
struct layer_queue *layer_queue_of(struct layer_device *device, VkQueue queue);
/* Returns a queue, which is created if missing; NULL: no memory. */
struct layer_queue *layer_queue_add(struct layer_device *device, VkQueue real, uint32_t family,
                                    uint32_t index);
struct layer_semaphore *layer_semaphore_of(struct layer_device *device, VkSemaphore handle);
struct layer_semaphore *layer_semaphore_add(struct layer_device *device, VkSemaphore handle,
                                            bool timeline, uint64_t initial);
void layer_semaphore_drop(struct layer_device *device, struct layer_semaphore *semaphore);
struct layer_fence *layer_fence_of(struct layer_device *device, VkFence handle);
struct layer_fence *layer_fence_add(struct layer_device *device, VkFence handle, bool signalled);
/* Returns an empty submission with capacity for so many waits, signals and command buffers, not yet
 * in the ledger. NULL: no memory. */
struct layer_submission *layer_submission_make(uint32_t waits, uint32_t signals, uint32_t commands);
void layer_submission_free(struct layer_device *device, struct layer_submission *submission);
/* Gives the submission an epoch, classifies its waits, records its signals. The ledger owns the
 * submission from then on. False: no memory; the caller still owns it. */
bool layer_ledger_submit(struct layer_queue *queue, struct layer_submission *submission);
struct layer_submission *layer_submission_at(const struct layer_queue *queue, uint64_t epoch);
/* Raises queue->released over RELEASED submissions. */
void layer_queue_advance(struct layer_queue *queue);
/* Notes that the host has seen all submissions of the queue up to this one finish. */
void layer_queue_is_done(struct layer_queue *queue, uint64_t epoch);
/* Note that the calling thread has seen a value, the end of a wait, a signalled fence, an idle
 * queue. */
void layer_saw_value(struct layer_device *device, struct layer_semaphore *semaphore,
                     uint64_t value);
void layer_saw_wait(struct layer_device *device, struct layer_semaphore *semaphore, uint64_t value);
void layer_saw_fence(struct layer_device *device, struct layer_fence *fence);
void layer_saw_idle(struct layer_queue *queue, uint64_t epoch,
                    const struct tide_shadow_clock *clock);
/* Records a signal by the host, or by an event outside of all queues (acquire). */
void layer_host_signal(struct layer_device *device, struct layer_semaphore *semaphore,
                       uint64_t value);
void layer_external_signal(struct layer_device *device, struct layer_semaphore *semaphore);

/* Mark the begin and end of a call that blocks. */
void layer_host_call_begin(struct layer_device *device, struct layer_host_call *call);
void layer_host_call_end(struct layer_device *device, struct layer_host_call *call);

/* ---- audit.c ---- */

/* Sets the class of each wait, before the submission's own signals are recorded. */
void layer_classify(struct layer_queue *queue, struct layer_submission *submission);
const char *layer_class_name(enum layer_wait_class class_);
/* True if the second scope of a wait at `to` meets the first scope of a signal at `from`. */
bool layer_stages_meet(VkPipelineStageFlags2 to, VkPipelineStageFlags2 from);
/* True if a wait at `wide` holds up all that a wait at `narrow` does. */
bool layer_stages_cover(VkPipelineStageFlags2 wide, VkPipelineStageFlags2 narrow);
/* True if a signal at these stages waits for all of its batch. */
bool layer_stages_are_all(VkPipelineStageFlags2 from);
/* Writes what the counts come to, as a "verdict" line. */
void layer_audit_verdict(const struct layer_counts *counts, FILE *to);
/* Writes the "wait" and "edge" lines. */
void layer_audit_print(const struct layer_device *device, FILE *to);

/* ---- explain.c ---- */

/* Writes "text" lines: the targets of each blocked call, down to the cause. The lock is held. */
void layer_explain(struct layer_device *device, FILE *to);

/* ---- object_names.c: names in reports; each into a buffer of the caller, which it returns ---- */

#define LAYER_TEXT 192
struct layer_text {
  char text[LAYER_TEXT];
};
const char *layer_name_queue(const struct layer_queue *queue, struct layer_text *text);
const char *layer_name_semaphore(const struct layer_semaphore *semaphore, struct layer_text *text);
const char *layer_name_fence(const struct layer_fence *fence, struct layer_text *text);
const char *layer_name_submission(const struct layer_submission *submission,
                                  struct layer_text *text);
/* Returns the name of the submission's first command buffer; NULL: none. */
const char *layer_name_commands(const struct layer_submission *submission);
/* Copies a text without its control characters and broken UTF-8. */
void layer_clean_text(char *to, size_t size, const char *from);

/* ---- process_report.c ---- */

/* Reports a mistake of the program. Equal ones are kept once. Any thread; takes a lock of its
 * own. */
void layer_finding(const char *kind, const char *format, ...) TIDE_PRINTF(2, 3);
/* Reports a thing that the layer could not see or do. Equal ones are counted. */
void layer_limit(const char *format, ...) TIDE_PRINTF(1, 2);
enum layer_reason { LAYER_REASON_EXIT, LAYER_REASON_REQUEST, LAYER_REASON_LOST };
/* Writes the report of the process. Takes the locks of all devices, one after the other. */
void layer_report(enum layer_reason reason);
/* Keeps the report of a device that is about to be destroyed. */
void layer_report_keep(struct layer_device *device);
/* Starts the thread that SIGQUIT wakes. */
void layer_report_start(void);
/* Reports, once, that a call of the driver said that the device is lost. Returns the result. */
VkResult layer_check_lost(struct layer_device *device, VkResult result);

#endif
