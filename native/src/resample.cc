#include "resample.h"

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

// Calls `give` with each sample of the interval and its weight out of `unit`.
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
    // Rows with weight 0 at the ends are not read.
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

constexpr uint16_t sum_offset = 0x8000;

// STEP 2 takes every other byte. Unsigned sums wrap around, so that the offset costs nothing.
template <int STEP>
void take_row(const uint8_t* __restrict row, int length, Sum* __restrict sums) {
  for (int x = 0; x < length; x++) {
    sums[x] = static_cast<Sum>(static_cast<uint16_t>((row[x * STEP] << 8) ^ sum_offset));
  }
}

template <int STEP>
void add_row(const uint8_t* __restrict row, uint16_t weight, int length, uint32_t* __restrict totals) {
  for (int x = 0; x < length; x++) totals[x] += static_cast<uint32_t>(row[x * STEP]) * weight;
}

// In 32 bits, for rare, extreme shrinking.
template <int STEP>
void sum_many_rows(const uint8_t* top, ptrdiff_t stride, const uint16_t* weights, int count, int length, Sum* sums) {
  constexpr int scale = Axis::many_rows_unit / Axis::few_rows_unit;
  thread_local std::vector<uint32_t> totals;
  totals.assign(length, scale / 2);
  for (int k = 0; k < count; k++) add_row<STEP>(top + k * stride, weights[k], length, totals.data());
  for (int x = 0; x < length; x++) sums[x] = static_cast<Sum>(static_cast<uint16_t>((totals[x] / scale) ^ sum_offset));
}

Windows windows_of(const Axis& axis) {
  return {axis.first.data(), axis.weights.data(), axis.taps, static_cast<int>(axis.first.size())};
}

void take_columns(const Sum* __restrict sums, int length, Level* __restrict out) {
  for (int x = 0; x < length; x++) {
    out[x] = static_cast<Level>(static_cast<uint16_t>(sums[x] ^ static_cast<Sum>(sum_offset)) >> 2);
  }
}

}  // namespace

const Axis& cached_axis(const AxisOrder& order) {
  thread_local std::list<std::pair<AxisOrder, Axis>> cache;
  const auto found = std::find_if(cache.begin(), cache.end(), [&](const auto& entry) { return entry.first == order; });
  if (found != cache.end()) {
    cache.splice(cache.begin(), cache, found);
  } else {
    if (cache.size() >= axis_cache_size) cache.pop_back();
    Axis& axis = cache.emplace_front(order, Axis{}).second;
    build_rows(order, &axis);
    build_columns(order, &axis);
  }
  return cache.front().second;
}

void weigh_rows(const uint8_t* origin, ptrdiff_t stride, const Axis& axis, int target, int length, Sum* sums) {
  const Axis::Rows& rows = axis.rows[target];
  const uint8_t* top = origin + rows.first * stride;
  if (rows.count == 1) return take_row<1>(top, length, sums);
  if (rows.many) {
    return sum_many_rows<1>(top, stride, axis.many_weights.data() + rows.weights, rows.count, length, sums);
  }
  const uint8_t* weights = axis.few_weights.data() + rows.weights;
  kernels().sum_rows(top, stride, weights, rows.count, length, sums);
}

void weigh_paired_rows(const uint8_t* origin, ptrdiff_t stride, const Axis& axis, int target, int length, Sum* first,
                       Sum* second) {
  const Axis::Rows& rows = axis.rows[target];
  const uint8_t* top = origin + rows.first * stride;
  if (rows.count == 1) {
    take_row<2>(top, length, first);
    take_row<2>(top + 1, length, second);
    return;
  }
  if (rows.many) {
    const uint16_t* weights = axis.many_weights.data() + rows.weights;
    sum_many_rows<2>(top, stride, weights, rows.count, length, first);
    sum_many_rows<2>(top + 1, stride, weights, rows.count, length, second);
    return;
  }
  const uint8_t* weights = axis.few_weights.data() + rows.weights;
  kernels().sum_paired_rows(top, stride, weights, rows.count, length, first, second);
}

void weigh_columns(const Sum* sums, const Axis& axis, Level* out) {
  if (axis.same) take_columns(sums, static_cast<int>(axis.first.size()), out);
  else kernels().weigh_windows(sums, windows_of(axis), out);
}

void weigh_both_columns(const Sum* const sums[2], const Axis& axis, Level* const out[2]) {
  if (axis.same) {
    for (int p = 0; p < 2; p++) weigh_columns(sums[p], axis, out[p]);
  } else {
    kernels().weigh_both_windows(sums, windows_of(axis), out);
  }
}

}  // namespace windhover
