#include "cluster/local/greeting.h"

#include "base/text.h"

#define MAGIC 0x54454d4544495400ull
#define VERSION 2u /* raised when struct tide_greeting, or a message of the session, changes */

void tide_greeting_begin(struct tide_greeting *greeting, enum tide_greeting_kind kind,
                         const struct tide_meeting *meeting) {
  *greeting = (struct tide_greeting){.magic = MAGIC,
                                     .version = VERSION,
                                     .kind = kind,
                                     .rank = meeting->rank,
                                     .count = meeting->count,
                                     .tag = meeting->tag,
                                     .silence = meeting->silence};
}

/* Ends the text, and leaves one line of it. */
static void make_one_line(char *text, size_t size) {
  text[size - 1] = 0;
  for (char *at = text; *at; at++)
    if ((unsigned char)*at < 32 || *at == 127) *at = '?';
}

enum tide_status tide_greeting_read(const void *bytes, size_t size, struct tide_greeting *out,
                                    struct tide_diag *diag) {
  size_t head = offsetof(struct tide_greeting, kind);
  *out = (struct tide_greeting){.kind = 0};
  memcpy(out, bytes, size < sizeof *out ? size : sizeof *out);
  make_one_line(out->text, sizeof out->text);
  if (size < head || out->magic != MAGIC)
    return tide_diag_set(diag, TIDE_CORRUPT, "%zu bytes that are no message of a meeting", size);
  if (out->version != VERSION)
    return tide_diag_set(diag, TIDE_MISMATCH,
                         "another version of the library: messages of version %u were expected, "
                         "one of version %u has come",
                         VERSION, out->version);
  if (size != sizeof *out)
    return tide_diag_set(diag, TIDE_CORRUPT, "a message of %zu bytes: %zu were expected", size,
                         sizeof *out);
  if (out->kind < TIDE_GREETING_HELLO || out->kind > TIDE_GREETING_REFUSED)
    return tide_diag_set(diag, TIDE_CORRUPT, "an unknown kind of message: %u", out->kind);
  if (out->status >= TIDE_STATUS_COUNT)
    return tide_diag_set(diag, TIDE_CORRUPT, "an unknown status: %u", out->status);
  if (out->has_process > 1)
    return tide_diag_set(diag, TIDE_CORRUPT, "%u descriptors of a process: 1 is the most",
                         out->has_process);
  return TIDE_OK;
}

enum tide_status tide_greeting_judge_hello(const struct tide_greeting *hello,
                                           const struct tide_meeting *meeting,
                                           struct tide_diag *diag) {
  if (hello->kind != TIDE_GREETING_HELLO)
    return tide_diag_set(diag, TIDE_DENIED, "a hello was expected");
  if (hello->count != meeting->count || !hello->rank || hello->rank >= meeting->count)
    return tide_diag_set(diag, TIDE_DENIED, "rank %u of %u was expected to be one of 1 to %u of %u",
                         hello->rank, hello->count, meeting->count - 1, meeting->count);
  if (hello->silence != meeting->silence)
    return tide_diag_set(diag, TIDE_DENIED, "a silence of %lu ms was expected, and not of %lu ms",
                         (unsigned long)(meeting->silence / 1000000u),
                         (unsigned long)(hello->silence / 1000000u));
  const struct tide_met *met = &meeting->members[hello->rank];
  if (met->socket >= 0)
    return tide_diag_set(diag, TIDE_DENIED, "rank %u has come already (%s)", hello->rank,
                         met->name);
  return TIDE_OK;
}

/* True if rank 0 has told of another member, and so of the session's tag. */
static bool has_tag(const struct tide_meeting *meeting) {
  for (uint32_t i = 0; i < meeting->count; i++)
    if (i != meeting->rank && meeting->members[i].name[0]) return true;
  return false;
}

static void copy_name(char name[TIDE_CLUSTER_NAME], const char *from) {
  struct tide_text text;
  tide_text_init(&text, name, TIDE_CLUSTER_NAME);
  tide_text_format(&text, "%s", from);
  tide_text_trim(name);
}

static enum tide_status judge_member(const struct tide_greeting *member, const char *name,
                                     const struct tide_meeting *meeting, struct tide_diag *diag) {
  if (member->kind != TIDE_GREETING_MEMBER)
    return tide_diag_set(diag, TIDE_DENIED, "rank 0 sends a message that is not its to send");
  if (member->count != meeting->count || member->rank >= meeting->count ||
      member->rank == meeting->rank)
    return tide_diag_set(diag, TIDE_DENIED,
                         "rank 0 tells of rank %u of %u: another one than %u was expected, of %u",
                         member->rank, member->count, meeting->rank, meeting->count);
  if (meeting->members[member->rank].name[0])
    return tide_diag_set(diag, TIDE_DENIED, "rank 0 tells of rank %u twice", member->rank);
  if (!name[0])
    return tide_diag_set(diag, TIDE_DENIED, "rank 0 tells of rank %u without its name",
                         member->rank);
  if (has_tag(meeting) && member->tag != meeting->tag)
    return tide_diag_set(diag, TIDE_DENIED, "rank 0 tells of rank %u in another session",
                         member->rank);
  return TIDE_OK;
}

enum tide_status tide_greeting_take_member(const struct tide_greeting *member,
                                           struct tide_meeting *meeting, int *descriptors,
                                           unsigned count, struct tide_diag *diag) {
  char name[TIDE_CLUSTER_NAME];
  copy_name(name, member->text);
  enum tide_status status = judge_member(member, name, meeting, diag);
  if (status != TIDE_OK) return status;
  struct tide_met *met = &meeting->members[member->rank];
  unsigned sockets = member->rank != 0, needed = sockets + member->has_process;
  for (unsigned i = 0; i < needed; i++)
    if (i >= count || descriptors[i] < 0)
      return tide_diag_set(diag, TIDE_DENIED,
                           "rank %u has come without its descriptors: none are left here",
                           member->rank);
  if (sockets) met->socket = descriptors[0];
  if (member->has_process) met->process = descriptors[sockets];
  for (unsigned i = 0; i < needed; i++) descriptors[i] = -1;
  memcpy(met->name, name, sizeof met->name);
  meeting->tag = member->tag;
  return TIDE_OK;
}
