#include "kernel_set.h"

namespace windhover {

extern const Kernels baseline_kernels;
const Kernels baseline_kernels = kernel_set("baseline");

}  // namespace windhover
