/* mods/lower_build.h: what the files of the lowering share. */
#ifndef TIDE_MODS_LOWER_BUILD_H
#define TIDE_MODS_LOWER_BUILD_H

#include "mods/lower.h"

/* A pipeline, a sequence barrier or a scheduler that has been lowered, by its new value. */
struct tide_lower_known {
  tide_ir_value value;
  uint32_t kind; /* of the operation that made it: enum tide_ir_kind */
  uint32_t stages, length;
  uint32_t bytes; /* of a TMA pipeline */
  bool along_m;
  uint32_t swizzle;
};
#define TIDE_LOWER_KNOWN_MAX 256

/* What an async region has in its CTA; made when first asked for. */
struct tide_lower_region {
  tide_ir_op op;            /* the async.exec */
  uint32_t first, threads;  /* its first thread; how many, 0: the kernel does not say */
  uint32_t throttle_id;     /* a named barrier of the pool; 0: none yet */
  uint32_t words;           /* two participant words, in slots of 8 bytes */
  tide_ir_value turn;       /* private: how many throttles; -1: this thread takes part no more */
  tide_ir_value last, best; /* private to the leader: clocks */
  uint32_t gather_id;       /* to speak for the CTA with one voice; 0: none yet */
};
#define TIDE_LOWER_REGIONS_MAX 32

/* Mbarriers or words that the CTA's first thread sets before anything begins. */
struct tide_lower_slot {
  uint32_t slot, count;
  uint32_t value; /* what each mbarrier counts to; what both words hold */
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

  /* Of the kernel at hand. */
  tide_ir_op module, function;
  uint32_t cluster[3];
  tide_ir_string barriers; /* the name of its shared memory */
  uint32_t slots;          /* of 8 bytes, handed out */
  uint32_t next_id;        /* of the pool */
  uint32_t taken_ids;      /* of the pool, by the kernel itself */
  struct tide_lower_known known[TIDE_LOWER_KNOWN_MAX];
  uint32_t known_count;
  struct tide_lower_known beyond; /* written, never read: the lowering has failed */
  struct tide_lower_region regions[TIDE_LOWER_REGIONS_MAX];
  uint32_t region_count;
  struct tide_lower_slot early[TIDE_LOWER_EARLY_MAX];
  uint32_t early_count;
  tide_ir_op
      inits[TIDE_LOWER_KNOWN_MAX]; /* of pipelines and sequence barriers; erased at the end */
  uint32_t init_count;
};

/* ---- lower_build.c ---- */

/* What follows is built before `op`, at its place. */
void tide_lower_at(struct tide_lower *l, tide_ir_op op);
tide_ir_attr tide_lower_dictionary1(struct tide_lower *l, tide_ir_string name, tide_ir_attr value);
/* One operation of one result, or (type 0) of none; its result. */
tide_ir_value tide_lower_op(struct tide_lower *l, enum tide_ir_kind kind,
                            const tide_ir_value *operands, size_t count, tide_ir_type type,
                            tide_ir_attr attributes);
tide_ir_value tide_lower_i32(struct tide_lower *l, int64_t value);
tide_ir_value tide_lower_bool(struct tide_lower *l, bool value);
/* arith, on two values of one type; computed at once where both are constants, left out where it
 * changes nothing. */
tide_ir_value tide_lower_binary(struct tide_lower *l, enum tide_ir_kind kind, tide_ir_value a,
                                tide_ir_value b);
enum tide_lower_predicate { TIDE_EQ, TIDE_NE, TIDE_SLT, TIDE_SLE, TIDE_SGT, TIDE_SGE, TIDE_ULT };
tide_ir_value tide_lower_compare(struct tide_lower *l, enum tide_lower_predicate predicate,
                                 tide_ir_value a, tide_ir_value b);
tide_ir_value tide_lower_select(struct tide_lower *l, tide_ir_value condition, tide_ir_value a,
                                tide_ir_value b);
tide_ir_value tide_lower_extend(struct tide_lower *l, tide_ir_value value, tide_ir_type type);
/* A struct of these; field `index` of one. */
tide_ir_value tide_lower_pack(struct tide_lower *l, tide_ir_type type, const tide_ir_value *fields,
                              size_t count);
tide_ir_value tide_lower_field(struct tide_lower *l, tide_ir_value value, uint32_t index,
                               tide_ir_type type);
tide_ir_value tide_lower_register(struct tide_lower *l, enum tide_ir_kind kind);
/* scf.if without results; what follows is built in it, until tide_lower_leave. */
struct tide_lower_inside {
  struct tide_ir_builder outer;
  tide_ir_op op;
};
struct tide_lower_inside tide_lower_if(struct tide_lower *l, tide_ir_value condition);
void tide_lower_else(struct tide_lower *l, struct tide_lower_inside *inside);
void tide_lower_leave(struct tide_lower *l, const struct tide_lower_inside *inside);
/* The address of shared slot number `slot`; of element `index` beyond `base`. */
tide_ir_value tide_lower_slot_address(struct tide_lower *l, uint32_t slot);
tide_ir_value tide_lower_offset(struct tide_lower *l, tide_ir_value base, tide_ir_type element,
                                uint32_t offset);
tide_ir_value tide_lower_element(struct tide_lower *l, tide_ir_value base, tide_ir_type element,
                                 tide_ir_value index);
tide_ir_value tide_lower_load(struct tide_lower *l, tide_ir_value address, tide_ir_type type,
                              bool is_volatile);
void tide_lower_store(struct tide_lower *l, tide_ir_value value, tide_ir_value address,
                      bool is_volatile);
tide_ir_value tide_lower_asm(struct tide_lower *l, const char *text, const char *constraints,
                             const tide_ir_value *operands, size_t count);
bool tide_lower_error(struct tide_lower *l, tide_ir_op op, const char *text);
void tide_lower_replace(struct tide_lower *l, tide_ir_op op,
                        tide_ir_value value); /* 0: no result */

/* Barriers. */
uint32_t tide_lower_take_slots(struct tide_lower *l, tide_ir_op op, uint64_t count);
uint32_t tide_lower_take_id(struct tide_lower *l, tide_ir_op op); /* 0: none left, told */
void tide_lower_early(struct tide_lower *l, tide_ir_op op, struct tide_lower_slot slot);
/* Of the region around `op`; NULL: there is none, told. */
struct tide_lower_region *tide_lower_region(struct tide_lower *l, tide_ir_op op);
/* True if the number of the region's threads is known; else tells so at `op`. */
bool tide_lower_counts(struct tide_lower *l, tide_ir_op op, const struct tide_lower_region *region);
/* A private variable, set to `value` where the kernel begins. */
tide_ir_value tide_lower_private(struct tide_lower *l, tide_ir_type type, int64_t value);
void tide_lower_cluster_sync(struct tide_lower *l);
static inline uint32_t tide_lower_ctas(const struct tide_lower *l) {
  return l->cluster[0] * l->cluster[1] * l->cluster[2];
}

struct tide_lower_known *tide_lower_know(struct tide_lower *l, tide_ir_op op, tide_ir_value value);
/* NULL: it was not made in this kernel, told. */
const struct tide_lower_known *tide_lower_known(struct tide_lower *l, tide_ir_op op,
                                                uint32_t operand);

/* ---- what the operations become; all erase `op` ---- */

void tide_lower_pipeline(struct tide_lower *l, tide_ir_op op); /* lower_pipeline.c */
void tide_lower_schedule(struct tide_lower *l, tide_ir_op op); /* lower_schedule.c */
void tide_lower_mods(struct tide_lower *l, tide_ir_op op);     /* lower_mods.c */
tide_ir_type tide_lower_tile_type(struct tide_ir *ir);         /* lower_schedule.c */
tide_ir_type tide_lower_scheduler_type(struct tide_ir *ir);    /* lower_schedule.c */

/* ---- from form mods to form nvvm ---- */

void tide_lower_names(struct tide_ir *ir);     /* lower_names.c */
bool tide_lower_blocks(struct tide_ir *ir);    /* lower_blocks.c: scf */
bool tide_lower_llvm(struct tide_ir *ir);      /* lower_llvm.c: arith, cf */
bool tide_lower_functions(struct tide_ir *ir); /* lower_functions.c: gpu, func, modules */

#endif
