// The inner loops over pixels, compiled once per set of vector instructions; the process uses the best set of its CPU. All
// sets give the same numbers, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "yuv_planes.h"

namespace windhover {

// A sample between the two passes of a resize: `sample * 256 - 32768`, signed for the multipliers.
using Sum = int16_t;
// After both passes: `sample * 64`, from 0 to 16320, rounded.
using Level = int16_t;
inline constexpr int level_unit = 64;

// Rows of levels and windows of columns are padded to a multiple of this, so that loops have no remainder.
inline constexpr int pixels_at_once = 16;

// The maximum number of rows of `sum_rows`. Their 8-bit weights add up to `rows_unit`.
inline constexpr int most_rows = 16, rows_unit = 1 << 8;

// Windows of `taps` sums, 4 or a multiple of 8, whose weights add up to `columns_unit`.
inline constexpr int columns_unit = 1 << 14;
struct Windows {
  const int32_t* first;
  // `taps` per window.
  const int16_t* weights;
  int taps;
  // A multiple of pixels_at_once.
  int count;
};

// One row of `length` pixels; all three may be read up to the next multiple of pixels_at_once. `outer` is the chroma plane of
// the first colour (V for red, U for blue), `inner` that of the third.
struct ColourRow {
  const Level *y, *outer, *inner;
  int length;
};

// Levels times these coefficients are colours times 2^colour_bits; sums fit in 32 bits.
inline constexpr int matrix_bits = 13, colour_bits = 19;
static_assert(1 << (colour_bits - matrix_bits) == level_unit);
struct ColourMatrix {
  int16_t y_offset, y_scale, first_from_outer, second_from_outer, second_from_inner, third_from_inner;
};

// Colours of a row are interleaved, or in planes that are `plane` values apart.
struct ColourPlaces {
  bool interleaved;
  size_t plane;
};

// Floats are `colour * scale + shift`, with colours from 0 to 255.
struct ColourRange {
  float scale[3], shift[3];
};

struct Paint {
  YuvColour colour;
  // 0 to 255.
  int opacity;
};

// `right` and `bottom` are exclusive.
struct Edges {
  int left, top, right, bottom;
};

// Coverage of each pixel, 0 to 255, starting at (left, top) of the frame. All four numbers are even, as a chroma sample
// belongs to 2 x 2 pixels, and not negative; the last column and row may lie just outside of an odd frame.
struct Mask {
  int left, top, width, height;
  // Owned by the caller.
  const uint8_t* coverage;
  int stride;
};

// The chroma samples of one row. Internal linkage, as the kernels of every set use it.
struct ChromaRow {
  uint8_t *u, *v;
};
static inline ChromaRow chroma_row(const YuvPlanes& planes, int x, int y) {
  const ptrdiff_t along = static_cast<ptrdiff_t>(x) * planes.chroma_step;
  return {planes.u + static_cast<ptrdiff_t>(y) * planes.u_stride + along,
          planes.v + static_cast<ptrdiff_t>(y) * planes.v_stride + along};
}

// One row of a line segment. (x, y) is the centre of the first pixel relative to the segment's start, (dx, dy) the segment.
struct SegmentRow {
  float x, y, dx, dy;
  // One over the segment's length squared, or 0.
  float along;
  // Opacity at the start and its growth to the end; at most 1.
  float share, growth;
  // Squared distance at which coverage ends, and 255 divided by the distance from there to full coverage.
  float outside, fade;
};

// Luma as floats, row by row.
struct GreyView {
  const float* data;
  int width, height;
};

// Products of gradients in three rows of cells: xx, xy, yy.
struct SlopeRows {
  const float* of[3][3];
};

inline constexpr int most_levels = 8;
// Two image pyramids, each level half as wide as the one before. The search starts at `level` with an expected shift in
// pixels of the largest image.
struct FlowOrder {
  GreyView before[most_levels], after[most_levels];
  int level;
  float right, down;
};

// Any thread. The caller owns all memory, and no other thread writes to it during a call.
struct Kernels {
  const char* name;
  // `count` rows from 2 to most_rows, of `length` bytes each.
  void (*sum_rows)(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int count, int length, Sum* sums);
  // The same for `length` interleaved pairs of bytes.
  void (*sum_paired_rows)(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int count, int length,
                          Sum* first, Sum* second);
  // `sums` must be readable for a whole window from each `first`, `out` writable for all windows.
  void (*weigh_windows)(const Sum* sums, const Windows& windows, Level* out);
  // Two planes with the same windows and weights.
  void (*weigh_both_windows)(const Sum* const sums[2], const Windows& windows, Level* const out[2]);
  // Write the pixels of the row only. Bytes are rounded to the nearest.
  void (*to_bytes)(const ColourRow& row, const ColourMatrix& matrix, const ColourPlaces& places, uint8_t* out);
  void (*to_floats)(const ColourRow& row, const ColourMatrix& matrix, const ColourRange& range,
                    const ColourPlaces& places, float* out);
  void (*paint_rectangle)(const YuvPlanes& planes, const Edges& edges, const Paint& paint);
  // `scratch` holds one row of the mask.
  void (*paint_mask)(const YuvPlanes& planes, const Mask& mask, const Paint& paint, uint8_t* scratch);
  // Raises the coverage of `count` pixels, a multiple of 8, to that of the segment.
  void (*cover)(const SegmentRow& row, int count, uint8_t* coverage);
  // Of a block of samples, `step` bytes apart in a row: 1 or 2.
  uint64_t (*sum_block)(const uint8_t* at, ptrdiff_t stride, int step, int columns, int rows);
  void (*fill_block)(uint8_t* at, ptrdiff_t stride, int step, int columns, int rows, uint8_t value);
  // `count` samples between two levels (samples times 256), by the weight of the second, 0 to 256.
  void (*fill_ramp)(uint8_t* at, int step, int count, uint16_t from, uint16_t to, const uint16_t* weights);
  // Means of four pixels out of each `step` of two rows.
  void (*shrink_row)(const uint8_t* upper, const uint8_t* lower, int step, int apart, int count, float* out);
  // Of `count` columns over up to 257 rows.
  void (*sum_columns)(const uint8_t* at, ptrdiff_t stride, int rows, int count, uint16_t* sums);
  void (*halve_row)(const float* upper, const float* lower, int count, float* out);
  // `pixels` is the upper row of the cells, with a row above and two below. Skips the first and last cell.
  void (*slope_products)(const float* pixels, int width, int cells, float* xx, float* xy, float* yy);
  // Skips two cells at each end.
  void (*corner_row)(const SlopeRows& rows, int cells, float* strengths);
  // Points are interleaved x and y. Writes only those that are found.
  void (*follow_points)(const FlowOrder& order, const float* points, int count, float* found, uint8_t* is_found);
};

// Any thread. The set in use: the best of this CPU, unless a test chose another.
const Kernels& kernels();

// The sets of this CPU, from the slowest to the fastest: "plain" without vectors; "baseline" for all CPUs of the architecture
// (SSE2, NEON); "avx2". AVX-512 was 5 % faster in resizing and slower for short rows.
inline constexpr int most_kernel_sets = 3;
int list_kernels(const Kernels* sets[most_kernel_sets]);
// Any thread, for tests. False if this CPU cannot run that set. Calls in progress continue with the old set.
bool use_kernels(const char* name);

}  // namespace windhover
