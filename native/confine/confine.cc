/**
 * Runs a program with as few rights as it needs, then becomes it: the process id stays the same. Works without any
 * privilege; whatever this kernel does not offer is left out, and `--report` prints what is active.
 *
 *   confine [options] -- program arguments…
 *   confine --guard [--deny NETWORK]…      decides about connections, for those that have the other end of its fd 3
 *
 *   --read PATH       may be read and executed, with everything below it; may be given several times, as the next two
 *   --write PATH      may be read and changed
 *   --device PATH     may be read, written and controlled
 *   --user UID:GIDS   become this user; GIDS is a list with commas, the first is the main group (root only)
 *   --data-bytes N    private memory (RLIMIT_DATA)
 *   --files N         open files (RLIMIT_NOFILE)
 *   --ask FD:PID      the guard decides about connections: the socket to it, and its process
 *   --may-fork        may start programs
 *   --report          print what is active as JSON instead of running a program
 *
 * Always: ends with its parent, gains no privileges, has no capabilities, writes no core, is the first that the kernel
 * ends when memory runs out, and opens no Unix sockets.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "confine.h"

namespace {

[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "confine: %s: %s\n", what.c_str(), strerror(errno));
  exit(126);
}

[[noreturn]] void Misuse(const std::string& what) {
  fprintf(stderr, "confine: %s\n", what.c_str());
  exit(125);
}

struct Options {
  Paths paths;
  std::string user;
  rlim_t data_bytes = RLIM_INFINITY;
  rlim_t files = 0;
  std::vector<std::string> denied;
  int guard = -1;
  pid_t guard_pid = 0;
  bool is_guard = false;
  bool may_fork = false;
  bool report = false;
  char** program = nullptr;
};

Options ReadOptions(char** words) {
  Options options;
  auto value = [&words]() -> std::string {
    if (words[1] == nullptr) Misuse(std::string(*words) + " needs a value");
    return *++words;
  };
  for (; *words != nullptr; words++) {
    const std::string word = *words;
    if (word == "--read") options.paths.read.push_back(value());
    else if (word == "--write") options.paths.write.push_back(value());
    else if (word == "--device") options.paths.device.push_back(value());
    else if (word == "--user") options.user = value();
    else if (word == "--data-bytes") options.data_bytes = strtoull(value().c_str(), nullptr, 10);
    else if (word == "--files") options.files = strtoull(value().c_str(), nullptr, 10);
    else if (word == "--deny") options.denied.push_back(value());
    else if (word == "--guard") options.is_guard = true;
    else if (word == "--ask") {
      if (sscanf(value().c_str(), "%d:%d", &options.guard, &options.guard_pid) != 2) Misuse("--ask expects FD:PID");
    }
    else if (word == "--may-fork") options.may_fork = true;
    else if (word == "--report") options.report = true;
    else if (word == "--") {
      options.program = words + 1;
      break;
    } else Misuse("unknown option " + word);
  }
  if (!options.report && !options.is_guard && (options.program == nullptr || *options.program == nullptr)) Misuse("no program given");
  return options;
}

void Limit(int resource, rlim_t most, const char* name) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0) Fail(name);
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < most) most = limit.rlim_max;
  limit.rlim_cur = limit.rlim_max = most;
  if (setrlimit(resource, &limit) != 0) Fail(name);
}

void BecomeUser(const std::string& user) {
  char* end = nullptr;
  const uid_t uid = strtoul(user.c_str(), &end, 10);
  std::vector<gid_t> groups;
  while (*end == ':' || *end == ',') groups.push_back(strtoul(end + 1, &end, 10));
  if (groups.empty() || *end != '\0') Misuse("--user expects UID:GID, got " + user);
  if (setgroups(groups.size(), groups.data()) != 0) Fail("setgroups");
  if (setresgid(groups[0], groups[0], groups[0]) != 0) Fail("setresgid");
  if (setresuid(uid, uid, uid) != 0) Fail("setresuid");
  // A change of user takes it away until the program is run; the guard of connections looks in before.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/** None is left, and none can be gained: not by a program that belongs to root either. */
void DropCapabilities(const std::string& user) {
  // Fails where there is no right to; then the bounding set is of no use either, because of no-new-privs.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (!user.empty()) BecomeUser(user);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) Fail("capset");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail("no-new-privs");
}

/** The guard looks into processes of another user where `--user` is used; fails, and does not matter, without rights. */
void KeepPtrace() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[2] = {};
  kept[0].effective = kept[0].permitted = 1u << CAP_SYS_PTRACE;
  syscall(SYS_capset, &header, kept);
}

void OfferToOomKiller() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "500", 3) != 3) errno = 0;  // a preference, not a protection
  close(file);
}

}  // namespace

int main(int, char** argv) {
  const Options options = ReadOptions(argv + 1);
  if (options.is_guard) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    KeepPtrace();
    return RunGuard(3, options.denied);
  }
  OfferToOomKiller();
  Limit(RLIMIT_CORE, 0, "RLIMIT_CORE");
  if (options.files > 0) Limit(RLIMIT_NOFILE, options.files, "RLIMIT_NOFILE");
  if (options.data_bytes != RLIM_INFINITY) Limit(RLIMIT_DATA, options.data_bytes, "RLIMIT_DATA");
  DropCapabilities(options.user);
  // After the change of user, which clears it.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Fail("pdeathsig");
  const int landlock = RestrictFiles(options.paths);
  const int listener = FilterSystemCalls(options.may_fork, options.guard >= 0);
  const char* connections = "none";
  if (options.guard >= 0) {
    // Where Yama lets only ancestors look into a process.
    prctl(PR_SET_PTRACER, options.guard_pid, 0, 0, 0);
    if (listener > 0) {
      connections = AskGuard(options.guard, listener);
      // Without an answer no connection would ever be made.
      if (connections == nullptr) Fail("the guard of connections does not answer");
      close(listener);
    }
    close(options.guard);
  }
  if (options.report) {
    printf("{\"landlock\":%d,\"filter\":%s,\"connections\":\"%s\"}\n", landlock, listener >= 0 ? "true" : "false", connections);
    return 0;
  }
  execvp(options.program[0], options.program);
  Fail(options.program[0]);
}
