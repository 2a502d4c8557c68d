/* tidemark: the command-line tool. */
#include <stdio.h>
#include <string.h>

static const char help[] = "usage: tidemark --version | --help\n"
                           "Orders work on many queues by what must have happened before it.\n";

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    puts("tidemark " TIDE_VERSION);
    return 0;
  }
  int asked = argc == 2 && strcmp(argv[1], "--help") == 0;
  fputs(help, asked ? stdout : stderr);
  return asked ? 0 : 2;
}
