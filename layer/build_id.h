/* layer/build_id.h: the identity of the Vulkan layer, which the tool of the same build shares.
 *
 * A machine may have several layers: installed ones, and that of a build tree. The layer writes its
 * identity into each report, and the tool refuses the report of another one. scripts/layer-build
 * makes the values. */
#ifndef TIDE_LAYER_BUILD_ID_H
#define TIDE_LAYER_BUILD_ID_H

extern const char tide_layer_version[]; /* "0.1.0" */
extern const char tide_layer_build[];   /* a hash of the sources: 12 hexadecimal digits */

#endif
