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

// Calls back with each sample of the interval and its share of `unit`.
template <typename Give>
void share_out(const Interval& at, int unit, Give give) {
  int given = 0;
  for (int sample = at.first; sample <= at.last; sample++) {
    const double share = std::clamp((sample + 1 - at.from) / (at.to - at.from), 0.0, 1.0);
    const int total = sample == at.last ? unit : static_cast<int>(std::lround(share * unit));
    give(sample, total - given);
    given = total;
  }
}

template <typename Weight>
Axis::Rows build_target_rows(const AxisOrder& order, const Interval& at, int unit, std::vector<Weight>* weights) {
  Axis::Rows rows{0, 0, unit == Axis::many_rows_unit, weights->size()};
  share_out(at, unit, [&](int sample, int weight) {
    // Rows at the ends that weigh nothing are not even read.
    if (weight == 0 && rows.count == 0) return;
    if (rows.count == 0) rows.first = sample - order.low;
    rows.count++;
    weights->push_back(static_cast<Weight>(weight));
  });
  for (; rows.count > 1 && weights->back() == 0; rows.count--) weights->pop_back();
  return rows;
}

void build_rows(const AxisOrder& order, Axis* axis) {
  for (int i = 0; i < order.targets; i++) {
    const Interval at = interval_of(order, i);
    const bool few = at.last - at.first < Axis::few_rows;
    axis->rows.push_back(few ? build_target_rows(order, at, Axis::few_rows_unit, &axis->few_weights)
                             : build_target_rows(order, at, Axis::many_rows_unit, &axis->many_weights));
  }
}

void build_columns(const AxisOrder& order, Axis* axis) {
  int taps = 1;
  for (int i = 0; i < order.targets; i++) {
    const Interval at = interval_of(order, i);
    taps = std::max(taps, at.last - at.first + 1);
  }
  axis->taps = taps <= 4 ? 4 : (taps + 7) / 8 * 8;
  const size_t padded = (order.targets + pixels_at_once - 1) / pixels_at_once * pixels_at_once;
  axis->first.assign(padded, 0);
  axis->weights.assign(padded * axis->taps, 0);
  axis->same = true;
  for (int i = 0; i < order.targets; i++) {
    const Interval at = interval_of(order, i);
    axis->first[i] = at.first - order.low;
    int16_t* weights = axis->weights.data() + static_cast<size_t>(i) * axis->taps;
    share_out(at, Axis::column_unit,
              [&](int sample, int weight) { weights[sample - at.first] = static_cast<int16_t>(weight); });
    if (axis->first[i] != i || weights[0] != Axis::column_unit) axis->same = false;
  }
}

}  // namespace

Axis build_axis(const AxisOrder& order) {
  Axis axis;
  build_rows(order, &axis);
  build_columns(order, &axis);
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
