// A part of a frame, in fractions of it, and the pixels that it means.
#pragma once

#include <algorithm>
#include <cmath>

namespace windhover {

struct Region {
  double x = 0, y = 0, width = 1, height = 1;
};

struct PixelRect {
  int x, y, width, height;
};

// Whole pixels, at least one of them, of a fraction of `length` pixels.
inline void take_pixels(double from, double extent, int length, int* first, int* count) {
  const double low = std::max(from, 0.0), high = std::min(from + extent, 1.0);
  *first = std::min(static_cast<int>(std::lround(low * length)), length - 1);
  *count = std::max(static_cast<int>(std::lround(high * length)) - *first, 1);
}

inline PixelRect take_pixels(const Region& region, int width, int height) {
  PixelRect rect{};
  take_pixels(region.x, region.width, width, &rect.x, &rect.width);
  take_pixels(region.y, region.height, height, &rect.y, &rect.height);
  return rect;
}

}  // namespace windhover
