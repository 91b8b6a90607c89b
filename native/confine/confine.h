/** What `confine` is made of: rules for files, for system calls, for connections. */
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

struct Paths {
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::vector<std::string> device;
};

/** By Landlock. Paths that do not exist are skipped. Returns the version of Landlock's interface; 0: not available. */
int RestrictFiles(const Paths& paths);

/**
 * By seccomp: calls that nothing of ours makes fail. With `asks_guard`, `connect` waits for whoever has the returned
 * descriptor. Returns -1: not available; 0: active, without a descriptor.
 */
int FilterSystemCalls(bool may_fork, bool asks_guard);

/** Decides about connections of all processes that ask over this socket. Returns when it is closed. */
int RunGuard(int socket, const std::vector<std::string>& denied);

/**
 * Hands the end of our filter to the guard at the other end of this socket. `performed`: it makes the connections itself,
 * so that an address cannot be exchanged after it was checked; `checked`: it only checks. Null: it does not answer.
 */
const char* AskGuard(int guard, int listener);
