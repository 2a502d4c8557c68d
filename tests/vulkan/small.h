/* tests/vulkan/small.h: small Vulkan programs, each with one planted mistake.
 *
 *   seed, kind ---> struct program --- small_simulate.c ---> bytes of one legal order
 *                                  --- small_execute.c ----> bytes of the device
 *
 * A program is a list of batches (each becomes one VkSubmitInfo) and a list of items (the calls of
 * the host, in order). The simulation executes the batches in a random legal order. It proves that
 * the correct twin has one result, and it finds a mistake that changes the result in most orders.
 * A program and its bytes depend on the seed only, not on the queues that the device has.
 */
#ifndef TESTS_VULKAN_SMALL_H
#define TESTS_VULKAN_SMALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

enum {
  LANES_MOST = 4,
  QUEUES_MOST = 64,
  BUFFERS_MOST = 12,
  BATCHES_MOST = 64, /* a set of batches is a uint64_t */
  STEPS_MOST = 12,
  WAITS_MOST = 16,
  SIGNALS_MOST = 16,
  EDGES_MOST = 256,
  SEMAPHORES_MOST = 256,
  ITEMS_MOST = 160,
  WORDS_MOST = 1024,
  TARGETS_MOST = 4
};

struct small_options {
  const char *kind;
  uint64_t seed;
  bool is_correct;
  bool expect; /* print the ground truth on stderr */
  bool rss;
  bool has_exact_values; /* some versions of the validation layers need them */
  unsigned submissions;  /* of the kind clean */
};

/* ---- the device (small_device.c) ---------------------------------------------------------- */

struct real_queue {
  VkQueue queue;
  uint32_t family;
  VkQueueFlags flags;
};

struct device {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  struct real_queue queues[QUEUES_MOST]; /* family by family */
  int queue_count, family_count;
  bool has_submit2;
  VkPhysicalDeviceMemoryProperties memory;
  PFN_vkSetDebugUtilsObjectNameEXT set_name; /* NULL without VK_EXT_debug_utils */
  VkDescriptorSetLayout set_layout;          /* the compute pipeline: mix.comp */
  VkPipelineLayout layout;
  VkPipeline pipeline;
};

_Noreturn void small_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void check_result(VkResult result, const char *call);
#define VK(call) check_result((call), #call)

void device_open(struct device *device);
void device_open_pipeline(struct device *device);
void device_close(struct device *device);
/* Sets the debug name of an object where the instance has VK_EXT_debug_utils. */
void name_object(struct device *device, VkObjectType type, uint64_t handle, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

/* Creates a buffer bound to host-visible, coherent memory of its own. families: the families that
 * share the buffer; 0 or 1 makes it exclusive. */
void buffer_create(struct device *device, VkDeviceSize size, const uint32_t *families,
                   uint32_t family_count, VkBuffer *out_buffer, VkDeviceMemory *out_memory,
                   void **out_mapped);
VkSemaphore semaphore_create(struct device *device, bool is_binary, uint64_t initial);
/* Prints the hash of the words and some of them to stdout. */
void print_words(const uint32_t *words, size_t count);

/* ---- random numbers (small_random.c) ------------------------------------------------------ */

struct random_state {
  uint64_t state;
};

void random_seed(struct random_state *random, const char *kind, uint64_t seed, uint64_t attempt);
uint64_t random_next(struct random_state *random);
unsigned random_below(struct random_state *random, unsigned limit);
bool random_chance(struct random_state *random, unsigned percent);

/* ---- the model of a program --------------------------------------------------------- */

enum step_kind { STEP_FILL, STEP_UPDATE, STEP_COPY, STEP_MIX };

/* One command. Offsets and sizes are in words of 32 bits. */
struct step {
  enum step_kind kind;
  int out, in, in2;
  uint32_t out_at, in_at, in2_at, words, value;
};

/* A transfer of queue family ownership; the lanes tell the families. */
struct handover {
  int buffer, from_lane, to_lane;
};

struct wait {
  int semaphore;
  uint64_t value;
  VkPipelineStageFlags mask;
};

struct signal {
  int semaphore;
  uint64_t value;
};

struct batch {
  int lane;
  struct step steps[STEPS_MOST];
  int step_count;
  struct wait waits[WAITS_MOST];
  int wait_count;
  struct signal signals[SIGNALS_MOST];
  int signal_count;
  struct handover releases[BUFFERS_MOST], acquires[BUFFERS_MOST];
  int release_count, acquire_count;
  bool has_barrier;      /* at the head of the command buffer */
  bool has_host_barrier; /* at its end */
  bool is_host_awaited;  /* must signal a timeline */
  bool is_alone;         /* is submitted by a call of its own */
  uint64_t handed;       /* the buffers whose ownership it transfers: counts as writing to them */
  uint64_t before;       /* the batches that the synchronization orders before this one */
};

/* A wait of one batch for another. */
struct edge {
  int from, to;
  bool is_binary;
  bool is_forgotten; /* the mistake: signalled, not awaited */
  int early_batch;   /* the mistake: waits for the value of this batch; -1: none */
  VkPipelineStageFlags mask;
};

struct semaphore {
  bool is_binary;
  uint64_t initial;
  char name[32];
};

enum action {
  ACT_SUBMIT, /* batches first to first + count - 1, by one call */
  ACT_WAIT,   /* for the completion of all targets, by `how` */
  ACT_SIGNAL, /* vkSignalSemaphore */
  ACT_AWAIT,  /* vkWaitSemaphores for `semaphore` >= `value` */
  ACT_WRITE,  /* the host overwrites the buffer with a pattern of `value` */
  ACT_SLEEP,  /* value: milliseconds */
  ACT_DESTROY_BUFFER,
  ACT_DESTROY_SEMAPHORE,
  ACT_DESTROY_POOL, /* of batch `first` */
  ACT_RESET_POOL,
  ACT_FREE_COMMANDS
};

enum how { HOW_FENCE, HOW_TIMELINE, HOW_POLL, HOW_QUEUE_IDLE, HOW_DEVICE_IDLE };

struct item {
  enum action action;
  int thread;
  int first, count;
  int targets[TARGETS_MOST]; /* batches */
  int target_count;
  enum how how;
  int buffer, semaphore;
  uint64_t value;
  bool has_fence, uses_submit2; /* of ACT_SUBMIT */
};

struct buffer {
  uint32_t words, pattern;     /* pattern: of the words before the first submission */
  bool is_output, is_constant; /* constant: no batch writes to the buffer */
  bool is_private;             /* of one batch */
  int owner;                   /* ownership: the lane whose family owns it; -1: none yet */
};

struct lane {
  int queue; /* in device->queues */
  uint32_t family;
  bool can_dispatch;
  uint64_t known; /* while the program is made: batches ordered before the next one */
};

enum semaphore_style { STYLE_LANE_TIMELINES, STYLE_BATCH_TIMELINES, STYLE_BINARY, STYLE_MIXED };

struct program {
  struct lane lanes[LANES_MOST];
  int lane_count;
  struct buffer buffers[BUFFERS_MOST];
  int buffer_count;
  struct batch batches[BATCHES_MOST];
  int batch_count;
  struct edge edges[EDGES_MOST];
  int edge_count;
  struct semaphore semaphores[SEMAPHORES_MOST];
  int semaphore_count;
  struct item items[ITEMS_MOST];
  int item_count;
  struct item events[8]; /* host calls to insert behind batch events_after[i] */
  int events_after[8];
  int event_count;
  enum semaphore_style style;
  bool has_full_masks; /* waits cover all commands, so that a queue's knowledge accumulates */
  bool uses_mix, is_exclusive;
  bool is_style_given;   /* make_graph() keeps the style */
  bool has_exact_values; /* no wait for a value between two signals */
  bool is_sparse;        /* make_graph() draws one step a batch and narrow masks */
  int thread_count;
  unsigned group_percent, submit2_percent, redundant_percent, own_semaphore_percent;
  int virtual_queues; /* of the simulation: lane l uses queue l % virtual_queues; 0: one a lane */
  int finish_first;   /* the first batch of the finish */
  enum how finish_how;
  bool hangs;
  char expectation[512]; /* the ground truth, lines */
};

#define BIT(index) ((uint64_t)1 << (index))

/* Initial or host-written word of a buffer. */
uint32_t pattern_word(uint32_t pattern, uint32_t index);

/* Appends `expect: …` to the ground truth. */
void expect(struct program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- making programs (small_make.c) ------------------------------------------------------- */

void make_lanes(struct program *program, const struct device *device, struct random_state *random,
                bool spreads_families);
/* Draws buffers, batches, dependencies and the styles. */
void make_graph(struct program *program, const struct device *device, struct random_state *random);
void draw_styles(struct program *program, const struct device *device, struct random_state *random);
struct step draw_step(const struct program *program, struct random_state *random, int lane);
uint64_t buffers_of(const struct batch *batch);
struct batch *add_batch(struct program *program, int lane);
/* Orders the last batch behind the earlier ones that it conflicts with. */
void order_batch(struct program *program, struct random_state *random, int index);
struct edge *add_edge(struct program *program, int from, int to);
int add_buffer(struct program *program, uint32_t words, uint32_t pattern);
/* Batch `index`, everything before it on its lane, and everything before those. */
uint64_t past_of(const struct program *program, int index);
/* Appends the batches that make every byte visible to the host. */
void make_finish(struct program *program, struct random_state *random);
int add_semaphore(struct program *program, bool is_binary, uint64_t initial, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* Gives the edges semaphores and values. Called again, it gives the same ones. */
void assign_semaphores(struct program *program, uint64_t seed);
/* Makes the list of items from the batches and the events. */
void make_items(struct program *program, uint64_t seed);

/* ---- planting one mistake (small_plant.c) --------------------------------------------- */

struct planting {
  /* Draws the correct program up to its finish. */
  void (*draw)(struct program *, const struct device *, struct random_state *);
  /* Plants mistake number `option`, or prepares its correct twin, and makes semaphores and items.
   * False: no such mistake in this program, which has not changed. */
  bool (*plant)(struct program *, int option, bool is_mistake, uint64_t seed);
  int option_count;
  unsigned wanted_percent; /* of orders that show the mistake; 0: the bytes do not tell */
  bool is_in_queue;
};

/* Draws programs until one has a mistake that shows often enough, and plants it, or does not. */
void plant_mistake(struct program *program, const struct planting *planting,
                   const struct device *device, const struct small_options *options);

/* ---- kinds ---------------------------------------------------------------------------
 * Each makes the program of options->seed, with the mistake or without. */

void make_forgotten_wait(struct program *, const struct device *, const struct small_options *);
void make_wrong_value(struct program *, const struct device *, const struct small_options *);
void make_own_queue(struct program *, const struct device *, const struct small_options *);
void make_wrong_stage(struct program *, const struct device *, const struct small_options *);
void make_value_backwards(struct program *, const struct device *, const struct small_options *);
void make_early_destroy(struct program *, const struct device *, const struct small_options *);
void make_host_write(struct program *, const struct device *, const struct small_options *);
void make_ownership(struct program *, const struct device *, const struct small_options *);
void make_cycle(struct program *, const struct device *, const struct small_options *);
void make_never_signalled(struct program *, const struct device *, const struct small_options *);
void make_same_queue(struct program *, const struct device *, const struct small_options *);
void make_redundant(struct program *, const struct device *, const struct small_options *);
void run_clean(struct device *device, const struct small_options *options);

/* ---- simulation (small_simulate.c) -------------------------------------------------------- */

struct outcome {
  uint64_t hash;     /* of the output */
  bool is_stuck;     /* a host wait that nothing can satisfy */
  bool is_violation; /* destroyed in use, or a timeline that goes backwards */
};

/* Order 0 takes the submissions as they came. In-queue orders also swap batches of one queue that
 * nothing links. words may be NULL; else it has room for all output. */
struct outcome simulate(const struct program *program, uint64_t order, bool is_in_queue,
                        uint32_t *words);
/* The share, in percent, of orders in which the program's result differs from `right`: the smaller
 * one of 3 queues and of 4. Rough when it is below `wanted`. */
unsigned percent_wrong(struct program *program, struct outcome right, bool is_in_queue,
                       unsigned wanted);
/* Fails unless the program has one result in all sampled orders, and no violation. */
void check_is_correct(const struct program *program, bool is_in_queue);

/* ---- execution (small_execute.c) ---------------------------------------------------------- */

/* Runs the program on the device and prints its output. Checks it where that is certain. */
void execute(struct device *device, const struct program *program, bool is_correct);

#endif
