// How the samples of one axis of a plane are weighed to make the pixels of a smaller or larger axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace windhover {

// Target pixel i lies from `start + i * step` to `start + (i + 1) * step`, sample k from k to k + 1.
struct AxisOrder {
  double start = 0;
  double step = 1;
  // First and last sample that may be looked at; what would lie beyond takes the nearest of them.
  int low = 0;
  int high = 0;
  int targets = 0;

  bool operator==(const AxisOrder& other) const {
    return start == other.start && step == other.step && low == other.low && high == other.high &&
           targets == other.targets;
  }
};

// Weights are whole numbers. The running total is rounded, not each weight, so that they always add up to their unit,
// and flat areas keep their level exactly.
struct Axis {
  // For rows, which are weighed whole: bytes, as products with bytes then stay in 16 bits. Many rows would come out too
  // coarse that way, and have weights of 16 bits.
  static constexpr int few_rows = most_rows, few_rows_unit = rows_unit, many_rows_unit = 1 << 16;
  struct Rows {
    // Counted from `low`.
    int first;
    int count;
    bool many;
    // Into the weights of few rows or of many. A single row has none: it counts as a whole.
    size_t weights;
  };
  std::vector<Rows> rows;
  std::vector<uint8_t> few_weights;
  std::vector<uint16_t> many_weights;

  // For columns: windows of `taps` samples, 4 or a multiple of 8. first + taps may pass `high`; the weights there are 0.
  // Padded to a multiple of pixels_at_once with targets that weigh nothing.
  static constexpr int column_unit = columns_unit;
  int taps = 0;
  std::vector<int32_t> first;
  std::vector<int16_t> weights;
  // Target i is sample i.
  bool same = false;
};

// Every target pixel is the mean over an interval of max(step, 1) samples about its centre. Shrinking, this is area
// averaging, so that nothing aliases; at scale 1 and above it is exactly linear interpolation; in between it goes over
// from one to the other without a threshold.
Axis build_axis(const AxisOrder& order);

// The axis from this thread's cache, which keeps the `axis_cache_size` used last: enough for luma and chroma of 16 x 16
// tiles. The reference holds until that many others have been asked for on the same thread.
inline constexpr int axis_cache_size = 128;
const Axis& cached_axis(const AxisOrder& order);

}  // namespace windhover
