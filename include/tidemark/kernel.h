/* tidemark/kernel.h: bodies that programs can name, and how they take arguments.
 *
 * The model. A *body* is a C function with a described signature. The builder of an operation fills
 * one `struct tide_argument` for each parameter, in order; the array is copied into the operation
 * and handed to the function. By the description a program's text is checked (`blur: argument 2
 * 'from' is a buffer`).
 *
 * A plugin is a shared object with one function, tide_plugin_bodies, that
 * returns a table like the built-in one.
 *
 * Source: docs/programs.md.
 */
#ifndef TIDEMARK_KERNEL_H
#define TIDEMARK_KERNEL_H

#include "tidemark/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The built-in bodies, sorted by name; constant. */
TIDE_API const struct tide_body *tide_kernel_bodies(size_t *out_count);
/* NULL when there is none of that name. */
TIDE_API const struct tide_body *tide_kernel_find(const char *name);

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
