/* tidemark/kernel.h: bodies that programs can name, and how they take arguments.
 *
 * The model. tidemark/body.h says what a body is. These are the built-in ones, by
 * name for programs, and by number for the clients of a service.
 *
 * A plugin is a shared object with one function, tide_plugin_bodies, that
 * returns a table like the built-in one.
 *
 * Source: docs/programs.md.
 */
#ifndef TIDEMARK_KERNEL_H
#define TIDEMARK_KERNEL_H

#include "tidemark/body.h"
#include "tidemark/file.h"
#include "tidemark/service.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The built-in bodies, sorted by name; constant. */
TIDE_API const struct tide_body *tide_kernel_bodies(size_t *out_count);
/* NULL when there is none of that name. */
TIDE_API const struct tide_body *tide_kernel_find(const char *name);

/* What commands of a service's clients can do, and their arguments in order: the numbers that
 * tide_session_operation takes where the service was made with tide_kernel_session_bodies, as
 * `tidemark serve` is. */
enum tide_kernel_session_body {
  TIDE_SESSION_FILL = TIDE_SESSION_BODIES, /* out, value: every byte */
  TIDE_SESSION_HASH,                       /* from, out (8 bytes), seed */
  TIDE_SESSION_IOTA,                       /* out (64-bit words), start */
  TIDE_SESSION_TILE,   /* from, to, width: rows of 4-byte pixels to squares of 4 x 4 of them */
  TIDE_SESSION_UNTILE, /* and back */
  TIDE_SESSION_OVER,   /* from, onto: one 8-bit RGBA image over another */
  TIDE_SESSION_SPIN,   /* microseconds, at most 20000 */
  TIDE_SESSION_FAIL    /* fails, to see what depends on it */
};
/* For tide_service_params.bodies; constant. */
TIDE_API const struct tide_body_set *tide_kernel_session_bodies(void);

struct tide_take_source;
/* What lets a program take (`take BUF`): give it to tide_run_params. Bodies load from copies that
 * appear when the data is there; a buffer whose writers are through is given as it is. A body that
 * hands such memory to the kernel (to write a file, say) needs more than user-mode faults. Lives
 * for ever. */
TIDE_API const struct tide_take_source *tide_medium_takes(void);

/* A plugin exports a function of this type, named tide_plugin_bodies. `abi` is what it was built
 * against: TIDE_PLUGIN_ABI. */
#define TIDE_PLUGIN_ABI 2
struct tide_plugin {
  uint32_t abi;
  size_t body_count;
  const struct tide_body *bodies;
};
typedef const struct tide_plugin *(*tide_plugin_entry)(void);

/* A plugin that is loaded. */
struct tide_plugin_library;

/* Loads a shared object. A path without a slash is a file in the current directory, never one of
 * the system's libraries. Its table is checked before anything of it is used: names, parameters,
 * limits.
 * - TIDE_NOT_FOUND: there is no such file, or it exports no tide_plugin_bodies
 * - TIDE_MISMATCH: it was built for another TIDE_PLUGIN_ABI
 * - TIDE_CORRUPT: it is no shared object, or its table breaks a rule, which the diag names
 *
 * Blocks while the system loads it; its constructors run. */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_plugin_load(const char *path,
                                                           struct tide_plugin_library **out_library,
                                                           const struct tide_plugin **out_plugin,
                                                           struct tide_diag *diag);
/* No operation may use its bodies any more. NULL is fine. */
TIDE_API void tide_plugin_unload(struct tide_plugin_library *library);

#ifdef __cplusplus
}
#endif
#endif
