/* The backing of points: each promised value is kept or broken alone, by its promiser. */
#include "point/point_state.h"

const struct tide_value_ops tide_point_backing = {
    .kind = "point",
    .look = tide_pending_look_alone,
    .await = tide_pending_await_locked,
    .forget = tide_pending_forget_locked,
    .describe = tide_point_explain,
    .denied = TIDE_SCOPE,
    .signaller = "its promiser",
    .instead = "belongs to points: name the point (tide_operation.points)"};
