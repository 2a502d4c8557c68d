/* Attacks of our own. */
#include "attack_rig.h"

/* Names of compounds come back when they are given up, however often. */
TEST(names_of_compounds_come_back) {
  struct rig r;
  struct victim v;
  rig_open(&r, NULL);
  victim_prepare(&v, &r, "long");
  for (int i = 0; i < 3000; i++) victim_round(&v);
  tide_session_close(v.s);
  rig_close(&r);
}

TEST_MAIN(CASE(names_of_compounds_come_back))
