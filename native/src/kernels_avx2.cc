#include "kernel_set.h"

namespace windhover {

extern const Kernels avx2_kernels;
const Kernels avx2_kernels = kernel_set("avx2");

}  // namespace windhover
