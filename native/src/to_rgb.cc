#include "to_rgb.h"

#include <cmath>
#include <utility>

namespace windhover {
namespace {

int16_t whole(float value, int unit) { return static_cast<int16_t>(std::lround(value * static_cast<float>(unit))); }

}  // namespace

RowConverter::RowConverter(const YuvToRgb& m, const ColourOrder& order) : order_(order) {
  constexpr int unit = 1 << matrix_bits;
  matrix_ = {whole(m.y_offset, level_unit), whole(m.y_scale, unit),  whole(m.r_from_v, unit),
             whole(m.g_from_v, unit),       whole(m.g_from_u, unit), whole(m.b_from_u, unit)};
  if (order.rgb) return;
  std::swap(matrix_.first_from_outer, matrix_.third_from_inner);
  std::swap(matrix_.second_from_outer, matrix_.second_from_inner);
}

void RowConverter::convert(const LevelRow& row, float* out) const {
  kernels().to_floats(order(row), matrix_, order_.range, order_.places, out);
}

void RowConverter::convert(const LevelRow& row, uint8_t* out) const {
  kernels().to_bytes(order(row), matrix_, order_.places, out);
}

ColourRow RowConverter::order(const LevelRow& row) const {
  return {row.y, order_.rgb ? row.v : row.u, order_.rgb ? row.u : row.v, row.length};
}

}  // namespace windhover
