/* What all quotas together come to, and what the process may have. */
#include "base/memory.h"
#include "service/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* A queue's own storage for one operation: its record, its waits and its signals. */
#define OPERATION_BYTES 1024u
#define CLIENT_DESCRIPTORS 3u /* its socket, its bell, its values */
#define OWN_DESCRIPTORS 16u

struct needs {
  uint64_t bytes, descriptors;
};

static struct needs needs_of(const struct tide_wire_limits *limits) {
  uint64_t handle = sizeof(struct tide_entry) + sizeof(struct tide_publication);
  uint64_t wait = sizeof(struct tide_pending) + sizeof(struct tide_outgoing);
  uint64_t operation = sizeof(struct tide_job) + OPERATION_BYTES;
  uint64_t bytes = limits->bytes + tide_ring_bytes(limits->cells);
  bytes += tide_values_bytes(limits->handles) + limits->handles * handle + limits->waits * wait;
  bytes += limits->promises * (uint64_t)sizeof(struct tide_promise);
  bytes += (uint64_t)limits->channels * limits->operations * operation;
  return (struct needs){bytes, CLIENT_DESCRIPTORS + limits->buffers};
}

static void add_clients(struct needs *sum, const struct tide_policy_rule *rule, uint64_t clients) {
  struct needs one = needs_of(&rule->limits);
  sum->bytes += clients * one.bytes;
  sum->descriptors += clients * one.descriptors;
}

static uint64_t most_clients(const struct tide_policy_rule *rule, uint64_t left) {
  if (rule->denied) return 0;
  return rule->connections < left ? rule->connections : left;
}

/* The most that any crowd of clients may have: those with rules of their own that allow more than
 * the default, then any others. *out_clients is how many they are. */
static struct needs needs_of_all(const struct tide_policy *policy, uint64_t *out_clients) {
  struct needs sum = {0, OWN_DESCRIPTORS};
  bool others = !policy->all.denied && policy->all.connections;
  uint64_t left = policy->clients, usual = needs_of(&policy->all.limits).bytes;
  for (uint32_t i = 0; i < policy->count; i++) {
    const struct tide_policy_rule *rule = &policy->rules[i];
    uint64_t clients = most_clients(rule, left);
    if (others && needs_of(&rule->limits).bytes <= usual) continue;
    add_clients(&sum, rule, clients);
    left -= clients;
  }
  if (others) {
    add_clients(&sum, &policy->all, left);
    left = 0;
  }
  *out_clients = policy->clients - left;
  return sum;
}

/* ---- what there is ------------------------------------------------------------------------- */

/* Returns the number at the beginning of a file; UINT64_MAX: there is none. */
static uint64_t read_number(const char *path) {
  char text[32];
  FILE *file = fopen(path, "re");
  uint64_t number = UINT64_MAX;
  if (file && fgets(text, sizeof text, file) && text[0] >= '0' && text[0] <= '9')
    number = strtoull(text, NULL, 10);
  if (file) fclose(file);
  return number;
}

/* Returns the least memory.max of this process's control group and those above it. */
static uint64_t control_group_memory(void) {
  char line[512], path[600];
  uint64_t least = UINT64_MAX;
  FILE *file = fopen("/proc/self/cgroup", "re");
  size_t length = 0;
  while (file && !length && fgets(line, sizeof line, file))
    if (memcmp(line, "0::/", 4) == 0) length = strlen(line);
  if (file) fclose(file);
  if (length) line[length - 1] = '/'; /* for the newline */
  while (length > 3) {
    while (line[length - 1] != '/') length--;
    snprintf(path, sizeof path, "/sys/fs/cgroup%.*smemory.max", (int)(length - 3), line + 3);
    uint64_t here = read_number(path);
    if (here < least) least = here;
    length--;
  }
  return least;
}

static uint64_t machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

/* Of address space, which the process has already. */
static uint64_t mapped_bytes(void) {
  uint64_t pages = read_number("/proc/self/statm");
  return pages == UINT64_MAX ? 0 : pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t limit_of(int resource) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

/* ---- sentences ------------------------------------------------------------------------------- */

struct page {
  char *text;
  size_t size, length;
  uint64_t clients;
};

static void print_bytes(char buffer[32], uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes / 1024;
  unsigned unit = 0;
  for (; value >= 1024 && unit < 3; unit++) value /= 1024;
  snprintf(buffer, 32, "%.1f %s", value, units[unit]);
}

static void add_sentence(struct page *page, const char *promised, const char *wanted,
                         const char *allowed, const char *limit) {
  size_t room = page->length < page->size ? page->size - page->length : 0;
  int more = snprintf(room ? page->text + page->length : NULL, room,
                      "the policy promises more %s than the process may have: %s for %llu clients, "
                      "but %s %s\n",
                      promised, wanted, (unsigned long long)page->clients, allowed, limit);
  if (more > 0) page->length += (size_t)more;
}

static void compare_bytes(struct page *page, const char *promised, uint64_t wanted,
                          uint64_t allowed, const char *limit) {
  char want[32], may[32];
  if (wanted <= allowed) return;
  print_bytes(want, wanted);
  print_bytes(may, allowed);
  add_sentence(page, promised, want, may, limit);
}

static void compare_descriptors(struct page *page, uint64_t wanted, uint64_t allowed) {
  char want[32], may[32];
  if (wanted <= allowed) return;
  snprintf(want, sizeof want, "%llu", (unsigned long long)wanted);
  snprintf(may, sizeof may, "%llu", (unsigned long long)allowed);
  add_sentence(page, "descriptors", want, may, "(RLIMIT_NOFILE)");
}

size_t tide_service_shortages(const struct tide_service *service, char *buffer, size_t size) {
  struct page page = {.text = buffer, .size = size};
  struct needs needs = needs_of_all(&service->policy, &page.clients);
  uint64_t machine = machine_memory(), group = control_group_memory();
  if (size) buffer[0] = 0;
  compare_bytes(&page, "address space", needs.bytes + mapped_bytes(), limit_of(RLIMIT_AS),
                "(RLIMIT_AS)");
  if (group < machine) compare_bytes(&page, "memory", needs.bytes, group, "(memory.max)");
  else compare_bytes(&page, "memory", needs.bytes, machine, "(this machine)");
  compare_descriptors(&page, needs.descriptors, limit_of(RLIMIT_NOFILE));
  return page.length;
}
