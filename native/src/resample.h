// The two passes of a resize, rows then columns of a plane of bytes, in 16-bit integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace windhover {

// How one axis of a plane is resized. Target pixel i covers `start + i * step` to `start + (i + 1) * step`, sample k covers
// k to k + 1.
struct AxisOrder {
  double start = 0;
  double step = 1;
  // First and last sample that may be read; beyond them the nearest one counts.
  int low = 0;
  int high = 0;
  int targets = 0;

  bool operator==(const AxisOrder& other) const {
    return start == other.start && step == other.step && low == other.low && high == other.high &&
           targets == other.targets;
  }
};

// Weights are integers. The running total is rounded, not each weight, so that they always add up to their unit and flat
// areas keep their exact level.
struct Axis {
  // Rows have weights of 8 bits, so that products with samples fit in 16 bits; many rows, for which that would be too
  // coarse, of 16 bits.
  static constexpr int few_rows = most_rows, few_rows_unit = rows_unit, many_rows_unit = 1 << 16;
  struct Rows {
    // Relative to `low`.
    int first;
    int count;
    bool many;
    // Index into few_weights or many_weights; not used for a single row.
    size_t weights;
  };
  std::vector<Rows> rows;
  std::vector<uint8_t> few_weights;
  std::vector<uint16_t> many_weights;

  // Columns are windows of `taps` samples, 4 or a multiple of 8. Weights beyond `high` are 0. Padded with empty windows to
  // a multiple of pixels_at_once.
  static constexpr int column_unit = columns_unit;
  int taps = 0;
  std::vector<int32_t> first;
  std::vector<int16_t> weights;
  // Target i is sample i.
  bool same = false;
};

// Every target pixel is the mean over an interval of max(step, 1) samples around its centre: area averaging when shrinking,
// linear interpolation at scale 1 and above, with a smooth transition.
//
// From this thread's cache of the `axis_cache_size` axes used last, enough for luma and chroma of 16 x 16 tiles. The
// reference is valid until that many others have been requested on the same thread.
inline constexpr int axis_cache_size = 128;
const Axis& cached_axis(const AxisOrder& order);

// `origin` is the row of the first sample of the axis; `length` bytes are read from each row with a weight.
void weigh_rows(const uint8_t* origin, ptrdiff_t stride, const Axis& axis, int target, int length, Sum* sums);
// The same for `length` interleaved pairs of bytes.
void weigh_paired_rows(const uint8_t* origin, ptrdiff_t stride, const Axis& axis, int target, int length, Sum* first,
                       Sum* second);

// `sums` must be readable for `axis.taps` and for pixels_at_once beyond their length, `out` writable for a multiple of
// pixels_at_once.
void weigh_columns(const Sum* sums, const Axis& axis, Level* out);
// Two planes at once, with the same windows and weights.
void weigh_both_columns(const Sum* const sums[2], const Axis& axis, Level* const out[2]);

}  // namespace windhover
