#include "resample.h"

#include <vector>

#include "kernels.h"

namespace windhover {
namespace {

constexpr uint16_t sum_offset = 0x8000;

// STEP 2 takes every other byte. Sums wrap around as unsigned numbers do, so that the offset costs nothing.
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

// In 32 bits, for shrinking so far that nobody will ask often.
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
