/* Compares the sum of all quotas with the limits of the process. */
#include "base/alloc.h"
#include "service/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Bytes that a queue itself needs for one operation: its record, its waits and its signals. */
#define OPERATION_BYTES 1024u
#define CLIENT_DESCRIPTORS 4u /* a client's socket, process, bell and values */
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

static uint64_t bytes_of(const struct tide_policy_rule *rule) {
  return needs_of(&rule->limits).bytes;
}
static uint64_t descriptors_of(const struct tide_policy_rule *rule) {
  return needs_of(&rule->limits).descriptors;
}

/* Capacity that is not assigned yet: for clients, and for leaving ones (leave.c). */
struct room {
  uint64_t clients, timelines, parts;
};

static uint64_t min(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Takes the capacity of as many clients as the rule allows. A uid has fewer leaving clients than
 * its limit of connections when one more is let in. `many`: the rule applies to many uids. Returns
 * the number of these clients, leaving ones included. */
static uint64_t take_room(struct room *room, const struct tide_policy_rule *rule, bool many) {
  if (rule->denied || !rule->connections) return 0;
  uint64_t clients = min(room->clients, many ? UINT64_MAX : rule->connections);
  uint64_t timelines = tide_policy_timelines(&rule->limits);
  uint64_t leaving = min(room->timelines / timelines, many ? UINT64_MAX : rule->connections - 1);
  if (rule->limits.parts) leaving = min(leaving, room->parts / rule->limits.parts);
  room->clients -= clients;
  room->timelines -= leaving * timelines;
  room->parts -= leaving * rule->limits.parts;
  return clients + leaving;
}

/* Returns the most that any set of clients may need: those with the largest need come first.
 * *out_clients: the number of connected ones among them. */
static uint64_t most_needed(const struct tide_service *service,
                            uint64_t (*need_of)(const struct tide_policy_rule *rule),
                            uint64_t *out_clients) {
  const struct tide_policy *policy = &service->policy;
  const struct tide_policy_rule *rules[TIDE_POLICY_UIDS + 1];
  uint32_t count = 0;
  uint64_t sum = 0;
  struct room room = {policy->clients, tide_timelines_of_clients(service) / 2,
                      service->spare_parts};
  rules[count++] = &policy->all;
  for (uint32_t i = 0; i < policy->count; i++) rules[count++] = &policy->rules[i];
  while (count) {
    uint32_t largest = 0;
    for (uint32_t i = 1; i < count; i++)
      if (need_of(rules[i]) > need_of(rules[largest])) largest = i;
    const struct tide_policy_rule *rule = rules[largest];
    sum += take_room(&room, rule, rule == &policy->all) * need_of(rule);
    rules[largest] = rules[--count];
  }
  *out_clients = policy->clients - room.clients;
  return sum;
}

/* ---- available resources ---- */

/* Returns the number at the start of a file; UINT64_MAX: none. */
static uint64_t read_number(const char *path) {
  char text[32];
  FILE *file = fopen(path, "re");
  uint64_t number = UINT64_MAX;
  if (file && fgets(text, sizeof text, file) && text[0] >= '0' && text[0] <= '9')
    number = strtoull(text, NULL, 10);
  if (file) fclose(file);
  return number;
}

/* Returns the least memory.max of this process's control group and its ancestors. */
static uint64_t control_group_memory(void) {
  char line[512], path[600];
  uint64_t least = UINT64_MAX;
  FILE *file = fopen("/proc/self/cgroup", "re");
  size_t length = 0;
  while (file && !length && fgets(line, sizeof line, file))
    if (memcmp(line, "0::/", 4) == 0) length = strlen(line);
  if (file) fclose(file);
  if (length) line[length - 1] = '/'; /* replaces the newline */
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

/* Returns the bytes of address space that the process already uses. */
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
                      "the policy promises more %s than the process may have: %s for %llu clients "
                      "and those that leave, but %s %s\n",
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
  uint64_t bytes = most_needed(service, bytes_of, &page.clients);
  uint64_t descriptors = OWN_DESCRIPTORS + most_needed(service, descriptors_of, &page.clients);
  uint64_t machine = machine_memory(), group = control_group_memory();
  if (size) buffer[0] = 0;
  compare_bytes(&page, "address space", bytes + mapped_bytes(), limit_of(RLIMIT_AS), "(RLIMIT_AS)");
  if (group < machine) compare_bytes(&page, "memory", bytes, group, "(memory.max)");
  else compare_bytes(&page, "memory", bytes, machine, "(this machine)");
  compare_descriptors(&page, descriptors, limit_of(RLIMIT_NOFILE));
  return page.length;
}
