#include "kernels.h"

#include <atomic>
#include <cstring>

namespace windhover {

// Each in its own file, kernels_*.cc, which setup/build-addon.mjs compiles with its vector instructions.
extern const Kernels plain_kernels, baseline_kernels;
#if defined(__x86_64__)
extern const Kernels avx2_kernels;
#endif

namespace {

const Kernels* best() {
  const Kernels* sets[most_kernel_sets];
  return sets[list_kernels(sets) - 1];
}

std::atomic<const Kernels*>& chosen() {
  static std::atomic<const Kernels*> set{best()};
  return set;
}

}  // namespace

int list_kernels(const Kernels* sets[most_kernel_sets]) {
  int count = 0;
  sets[count++] = &plain_kernels;
  sets[count++] = &baseline_kernels;
#if defined(__x86_64__)
  // Also checks that the operating system saves the wider registers.
  if (__builtin_cpu_supports("avx2")) sets[count++] = &avx2_kernels;
#endif
  return count;
}

const Kernels& kernels() { return *chosen().load(std::memory_order_relaxed); }

bool use_kernels(const char* name) {
  const Kernels* sets[most_kernel_sets];
  for (int i = 0, count = list_kernels(sets); i < count; i++) {
    if (std::strcmp(sets[i]->name, name) != 0) continue;
    chosen().store(sets[i], std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace windhover
