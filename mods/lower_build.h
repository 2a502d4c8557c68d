/* mods/lower_build.h: the state of the lowering, and its helpers for building operations. */
#ifndef TIDE_MODS_LOWER_BUILD_H
#define TIDE_MODS_LOWER_BUILD_H

#include "mods/lower.h"

/* A lowered pipeline, sequence barrier or scheduler, by its new value. */
struct tide_lower_known {
  tide_ir_value value;
  uint32_t kind; /* the defining operation's enum tide_ir_kind */
  uint32_t stages, length;
  uint32_t bytes; /* transaction bytes of a TMA pipeline; 0: not TMA */
  bool along_m;
  uint32_t swizzle;
};
#define TIDE_LOWER_KNOWN_MAX 256

/* Resources of an async region in its CTA; created on first use. */
struct tide_lower_region {
  tide_ir_op op;            /* the async.exec */
  uint32_t first, threads;  /* the first thread; the number of threads, 0: not declared */
  uint32_t throttle_id;     /* a named barrier of the pool; 0: none yet */
  uint32_t words;           /* two participant words, in slots of 8 bytes */
  tide_ir_value turn;       /* private: count of throttles; -1: this thread no longer takes part */
  tide_ir_value last, best; /* private to the leader: clock values */
  uint32_t told;            /* the slot of its progress word, + 1; 0: no window yet */
  tide_ir_value tiles;      /* private: the window's number, and the thread's tiles in it */
  bool pairs;               /* the even CTA tells for its pair */
  uint32_t gather_id;       /* named barrier before one thread arrives for the CTA; 0: none yet */
};
#define TIDE_LOWER_REGIONS_MAX 32

/* Mbarriers or words that the CTA's first thread initializes before all other work. */
struct tide_lower_slot {
  uint32_t slot, count;
  uint32_t value; /* each mbarrier's arrival count; the initial value of both words */
  bool words;
};
#define TIDE_LOWER_EARLY_MAX 640
#define TIDE_LOWER_SLOTS_MAX 4096 /* 32 KiB */

struct tide_lower {
  struct tide_ir *ir;
  struct tide_lower_params params;
  struct tide_ir_builder b;
  bool failed;
  tide_ir_type i1, i32, i64, shared, state, tile, pointer;

  /* The current kernel. */
  tide_ir_op module, function;
  uint32_t cluster[3];
  tide_ir_string barriers; /* the name of its shared memory */
  uint32_t slots;          /* slots of 8 bytes in use */
  uint32_t next_id;        /* the next id of the pool to try */
  uint32_t taken_ids;      /* bits of the pool's ids that the kernel names itself */
  struct tide_lower_known known[TIDE_LOWER_KNOWN_MAX];
  uint32_t known_count;
  struct tide_lower_known beyond; /* a dummy, written but never read, after an error */
  struct tide_lower_region regions[TIDE_LOWER_REGIONS_MAX];
  uint32_t region_count;
  struct tide_lower_slot early[TIDE_LOWER_EARLY_MAX];
  uint32_t early_count;
  tide_ir_op inits[TIDE_LOWER_KNOWN_MAX]; /* pipelines, sequence barriers; erased last */
  uint32_t init_count;
};

/* ---- lower_build.c ---- */

/* Sets the insertion point before `op`, and the location to that of `op`. */
void tide_lower_at(struct tide_lower *l, tide_ir_op op);
tide_ir_attr tide_lower_dictionary1(struct tide_lower *l, tide_ir_string name, tide_ir_attr value);
/* Builds one operation and returns its result; type 0: no result. */
tide_ir_value tide_lower_op(struct tide_lower *l, enum tide_ir_kind kind,
                            const tide_ir_value *operands, size_t count, tide_ir_type type,
                            tide_ir_attr attributes);
tide_ir_value tide_lower_i32(struct tide_lower *l, int64_t value);
tide_ir_value tide_lower_bool(struct tide_lower *l, bool value);
/* Builds an arith operation on two values of one type. Folds two constants, and omits an operation
 * that does not change `a`. */
tide_ir_value tide_lower_binary(struct tide_lower *l, enum tide_ir_kind kind, tide_ir_value a,
                                tide_ir_value b);
enum tide_lower_predicate { TIDE_EQ, TIDE_NE, TIDE_SLT, TIDE_SLE, TIDE_SGT, TIDE_SGE, TIDE_ULT };
tide_ir_value tide_lower_compare(struct tide_lower *l, enum tide_lower_predicate predicate,
                                 tide_ir_value a, tide_ir_value b);
tide_ir_value tide_lower_select(struct tide_lower *l, tide_ir_value condition, tide_ir_value a,
                                tide_ir_value b);
tide_ir_value tide_lower_extend(struct tide_lower *l, tide_ir_value value, tide_ir_type type);
/* Builds a struct of `fields`; reads field `index` of a struct. */
tide_ir_value tide_lower_pack(struct tide_lower *l, tide_ir_type type, const tide_ir_value *fields,
                              size_t count);
tide_ir_value tide_lower_field(struct tide_lower *l, tide_ir_value value, uint32_t index,
                               tide_ir_type type);
tide_ir_value tide_lower_register(struct tide_lower *l, enum tide_ir_kind kind);
/* Builds an scf.if without results, and builds inside until tide_lower_leave(). */
struct tide_lower_inside {
  struct tide_ir_builder outer;
  tide_ir_op op;
};
struct tide_lower_inside tide_lower_if(struct tide_lower *l, tide_ir_value condition);
void tide_lower_else(struct tide_lower *l, struct tide_lower_inside *inside);
void tide_lower_leave(struct tide_lower *l, const struct tide_lower_inside *inside);
/* Build an address: of shared slot number `slot`; of element `index` or `offset` beyond `base`. */
tide_ir_value tide_lower_slot_address(struct tide_lower *l, uint32_t slot);
tide_ir_value tide_lower_offset(struct tide_lower *l, tide_ir_value base, tide_ir_type element,
                                uint32_t offset);
tide_ir_value tide_lower_element(struct tide_lower *l, tide_ir_value base, tide_ir_type element,
                                 tide_ir_value index);
tide_ir_value tide_lower_load(struct tide_lower *l, tide_ir_value address, tide_ir_type type,
                              bool is_volatile);
void tide_lower_store(struct tide_lower *l, tide_ir_value value, tide_ir_value address,
                      bool is_volatile);
/* Builds inline assembly with side effects; type 0: no result. */
tide_ir_value tide_lower_asm_of(struct tide_lower *l, const char *text, const char *constraints,
                                const tide_ir_value *operands, size_t count, tide_ir_type type);
tide_ir_value tide_lower_asm(struct tide_lower *l, const char *text, const char *constraints,
                             const tide_ir_value *operands, size_t count);
bool tide_lower_error(struct tide_lower *l, tide_ir_op op, const char *text);
void tide_lower_replace(struct tide_lower *l, tide_ir_op op,
                        tide_ir_value value); /* 0: no result */

/* Barriers. */
uint32_t tide_lower_take_slots(struct tide_lower *l, tide_ir_op op, uint64_t count);
uint32_t tide_lower_take_id(struct tide_lower *l, tide_ir_op op); /* 0: none left, reported */
void tide_lower_early(struct tide_lower *l, tide_ir_op op, struct tide_lower_slot slot);
/* Returns the region around `op`; NULL: none, reported. */
struct tide_lower_region *tide_lower_region(struct tide_lower *l, tide_ir_op op);
/* Returns the region around `op` if it has opened a window; NULL: none. */
struct tide_lower_region *tide_lower_in_window(struct tide_lower *l, tide_ir_op op);
/* True if the number of the region's threads is known; else reports an error at `op`. */
bool tide_lower_counts(struct tide_lower *l, tide_ir_op op, const struct tide_lower_region *region);
/* Builds a private variable that is set to `value` at the kernel's start. */
tide_ir_value tide_lower_private(struct tide_lower *l, tide_ir_type type, int64_t value);
void tide_lower_cluster_sync(struct tide_lower *l);
static inline uint32_t tide_lower_ctas(const struct tide_lower *l) {
  return l->cluster[0] * l->cluster[1] * l->cluster[2];
}

struct tide_lower_known *tide_lower_know(struct tide_lower *l, tide_ir_op op, tide_ir_value value);
/* NULL: not made in this kernel, reported. */
const struct tide_lower_known *tide_lower_known(struct tide_lower *l, tide_ir_op op,
                                                uint32_t operand);

/* ---- replacing operations; all but inits and a window's start are erased at once ---- */

void tide_lower_pipeline(struct tide_lower *l, tide_ir_op op); /* lower_pipeline.c */
void tide_lower_schedule(struct tide_lower *l, tide_ir_op op); /* lower_schedule.c */
void tide_lower_mods(struct tide_lower *l, tide_ir_op op);     /* lower_mods.c */
/* lower_progress.c: a window's start; a finished tile, if it was valid; a throttle; a query */
void tide_lower_progress(struct tide_lower *l, tide_ir_op start, bool pairs,
                         struct tide_lower_region *region);
void tide_lower_finished(struct tide_lower *l, const struct tide_lower_region *region,
                         tide_ir_value valid);
void tide_lower_tell(struct tide_lower *l, const struct tide_lower_region *region);
void tide_lower_query(struct tide_lower *l, tide_ir_op op);
tide_ir_type tide_lower_tile_type(struct tide_ir *ir);      /* lower_schedule.c */
tide_ir_type tide_lower_scheduler_type(struct tide_ir *ir); /* lower_schedule.c */

/* ---- from form mods to form nvvm ---- */

void tide_lower_names(struct tide_ir *ir);  /* lower_names.c */
bool tide_lower_blocks(struct tide_ir *ir); /* lower_blocks.c: scf */
bool tide_lower_llvm(struct tide_ir *ir);   /* lower_llvm.c: arith, cf */
/* lower_check.c: before the lowering, and behind it; both report errors */
bool tide_lower_admit(struct tide_ir *ir);
bool tide_lower_check(struct tide_ir *ir);
bool tide_lower_functions(struct tide_ir *ir); /* lower_functions.c: gpu, func, modules */

#endif
