/* wic/gpu_wait.h: how a GPU's warps wait for data, in four ways, with the driver as it is.
 *
 * No page fault of a GPU can be held from user space, so consumers name what they wait for. A *tag*
 * is a 32-bit word that a producer, on the host or on another GPU, sets to at least a value; the
 * data is there when it has. A block has up to 31 consumer warps:
 *
 *   parked   a consumer asks for a tag (gpu_ask), works, and waits at its mbarrier (gpu_wait): the
 *            hardware suspends it there, and it issues nothing. One more warp, the *monitor*, looks
 *            at all tags that are asked for, a lane each, with a pause that grows; when one is
 * there it has the data copied to shared memory, whose bytes complete the barrier, or completes it
 * itself. polled   a consumer's first lane looks at its tag in a loop first    the paper's
 * Algorithm 1: the block's first thread looks at the tags of all, the other threads wait at the
 * block's barrier split    nobody waits here: the stream does, between two kernels
 *
 * Each wait has a deadline on the device's own clock. Who misses it is told so; so does everybody
 * once the host has set `over`. No barrier is left waiting for a warp that has given up.
 *
 * The ways' numbers (enum gpu_way) come from whoever includes this, who tells the host of them.
 *
 * This text is compiled for a GPU (gpu_ptx.h before it) and for tests on the host, where a thread
 * is a warp (tests/plugins/gpu_host.h): it uses only what both have. */
#ifndef TIDE_WIC_GPU_WAIT_H
#define TIDE_WIC_GPU_WAIT_H

#define GPU_CONSUMERS_MOST 31u /* of a block: a lane of the monitor each, and the monitor */
#define GPU_SHARED_DATA 1024u  /* data begins there */
#define GPU_HINT 20000u        /* ns that a parked warp may sleep before it looks at the clock */
#define GPU_PAUSE_LEAST 32u    /* ns */
#define GPU_PAUSE_MOST 1024u
#define GPU_LOOKS 64u /* between two looks at the clock and at `over` */
#define GPU_GONE UINT32_MAX

/* In a block's shared memory; word i is consumer i's. */
struct gpu_shared {
  uint64_t barrier[32];
  uint32_t asked[32];  /* how many tags it has asked for; GPU_GONE: it is over */
  uint32_t served[32]; /* how many of these the monitor has seen */
  uint32_t failed[32]; /* its data will not come */
  uint32_t gave_up;    /* of `first`: the first thread has, at this tag; 0: it has not */
};

/* One of a block's warps. */
struct gpu_warp {
  struct gpu_shared *shared;
  uint32_t block, index; /* in the grid; in its block */
  uint32_t consumers;    /* of the block */
  enum gpu_way way;
  uint64_t deadline;
  const uint32_t *over; /* the host's word */
  uint64_t checks;      /* looks at tags */
};

/* What consumer i of the block waits for, its n-th tag: that it is at least `value`. With `bytes`
 * they are copied from `from` to the consumer's place in shared memory. */
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

/* Before any wait, by all warps of the block; `threads` of it. */
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

/* ---- a consumer --------------------------------------------------------------------------- */

/* The n-th tag, from 1 on: the monitor may look for it. What the warp had read of the one before it
 * needs no more. */
GPU_FUNCTION void gpu_ask(struct gpu_warp *w, uint32_t n) {
  gpu_sync_warp();
  if (w->way == GPU_PARKED && GPU_ONE()) gpu_store_block(&w->shared->asked[w->index], n);
}

GPU_FUNCTION bool gpu_park(struct gpu_warp *w, uint32_t n) {
  uint64_t *barrier = &w->shared->barrier[w->index];
  bool there = false, late = false;
  while (!there && !late) {
    there = gpu_any(gpu_barrier_try(barrier, (n - 1) & 1, GPU_HINT));
    /* The monitor ends all waits at the deadline. This is for the case that it cannot. */
    if (!there) late = gpu_any(gpu_now() > w->deadline + 50u * GPU_HINT);
  }
  return there && !gpu_load_block(&w->shared->failed[w->index]);
}

/* One lane looks; all learn it. */
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

/* Adds the looks that this warp's lanes have made. */
GPU_FUNCTION void gpu_tell(struct gpu_warp *w, uint64_t *out_checks) {
  GPU_LANES(lane) {
    (void)lane;
    if (w->checks) gpu_add_wide(out_checks, w->checks);
    w->checks = 0;
  }
}

/* ---- all of a block's consumers at once --------------------------------------------------------
 */

/* Says what consumer `index` of the block waits for as its n-th tag. */
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
  /* The first thread may be ahead by now, and have given up at the next one. */
  uint32_t gave_up = gpu_load_block(&w->shared->gave_up);
  return !gave_up || gave_up > n;
}

/* The n-th tag is set, and with `parked` its data in shared memory; false: it will not be. */
GPU_FUNCTION bool gpu_wait(struct gpu_warp *w, uint32_t n, gpu_tag_function *name,
                           const void *what) {
  struct gpu_tag tag;
  switch (w->way) {
    case GPU_PARKED: return gpu_park(w, n);
    case GPU_POLLED: name(what, w, w->index, n, &tag); return gpu_poll(w, &tag);
    case GPU_FIRST: return gpu_wait_first(w, n, name, what);
    /* The stream has waited; or who stopped the run has let it through. */
    default: return !gpu_any(gpu_load_system(w->over) != 0);
  }
}

/* The warp waits for nothing more. */
GPU_FUNCTION void gpu_leave(struct gpu_warp *w) { gpu_ask(w, GPU_GONE); }

/* ---- the monitor
 * ----------------------------------------------------------------------------------- */

/* The data of a tag that is set, or its end. */
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

/* Until all consumers of the block have left. */
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
