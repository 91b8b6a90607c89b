/** Which system calls may be made: a seccomp filter. What is not named here is allowed. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "confine.h"

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "confine knows x86_64 and aarch64"
#endif

/** Other processes, the kernel, mounts, keys, handles that lead around Landlock. */
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

/**
 * Said not to exist: whoever calls them has another way. io_uring makes calls that no filter sees; the flags of clone3 are
 * in memory, where a filter cannot read them; memory of memfd_create counts as nobody's while it is not mapped.
 */
constexpr int kMissing[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_memfd_create};

class Filter {
 public:
  void Load(size_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(offset)); }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, 0, 0, action); }
  void ReturnIf(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    Return(action);
  }
  void ReturnIfAny(uint32_t bits, uint32_t action) {
    Add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    Return(action);
  }
  /** The argument decides: one of `values` is allowed; anything else gets `action`. */
  void AllowOnly(int call, int argument, const std::vector<uint32_t>& values, uint32_t action) {
    OfCall(call, 2 + 2 * values.size());
    LoadArgument(argument);
    for (const uint32_t value : values) ReturnIf(value, SECCOMP_RET_ALLOW);
    Return(action);
  }
  /** One of these bits in the argument decides. */
  void ByBits(int call, int argument, uint32_t bits, uint32_t with, uint32_t without) {
    OfCall(call, 4);
    LoadArgument(argument);
    ReturnIfAny(bits, with);
    Return(without);
  }
  std::vector<sock_filter> code;

 private:
  void Add(uint16_t operation, uint8_t yes, uint8_t no, uint32_t value) { code.push_back({operation, yes, no, value}); }
  /** What follows, so many instructions, is for this call only; it returns. */
  void OfCall(int call, size_t count) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<uint8_t>(count), static_cast<uint32_t>(call));
  }
  /** The lower half: all arguments that are looked at are of 32 bits. Both architectures are little-endian. */
  void LoadArgument(int index) { Load(offsetof(seccomp_data, args) + 8 * index); }
};

std::vector<sock_filter> Compose(bool may_fork, bool asks_guard) {
  const auto fail = [](int error) -> uint32_t { return SECCOMP_RET_ERRNO | error; };
  const auto self = static_cast<uint32_t>(getpid());
  Filter filter;
  filter.Load(offsetof(seccomp_data, arch));
  filter.code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kArchitecture});
  filter.Return(SECCOMP_RET_KILL_PROCESS);
  filter.Load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  filter.ReturnIfAny(0x40000000, fail(ENOSYS));  // the x32 interface has the same calls by other numbers
#endif
  for (const int call : kForbidden) filter.ReturnIf(call, fail(EPERM));
  for (const int call : kMissing) filter.ReturnIf(call, fail(ENOSYS));
  if (!may_fork) {
    filter.ReturnIf(SYS_clone3, fail(ENOSYS));
#if defined(__x86_64__)
    filter.ReturnIf(SYS_fork, fail(EPERM));
    filter.ReturnIf(SYS_vfork, fail(EPERM));
#endif
    filter.ByBits(SYS_clone, 0, CLONE_THREAD, SECCOMP_RET_ALLOW, fail(EPERM));
  }
  filter.AllowOnly(SYS_kill, 0, {self, 0}, fail(EPERM));
  filter.AllowOnly(SYS_tgkill, 0, {self}, fail(EPERM));
  filter.AllowOnly(SYS_prlimit64, 0, {self, 0}, fail(EPERM));
  filter.AllowOnly(SYS_socket, 0, {AF_INET, AF_INET6, AF_NETLINK}, fail(EACCES));
  if (asks_guard) {
    filter.ReturnIf(SYS_connect, SECCOMP_RET_USER_NOTIF);
    // The other way to connect.
    filter.ByBits(SYS_sendto, 3, MSG_FASTOPEN, fail(EOPNOTSUPP), SECCOMP_RET_ALLOW);
    filter.ByBits(SYS_sendmsg, 2, MSG_FASTOPEN, fail(EOPNOTSUPP), SECCOMP_RET_ALLOW);
    filter.ByBits(SYS_sendmmsg, 3, MSG_FASTOPEN, fail(EOPNOTSUPP), SECCOMP_RET_ALLOW);
  }
  filter.Return(SECCOMP_RET_ALLOW);
  return filter.code;
}

int Install(const std::vector<sock_filter>& code, unsigned flags) {
  const sock_fprog program = {static_cast<unsigned short>(code.size()), const_cast<sock_filter*>(code.data())};
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

}  // namespace

int FilterSystemCalls(bool may_fork, bool asks_guard) {
  if (asks_guard) {
    const int listener = Install(Compose(may_fork, true), SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (listener > 0) return listener;
  }
  return Install(Compose(may_fork, false), 0) == 0 ? 0 : -1;
}
