#include "axis.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <utility>

namespace windhover {
namespace {

struct Interval {
  double from, to;
  int first, last;
};

Interval interval_of(const AxisOrder& order, int target) {
  const double centre = order.start + (target + 0.5) * order.step, half = std::max(order.step, 1.0) / 2;
  const double from = centre - half, to = centre + half;
  const int first = static_cast<int>(std::clamp<double>(std::floor(from), order.low, order.high));
  const int last = static_cast<int>(std::clamp<double>(std::ceil(to) - 1, first, order.high));
  return {from, to, first, last};
}

}  // namespace

Axis build_axis(const AxisOrder& order) {
  Axis axis;
  for (int i = 0; i < order.targets; i++) {
    const Interval at = interval_of(order, i);
    axis.taps = std::max(axis.taps, at.last - at.first + 1);
  }
  axis.taps = (axis.taps + 3) / 4 * 4;
  const size_t padded = (order.targets + axis_targets_at_once - 1) / axis_targets_at_once * axis_targets_at_once;
  axis.first.assign(padded, 0);
  axis.counts.assign(padded, 0);
  axis.weights.assign(padded * axis.taps, 0);
  for (int i = 0; i < order.targets; i++) {
    const Interval at = interval_of(order, i);
    axis.first[i] = at.first - order.low;
    axis.counts[i] = at.last - at.first + 1;
    float* weights = axis.weights.data() + static_cast<size_t>(i) * axis.taps;
    double given = 0;
    for (int sample = at.first; sample <= at.last; sample++) {
      const double total = sample == at.last ? 1 : std::clamp((sample + 1 - at.from) / (at.to - at.from), 0.0, 1.0);
      weights[sample - at.first] = static_cast<float>(total - given);
      given = total;
    }
  }
  return axis;
}

const Axis& cached_axis(const AxisOrder& order) {
  thread_local std::list<std::pair<AxisOrder, Axis>> cache;
  const auto found = std::find_if(cache.begin(), cache.end(), [&](const auto& entry) { return entry.first == order; });
  if (found != cache.end()) {
    cache.splice(cache.begin(), cache, found);
  } else {
    if (cache.size() >= axis_cache_size) cache.pop_back();
    cache.emplace_front(order, build_axis(order));
  }
  return cache.front().second;
}

}  // namespace windhover
