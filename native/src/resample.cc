#include "resample.h"

#include <algorithm>
#include <vector>

#include "vectors.h"

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

// Calls back for every column, and asks for the same part of the rows below: those that the next target needs have then
// come when it is their turn. That they may lie outside the frame does no harm.
template <int ROWS, typename Column>
void for_columns(const uint8_t* top, ptrdiff_t stride, int bytes_a_column, int length, Column column) {
  constexpr int block = 64;
  int x = 0;
  for (; x + block <= length; x += block) {
    for (int at = 0; at < block * bytes_a_column; at += 64) {
      for (int k = ROWS; k < 2 * ROWS; k++) __builtin_prefetch(top + k * stride + x * bytes_a_column + at);
    }
    for (int i = 0; i < block; i++) column(x + i);
  }
  for (; x < length; x++) column(x);
}

// Several rows at once, as the sums then stay in registers.
template <int ROWS, bool ADD>
void sum_rows(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int length, Sum* __restrict sums) {
  uint8_t weight[ROWS];
  for (int k = 0; k < ROWS; k++) weight[k] = weights[k];
  for_columns<ROWS>(top, stride, 1, length, [&](int x) {
    uint16_t sum = ADD ? static_cast<uint16_t>(sums[x]) : sum_offset;
    for (int k = 0; k < ROWS; k++) sum = static_cast<uint16_t>(sum + top[k * stride + x] * weight[k]);
    sums[x] = static_cast<Sum>(sum);
  });
}

template <int ROWS, bool ADD>
void sum_paired_rows(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int length, Sum* __restrict first,
                     Sum* __restrict second) {
  uint8_t weight[ROWS];
  for (int k = 0; k < ROWS; k++) weight[k] = weights[k];
  for_columns<ROWS>(top, stride, 2, length, [&](int x) {
    uint16_t a = ADD ? static_cast<uint16_t>(first[x]) : sum_offset;
    uint16_t b = ADD ? static_cast<uint16_t>(second[x]) : sum_offset;
    for (int k = 0; k < ROWS; k++) {
      a = static_cast<uint16_t>(a + top[k * stride + 2 * x] * weight[k]);
      b = static_cast<uint16_t>(b + top[k * stride + 2 * x + 1] * weight[k]);
    }
    first[x] = static_cast<Sum>(a);
    second[x] = static_cast<Sum>(b);
  });
}

constexpr int rows_at_once = 8;
using SumRows = void (*)(const uint8_t*, ptrdiff_t, const uint8_t*, int, Sum*);
template <bool ADD>
constexpr SumRows sum_some_rows[rows_at_once] = {sum_rows<1, ADD>, sum_rows<2, ADD>, sum_rows<3, ADD>,
                                                 sum_rows<4, ADD>, sum_rows<5, ADD>, sum_rows<6, ADD>,
                                                 sum_rows<7, ADD>, sum_rows<8, ADD>};
using SumPairedRows = void (*)(const uint8_t*, ptrdiff_t, const uint8_t*, int, Sum*, Sum*);
template <bool ADD>
constexpr SumPairedRows sum_some_paired_rows[rows_at_once] = {
    sum_paired_rows<1, ADD>, sum_paired_rows<2, ADD>, sum_paired_rows<3, ADD>, sum_paired_rows<4, ADD>,
    sum_paired_rows<5, ADD>, sum_paired_rows<6, ADD>, sum_paired_rows<7, ADD>, sum_paired_rows<8, ADD>};

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

// Calls back with (first row, how many, their weights) until all rows of a target are in.
template <typename Add>
void for_some_rows(const Axis& axis, const Axis::Rows& rows, Add add) {
  for (int done = 0; done < rows.count; done += rows_at_once) {
    add(rows.first + done, std::min(rows.count - done, rows_at_once), axis.few_weights.data() + rows.weights + done);
  }
}

// Four target pixels at a time: their windows lie anywhere, but their sums make one vector. TAPS is known when compiled
// for the usual numbers, else 0 and looked up.
template <int TAPS>
Ints4 weigh_four(const Sum* const at[axis_targets_at_once], const int16_t* weights, int taps) {
  if (TAPS == 4) return weigh_windows_of_4(at, weights);
  Ints4 windows[axis_targets_at_once];
  for (int i = 0; i < axis_targets_at_once; i++) {
    windows[i] = multiply_add(load8(at[i]), load8(weights + i * taps));
    for (int k = 8; k < taps; k += 8) windows[i] += multiply_add(load8(at[i] + k), load8(weights + i * taps + k));
  }
  return add_pairs(add_pairs(windows[0], windows[1]), add_pairs(windows[2], windows[3]));
}

// Both planes in one loop, where there are two: their windows and weights are the same, and are looked up once.
template <int TAPS, int PLANES>
void weigh_windows(const Sum* const* sums, const Axis& axis, Level* const* out) {
  // The offset of the sums comes back in, times the unit of the weights, and half a level for rounding.
  constexpr int32_t offset = Axis::column_unit * static_cast<int32_t>(sum_offset) + (1 << 15);
  const int taps = TAPS ? TAPS : axis.taps, targets = static_cast<int>(axis.first.size());
  const int16_t* __restrict weights = axis.weights.data();
  const int32_t* __restrict first = axis.first.data();
  const Sum* from[PLANES];
  Level* __restrict to[PLANES];
  std::copy_n(sums, PLANES, from);
  std::copy_n(out, PLANES, to);
  for (int x = 0; x < targets; x += axis_targets_at_once, weights += axis_targets_at_once * taps) {
    const ptrdiff_t a = first[x], b = first[x + 1], c = first[x + 2], d = first[x + 3];
    Ints4 totals[PLANES];
    for (int p = 0; p < PLANES; p++) {
      const Sum* const at[] = {from[p] + a, from[p] + b, from[p] + c, from[p] + d};
      totals[p] = weigh_four<TAPS>(at, weights, taps);
    }
    for (int p = 0; p < PLANES; p++) store4(to[p] + x, (totals[p] + offset) >> 16);
  }
}

template <int PLANES>
void choose_windows(const Sum* const* sums, const Axis& axis, Level* const* out) {
  switch (axis.taps) {
    case 4: return weigh_windows<4, PLANES>(sums, axis, out);
    case 8: return weigh_windows<8, PLANES>(sums, axis, out);
    default: return weigh_windows<0, PLANES>(sums, axis, out);
  }
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
  for_some_rows(axis, rows, [&](int row, int count, const uint8_t* weights) {
    const auto sum = row == rows.first ? sum_some_rows<false>[count - 1] : sum_some_rows<true>[count - 1];
    sum(origin + row * stride, stride, weights, length, sums);
  });
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
  for_some_rows(axis, rows, [&](int row, int count, const uint8_t* weights) {
    const auto sum = row == rows.first ? sum_some_paired_rows<false>[count - 1] : sum_some_paired_rows<true>[count - 1];
    sum(origin + row * stride, stride, weights, length, first, second);
  });
}

void weigh_columns(const Sum* sums, const Axis& axis, Level* out) {
  if (axis.same) take_columns(sums, static_cast<int>(axis.first.size()), out);
  else choose_windows<1>(&sums, axis, &out);
}

void weigh_both_columns(const Sum* const sums[2], const Axis& axis, Level* const out[2]) {
  if (axis.same) {
    for (int p = 0; p < 2; p++) weigh_columns(sums[p], axis, out[p]);
  } else {
    choose_windows<2>(sums, axis, out);
  }
}

}  // namespace windhover
