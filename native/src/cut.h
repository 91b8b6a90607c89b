// A part of a frame as a small picture of its own: cut out first, so that the cost is that of the part.
#pragma once

#include <gst/video/video.h>

#include <string>

#include "region.h"

namespace windhover {

// Mirrors `PicturePart` in elements/element.ts.
struct PictureCut {
  Region region;
  // Of the longer side; 0 keeps the part as large as it is. Numbers as they were given: `check_cut` tells what is wrong.
  double most_pixels = 0;
};

// Empty when the cut can be made, else what was expected and what was met.
std::string check_cut(const PictureCut& cut);

// The part in RGB, whatever the frame's format, matrix and range: an encoder needs to know nothing of those. Shrunk with
// its aspect, never enlarged.
// `frame` is mapped for reading by the caller and stays mapped during the call. Any thread, any number at once.
// Columns are added on its right until there is a multiple of `column_step` of them, each like the last one of the part;
// `width` is that of the part.
// The caller owns the buffer; `info` describes it. Null with the reason in `error`.
GstBuffer* cut_frame(const GstVideoFrame& frame, const PictureCut& cut, int column_step, GstVideoInfo* info, int* width,
                     std::string* error);

}  // namespace windhover
