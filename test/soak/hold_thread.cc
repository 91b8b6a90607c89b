// Stops one thread of another process for some time, as if a system call or a driver did not return:
//
//   hold-thread TID MILLISECONDS
//
// All other threads of the process continue. Prints a line when the thread is stopped. Needs the right to trace the process.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "usage: hold-thread TID MILLISECONDS\n");
    return 2;
  }
  const pid_t thread = atoi(words[1]);
  int status = 0;
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0 || ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0 ||
      waitpid(thread, &status, __WALL) != thread) {
    fprintf(stderr, "hold-thread: thread %d cannot be stopped: %s\n", thread, strerror(errno));
    return 1;
  }
  puts("held");
  fflush(stdout);
  usleep(1000 * atoi(words[2]));
  // The thread may have ended meanwhile, with its process.
  return ptrace(PTRACE_DETACH, thread, nullptr, nullptr) == 0 || errno == ESRCH ? 0 : 1;
}
