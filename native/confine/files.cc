/** Which files may be opened: Landlock, https://docs.kernel.org/userspace-api/landlock.html. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "confine.h"

namespace {

// Debian 12's headers know version 2 only; numbers and layouts are the kernel's and do not change.
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

void Allow(int ruleset, const std::vector<std::string>& paths, uint64_t allowed) {
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

int RestrictFiles(const Paths& paths) {
  const long version = syscall(kCreateRuleset, nullptr, 0, 1);
  if (version < 1) return 0;
  Ruleset rules = {kAllOfVersion1, 0, 0};
  if (version >= 2) rules.files |= kRefer;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 5) rules.files |= kIoctlDevice;
  if (version >= 6) rules.scoped = kScopeAbstractSockets | kScopeSignals;
  // Older kernels reject fields that they do not know.
  const size_t size = version >= 6 ? sizeof(rules) : version >= 4 ? 16 : 8;
  const int ruleset = static_cast<int>(syscall(kCreateRuleset, &rules, size, 0));
  if (ruleset < 0) return 0;
  Allow(ruleset, paths.read, kRead & rules.files);
  Allow(ruleset, paths.write, rules.files & ~kIoctlDevice);
  Allow(ruleset, paths.device, (kRead | kWriteFile | kIoctlDevice) & rules.files);
  const bool restricted = syscall(kRestrictSelf, ruleset, 0) == 0;
  close(ruleset);
  return restricted ? static_cast<int>(version) : 0;
}
