/* A violation is tried again, since a program that fails once and never again has another cause
 * than its text: the memory of its process, the processor, or another program in its place. */
#include "oracle.h"
#include "sched/scheduler_state.h"
#include "timeline/timeline_state.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 5 };

static const char self[] = "/proc/self/exe";

/* ---- is this process what its file says? ---------------------------------------------- */

/* Returns how many bytes of a segment differ from the file. */
static size_t segment_damage(int file, const ElfW(Phdr) * segment, const unsigned char *memory) {
  unsigned char room[4096];
  size_t damage = 0;
  for (size_t at = 0; at < segment->p_filesz;) {
    size_t left = segment->p_filesz - at, wanted = left < sizeof room ? left : sizeof room;
    ssize_t got = pread(file, room, wanted, (off_t)(segment->p_offset + at));
    if (got <= 0) return damage;
    for (size_t i = 0; i < (size_t)got; i++) damage += room[i] != memory[at + i];
    at += (size_t)got;
  }
  return damage;
}

/* Looks at the program alone, which comes first, and at what it never writes to. */
static int look_at_program(struct dl_phdr_info *info, size_t size, void *out_damage) {
  (void)size;
  int file = open(self, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
    const void *memory = (const void *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr);
    *(size_t *)out_damage += segment_damage(file, segment, memory);
  }
  close(file);
  return 1;
}

static void show_program(void) {
  struct stat state;
  size_t damage = 0;
  (void)dl_iterate_phdr(look_at_program, &damage);
  if (damage) printf("  %zu bytes of this process's code differ from its file\n", damage);
  if (stat(self, &state) == 0 && state.st_nlink == 0)
    printf("  the program's file has been replaced since this process started\n");
}

/* ---- again ------------------------------------------------------------------------------ */

/* Runs this program's file with the arguments. True if that ends with a violation. */
static bool fails_alone(char **arguments) {
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_WRONLY);
    if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
    execv(self, arguments);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

void show_again(uint64_t seed, const struct config *config, bool contracts,
                const struct outcome *outcome, char **arguments) {
  uint32_t here = 0, elsewhere = 0, alone = 0;
  for (uint32_t i = 0; i < TRIES; i++) {
    struct outcome again;
    run_seed(seed, config, false, contracts, &again);
    here += again.violated && strcmp(again.why, outcome->why) == 0;
    elsewhere += !differs_elsewhere(seed, config, contracts, i + 1, outcome);
    alone += fails_alone(arguments);
  }
  printf(
      "  again in this process %u of %d times, in other memory %u of %d, in processes of its own "
      "%u of %d\n",
      here, TRIES, elsewhere, TRIES, alone, TRIES);
  show_program();
}

/* ---- what the library's searches see ------------------------------------------------------ */

void log_searches(const struct op *op) {
  static char text[1 << 14];
  struct world *world = op->program->world;
  const struct tide_sched *sched = world->context->sched;
  note_line(world, "  searches %lu, instances %lu, incomplete %lu since %u, entered %lu",
            (unsigned long)sched->search, (unsigned long)sched->instances,
            (unsigned long)sched->incomplete, sched->incomplete_since,
            (unsigned long)sched->stats.entered);
  for (uint32_t i = 0; i < op->signal_count; i++) {
    const struct tide_timeline *timeline = op->signals[i].line->handle;
    note_line(world, "  %s: %u waits of held ones up to %lu, %lu reserved, %lu pending",
              op->signals[i].line->label, timeline->held_waits, (unsigned long)timeline->held_most,
              (unsigned long)timeline->reserved.count, (unsigned long)timeline->pending.count);
  }
  (void)tide_context_diagnose(world->context, text, sizeof text);
  for (char *line = text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    note_line(world, "  %s", line);
  }
}
