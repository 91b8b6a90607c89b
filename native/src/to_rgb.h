// Rows of levels (resample.h) as colours of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels.h"
#include "yuv_planes.h"

namespace windhover {

// One row of the picture: `length` pixels count, all three rows may be read up to the next multiple of pixels_at_once.
struct LevelRow {
  const Level *y, *u, *v;
  int length;
};

// How the colours of a tensor are made. Floats are `colour * scale + shift` with colours from 0 to 255, bytes are
// colours rounded to the nearest.
struct ColourOrder {
  bool rgb;
  ColourRange range;
  ColourPlaces places;
};

// Any number of rows.
class RowConverter {
 public:
  RowConverter(const YuvToRgb& matrix, const ColourOrder& order);
  // `out` is where the first colour of the first pixel goes. Nothing but the row's own pixels is written.
  void convert(const LevelRow& row, float* out) const;
  void convert(const LevelRow& row, uint8_t* out) const;

 private:
  ColourRow order(const LevelRow& row) const;

  const ColourOrder order_;
  // In the order of the tensor.
  ColourMatrix matrix_;
};

}  // namespace windhover
