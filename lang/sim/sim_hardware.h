/* sim/sim_hardware.h: a simulated device with a submitting thread and hardware queues.
 *
 * The thread is modelled on the clock. It exchanges, spends `submit_cost` for a work, puts that on
 * its hardware queue, and goes on. It sleeps until a kick, or until the host knows an end.
 *
 *      arrived ──submit_cost──> hardware queue ──hand──> end ──round_trip──> over
 *
 * A device that runs ahead gets works before they may start. Its hardware queues start submissions
 * in the order of their numbers; one that waits holds back all behind it. A device that does not is
 * driven by the host: a work is taken when it may start, and all share one hardware queue.
 *
 * A work is the scheduler's from the report of its end. A lost device touches no work any more. */
#ifndef TIDE_SIM_HARDWARE_H
#define TIDE_SIM_HARDWARE_H

#include "base/list.h"
#include "tidemark/backend.h"
#include "tidemark/sim.h"

struct tide_sim_hardware;

struct tide_sim_submission {
  struct tide_timer_event event; /* arrives at a device that the host drives; then: ends */
  struct tide_sim_hardware *sim;
  struct tide_sim_submission *made_before; /* list of all, for the close */
  struct tide_link link;                   /* entry of one of the lists below */
  struct tide_work *work;
  const struct tide_body_class *body; /* NULL: takes no time, and no hand */
  struct tide_submission native;
  bool wait_is_over[TIDE_HARDWARE_QUEUES_MAX];
  bool has_ended, is_due; /* due: its time ended while the device was halted */
  uint32_t hand;
  uint64_t ended; /* time; running ahead: of all before it, too */
};

struct tide_sim_hardware_queue {
  struct tide_timer_event start; /* starts `next` */
  struct tide_sim_hardware *sim;
  struct tide_link out;                  /* submissions with an unreported end, by number */
  struct tide_sim_submission *next;      /* the first that has not started; NULL: none */
  struct tide_sim_submission *unreached; /* the first that has not ended, or follows such a one */
  uint64_t reached;                      /* the native timeline's value */
  uint64_t listening;                    /* the end of this number wakes the thread; 0: none */
  bool is_asked;                         /* the script's `ready` was asked about `next` */
  uint64_t not_before;                   /* start of `next`, by native waits and `ready` */
};

struct tide_sim_hardware {
  struct tide_sim_params params;
  const struct tide_allocator *allocator;
  struct tide_clock *clock;
  struct tide_device *device;
  bool is_halted;
  /* The submitting thread. */
  struct tide_timer_event wake; /* ends its sleep, or the submission of `recording` */
  bool is_asleep, is_due;       /* due: `wake` fired while the device was halted */
  struct tide_sim_submission *recording;
  struct tide_link arrived, ended; /* driven by the host: to submit; to return */
  struct tide_sim_submission *made;
  struct tide_link spare;
  /* The hardware. */
  uint32_t *free_hands, free_hand_count;
  struct tide_sim_hardware_queue queues[TIDE_HARDWARE_QUEUES_MAX];
};

/* True if these parameters need such a device. */
bool tide_sim_is_hardware(const struct tide_sim_params *params);
enum tide_status tide_sim_hardware_open(struct tide_context *context, struct tide_clock *clock,
                                        const struct tide_sim_params *params,
                                        struct tide_device **out_device);
/* Returns NULL if the device is another simulated one. */
struct tide_sim_hardware *tide_sim_hardware_of(const struct tide_device *device);
void tide_sim_hardware_resume(struct tide_sim_hardware *sim);

bool tide_sim_hardware_is_lost(const struct tide_sim_hardware *sim);
/* Returns the time `ns` from now. */
uint64_t tide_sim_hardware_later(const struct tide_sim_hardware *sim, uint64_t ns);
/* Wakes the submitting thread at this time, if it sleeps until then. */
void tide_sim_hardware_wake(struct tide_sim_hardware *sim, uint64_t time);

/* ---- sim_hardware.c: the hardware queues ---- */
void tide_sim_hardware_init_queues(struct tide_sim_hardware *sim);
/* Puts a submission behind all others of its hardware queue. */
void tide_sim_hardware_put(struct tide_sim_hardware *sim, struct tide_sim_submission *submission);
/* Starts all submissions that may start. */
void tide_sim_hardware_advance(struct tide_sim_hardware *sim);
void tide_sim_hardware_end(struct tide_sim_submission *submission);

#endif
