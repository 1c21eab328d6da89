/* Gives two names to each other's files or folders, as fast as it can: renameat2(RENAME_EXCHANGE), until it is stopped. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static volatile sig_atomic_t stopped = 0;

static void stop(int signal_number) {
  (void)signal_number;
  stopped = 1;
}

int main(int count, char **words) {
  unsigned long swaps = 0;
  if (count < 3) return 2;
  signal(SIGTERM, stop);
  signal(SIGHUP, stop);
  while (!stopped && getppid() != 1)
    for (int i = 0; i < 256; i += 1)
      if (syscall(SYS_renameat2, AT_FDCWD, words[1], AT_FDCWD, words[2], RENAME_EXCHANGE) == 0) swaps += 1;
  printf("%lu\n", swaps);
  return 0;
}
