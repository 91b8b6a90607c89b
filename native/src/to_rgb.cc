#include "to_rgb.h"

#include <algorithm>
#include <cmath>

#include "vectors.h"

namespace windhover {
namespace {

constexpr int matrix_bits = 13, colour_bits = 19;
static_assert(1 << (colour_bits - matrix_bits) == level_unit);
constexpr Level grey = 128 * level_unit;

int16_t whole(float value, int unit) { return static_cast<int16_t>(std::lround(value * static_cast<float>(unit))); }

inline int32_t clamp_colour(int32_t colour) { return std::min(std::max(colour, 0), 255 << colour_bits); }

void interleave(const uint8_t* __restrict a, const uint8_t* __restrict b, const uint8_t* __restrict c, int length,
                uint8_t* __restrict out) {
  for (int x = 0; x < length; x++) {
    out[3 * x] = a[x];
    out[3 * x + 1] = b[x];
    out[3 * x + 2] = c[x];
  }
}

}  // namespace

RowConverter::RowConverter(const YuvToRgb& m, const ColourOrder& order) : order_(order) {
  constexpr int unit = 1 << matrix_bits;
  matrix_ = {whole(m.y_offset, level_unit), whole(m.y_scale, unit),  whole(m.r_from_v, unit),
             whole(m.g_from_v, unit),       whole(m.g_from_u, unit), whole(m.b_from_u, unit)};
  if (order.rgb) return;
  std::swap(matrix_.first_from_outer, matrix_.third_from_inner);
  std::swap(matrix_.second_from_outer, matrix_.second_from_inner);
}

template <int STEP>
void RowConverter::convert_floats(const LevelRow& row, size_t next, float* __restrict out) const {
  const Level *__restrict y = row.y, *__restrict outer = order_.rgb ? row.v : row.u,
              *__restrict inner = order_.rgb ? row.u : row.v;
  const Matrix m = matrix_;
  float scale[3], shift[3];
  for (int i = 0; i < 3; i++) {
    scale[i] = order_.scale[i] / (1 << colour_bits);
    shift[i] = order_.shift[i];
  }
  for (int x = 0, length = row.length; x < length; x++) {
    const auto light = static_cast<int16_t>(y[x] - m.y_offset), a = static_cast<int16_t>(outer[x] - grey),
               b = static_cast<int16_t>(inner[x] - grey);
    const int32_t base = light * m.y_scale, first = base + a * m.first_from_outer,
                  second = base + a * m.second_from_outer + b * m.second_from_inner,
                  third = base + b * m.third_from_inner;
    out[x * STEP] = static_cast<float>(clamp_colour(first)) * scale[0] + shift[0];
    out[x * STEP + next] = static_cast<float>(clamp_colour(second)) * scale[1] + shift[1];
    out[x * STEP + 2 * next] = static_cast<float>(clamp_colour(third)) * scale[2] + shift[2];
  }
}

void RowConverter::convert(const LevelRow& row, float* out) {
  if (order_.interleaved) convert_floats<3>(row, 1, out);
  else convert_floats<1>(row, order_.plane, out);
}

void RowConverter::convert(const LevelRow& row, uint8_t* out) {
  const Level *outer = order_.rgb ? row.v : row.u, *inner = order_.rgb ? row.u : row.v;
  const size_t room = static_cast<size_t>(row.length + row_multiple - 1) / row_multiple * row_multiple;
  if (bytes_.size() < room * 3) bytes_.resize(room * 3);
  uint8_t *const first = bytes_.data(), *const second = first + room, *const third = second + room;
  const Matrix m = matrix_;
  for (int x = 0; x < row.length; x += row_multiple) {
    const Shorts8 light = load8(row.y + x) - m.y_offset, a = load8(outer + x) - grey, b = load8(inner + x) - grey;
    const Ints8 base = multiply(light, m.y_scale);
    store_bytes<colour_bits>(first + x, base + multiply(a, m.first_from_outer));
    store_bytes<colour_bits>(second + x, base + multiply(a, m.second_from_outer) + multiply(b, m.second_from_inner));
    store_bytes<colour_bits>(third + x, base + multiply(b, m.third_from_inner));
  }
  if (order_.interleaved) return interleave(first, second, third, row.length, out);
  for (int i = 0; i < 3; i++) std::copy_n(first + i * room, row.length, out + i * order_.plane);
}

}  // namespace windhover
