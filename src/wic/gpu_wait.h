/* wic/gpu_wait.h: four ways in which a GPU's warps wait for data, with the driver as it is.
 *
 * A page fault of a GPU cannot be held from user space, so consumers name the data that they wait
 * for. A *tag* is a 32-bit word that a producer, on the host or on another GPU, sets to at least a
 * value when the data is there. A block has up to 31 consumer warps:
 *
 *   parked   a consumer asks for a tag (gpu_ask), works, and waits at its mbarrier (gpu_wait): the
 *            hardware suspends it there, and it issues nothing. One more warp, the *monitor*,
 *            examines all tags that are asked for, a lane each, with a growing pause. When a tag is
 *            set, the monitor completes the barrier, or copies the data to shared memory: then the
 *            copy's bytes complete it.
 *   polled   a consumer's first lane polls its tag
 *   first    the paper's Algorithm 1: the block's first thread polls the tags of all consumers; the
 *            other threads wait at the block's barrier
 *   split    no warp waits: the stream waits between two kernels
 *
 * Each wait has a deadline on the device's own clock. A wait fails when it misses the deadline,
 * or when the host has set `over`. No barrier waits for a warp that has given up.
 *
 * The ways' numbers (enum gpu_way) come from the including file, which also tells the host.
 *
 * This text is compiled for a GPU (gpu_ptx.h before it) and for tests on the host, where a thread
 * is a warp (tests/plugins/gpu_host.h): it uses only features of both. */
#ifndef TIDE_WIC_GPU_WAIT_H
#define TIDE_WIC_GPU_WAIT_H

#define GPU_CONSUMERS_MOST 31u /* per block: a lane of the monitor each, and one more warp */
#define GPU_SHARED_DATA 1024u  /* the offset at which data begins */
#define GPU_HINT 20000u        /* ns; the longest sleep of a parked warp before a clock check */
#define GPU_PAUSE_LEAST 32u    /* ns */
#define GPU_PAUSE_MOST 1024u
#define GPU_LOOKS 64u /* polls between two looks at the clock and at `over` */
#define GPU_GONE UINT32_MAX

/* The head of a block's shared memory; element i is consumer i's. */
struct gpu_shared {
  uint64_t barrier[32];
  uint32_t asked[32];  /* the number of tags asked for; GPU_GONE: the consumer has left */
  uint32_t served[32]; /* the number of those that the monitor has completed */
  uint32_t failed[32]; /* not 0: the consumer's data will not come */
  uint32_t gave_up;    /* GPU_FIRST: the tag number at which the first thread gave up; 0: none */
};

/* A warp of a block. */
struct gpu_warp {
  struct gpu_shared *shared;
  uint32_t block, index; /* the block in the grid; the warp in its block */
  uint32_t consumers;    /* consumer warps in the block */
  enum gpu_way way;
  uint64_t deadline;
  const uint32_t *over; /* the host's word */
  uint64_t checks;      /* number of tag polls */
};

/* The awaited condition of one consumer's n-th tag: *word is at least `value`. If `bytes` is not 0,
 * the data is copied from `from` to the consumer's location in shared memory, `to`. */
struct gpu_tag {
  const uint32_t *word;
  uint32_t value, bytes;
  const void *from;
  void *to;
};

GPU_FUNCTION bool gpu_tag_is_set(const struct gpu_tag *tag) {
  return gpu_load_system(tag->word) >= tag->value;
}

GPU_FUNCTION bool gpu_too_late(const struct gpu_warp *w) {
  return gpu_now() > w->deadline || gpu_load_system(w->over) != 0;
}

/* Initialises the shared memory. Called by all warps of the block before any wait; `threads`: the
 * block's. */
GPU_FUNCTION void gpu_begin(struct gpu_warp *w, uint32_t threads) {
  if (w->index == 0) {
    GPU_LANES(lane) {
      if (lane < w->consumers) gpu_barrier_init(&w->shared->barrier[lane], 1);
      w->shared->asked[lane] = w->shared->served[lane] = w->shared->failed[lane] = 0;
      if (lane == 0) w->shared->gave_up = 0;
    }
  }
  gpu_sync_threads(0, threads);
}

/* ---- a consumer ------------------------------------------------------------------------- */

/* Lets the monitor look for the consumer's n-th tag, from 1 on. The previous tag's data may be
 * overwritten from now on. */
GPU_FUNCTION void gpu_ask(struct gpu_warp *w, uint32_t n) {
  gpu_sync_warp();
  if (w->way == GPU_PARKED && GPU_ONE()) gpu_store_block(&w->shared->asked[w->index], n);
}

GPU_FUNCTION bool gpu_park(struct gpu_warp *w, uint32_t n) {
  uint64_t *barrier = &w->shared->barrier[w->index];
  bool there = false, late = false;
  while (!there && !late) {
    there = gpu_any(gpu_barrier_try(barrier, (n - 1) & 1, GPU_HINT));
    /* The monitor ends all waits at the deadline. This covers a monitor that cannot. */
    if (!there) late = gpu_any(gpu_now() > w->deadline + 50u * GPU_HINT);
  }
  return there && !gpu_load_block(&w->shared->failed[w->index]);
}

/* Polls with one lane and shares the result. */
GPU_FUNCTION bool gpu_poll(struct gpu_warp *w, const struct gpu_tag *tag) {
  bool there = false, late = false;
  if (GPU_ONE()) {
    for (uint32_t looks = 1; !there && !late; looks++) {
      there = gpu_tag_is_set(tag);
      w->checks++;
      if (!there && looks % GPU_LOOKS == 0) late = gpu_too_late(w);
    }
  }
  return gpu_any(there);
}

/* Adds the polls that this warp's lanes have made. */
GPU_FUNCTION void gpu_tell(struct gpu_warp *w, uint64_t *out_checks) {
  GPU_LANES(lane) {
    (void)lane;
    if (w->checks) gpu_add_wide(out_checks, w->checks);
    w->checks = 0;
  }
}

/* ---- all of a block's consumers at once ------------------------------------------------- */

/* Fills in the n-th tag of the block's consumer `index`. */
typedef void gpu_tag_function(const void *what, const struct gpu_warp *w, uint32_t index,
                              uint32_t n, struct gpu_tag *out_tag);

GPU_FUNCTION bool gpu_wait_first(struct gpu_warp *w, uint32_t n, gpu_tag_function *name,
                                 const void *what) {
  if (w->index == 0 && GPU_ONE()) {
    bool late = false;
    for (uint32_t i = 0; i < w->consumers && !late; i++) {
      struct gpu_tag tag;
      name(what, w, i, n, &tag);
      for (uint32_t looks = 1; !late && !gpu_tag_is_set(&tag); looks++) {
        w->checks++;
        if (looks % GPU_LOOKS == 0) late = gpu_too_late(w);
      }
      w->checks++;
    }
    if (late) gpu_store_block(&w->shared->gave_up, n);
  }
  gpu_sync_threads(1, w->consumers * 32);
  /* The first thread may be ahead by now, and have given up at the next tag. */
  uint32_t gave_up = gpu_load_block(&w->shared->gave_up);
  return !gave_up || gave_up > n;
}

/* Waits until the n-th tag is set; if parked, until its data is in shared memory. False: it will
 * not be. */
GPU_FUNCTION bool gpu_wait(struct gpu_warp *w, uint32_t n, gpu_tag_function *name,
                           const void *what) {
  struct gpu_tag tag;
  switch (w->way) {
    case GPU_PARKED: return gpu_park(w, n);
    case GPU_POLLED: name(what, w, w->index, n, &tag); return gpu_poll(w, &tag);
    case GPU_FIRST: return gpu_wait_first(w, n, name, what);
    /* The stream has waited; or it was let through because the run was stopped. */
    default: return !gpu_any(gpu_load_system(w->over) != 0);
  }
}

/* Ends the warp's waits. */
GPU_FUNCTION void gpu_leave(struct gpu_warp *w) { gpu_ask(w, GPU_GONE); }

/* ---- the monitor ------------------------------------------------------------------------ */

/* Completes the wait for a tag that is set, or that failed. */
GPU_FUNCTION void gpu_complete(struct gpu_warp *w, uint32_t lane, const struct gpu_tag *tag,
                               bool failed) {
  uint64_t *barrier = &w->shared->barrier[lane];
  if (failed) gpu_store_block(&w->shared->failed[lane], 1);
  if (failed || !tag->bytes) {
    gpu_barrier_arrive(barrier);
    return;
  }
  gpu_barrier_expect(barrier, tag->bytes);
  gpu_bulk_copy(tag->to, tag->from, tag->bytes, barrier);
}

/* Serves the block's consumers until all of them have left. */
GPU_FUNCTION void gpu_monitor(struct gpu_warp *w, gpu_tag_function *name, const void *what) {
  struct gpu_shared *shared = w->shared;
  uint32_t pause = GPU_PAUSE_LEAST;
  bool left = true, late = false;
  for (uint32_t round = 1; left; round++) {
    bool more = false, progress = false;
    GPU_LANES(lane) {
      uint32_t asked = lane < w->consumers ? gpu_load_block(&shared->asked[lane]) : GPU_GONE;
      if (asked == GPU_GONE) continue;
      more = true;
      if (asked == shared->served[lane]) continue;
      struct gpu_tag tag;
      name(what, w, lane, asked, &tag);
      bool there = gpu_tag_is_set(&tag);
      w->checks++;
      if (!there && !late) continue;
      shared->served[lane] = asked;
      gpu_complete(w, lane, &tag, !there);
      progress = true;
    }
    left = gpu_any(more);
    if (round % GPU_LOOKS == 0) late = gpu_any(late || gpu_too_late(w));
    pause = gpu_any(progress) ? GPU_PAUSE_LEAST : pause < GPU_PAUSE_MOST ? 2 * pause : pause;
    if (left) gpu_pause(pause);
  }
}

#endif
