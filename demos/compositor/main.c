/* The example as a program of its own; `tidemark demo compositor` is the same. */
#include "compositor.h"

int main(int argc, char **argv) { return compositor_demo(argc, argv, NULL); }
