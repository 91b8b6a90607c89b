// A frame, or a part of it, as model input: resized, converted to RGB and normalised in one pass over the planes.
#pragma once

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace windhover {

// Fractions of a frame.
struct Region {
  double x = 0, y = 0, width = 1, height = 1;
};

struct PixelRect {
  int x, y, width, height;
};

// The whole pixels, at least one, of a fraction of `length` pixels.
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

// Mirrors `TensorOrder` in elements/element.ts.
struct TensorOrder {
  enum class Fit { letterbox, stretch };
  enum class Anchor { centre, top_left };
  enum class Layout { nchw, nhwc };
  enum class Colours { rgb, bgr };
  int width = 0;
  int height = 0;
  Fit fit = Fit::letterbox;
  Anchor anchor = Anchor::centre;
  Layout layout = Layout::nchw;
  Colours colours = Colours::rgb;
  // In the order of `colours`; ignored for bytes.
  double mean[3] = {0, 0, 0};
  double std_dev[3] = {1, 1, 1};
  double padding = 114;
  Region region;
};

// frame pixel = (tensor pixel - offset) / scale + origin
struct TensorGeometry {
  double scale_x = 1, scale_y = 1;
  double offset_x = 0, offset_y = 0;
  double origin_x = 0, origin_y = 0;
};

// Fills `out` with 3 * width * height values: float32 when `as_float`, else bytes, rounded to the nearest.
//
// The region is clamped to the frame and rounded to whole pixels, at least one; no pixel outside of it is read. Resizing is
// that of resample.h: area averaging when shrinking, else linear interpolation. Colours follow the matrix, range and chroma
// siting of the frame. Integer arithmetic: before rounding to bytes, the mean error of a colour is below 0.2 levels, in
// noise below 2.
//
// Any thread; caches are per thread and bounded. The caller keeps `frame` mapped for reading during the call and owns `out`
// (aligned for its type, `out_elements` values), `geometry` and `error`.
// False, with the reason in `error` and `out` unchanged, for an invalid order or a frame that is neither I420 nor NV12.
bool fill_tensor(const GstVideoFrame& frame, const TensorOrder& order, void* out, size_t out_elements, bool as_float,
                 TensorGeometry* geometry, std::string* error);

}  // namespace windhover
