// Restrictions that the process puts on itself: files by Landlock, system calls by seccomp.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "confine.h"

// ------------------------------------------------------------------------------------------------ files: https://docs.kernel.org/userspace-api/landlock.html

namespace {

// The headers of Debian 12 have version 2 only; these numbers and layouts are stable.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDir = 1 << 3;
constexpr uint64_t kAllOfVersion1 = (1 << 13) - 1;
constexpr uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kIoctlDevice = 1 << 15;
constexpr uint64_t kScopeAbstractSockets = 1 << 0, kScopeSignals = 1 << 1;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
constexpr uint64_t kRead = kExecute | kReadFile | kReadDir;

struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};

struct __attribute__((packed)) PathRule {
  uint64_t allowed;
  int32_t parent;
};

void allow(int ruleset, const std::vector<std::string>& paths, uint64_t allowed) {
  for (const std::string& path : paths) {
    const int parent = open(path.c_str(), O_PATH | O_CLOEXEC);
    struct stat about;
    if (parent < 0) continue;
    if (fstat(parent, &about) == 0) {
      PathRule rule = {S_ISDIR(about.st_mode) ? allowed : allowed & kOfFiles, parent};
      syscall(kAddRule, ruleset, 1, &rule, 0);
    }
    close(parent);
  }
}

}  // namespace

int restrict_files(const Paths& paths) {
  const long version = syscall(kCreateRuleset, nullptr, 0, 1);
  if (version < 1) return 0;
  Ruleset rules = {kAllOfVersion1, 0, 0};
  if (version >= 2) rules.files |= kRefer;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 5) rules.files |= kIoctlDevice;
  if (version >= 6) rules.scoped = kScopeAbstractSockets | kScopeSignals;
  // Older kernels reject unknown fields.
  const size_t size = version >= 6 ? sizeof(rules) : version >= 4 ? 16 : 8;
  const int ruleset = static_cast<int>(syscall(kCreateRuleset, &rules, size, 0));
  if (ruleset < 0) return 0;
  allow(ruleset, paths.read, kRead & rules.files);
  allow(ruleset, paths.write, rules.files & ~kIoctlDevice);
  allow(ruleset, paths.device, (kRead | kWriteFile | kIoctlDevice) & rules.files);
  const bool restricted = syscall(kRestrictSelf, ruleset, 0) == 0;
  close(ruleset);
  return restricted ? static_cast<int>(version) : 0;
}

// ------------------------------------------------------------------------------------------------ system calls: those not named here are allowed

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "confine supports x86_64 and aarch64"
#endif

// Other processes, the kernel, mounts, keys, handles that bypass Landlock.
constexpr int kForbidden[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_tkill, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, SYS_pidfd_open, SYS_pidfd_getfd, SYS_process_madvise,
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig,
    SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_unshare, SYS_setns, SYS_open_by_handle_at,
    SYS_name_to_handle_at, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot,
    SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog, SYS_settimeofday, SYS_clock_settime,
    SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_vhangup, SYS_shmget, SYS_msgget,
    SYS_semget, SYS_mq_open, SYS_fanotify_init,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};

// Fail with ENOSYS, so that callers fall back. io_uring makes calls that no filter sees; memory of memfd_create is not
// accounted to any process while it is not mapped.
constexpr int kMissing[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_memfd_create};

class Filter {
 public:
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(offset)); }
  void end_with(uint32_t action) { add(BPF_RET | BPF_K, 0, 0, action); }
  void return_if(uint32_t value, uint32_t action) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    end_with(action);
  }
  void return_if_any(uint32_t bits, uint32_t action) {
    add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    end_with(action);
  }
  // Allows `values` of the argument; others get `action`.
  void allow_only(int call, int argument, const std::vector<uint32_t>& values, uint32_t action) {
    of_call(call, 2 + 2 * values.size());
    load_argument(argument);
    for (const uint32_t value : values) return_if(value, SECCOMP_RET_ALLOW);
    end_with(action);
  }
  // `with` if the argument has one of these bits, else `without`.
  void by_bits(int call, int argument, uint32_t bits, uint32_t with, uint32_t without) {
    of_call(call, 4);
    load_argument(argument);
    return_if_any(bits, with);
    end_with(without);
  }
  std::vector<sock_filter> code;

 private:
  void add(uint16_t operation, uint8_t yes, uint8_t no, uint32_t value) { code.push_back({operation, yes, no, value}); }
  // The following `count` instructions are for this call only, and return.
  void of_call(int call, size_t count) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<uint8_t>(count), static_cast<uint32_t>(call));
  }
  // The lower half: all checked arguments have 32 bits, and both architectures are little-endian.
  void load_argument(int index) { load(offsetof(seccomp_data, args) + 8 * index); }
};

std::vector<sock_filter> compose(bool may_fork, bool asks_guard) {
  const auto fail = [](int error) -> uint32_t { return SECCOMP_RET_ERRNO | error; };
  const auto self = static_cast<uint32_t>(getpid());
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kArchitecture});
  filter.end_with(SECCOMP_RET_KILL_PROCESS);
  filter.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  filter.return_if_any(0x40000000, fail(ENOSYS));  // the x32 ABI has the same calls with other numbers
#endif
  for (const int call : kForbidden) filter.return_if(call, fail(EPERM));
  for (const int call : kMissing) filter.return_if(call, fail(ENOSYS));
  if (!may_fork) {
    // The flags of clone3 are in memory, which a filter cannot read.
    filter.return_if(SYS_clone3, fail(ENOSYS));
#if defined(__x86_64__)
    filter.return_if(SYS_fork, fail(EPERM));
    filter.return_if(SYS_vfork, fail(EPERM));
#endif
    filter.by_bits(SYS_clone, 0, CLONE_THREAD, SECCOMP_RET_ALLOW, fail(EPERM));
  }
  filter.allow_only(SYS_kill, 0, {self, 0}, fail(EPERM));
  filter.allow_only(SYS_tgkill, 0, {self}, fail(EPERM));
  filter.allow_only(SYS_prlimit64, 0, {self, 0}, fail(EPERM));
  filter.allow_only(SYS_socket, 0, {AF_INET, AF_INET6, AF_NETLINK}, fail(EACCES));
  if (asks_guard) {
    filter.return_if(SYS_connect, SECCOMP_RET_USER_NOTIF);
    // TCP Fast Open connects as well.
    filter.by_bits(SYS_sendto, 3, MSG_FASTOPEN, fail(EOPNOTSUPP), SECCOMP_RET_ALLOW);
    filter.by_bits(SYS_sendmsg, 2, MSG_FASTOPEN, fail(EOPNOTSUPP), SECCOMP_RET_ALLOW);
    filter.by_bits(SYS_sendmmsg, 3, MSG_FASTOPEN, fail(EOPNOTSUPP), SECCOMP_RET_ALLOW);
  }
  filter.end_with(SECCOMP_RET_ALLOW);
  return filter.code;
}

int install(const std::vector<sock_filter>& code, unsigned flags) {
  const sock_fprog program = {static_cast<unsigned short>(code.size()), const_cast<sock_filter*>(code.data())};
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

}  // namespace

int filter_system_calls(bool may_fork, bool asks_guard) {
  if (asks_guard) {
    const int listener = install(compose(may_fork, true), SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (listener > 0) return listener;
  }
  return install(compose(may_fork, false), 0) == 0 ? 0 : -1;
}
