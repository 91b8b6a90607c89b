// All kernels, for the vector instructions that the including file is compiled with. For kernels_*.cc only.
#pragma once

#include "colour_kernels.h"
#include "hide_kernels.h"
#include "kernels.h"
#include "motion_kernels.h"
#include "paint_kernels.h"
#include "resample_kernels.h"

namespace windhover {
namespace {

constexpr Kernels kernel_set(const char* name) {
  return {name,     sum_rows,  sum_paired_rows, weigh_windows, weigh_both_windows,
          to_bytes, to_floats, paint_area,      paint_coverage, cover,
          sum_block, fill_block, fill_ramp,
          shrink_row, sum_columns, halve_row, slope_products, corner_row, follow_points};
}

}  // namespace
}  // namespace windhover
