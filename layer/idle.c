/* Detection of an idle process: does any of its threads run? A program that computes between two
 * calls is not stuck, however slow the machine is. A program that has only sleeping threads may
 * wait for a held submission. */
#include "layer/explore.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the letter behind "TID (NAME)" in /proc/self/task/TID/stat; the name may contain
 * anything. */
static char state_of_thread(const char *tid) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
  FILE *from = fopen(path, "re");
  if (!from) return 'S'; /* the thread has ended */
  size_t length = fread(line, 1, sizeof line - 1, from);
  fclose(from);
  line[length] = 0;
  const char *behind = strrchr(line, ')');
  return behind && behind[1] == ' ' ? behind[2] : 'S';
}

bool layer_process_is_idle(void) {
  DIR *threads = opendir("/proc/self/task");
  bool idle = true;
  if (!threads) return true;
  for (const struct dirent *entry; idle && (entry = readdir(threads));) {
    if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == gettid()) continue;
    char state = state_of_thread(entry->d_name);
    idle = state == 'S' || state == 'I' || state == 'Z';
  }
  closedir(threads);
  return idle;
}
