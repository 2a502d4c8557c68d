/* Channels of clients. */
#include "service/work.h"

void tide_work_abandon(struct tide_served *client) { (void)client; }
void tide_work_free(struct tide_served *client, struct tide_entry *entry,
                    enum tide_entry_kind kind) {
  (void)client, (void)entry, (void)kind;
}
enum tide_status tide_work_create_future(struct tide_entry *channel,
                                         const struct tide_future_params *params,
                                         struct tide_future **out_future) {
  (void)channel, (void)params, (void)out_future;
  return TIDE_UNSUPPORTED;
}
enum tide_status tide_work_redeem(struct tide_served *client, const struct tide_grant *grant,
                                  struct tide_entry *entry, struct tide_wire_message *answer,
                                  int *out_descriptor) {
  (void)client, (void)grant, (void)entry, (void)answer, (void)out_descriptor;
  return TIDE_UNSUPPORTED;
}
enum tide_status tide_work_call(struct tide_served *client, const struct tide_wire_view *view,
                                struct tide_wire_message *answer, int *out_descriptor) {
  (void)client, (void)view, (void)answer, (void)out_descriptor;
  return TIDE_UNSUPPORTED;
}
