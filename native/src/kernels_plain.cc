// Plain loops: for processors that nothing else here is written for, and what tests compare the others with.
#define WINDHOVER_PLAIN
#include "kernel_set.h"

namespace windhover {

extern const Kernels plain_kernels;
const Kernels plain_kernels = kernel_set("plain");

}  // namespace windhover
