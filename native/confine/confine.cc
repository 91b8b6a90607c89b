// Restricts itself, then executes a program with the same process id. Works without any privilege; restrictions that this
// kernel does not support are skipped, and `--report` prints the active ones.
//
//   confine [options] -- program arguments…
//   confine --guard [--deny NETWORK]…      checks connections for processes at the other end of its fd 3
//
//   --read PATH       may be read and executed, recursively; repeatable, like the next two
//   --write PATH      may be read and modified
//   --device PATH     may be read, written and controlled (ioctl)
//   --user UID:GIDS   become this user; GIDS is a list with commas, the first is the main group (root only)
//   --data-bytes N    private memory (RLIMIT_DATA)
//   --files N         open files (RLIMIT_NOFILE)
//   --ask FD:PID      the guard checks connections: the socket to it, and its process
//   --may-fork        may start programs
//   --report          print the active restrictions as JSON instead of running a program
//
// Always: is killed with its parent, gains no privileges, has no capabilities, writes no core dump, is a preferred victim of
// the OOM killer, and opens no Unix sockets.
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

[[noreturn]] void fail(const std::string& what) {
  fprintf(stderr, "confine: %s: %s\n", what.c_str(), strerror(errno));
  exit(126);
}

[[noreturn]] void misuse(const std::string& what) {
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

Options read_options(char** words) {
  Options options;
  auto value = [&words]() -> std::string {
    if (words[1] == nullptr) misuse(std::string(*words) + " needs a value");
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
      if (sscanf(value().c_str(), "%d:%d", &options.guard, &options.guard_pid) != 2) misuse("--ask expects FD:PID");
    }
    else if (word == "--may-fork") options.may_fork = true;
    else if (word == "--report") options.report = true;
    else if (word == "--") {
      options.program = words + 1;
      break;
    } else misuse("unknown option " + word);
  }
  if (!options.report && !options.is_guard && (options.program == nullptr || *options.program == nullptr)) misuse("no program given: confine [options] -- program arguments");
  return options;
}

void limit(int resource, rlim_t most, const char* name) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0) fail(name);
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < most) most = limit.rlim_max;
  limit.rlim_cur = limit.rlim_max = most;
  if (setrlimit(resource, &limit) != 0) fail(name);
}

void become_user(const std::string& user) {
  char* end = nullptr;
  const uid_t uid = strtoul(user.c_str(), &end, 10);
  std::vector<gid_t> groups;
  while (*end == ':' || *end == ',') groups.push_back(strtoul(end + 1, &end, 10));
  if (groups.empty() || *end != '\0') misuse("--user expects UID:GID, got " + user);
  if (setgroups(groups.size(), groups.data()) != 0) fail("setgroups");
  if (setresgid(groups[0], groups[0], groups[0]) != 0) fail("setresgid");
  if (setresuid(uid, uid, uid) != 0) fail("setresuid");
  // Changing the user clears it, but the guard must be able to inspect this process.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

// Keeps none, and none can be gained, not even by a setuid program.
void drop_capabilities(const std::string& user) {
  // Fails without privileges; no-new-privs makes the bounding set irrelevant then.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (!user.empty()) become_user(user);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) fail("capset");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no-new-privs");
}

// With `--user` the guard inspects processes of another user. Fails, harmlessly, without privileges.
void keep_ptrace() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[2] = {};
  kept[0].effective = kept[0].permitted = 1u << CAP_SYS_PTRACE;
  syscall(SYS_capset, &header, kept);
}

void offer_to_oom_killer() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "500", 3) != 3) errno = 0;  // optional
  close(file);
}

}  // namespace

int main(int, char** argv) {
  const Options options = read_options(argv + 1);
  if (options.is_guard) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    keep_ptrace();
    return run_guard(3, options.denied);
  }
  offer_to_oom_killer();
  limit(RLIMIT_CORE, 0, "RLIMIT_CORE");
  if (options.files > 0) limit(RLIMIT_NOFILE, options.files, "RLIMIT_NOFILE");
  if (options.data_bytes != RLIM_INFINITY) limit(RLIMIT_DATA, options.data_bytes, "RLIMIT_DATA");
  drop_capabilities(options.user);
  // After changing the user, which clears it.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail("pdeathsig");
  const int landlock = restrict_files(options.paths);
  const int listener = filter_system_calls(options.may_fork, options.guard >= 0);
  const char* connections = "none";
  if (options.guard >= 0) {
    // Yama may allow only ancestors to inspect a process.
    prctl(PR_SET_PTRACER, options.guard_pid, 0, 0, 0);
    if (listener > 0) {
      connections = ask_guard(options.guard, listener);
      // Without the guard every connection would block.
      if (connections == nullptr) fail("the connection guard does not answer");
      close(listener);
    }
    close(options.guard);
  }
  if (options.report) {
    printf("{\"landlock\":%d,\"filter\":%s,\"connections\":\"%s\"}\n", landlock, listener >= 0 ? "true" : "false", connections);
    return 0;
  }
  execvp(options.program[0], options.program);
  fail(options.program[0]);
}
