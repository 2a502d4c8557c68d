#include "wic/fiber_switch.h"

#include <stdint.h>

#if defined(TIDE_FIBER_UCONTEXT)

#include <fenv.h>

void *tide_fiber_swap(struct tide_fiber_domain *from, struct tide_fiber_domain *to, void *passed) {
  to->passed = passed;
  swapcontext(&from->context, &to->context);
  return from->passed;
}

/* makecontext passes numbers of 32 bits. */
static void start_fiber(uint32_t low, uint32_t high) {
  uint64_t address = (uint64_t)high << 32 | low;
  struct tide_fiber_domain *place = (void *)(uintptr_t)address;
  place->entry(place->passed);
}

void tide_fiber_domain_init(struct tide_fiber_domain *place, void *stack, size_t bytes,
                            void (*entry)(void *passed)) {
  uint64_t address = (uintptr_t)place;
  getcontext(&place->context);
  place->context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
  place->context.uc_link = NULL;
  place->entry = entry;
  makecontext(&place->context, (void (*)(void))start_fiber, 2, (uint32_t)address,
              (uint32_t)(address >> 32));
}

void tide_fiber_plain_floats(void) { fesetenv(FE_DFL_ENV); }

#elif defined(__x86_64__)

#define CONTROL_SSE 0x1f80u
#define CONTROL_X87 0x037fu

/* The first instructions of a new stack find the entry in rbx. The swap ends with a return, not a
 * jump: the processor predicts returns from the calls that it saw. Arriving and leaving fibers
 * mostly swap by the same few calls, so the prediction is right. */
/* clang-format off */
__asm__(
    ".pushsection .text, \"ax\", @progbits\n"
    ".p2align 4\n"
    ".globl tide_fiber_swap\n"
    ".hidden tide_fiber_swap\n"
    ".type tide_fiber_swap, @function\n"
    "tide_fiber_swap:\n"
    "  .cfi_startproc\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  subq $8, %rsp\n"
    "  stmxcsr (%rsp)\n"
    "  fnstcw 4(%rsp)\n"
    "  movq %rsp, (%rdi)\n"
    "  movq (%rsi), %rsp\n"
    "  ldmxcsr (%rsp)\n"
    "  fldcw 4(%rsp)\n"
    "  addq $8, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  movq %rdx, %rax\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size tide_fiber_swap, . - tide_fiber_swap\n"
    ".p2align 4\n"
    ".type fiber_start, @function\n"
    "fiber_start:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined rip\n" /* no caller: a debugger's backtrace ends here */
    "  movq %rax, %rdi\n"
    "  call *%rbx\n"
    "  ud2\n"
    "  .cfi_endproc\n"
    ".size fiber_start, . - fiber_start\n"
    ".popsection\n");
/* clang-format on */

void fiber_start(void) __asm__("fiber_start");

void tide_fiber_domain_init(struct tide_fiber_domain *place, void *stack, size_t bytes,
                            void (*entry)(void *passed)) {
  uint64_t *top = (uint64_t *)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);
  *--top = 0;
  *--top = 0;
  *--top = (uintptr_t)fiber_start;
  *--top = 0; /* rbp */
  *--top = (uintptr_t)entry;
  for (int i = 0; i < 4; i++) *--top = 0; /* r12 to r15 */
  *--top = (uint64_t)CONTROL_X87 << 32 | CONTROL_SSE;
  place->stack = top;
}

void tide_fiber_plain_floats(void) {
  uint32_t sse = CONTROL_SSE;
  uint16_t x87 = CONTROL_X87;
  __asm__ volatile("ldmxcsr %0\n  fldcw %1" : : "m"(sse), "m"(x87));
}

#elif defined(__aarch64__)

/* x19 to x30, d8 to d15, fpcr; the entry of a new stack is in x19. */
#define KEPT 176

/* clang-format off */
__asm__(
    ".pushsection .text, \"ax\", %progbits\n"
    ".p2align 4\n"
    ".globl tide_fiber_swap\n"
    ".hidden tide_fiber_swap\n"
    ".type tide_fiber_swap, %function\n"
    "tide_fiber_swap:\n"
    "  .cfi_startproc\n"
    "  sub sp, sp, #176\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mrs x9, fpcr\n  str x9, [sp, #160]\n"
    "  mov x9, sp\n  str x9, [x0]\n"
    "  ldr x9, [x1]\n  mov sp, x9\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  ldr x9, [sp, #160]\n  msr fpcr, x9\n"
    "  add sp, sp, #176\n"
    "  mov x0, x2\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size tide_fiber_swap, . - tide_fiber_swap\n"
    ".p2align 4\n"
    ".type fiber_start, %function\n"
    "fiber_start:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined x30\n" /* no caller: a debugger's backtrace ends here */
    "  blr x19\n"
    "  brk #0\n"
    "  .cfi_endproc\n"
    ".size fiber_start, . - fiber_start\n"
    ".popsection\n");
/* clang-format on */

void fiber_start(void) __asm__("fiber_start");

void tide_fiber_domain_init(struct tide_fiber_domain *place, void *stack, size_t bytes,
                            void (*entry)(void *passed)) {
  uint64_t *kept = (uint64_t *)((((uintptr_t)stack + bytes) & ~(uintptr_t)15) - KEPT);
  for (int i = 0; i < KEPT / 8; i++) kept[i] = 0;
  kept[0] = (uintptr_t)entry;
  kept[11] = (uintptr_t)fiber_start;
  place->stack = kept;
}

void tide_fiber_plain_floats(void) { __asm__ volatile("msr fpcr, xzr"); }

#endif
