/* The table of all patterns: ten applications, in the order of the WIC paper (four between a
 * processor and a device, six between devices), and the ways. */
#include "run.h"

extern const struct pattern pattern_c_srs, pattern_c_cg, pattern_c_fe, pattern_c_h3d, pattern_g_bfs,
    pattern_g_bs, pattern_g_c2d, pattern_g_stn, pattern_g_gem, pattern_g_kmn;

const struct pattern *const patterns[] = {
    &pattern_c_srs, &pattern_c_cg,  &pattern_c_fe,  &pattern_c_h3d, &pattern_g_bfs,
    &pattern_g_bs,  &pattern_g_c2d, &pattern_g_stn, &pattern_g_gem, &pattern_g_kmn};
const size_t pattern_count = sizeof patterns / sizeof *patterns;

const struct way *const ways[] = {&way_spin,     &way_yield,  &way_futex,     &way_monitor,
                                  &way_direct,   &way_fibers, &way_nblocking, &way_demandcpy,
                                  &way_effshare, &way_gps,    &way_finepack};
const size_t way_count = sizeof ways / sizeof *ways;
