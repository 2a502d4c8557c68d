/* The service, in a process of its own. */
#include "compositor.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct tide_service *service;

static void on_term(int number) {
  (void)number;
  tide_service_stop(service);
}

/* The browser may have more than its renderers, where they are told apart by their uid. */
static void write_policy(char *out, size_t size) {
  snprintf(out, size,
           "default  priority 8 bytes 1G\n"
           "uid %u  trusted priority 12 bytes 4G\n",
           (unsigned)geteuid());
}

void run_service(struct party *me, int ready) {
  char policy[128];
  struct tide_diag diag = {.status = TIDE_OK};
  write_policy(policy, sizeof policy);
  struct tide_service_params params = {.struct_size = sizeof params,
                                       .socket = me->scene->socket,
                                       .policy = policy,
                                       .policy_length = strlen(policy),
                                       .bodies = tide_kernel_session_bodies()};
  if (tide_service_create(&params, &service, &diag) != TIDE_OK) give_up(me, "%s", diag.text);
  signal(SIGTERM, on_term);
  if (write(ready, "", 1) != 1) give_up(me, "nobody wants it");
  close(ready);
  enum tide_status status = tide_service_run(service);
  tide_service_destroy(service);
  must(me, status, "it ended");
}
