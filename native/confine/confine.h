// The parts of `confine`: restrictions of the process itself (sandbox.cc), and the guard that checks its connections
// (guard.cc).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

struct Paths {
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::vector<std::string> device;
};

// Landlock. Skips paths that do not exist. Returns the ABI version of Landlock; 0: not available.
int restrict_files(const Paths& paths);

// Seccomp: system calls that our programs do not make fail. With `asks_guard`, `connect` waits for the process that has the
// returned descriptor. Returns -1: not available; 0: active, without a descriptor.
int filter_system_calls(bool may_fork, bool asks_guard);

// Checks the connections of all processes that ask over this socket. Returns when it is closed.
int run_guard(int socket, const std::vector<std::string>& denied);

// Passes the listener of our filter to the guard at the other end of this socket. `performed`: the guard makes the connections
// itself, so that an address cannot be exchanged after the check; `checked`: it only checks. Null: no answer.
const char* ask_guard(int guard, int listener);
