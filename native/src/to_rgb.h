// Rows of levels (resample.h) as colours of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "resample.h"
#include "yuv_planes.h"

namespace windhover {

// One row of the picture: `length` pixels count, all three rows may be read up to the next multiple of `row_multiple`.
inline constexpr int row_multiple = 8;
struct LevelRow {
  const Level *y, *u, *v;
  int length;
};

// How the colours of a tensor are made. Floats are `colour * scale + shift` with colours from 0 to 255, bytes are
// colours rounded to the nearest.
struct ColourOrder {
  bool rgb;
  float scale[3], shift[3];
  // The three colours of a pixel lie side by side; else each has a plane of its own, `plane` values after the last.
  bool interleaved;
  size_t plane;
};

// Any number of rows, one after the other; one thread.
class RowConverter {
 public:
  RowConverter(const YuvToRgb& matrix, const ColourOrder& order);
  // `out` is where the first colour of the first pixel goes. Nothing but the row's own pixels is written.
  void convert(const LevelRow& row, float* out);
  void convert(const LevelRow& row, uint8_t* out);

 private:
  // `YuvToRgb` in whole numbers, for colours in the order of the tensor: `outer` is the plane of chroma that the first
  // colour needs (V for red, U for blue), `inner` that of the third. Levels times these are colours times 2^19, and
  // sums of them stay in 32 bits.
  struct Matrix {
    int16_t y_offset, y_scale, first_from_outer, second_from_outer, second_from_inner, third_from_inner;
  };
  template <int STEP>
  void convert_floats(const LevelRow& row, size_t next, float* out) const;

  const ColourOrder order_;
  Matrix matrix_;
  std::vector<uint8_t> bytes_;
};

}  // namespace windhover
