/* service/work.h: what clients have done: channels, buffers, bodies. */
#ifndef TIDE_SERVICE_WORK_H
#define TIDE_SERVICE_WORK_H

#include "service/served.h"

/* The client goes: what it has queued runs, then its channels and buffers go. */
void tide_work_abandon(struct tide_served *client);

void tide_work_free(struct tide_served *client, struct tide_entry *entry,
                    enum tide_entry_kind kind);
/* Promises that this channel's commands keep. */
enum tide_status tide_work_create_future(struct tide_entry *channel,
                                         const struct tide_future_params *params,
                                         struct tide_future **out_future);
/* A buffer that was granted. */
enum tide_status tide_work_redeem(struct tide_served *client, const struct tide_grant *grant,
                                  struct tide_entry *entry, struct tide_wire_message *answer,
                                  int *out_descriptor);
/* The commands that are about channels and buffers. */
enum tide_status tide_work_call(struct tide_served *client, const struct tide_wire_view *view,
                                struct tide_wire_message *answer, int *out_descriptor);

#endif
