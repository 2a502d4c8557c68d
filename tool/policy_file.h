/* tool/policy_file.h: the policy of `tidemark serve`, in a file that is read again at SIGHUP.
 *
 * A thread of its own reads: a file on a slow disk, or a FIFO, never holds up the service. */
#ifndef TIDE_TOOL_POLICY_FILE_H
#define TIDE_TOOL_POLICY_FILE_H

#include "tidemark/service.h"

/* Reads the file. NULL: *out_why has the reason. */
char *tide_policy_file_read(const char *path, size_t *out_length, const char **out_why);
/* Makes tide_policy_file_ask safe to call. */
void tide_policy_file_prepare(const char *path);
/* Starts the thread, which gives the file's policy to the service whenever it is asked to. False:
 * the reason has been printed. */
bool tide_policy_file_follow(struct tide_service *service);
/* Asks for the file to be read again. Any thread or signal handler may call it. */
void tide_policy_file_ask(void);
/* The service is about to end: nothing is given to it any more. */
void tide_policy_file_leave(void);

#endif
