/* cluster/local/greeting.h: the messages of a meeting, as bytes.
 *
 * A message is one struct, as it lies in the memory of one computer. Its sender is any process that
 * can reach the path, so that no field is believed before tide_greeting_read has checked it. What a
 * message means in this meeting is judged apart, before anything of it is kept. */
#ifndef TIDE_CLUSTER_LOCAL_GREETING_H
#define TIDE_CLUSTER_LOCAL_GREETING_H

#include "cluster/local/meeting.h"

enum tide_greeting_kind {
  TIDE_GREETING_HELLO = 1, /* to rank 0: the sender's rank, count and label */
  TIDE_GREETING_MEMBER,    /* of rank 0: another member, with its descriptors */
  TIDE_GREETING_REFUSED    /* of rank 0: the reason */
};

struct tide_greeting {
  uint64_t magic;
  uint32_t version, kind;
  uint32_t rank, count;
  uint64_t tag;
  uint64_t silence;     /* HELLO: of the sender, in ns */
  uint32_t has_process; /* MEMBER: a descriptor of the process comes last */
  uint32_t status;      /* REFUSED */
  char text[256];       /* HELLO: the label; MEMBER: its name; REFUSED: the reason */
};

/* Begins a message of this member, with an empty text. */
void tide_greeting_begin(struct tide_greeting *greeting, enum tide_greeting_kind kind,
                         const struct tide_meeting *meeting);
/* Reads a message; its text is one line then. With a diag, TIDE_MISMATCH: another version of the
 * library; TIDE_CORRUPT: anything else. */
enum tide_status tide_greeting_read(const void *bytes, size_t size, struct tide_greeting *out,
                                    struct tide_diag *diag);
/* TIDE_OK: the sender of this message may have the rank that it names. TIDE_DENIED, with a diag. */
enum tide_status tide_greeting_judge_hello(const struct tide_greeting *hello,
                                           const struct tide_meeting *meeting,
                                           struct tide_diag *diag);
/* Takes in a member, as rank 0 tells of it, with the descriptors that came along (-1: none): those
 * that are kept become -1. TIDE_DENIED, with a diag: nothing was taken. */
enum tide_status tide_greeting_take_member(const struct tide_greeting *member,
                                           struct tide_meeting *meeting, int *descriptors,
                                           unsigned count, struct tide_diag *diag);

#endif
