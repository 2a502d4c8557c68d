#include "tidemark/base.h"

static const struct {
  const char *name, *text;
} statuses[TIDE_STATUS_COUNT] = {
    [TIDE_OK] = {"TIDE_OK", "success"},
    [TIDE_TIMEOUT] = {"TIDE_TIMEOUT", "the deadline passed first"},
    [TIDE_INVALID] = {"TIDE_INVALID", "an argument breaks a stated rule"},
    [TIDE_NOMEM] = {"TIDE_NOMEM", "out of memory"},
    [TIDE_FULL] = {"TIDE_FULL", "a fixed capacity is exhausted"},
    [TIDE_DEADLOCK] = {"TIDE_DEADLOCK", "the operations wait for each other"},
    [TIDE_UNORDERED] = {"TIDE_UNORDERED", "signallers of one timeline are not ordered"},
    [TIDE_VALUE] = {"TIDE_VALUE", "a timeline value would not go up"},
    [TIDE_SCOPE] = {"TIDE_SCOPE", "a timeline or a pool is used beyond its scope"},
    [TIDE_NOT_FOUND] = {"TIDE_NOT_FOUND", "not found"},
    [TIDE_EXHAUSTED] = {"TIDE_EXHAUSTED", "no numbers are left"},
    [TIDE_CANCELLED] = {"TIDE_CANCELLED", "cancelled"},
    [TIDE_FAILED] = {"TIDE_FAILED", "a body failed"},
    [TIDE_LOST] = {"TIDE_LOST", "a device or peer is gone"},
    [TIDE_UNSUPPORTED] = {"TIDE_UNSUPPORTED", "not supported here"},
    [TIDE_IO] = {"TIDE_IO", "a read or write failed"},
    [TIDE_CORRUPT] = {"TIDE_CORRUPT", "the input breaks its format"},
    [TIDE_DENIED] = {"TIDE_DENIED", "permission denied"},
    [TIDE_MISMATCH] = {"TIDE_MISMATCH", "two sides disagree"},
    [TIDE_BUSY] = {"TIDE_BUSY", "in use"},
    [TIDE_RACE] = {"TIDE_RACE", "an ordering error was found"},
    [TIDE_OWNER_DIED] = {"TIDE_OWNER_DIED", "whoever promised it is gone"},
    [TIDE_TIMED_OUT] = {"TIDE_TIMED_OUT", "a promise was not queued in time"},
};

const char *tide_status_name(enum tide_status status) {
  if ((unsigned)status >= TIDE_STATUS_COUNT) return "TIDE_STATUS_UNKNOWN";
  return statuses[status].name;
}

const char *tide_status_text(enum tide_status status) {
  if ((unsigned)status >= TIDE_STATUS_COUNT) return "unknown status";
  return statuses[status].text;
}
