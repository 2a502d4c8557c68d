/* tidemark/kernel.h: the built-in bodies, and plugins with more of them.
 *
 * The model. tidemark/body.h defines bodies. The built-in ones have a name for programs, and a
 * number for the clients of a service.
 *
 * A plugin is a shared object with one function, tide_plugin_bodies, that returns a table like the
 * built-in one.
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

/* Returns the built-in bodies, sorted by name; constant. */
TIDE_API const struct tide_body *tide_kernel_bodies(size_t *out_count);
/* Returns the built-in body of that name; NULL: none. */
TIDE_API const struct tide_body *tide_kernel_find(const char *name);

/* The bodies for commands of a service's clients, with their arguments in order: the numbers for
 * tide_session_operation, if the service was created with tide_kernel_session_bodies, as `tidemark
 * serve` is. */
enum tide_kernel_session_body {
  TIDE_SESSION_FILL = TIDE_SESSION_BODIES, /* out, value: every byte */
  TIDE_SESSION_HASH,                       /* from, out (8 bytes), seed */
  TIDE_SESSION_IOTA,                       /* out (64-bit words), start */
  TIDE_SESSION_TILE,   /* from, to, width: rows of 4-byte pixels to squares of 4 x 4 of them */
  TIDE_SESSION_UNTILE, /* the inverse */
  TIDE_SESSION_OVER,   /* from, onto: one 8-bit RGBA image over another */
  TIDE_SESSION_SPIN,   /* microseconds, at most 20000 */
  TIDE_SESSION_FAIL    /* fails, to test dependent operations */
};
/* Returns the table for tide_service_params.bodies; constant. */
TIDE_API const struct tide_body_set *tide_kernel_session_bodies(void);

struct tide_take_source;
/* Returns the source for tide_run_params.takes, which enables `take BUF` in programs. Bodies load
 * from copies that appear when the data arrives; a buffer with finished writers is passed as it is.
 * A body that passes such memory to the kernel (to write a file, for example) needs more than
 * user-mode faults. Constant; never freed. */
TIDE_API const struct tide_take_source *tide_medium_takes(void);

/* A plugin exports a function of this type, named tide_plugin_bodies. `abi` is the TIDE_PLUGIN_ABI
 * that it was built with. */
#define TIDE_PLUGIN_ABI 2
struct tide_plugin {
  uint32_t abi;
  size_t body_count;
  const struct tide_body *bodies;
};
typedef const struct tide_plugin *(*tide_plugin_entry)(void);

/* A loaded plugin. */
struct tide_plugin_library;

/* Loads a plugin. A path without a slash is a file in the current directory, never one of the
 * system's libraries. The plugin's table is checked before its use: names, parameters, limits.
 * Blocks while the system loads the object and runs its constructors.
 * - TIDE_NOT_FOUND: no such file, or the file exports no tide_plugin_bodies
 * - TIDE_MISMATCH: built with another TIDE_PLUGIN_ABI
 * - TIDE_CORRUPT: no shared object, or its table breaks a rule, which the diag names */
TIDE_API TIDE_MUST_CHECK enum tide_status tide_plugin_load(const char *path,
                                                           struct tide_plugin_library **out_library,
                                                           const struct tide_plugin **out_plugin,
                                                           struct tide_diag *diag);
/* Unloads the plugin. No operation may use its bodies any more. NULL is fine. */
TIDE_API void tide_plugin_unload(struct tide_plugin_library *library);

#ifdef __cplusplus
}
#endif
#endif
