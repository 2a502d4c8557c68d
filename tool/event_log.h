/* tool/event_log.h: the events of `tidemark serve`, one JSON object a line, in a file.
 *
 * The service's thread only copies a line into memory: a queue of TIDE_EVENT_LOG_ROOM bytes, under
 * a lock that is held for a copy. A thread of the log's own writes. A file that cannot be written
 * (a full disk, a FIFO that no process reads) holds up that thread, and never the service.
 *
 *      service --- lines ---> queue ---> writer ---> file
 *                  |                        ^
 *                  full: counted            SIGHUP: opens the path anew
 *
 * Events that find the queue full are dropped and counted. As soon as the queue has room, a line
 * {"event": "dropped", "count": N} stands where they are missing.
 *
 * A line is in the file whole or not at all: a part that a full disk let through is cut off again.
 *
 * Source: docs/service.md. */
#ifndef TIDE_TOOL_EVENT_LOG_H
#define TIDE_TOOL_EVENT_LOG_H

#include "tidemark/service.h"

#define TIDE_EVENT_LOG_ROOM (1u << 20)

struct tide_event_log;

/* Opens a log. NULL: the reason has been printed. A FIFO without a reader is opened once one
 * comes. */
struct tide_event_log *tide_event_log_open(const char *path);
/* Appends an event: `tide_service_params.event`, with the log as `user`. Never blocks. */
void tide_event_log_add(void *user, const struct tide_service_event *event);
/* Makes the writer open the path again. Any thread or signal handler may call it. */
void tide_event_log_reopen(struct tide_event_log *log);
/* Writes the rest of the queue, for a second at most if the file blocks. False: events were lost,
 * now or before; the number and the reason have been printed. */
bool tide_event_log_close(struct tide_event_log *log);

/* Prints a line to a descriptor if that does not block; else the line is lost. Used for the
 * messages of a running service: its output may be a pipe that no process reads. */
void tide_tool_print_now(int descriptor, const char *format, ...) TIDE_PRINTF(2, 3);

#endif
