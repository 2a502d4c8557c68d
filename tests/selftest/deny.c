/* deny NAME ERRNO COMMAND…: runs a command to which the kernel refuses one system call, for good,
 * as a container's filter does. Exit status 77: this system has no such filters. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char *name;
  unsigned number;
} calls[] = {{"io_uring_enter", __NR_io_uring_enter}, {"linkat", __NR_linkat}};

int main(int argc, char **argv) {
  size_t which = 0, count = sizeof calls / sizeof calls[0];
  while (argc > 3 && which < count && strcmp(calls[which].name, argv[1]) != 0) which++;
  if (argc < 4 || which == count) {
    fputs("usage: deny io_uring_enter|linkat ERRNO COMMAND…\n", stderr);
    return 2;
  }
  unsigned error = (unsigned)strtoul(argv[2], NULL, 10);
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[which].number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  execvp(argv[3], argv + 3);
  perror(argv[3]);
  return 2;
}
