// Small images, corner detection and optical flow of points. For kernels_*.cc only.
#pragma once

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

// Eight floats; the compiler splits them for shorter registers, with the same results.
using Floats8 = float __attribute__((vector_size(32)));
using Mask8 = int32_t __attribute__((vector_size(32)));

inline Floats8 load_floats(const float* from) {
  Floats8 values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

// Shifts lanes by one; the last keeps its value.
inline Floats8 next_lane(Floats8 values) { return __builtin_shuffle(values, Mask8{1, 2, 3, 4, 5, 6, 7, 7}); }

inline float add_lanes(Floats8 values) {
  const Floats8 halves = values + __builtin_shuffle(values, Mask8{4, 5, 6, 7, 0, 1, 2, 3});
  const Floats8 quarters = halves + __builtin_shuffle(halves, Mask8{2, 3, 0, 1, 6, 7, 4, 5});
  return quarters[0] + quarters[1];
}

inline Floats8 distance_of(Floats8 values) {
  return (Floats8)((Mask8)values & Mask8{INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 0});
}

void shrink_row(const uint8_t* upper, const uint8_t* lower, int step, int apart, int count, float* out) {
  for (int i = 0, at = 0; i < count; i++, at += step) {
    out[i] = static_cast<float>(upper[at] + upper[at + apart] + lower[at] + lower[at + apart]) * 0.25f;
  }
}

void sum_columns(const uint8_t* at, ptrdiff_t stride, int rows, int count, uint16_t* __restrict sums) {
  std::memset(sums, 0, static_cast<size_t>(count) * sizeof *sums);
  for (int y = 0; y < rows; y++, at += stride) {
    for (int i = 0; i < count; i++) sums[i] = static_cast<uint16_t>(sums[i] + at[i]);
  }
}

void halve_row(const float* __restrict upper, const float* __restrict lower, int count, float* __restrict out) {
  for (int i = 0; i < count; i++) {
    out[i] = (upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1]) * 0.25f;
  }
}

// Corner strength (Shi-Tomasi): the smaller eigenvalue of the structure tensor of 3 x 3 cells of 2 x 2 pixels. Products of
// gradients are summed over each cell, then over three cells of a row, then over three rows.
void slope_products(const float* __restrict pixels, int width, int cells, float* __restrict xx, float* __restrict xy,
                    float* __restrict yy) {
  for (int i = 1; i < cells - 1; i++) {
    float sums[3] = {0, 0, 0};
    for (int part = 0; part < 4; part++) {
      const float* at = pixels + 2 * i + (part & 1) + (part >> 1) * width;
      const float right = at[1] - at[-1], down = at[width] - at[-width];
      sums[0] += right * right;
      sums[1] += right * down;
      sums[2] += down * down;
    }
    xx[i] = sums[0];
    xy[i] = sums[1];
    yy[i] = sums[2];
  }
}

void corner_row(const SlopeRows& rows, int cells, float* __restrict strengths) {
  for (int i = 2; i < cells - 2; i++) {
    float sums[3];
    for (int k = 0; k < 3; k++) {
      sums[k] = 0;
      for (int row = 0; row < 3; row++) sums[k] += rows.of[k][row][i - 1] + rows.of[k][row][i] + rows.of[k][row][i + 1];
    }
    const float apart = sums[0] - sums[2];
    // Gradients span two pixels: a quarter of their products is per pixel.
    strengths[i] = (sums[0] + sums[2] - __builtin_sqrtf(apart * apart + 4 * sums[1] * sums[1])) * 0.125f;
  }
}

// Half the side of the tracked square: 7 x 7 pixels, a row in the first seven lanes.
constexpr int reach = 3, side = 2 * reach + 1;
constexpr int most_steps = 6;
// A step below this many pixels ends the search; coarser in the smaller images.
constexpr float fine_step = 0.03f, coarse_step = 0.2f;
// Mean luma difference above which the match is wrong.
constexpr float worst_difference = 12;

struct Square {
  // The last lane of the slopes is 0.
  Floats8 brightness[side], right[side], down[side];
  float xx, xy, yy, determinant;
};

struct Difference {
  float by_right, by_down, mean;
};

// A point in an image: the pixel before it, and the fraction to the next.
struct Place {
  int left, top;
  float right, down;
  Place(float x, float y)
      : left(static_cast<int>(x)),
        top(static_cast<int>(y)),
        right(x - static_cast<float>(left)),
        down(y - static_cast<float>(top)) {}
};

bool is_inside(const GreyView& grey, float x, float y, int margin) {
  const auto least = static_cast<float>(margin);
  return x >= least && y >= least && x < static_cast<float>(grey.width - margin - 1) &&
         y < static_cast<float>(grey.height - margin - 1);
}

// The square around a point at least `reach + 1` pixels from the edge. False without texture.
bool take_square(const GreyView& grey, float x, float y, Square& square) {
  const Place place(x, y);
  const float rest_right = 1 - place.right, rest_down = 1 - place.down;
  constexpr int rows = side + 2;
  // Rows from one pixel left of the square, and from its first pixel.
  Floats8 before[rows], from[rows];
  Floats8 before_above{}, from_above{};
  const float* at = grey.data + static_cast<ptrdiff_t>(place.top - reach - 1) * grey.width + place.left - reach - 1;
  for (int row = -1; row < rows; row++, at += grey.width) {
    const Floats8 first = load_floats(at), second = load_floats(at + 1), third = load_floats(at + 2);
    const Floats8 before_below = first * rest_right + second * place.right;
    const Floats8 from_below = second * rest_right + third * place.right;
    if (row >= 0) {
      before[row] = before_above * rest_down + before_below * place.down;
      from[row] = from_above * rest_down + from_below * place.down;
    }
    before_above = before_below;
    from_above = from_below;
  }
  const Floats8 half{0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0};
  Floats8 xx{}, xy{}, yy{};
  for (int row = 0; row < side; row++) {
    const Floats8 right = (next_lane(from[row + 1]) - before[row + 1]) * half;
    const Floats8 down = (from[row + 2] - from[row]) * half;
    square.brightness[row] = from[row + 1];
    square.right[row] = right;
    square.down[row] = down;
    xx += right * right;
    xy += right * down;
    yy += down * down;
  }
  square.xx = add_lanes(xx);
  square.xy = add_lanes(xy);
  square.yy = add_lanes(yy);
  square.determinant = square.xx * square.yy - square.xy * square.xy;
  return square.determinant >= 1;
}

// Difference to the square around a point at least `reach` pixels from the edge.
Difference compare_square(const GreyView& grey, float x, float y, const Square& square) {
  const Place place(x, y);
  const float rest_right = 1 - place.right, rest_down = 1 - place.down;
  const float* at = grey.data + static_cast<ptrdiff_t>(place.top - reach) * grey.width + place.left - reach;
  const auto weigh = [&](const float* row) {
    const Floats8 values = load_floats(row);
    return values * rest_right + next_lane(values) * place.right;
  };
  Floats8 by_right{}, by_down{}, distance{}, above = weigh(at);
  for (int row = 0; row < side; row++) {
    at += grey.width;
    const Floats8 below = weigh(at), rest = square.brightness[row] - (above * rest_down + below * place.down);
    by_right += rest * square.right[row];
    by_down += rest * square.down[row];
    distance += distance_of(rest);
    above = below;
  }
  return {add_lanes(by_right), add_lanes(by_down), add_lanes(distance) / (side * side)};
}

// Lucas-Kanade. False where the square leaves the image, has no texture, or is not found.
bool refine(const GreyView& before, const GreyView& after, float x, float y, float fine, float& right, float& down) {
  Square square;
  if (!is_inside(before, x, y, reach + 1) || !take_square(before, x, y, square)) return false;
  float moved_right = right, moved_down = down;
  for (int step = 0; step <= most_steps; step++) {
    if (!is_inside(after, x + moved_right, y + moved_down, reach)) return false;
    const Difference difference = compare_square(after, x + moved_right, y + moved_down, square);
    float step_right = 0, step_down = 0;
    if (step < most_steps) {
      step_right = (square.yy * difference.by_right - square.xy * difference.by_down) / square.determinant;
      step_down = (square.xx * difference.by_down - square.xy * difference.by_right) / square.determinant;
    }
    moved_right += step_right;
    moved_down += step_down;
    if (__builtin_fabsf(step_right) >= fine || __builtin_fabsf(step_down) >= fine) continue;
    right = moved_right;
    down = moved_down;
    return difference.mean <= worst_difference;
  }
  return false;
}

bool follow_point(const FlowOrder& order, float x, float y, float& found_x, float& found_y) {
  float scale = 1.0f / static_cast<float>(1 << order.level);
  float right = order.right * scale, down = order.down * scale;
  for (int level = order.level; level >= 0; level--, scale *= 2, right *= 2, down *= 2) {
    // Pixel centres: a pixel of a smaller image covers 2 x 2 of the larger one.
    const float from_x = (x + 0.5f) * scale - 0.5f, from_y = (y + 0.5f) * scale - 0.5f;
    float refined_right = right, refined_down = down;
    const float fine = level == 0 ? fine_step : coarse_step;
    if (refine(order.before[level], order.after[level], from_x, from_y, fine, refined_right, refined_down)) {
      right = refined_right;
      down = refined_down;
    } else if (level == 0) {
      return false;
    }
    if (level == 0) {
      found_x = x + right;
      found_y = y + down;
    }
  }
  return true;
}

void follow_points(const FlowOrder& order, const float* points, int count, float* found, uint8_t* is_found) {
  for (int i = 0; i < count; i++) {
    is_found[i] = follow_point(order, points[2 * i], points[2 * i + 1], found[2 * i], found[2 * i + 1]) ? 1 : 0;
  }
}

}  // namespace
}  // namespace windhover
