// How the samples of one axis of a plane are weighed to make the pixels of a smaller or larger axis.
#pragma once

#include <cstdint>
#include <vector>

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

// Targets are padded to a multiple of this with pixels that weigh nothing, for loops without a remainder.
inline constexpr int axis_targets_at_once = 4;

struct Axis {
  // Weights a target pixel, the same for all, padded with zeros to a multiple of 4.
  int taps = 0;
  // One a target: its first sample, counted from `low`. first + taps may pass `high`; the weights there are zero.
  std::vector<int32_t> first;
  // One a target: how many of its weights count.
  std::vector<int32_t> counts;
  // `taps` a target, adding up to 1.
  std::vector<float> weights;
};

// Every target pixel is the mean over an interval of max(step, 1) samples about its centre. Shrinking, this is area
// averaging, so that nothing aliases; at scale 1 and above it is exactly linear interpolation; in between it goes over
// from one to the other without a threshold.
Axis build_axis(const AxisOrder& order);

// The axis from this thread's cache, which keeps the `axis_cache_size` used last. The reference holds until that many
// others have been asked for on the same thread.
inline constexpr int axis_cache_size = 32;
const Axis& cached_axis(const AxisOrder& order);

}  // namespace windhover
