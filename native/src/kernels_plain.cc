// Plain loops, for other processors and as the reference of tests.
#define WINDHOVER_PLAIN
#include "kernel_set.h"

namespace windhover {

extern const Kernels plain_kernels;
const Kernels plain_kernels = kernel_set("plain");

}  // namespace windhover
