/* base/plant_live.h: more planted bugs, of another kind than the ordering model's rules
 * (base/plant.h): somebody is forgotten, told too early, or believed without reason. One
 * number says which bug is on, so these count on where the rules end. */
#ifndef TIDE_BASE_PLANT_LIVE_H
#define TIDE_BASE_PLANT_LIVE_H

#include "base/plant.h"

enum tide_plant_live {
  TIDE_PLANT_ELIDE = 1000, /* a wait is elided though nothing implies it */
  TIDE_PLANT_RECORD,       /* a value is published, its record is not */
  TIDE_PLANT_TRACKER,      /* a value is published before the tracker knows */
  TIDE_PLANT_WAKE,         /* an operation that could go on is not looked at */
  TIDE_PLANT_HELD,         /* a held operation does not hear of the promise */
  TIDE_PLANT_KICK,         /* a device is not woken */
  TIDE_PLANT_CALL,         /* a timepoint is not called */
  TIDE_PLANT_TOGETHER,     /* a collective is over before its last part */
  TIDE_PLANT_LEAK          /* what was half made when memory ran out is not given back */
};

#define TIDE_PLANTED_LIVE(which) TIDE_PLANTED((enum tide_plant)(which))

#endif
