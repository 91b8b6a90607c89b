// Weighs rows, then columns, of a plane of bytes: the two passes of a resize, in 16-bit whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "axis.h"

namespace windhover {

// `origin` is the row of the axis' first sample; `length` bytes are read of each row that has a weight.
void weigh_rows(const uint8_t* origin, ptrdiff_t stride, const Axis& axis, int target, int length, Sum* sums);
// The same of `length` pairs of bytes, taken apart.
void weigh_paired_rows(const uint8_t* origin, ptrdiff_t stride, const Axis& axis, int target, int length, Sum* first,
                       Sum* second);

// `sums` must be readable for `axis.taps` and for pixels_at_once beyond their length, `out` writable for a multiple of pixels_at_once.
void weigh_columns(const Sum* sums, const Axis& axis, Level* out);
// Of two planes at once, whose windows and weights are the same.
void weigh_both_columns(const Sum* const sums[2], const Axis& axis, Level* const out[2]);

}  // namespace windhover
