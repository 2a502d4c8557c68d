/* layer/explore.h: running another legal order.
 *
 * The model. A program sees more queues than the driver has (virtual queues). Its submissions are
 * copied and *held*. A held submission is *ready* when every signal that it waits for has been
 * released, or signalled by the host, and it is the first of its queue. (With --in-queue a later
 * one may go, too, if no synchronisation command links it to those before it, and none of those
 * waits for anything.) A *pick* takes one of the ready ones, by the seed, and passes it to the one
 * driver's queue of its family; so the driver runs them in the order of the picks.
 *
 *   arrives: HELD ---- pick ----> RELEASED          commands and signals are the driver's
 *              |
 *              +-- jumped ahead --> STARTED --> RELEASED   its signals wait for the earlier ones
 *
 * A wait also orders all that comes later in its queue, and a signal all that came before. So where
 * B overtakes A the driver gets: A's waits, B's waits and commands, A's commands and signals, B's
 * signals.
 *
 * Picks are made only while a call of the program blocks for something that is not released: one
 * schedule for one seed, however fast the machine is. A poll that finds nothing makes one pick. Two
 * more kinds are counted, since they may differ from run to run or say little: *timer picks*, when
 * no call came for 50 ms and no thread of the program runs, and *bound picks*, when too many are
 * held.
 *
 * The driver's calls are always valid: a value that would go backwards is a finding, and is not
 * passed on. Objects that the program destroys too early stay alive until the submissions that
 * were held then have finished (retained.c).
 *
 * release_lock is held around a pick and the driver's calls that follow it. */
#ifndef TIDE_LAYER_EXPLORE_H
#define TIDE_LAYER_EXPLORE_H

#include "layer/layer.h"

#include "base/random.h"

#define LAYER_FAMILIES_MOST 16
#define LAYER_HELD_MOST 64             /* submissions of one queue */
#define LAYER_PATIENCE_NS 10000000000u /* with released submissions, which will finish */
#define LAYER_TIMER_NS 50000000u
#define LAYER_SPIN_NS 2000000000u /* without a call: a thread that runs may spin on memory */

enum layer_pick_reason { LAYER_PICK_BLOCKED, LAYER_PICK_TIMER, LAYER_PICK_BOUND, LAYER_PICK_FLUSH };

struct layer_explorer {
  struct layer_submission *first, *last; /* held or started submissions, in the order of arrival */
  uint64_t generation; /* incremented by each change that could make a submission ready */
  uint64_t blocked;    /* calls that now block for submissions that are not released */
  uint64_t spin_ns;    /* how long a thread may run without a call */
  uint64_t active_ns;  /* the last call of the program */
  uint64_t urgent;     /* held submissions that another process or driver waits for */
  bool is_unfinished;  /* the driver may not have finished the released submissions */
  struct tide_random random;
  VkQueue real[LAYER_FAMILIES_MOST];  /* driver queues, by family of the driver */
  struct layer_table commands, pools; /* command_buffer.c */
  struct layer_table owners, between; /* ownership.c: parts, whole resources between families */
  struct layer_table buffers;         /* sizes; of images, levels and layers */
  struct layer_kept *kept;            /* retained.c */
  struct layer_kept **kept_end;
  uint64_t kept_bytes; /* bytes of memory among the kept objects */
  VkPhysicalDeviceMemoryProperties memory;
  struct layer_table memories, private_data;
  struct layer_table events; /* bits: 1: the host has set it; 2: the device may set it */
  pthread_t timer;
  pthread_cond_t timer_wakes; /* signalled when the timer has to stop */
  bool timer_runs, timer_stops;
};

/* ---- explore.c ---- */

bool layer_explore_init(struct layer_device *device);
/* Reports held submissions, releases those that can go, and waits for the driver. */
void layer_explore_fini(struct layer_device *device);
/* Gives a submission to the ledger and holds it. False: no memory; the caller still owns it. */
bool layer_explore_hold(struct layer_queue *queue, struct layer_submission *submission);
/* Releases until no urgent submission is held, or nothing can go. No lock is held. */
void layer_explore_urge(struct layer_device *device);
/* Blocks, and releases, until the call's targets are released. False: the deadline (0: none) has
 * passed, or the device is lost. No lock is held. */
bool layer_explore_until(struct layer_device *device, const struct layer_host_call *call,
                         uint64_t deadline_ns);
/* True if the call is released. No lock is held. */
bool layer_explore_is_released(struct layer_device *device, const struct layer_host_call *call);
/* Makes one pick, for a poll that found nothing. */
void layer_explore_poll(struct layer_device *device);
/* Releases in the order of arrival until all that is held now is released, or nothing can go. */
void layer_explore_flush(struct layer_device *device, const char *why);
/* True if the target is released. The lock is held. */
bool layer_is_released(const struct layer_target *target);
/* Waits until the driver has finished all that was released. No lock is held. */
void layer_explore_finish(struct layer_device *device, uint64_t patience_ns);
/* Returns a hash of all picks of the process. */
uint64_t layer_explore_schedule(void);

/* ---- idle.c ---- */

/* True if no thread of the process runs but the calling one. */
bool layer_process_is_idle(void);

/* ---- order.c: the recorded order ---- */

/* Returns the index of the ready submission to release next, and records it. Under release_lock and
 * lock. */
size_t layer_order_choose(struct layer_explorer *explorer, struct layer_submission *const *ready,
                          size_t count, enum layer_pick_reason reason);

/* Writes the recorded order, before a call waits for the driver: so a program that crashes there
 * leaves its order, too. */
void layer_order_flush(void);
/* Begins an order of its own, in the child of a fork. */
void layer_order_forget(void);

/* ---- release.c: the driver's calls; under release_lock ---- */

enum { LAYER_PART_WAITS = 1, LAYER_PART_COMMANDS = 2, LAYER_PART_SIGNALS = 4 };
VkResult layer_release(struct layer_submission *submission, unsigned parts);

/* ---- families.c ---- */

uint32_t layer_families_advertised(uint32_t real_count);
/* Returns the driver's family that a family of the program stands for. */
uint32_t layer_real_family(const struct layer_device *device, uint32_t family);
/* The create info for the driver: one queue per family. */
struct layer_queue_infos {
  VkDeviceQueueCreateInfo infos[LAYER_FAMILIES_MOST];
  uint32_t count;
};
void layer_map_queue_infos(const VkDeviceCreateInfo *info, uint32_t real_families,
                           struct layer_queue_infos *out_infos);
/* Maps a list of families. True: more than one is left. */
bool layer_map_family_list(const struct layer_device *device, uint32_t *count,
                           const uint32_t *families, uint32_t out_families[LAYER_FAMILIES_MOST]);

/* ---- command_buffer.c ---- */

/* True if synchronisation commands order the submission against its neighbours in the queue. */
bool layer_commands_link(struct layer_device *device, const VkCommandBuffer *commands,
                         uint32_t count);
/* False if the submission's commands wait for an event that the host has yet to set. The lock is
 * held. */
bool layer_host_events_are_set(struct layer_device *device,
                               const struct layer_submission *submission);
void layer_commands_fini(struct layer_explorer *explorer);

/* ---- ownership.c ---- */

/* Follows transfers between families as the submission's commands are released. */
void layer_commands_released(struct layer_device *device,
                             const struct layer_submission *submission);

/* ---- retained.c ---- */

enum layer_object {
  LAYER_OBJECT_SEMAPHORE,
  LAYER_OBJECT_FENCE,
  LAYER_OBJECT_MEMORY,
  LAYER_OBJECT_BUFFER,
  LAYER_OBJECT_IMAGE,
  LAYER_OBJECT_BUFFER_VIEW,
  LAYER_OBJECT_IMAGE_VIEW,
  LAYER_OBJECT_PIPELINE,
  LAYER_OBJECT_PIPELINE_LAYOUT,
  LAYER_OBJECT_SAMPLER,
  LAYER_OBJECT_DESCRIPTOR_POOL,
  LAYER_OBJECT_RENDER_PASS,
  LAYER_OBJECT_FRAMEBUFFER,
  LAYER_OBJECT_EVENT,
  LAYER_OBJECT_QUERY_POOL
};
/* Destroys the object, at once if nothing is held, else when that has finished. */
void layer_keep(struct layer_device *device, enum layer_object object, uint64_t handle,
                const VkAllocationCallbacks *allocator);
/* Destroys kept objects that no held submission can use. */
void layer_keep_settle(struct layer_device *device);
/* Reports that the program destroys or reuses an object of a held submission, and lets that one
 * finish. */
void layer_keep_accuse(struct layer_device *device, const struct layer_submission *submission,
                       const char *what);

#endif
