// The inner loops over pixels. They are compiled once for each set of vector instructions, and the best set that the CPU
// has is used. All sets give the same numbers, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "paint.h"

namespace windhover {

// A sample between the two passes of a resize is `sample * 256 - 32768`: all of 16 bits, and signed as multipliers need it.
using Sum = int16_t;
// After both passes it is `sample * 64`, from 0 to 16320, rounded.
using Level = int16_t;
inline constexpr int level_unit = 64;

// Rows of levels and windows of columns are padded to a multiple of this, for loops without a remainder.
inline constexpr int pixels_at_once = 16;

// The most rows `sum_rows` takes. Their weights are bytes and add up to `rows_unit`.
inline constexpr int most_rows = 16, rows_unit = 1 << 8;

// Columns are weighed in windows of `taps` sums, 4 or a multiple of 8, whose weights add up to `columns_unit`.
inline constexpr int columns_unit = 1 << 14;
struct Windows {
  const int32_t* first;
  // `taps` of each window.
  const int16_t* weights;
  int taps;
  // A multiple of pixels_at_once.
  int count;
};

// One row of a picture. `length` pixels count, all three may be read up to the next multiple of pixels_at_once.
// `outer` is the plane of chroma that the first colour needs (V for red, U for blue), `inner` that of the third.
struct ColourRow {
  const Level *y, *outer, *inner;
  int length;
};

// From levels to colours in whole numbers: levels times these are colours times 2^colour_bits, and sums of them stay in
// 32 bits.
inline constexpr int matrix_bits = 13, colour_bits = 19;
static_assert(1 << (colour_bits - matrix_bits) == level_unit);
struct ColourMatrix {
  int16_t y_offset, y_scale, first_from_outer, second_from_outer, second_from_inner, third_from_inner;
};

// Where the colours of a row go: side by side, or each to a plane of its own, `plane` values after the one before.
struct ColourPlaces {
  bool interleaved;
  size_t plane;
};

// `colour * scale + shift`, with colours from 0 to 255.
struct ColourRange {
  float scale[3], shift[3];
};

// One row of a segment of a line: coverage of `count` pixels, a multiple of 8, is raised to that of the segment.
// (x, y) is the centre of the first pixel from the segment's start, (dx, dy) the segment.
struct SegmentRow {
  float x, y, dx, dy;
  // One over the segment's length squared, or 0.
  float along;
  // Opacity at the start, and how much it grows to the end; nowhere above 1.
  float share, growth;
  // The squared distance at which coverage ends, and 255 over what lies between that and full coverage.
  float outside, fade;
};

// Brightness as floats, row after row.
struct GreyView {
  const float* data;
  int width, height;
};

// Products of slopes in three rows of cells: right times right, right times down, down times down.
struct SlopeRows {
  const float* of[3][3];
};

inline constexpr int most_levels = 8;
// Both pictures with smaller copies of them, each half as wide as the one before. The search begins in the copy `level`,
// expecting a shift in pixels of the largest.
struct FlowOrder {
  GreyView before[most_levels], after[most_levels];
  int level;
  float right, down;
};

// Any thread. All pointers are the caller's, and nobody else writes to what is read or written during a call.
struct Kernels {
  const char* name;
  // `count` rows from 2 to most_rows, of `length` bytes each.
  void (*sum_rows)(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int count, int length, Sum* sums);
  // The same of `length` pairs of bytes, which are separated.
  void (*sum_paired_rows)(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int count, int length,
                          Sum* first, Sum* second);
  // `sums` must be readable for a whole window from each first sum, `out` writable for all windows.
  void (*weigh_windows)(const Sum* sums, const Windows& windows, Level* out);
  // Of two planes, whose windows and weights are the same.
  void (*weigh_both_windows)(const Sum* const sums[2], const Windows& windows, Level* const out[2]);
  // Only the row's own pixels are written. Bytes are rounded to the nearest.
  void (*to_bytes)(const ColourRow& row, const ColourMatrix& matrix, const ColourPlaces& places, uint8_t* out);
  void (*to_floats)(const ColourRow& row, const ColourMatrix& matrix, const ColourRange& range,
                    const ColourPlaces& places, float* out);
  void (*paint_rectangle)(const YuvPlanes& planes, const Edges& edges, const Paint& paint);
  // `scratch` has room for a row of the mask.
  void (*paint_mask)(const YuvPlanes& planes, const Mask& mask, const Paint& paint, uint8_t* scratch);
  void (*cover)(const SegmentRow& row, int count, uint8_t* coverage);
  // The mean of four pixels out of each `step` of two rows.
  void (*shrink_row)(const uint8_t* upper, const uint8_t* lower, int step, int apart, int count, float* out);
  void (*halve_row)(const float* upper, const float* lower, int count, float* out);
  // `pixels` is the upper row of the cells, with a row above and two below. Cells at the ends are left alone.
  void (*slope_products)(const float* pixels, int width, int cells, float* xx, float* xy, float* yy);
  // Two cells at each end are left alone.
  void (*corner_row)(const SlopeRows& rows, int cells, float* strengths);
  // Points are x and y by turns. Only those that are found are written.
  void (*follow_points)(const FlowOrder& order, const float* points, int count, float* found, uint8_t* is_found);
};

// The set in use by this process: the best this CPU has, unless a test chose another. Any thread.
const Kernels& kernels();

// The sets this CPU can run, from the slowest to the fastest: "plain", plain loops; "baseline", what every CPU of its
// architecture has (SSE2, NEON); "avx2". AVX-512 gained a twentieth in resizing and lost it again in short runs of pixels.
inline constexpr int most_kernel_sets = 3;
int list_kernels(const Kernels* sets[most_kernel_sets]);
// For tests and measurements. False if this CPU does not have that set. Any thread; calls under way finish as they began.
bool use_kernels(const char* name);

}  // namespace windhover
