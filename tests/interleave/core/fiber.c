/* Threads of a case as fibers: made with makecontext, switched with _setjmp and
 * _longjmp, which make no system call. */
#include "core.h"

#include <setjmp.h>
#include <ucontext.h>

static struct fiber {
  jmp_buf at;
  ucontext_t made;
  uintptr_t top; /* of its stack, when it was left */
} fibers[THREADS];

static void (*run)(int thread);

static void begin(int thread) {
  run(thread);
  __builtin_unreachable();
}

void fiber_switch(int to) {
  struct fiber *from = &fibers[interleave_self];
  from->top = (uintptr_t)__builtin_frame_address(0);
  if (_setjmp(from->at) == 0) {
    interleave_self = to;
    _longjmp(fibers[to].at, 1);
  }
}

uintptr_t interleave_stack_top(int thread) { return fibers[thread].top; }

static void start(int thread) {
  ucontext_t *made = &fibers[thread].made;
  getcontext(made);
  made->uc_stack.ss_sp = memory_stack(thread);
  made->uc_stack.ss_size = STACK_SIZE;
  made->uc_link = NULL;
  makecontext(made, (void (*)(void))begin, 1, thread);
  if (_setjmp(fibers[0].at) == 0) {
    interleave_self = thread;
    setcontext(made);
  }
}

void fibers_start(int count, void (*entry)(int thread)) {
  run = entry;
  for (int i = 1; i <= count; i++) start(i);
}
