/* Which planted bug is on. Empty but for the tests' own copy of the library. */
#include "base/plant.h"

#ifdef TIDE_PLANTS
enum tide_plant tide_planted = TIDE_PLANT_NONE;
int tide_planted_claim;
void (*tide_planted_point)(void);
#endif

_Static_assert(TIDE_PLANT_NONE == 0, "nothing is planted unless a test asks for it");
