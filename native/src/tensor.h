// A frame, or a part of one, as the input of a model: resized, in RGB and normalised, in one pass over the planes.
#pragma once

#include <gst/video/video.h>

#include <cstddef>
#include <string>

#include "region.h"

namespace windhover {

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
  // In the order of `colours`; not used for bytes.
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
// The region is clamped to the frame and rounded to whole pixels, at least one; no pixel outside it is looked at.
// Resizing follows axis.h on each axis of each plane: area averaging where it shrinks, linear interpolation where it
// does not. Colours follow the frame's own matrix, range and chroma siting. It is all done in whole numbers: before
// rounding to bytes a colour is right to a fifth of a level in the mean, and to two in noise.
//
// `frame` is mapped for reading by the caller and stays mapped during the call. `out` is the caller's, aligned for its
// type, `out_elements` values long, and touched by nobody else during the call. So are `geometry` and `error`.
// Any thread, any number at once: what is remembered between calls is kept per thread, and bounded.
// False, with the reason in `error` and `out` as it was, for a bad order or a frame that is neither I420 nor NV12.
bool fill_tensor(const GstVideoFrame& frame, const TensorOrder& order, void* out, size_t out_elements, bool as_float,
                 TensorGeometry* geometry, std::string* error);

}  // namespace windhover
