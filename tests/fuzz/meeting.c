/* The meeting of a session's members, with any bytes: a rank is given to one hello that fits, a
 * member is learned once, with its descriptors, and each refusal has its reason in one line.
 *
 * An input is the side (rank 0, or a visitor) with the count of members, then messages: the number
 * of descriptors, two bytes of length, and the bytes. */
#include "base/check.h"
#include "cluster/local/greeting.h"

#include <string.h>

#define DESCRIPTORS 4
#define MENDED 128u /* of a message's first byte: it is given a right beginning */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *text, size_t size) {
  TIDE_ASSERT(memchr(text, 0, size));
  for (size_t i = 0; text[i]; i++) TIDE_ASSERT((unsigned char)text[i] >= 32 && text[i] != 127);
}

static void check_refusal(enum tide_status status, const struct tide_diag *diag) {
  TIDE_ASSERT(status == TIDE_CORRUPT || status == TIDE_MISMATCH || status == TIDE_DENIED);
  TIDE_ASSERT(diag->status == status && diag->text[0]);
  check_line(diag->text, sizeof diag->text);
}

/* Judges a hello as rank 0; `number` stands for the connection that it came by. */
static void be_host(struct tide_meeting *meeting, const struct tide_greeting *greeting, int number,
                    struct tide_diag *diag) {
  enum tide_status status = tide_greeting_judge_hello(greeting, meeting, diag);
  if (status != TIDE_OK) {
    check_refusal(status, diag);
    return;
  }
  TIDE_ASSERT(greeting->kind == TIDE_GREETING_HELLO && greeting->count == meeting->count);
  TIDE_ASSERT(greeting->rank && greeting->rank < meeting->count);
  struct tide_met *met = &meeting->members[greeting->rank];
  TIDE_ASSERT(met->socket < 0);
  met->socket = number;
  memcpy(met->name, greeting->text, sizeof met->name - 1);
}

/* Takes a member in as a visitor; the descriptors are numbers that no other message has. */
static void be_visitor(struct tide_meeting *meeting, const struct tide_greeting *greeting,
                       unsigned count, int first, struct tide_diag *diag) {
  static struct tide_meeting before;
  int descriptors[DESCRIPTORS];
  for (unsigned i = 0; i < DESCRIPTORS; i++) descriptors[i] = i < count ? first + (int)i : -1;
  before = *meeting;
  enum tide_status status =
      tide_greeting_take_member(greeting, meeting, descriptors, DESCRIPTORS, diag);
  unsigned left = 0;
  for (unsigned i = 0; i < DESCRIPTORS; i++) left += descriptors[i] >= 0;
  if (status != TIDE_OK) {
    check_refusal(status, diag);
    TIDE_ASSERT(left == count && !memcmp(&before, meeting, sizeof before));
    return;
  }
  const struct tide_met *met = &meeting->members[greeting->rank];
  TIDE_ASSERT(greeting->rank < meeting->count && greeting->rank != meeting->rank);
  TIDE_ASSERT(!before.members[greeting->rank].name[0] && met->name[0]);
  check_line(met->name, sizeof met->name);
  bool has_socket = greeting->rank != 0, has_process = greeting->has_process;
  TIDE_ASSERT(left + has_socket + has_process == count);
  if (has_socket) TIDE_ASSERT(met->socket >= first);
  if (has_process) TIDE_ASSERT(met->process >= first && met->process != met->socket);
  TIDE_ASSERT(meeting->tag == greeting->tag);
}

static void hear(struct tide_meeting *meeting, unsigned char how, const uint8_t *data, size_t size,
                 int number) {
  struct tide_greeting right, greeting;
  struct tide_diag diag = {.text = ""};
  unsigned char bytes[sizeof right + 8] = {0};
  if (size > sizeof bytes) size = sizeof bytes;
  if (size) memcpy(bytes, data, size);
  if (how & MENDED) {
    tide_greeting_begin(&right, TIDE_GREETING_HELLO, meeting);
    memcpy(bytes, &right, offsetof(struct tide_greeting, kind));
    size = sizeof right;
  }
  enum tide_status status = tide_greeting_read(bytes, size, &greeting, &diag);
  if (status != TIDE_OK) {
    TIDE_ASSERT(status != TIDE_DENIED);
    check_refusal(status, &diag);
    return;
  }
  check_line(greeting.text, sizeof greeting.text);
  TIDE_ASSERT(size == sizeof greeting && greeting.status < TIDE_STATUS_COUNT);
  if (meeting->rank == 0) be_host(meeting, &greeting, number, &diag);
  else be_visitor(meeting, &greeting, how % (DESCRIPTORS + 1), number, &diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct tide_meeting meeting;
  if (!size) return 0;
  meeting = (struct tide_meeting){.count = 2 + data[0] / 2 % 4, .tag = 7};
  meeting.rank = data[0] % 2 ? meeting.count - 1 : 0;
  for (uint32_t i = 0; i < TIDE_CLUSTER_MEMBERS_MAX; i++)
    meeting.members[i].socket = meeting.members[i].process = -1;
  memcpy(meeting.members[meeting.rank].name, "self", sizeof "self");
  int number = 0;
  for (size_t at = 1; at + 3 <= size;) {
    size_t length = (size_t)data[at + 1] | (size_t)data[at + 2] << 8;
    if (length > size - at - 3) length = size - at - 3;
    hear(&meeting, data[at], data + at + 3, length, number);
    number += DESCRIPTORS;
    at += 3 + length;
  }
  return 0;
}
