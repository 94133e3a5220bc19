// run-measured: runs a command and prints, as JSON, how long it took and the most
// memory it had resident.
//
// usage: run-measured COMMAND [ARGUMENT...]
//
// A program of its own, since Linux counts what the parent had resident before
// exec as the child's: a Python process cannot measure a small one. The command's
// output goes to standard error. Ends with the command's exit code.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int main(int count, char **arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: run-measured COMMAND [ARGUMENT...]\n");
    return 2;
  }
  double begin = now();
  pid_t child = vfork();
  if (child == 0) {
    dup2(2, 1);
    execvp(arguments[1], arguments + 1);
    _exit(127);
  }
  int status = 0;
  rusage usage = {};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) {
    fprintf(stderr, "run-measured: %s\n", strerror(errno));
    return 1;
  }
  double seconds = now() - begin;
  auto spent = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  printf("{\"seconds\": %.6f, \"user_seconds\": %.6f, \"system_seconds\": %.6f, \"peak_bytes\": %lld}\n", seconds,
         spent(usage.ru_utime), spent(usage.ru_stime), static_cast<long long>(usage.ru_maxrss) * 1024);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
