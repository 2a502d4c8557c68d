/* What a queue knew (left) and what a wait brought (right) when examples/NAME.tide ran: which of
 * the program's axes each lists, a bit an axis, and whether the left one knew all of it. 16 of each
 * program, evenly spaced, from `tidemark explain NAME.tide --json`. */
#ifndef BENCHMARKS_FRONTIER_SCENES_H
#define BENCHMARKS_FRONTIER_SCENES_H

#include <stdint.h>

static const struct {
  uint16_t left, right;
  uint8_t known, times;
} scenes[] = {
    {0, 1, 0, 49},    {0, 4, 0, 1},     {1, 1, 1, 19},    {1, 3, 0, 4},     {1, 5, 0, 1},
    {1, 15, 0, 1},    {2, 1, 0, 4},     {3, 1, 0, 15},    {3, 3, 0, 27},    {3, 3, 1, 6},
    {3, 4, 0, 1},     {3, 5, 0, 3},     {4, 3, 0, 1},     {5, 1, 0, 3},     {5, 5, 0, 2},
    {5, 9, 0, 1},     {5, 15, 0, 1},    {7, 1, 1, 2},     {7, 3, 0, 10},    {7, 5, 1, 3},
    {7, 7, 0, 17},    {7, 7, 1, 5},     {7, 9, 0, 2},     {7, 11, 0, 1},    {9, 1, 0, 2},
    {12, 1, 0, 1},    {12, 12, 0, 7},   {13, 14, 0, 1},   {15, 1, 0, 3},    {15, 1, 1, 5},
    {15, 5, 0, 2},    {15, 7, 0, 2},    {15, 9, 0, 2},    {15, 15, 0, 17},  {15, 15, 1, 4},
    {15, 17, 0, 1},   {31, 31, 1, 15},  {32, 32, 1, 1},   {520, 768, 0, 1}, {769, 769, 1, 1},
    {770, 770, 1, 2}, {772, 772, 1, 2}, {776, 768, 0, 1}, {784, 768, 0, 2}, {800, 768, 0, 1},
    {832, 832, 1, 2}, {896, 896, 1, 2},
};

#endif
