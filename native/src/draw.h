// Draws boxes, areas, lines and text on the planes of a frame, and hides parts of it.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "paint.h"

namespace windhover {

// These mirror `Shape` in elements/element.ts: pixels of the frame, colours as 0xRRGGBB, opacity from 0 to 1.
// Coordinates may be any finite number; what lies outside the frame is clipped.

// An outline inside of the rectangle, at least one pixel thick. With two pixels or more, and unless it is grey, its edge is
// moved outwards to even pixels, like that of a text's background: chroma has half the resolution, and odd edges bleed.
struct BoxShape {
  double x = 0, y = 0, width = 0, height = 0;
  uint32_t colour = 0;
  double thickness = 1;
  double opacity = 1;
  // Approximate length of dashes and gaps: every side starts and ends with a dash. 0: solid.
  double dash = 0;
};

struct FillShape {
  double x = 0, y = 0, width = 0, height = 0;
  uint32_t colour = 0;
  double opacity = 1;
};

struct LineShape {
  std::vector<Point> points;
  uint32_t colour = 0;
  double thickness = 1;
  // At the last point; `opacity * start` at the first, interpolated by length in between.
  double opacity = 1;
  double start = 1;
};

// (x, y) is the top left corner of the background if there is one, else of the text. A line is 1.25 * size high; a letter is
// about 0.6 * size wide, an East Asian one twice that; a background adds size / 4 left and right.
struct TextShape {
  double x = 0, y = 0;
  // UTF-8; an invalid byte is drawn like an unknown character.
  std::string text;
  // Em size in pixels, clamped to 6 to 128.
  double size = 16;
  uint32_t colour = 0;
  std::optional<uint32_t> background;
  double opacity = 1;
};

// The pixels of the rectangle are replaced by means of blocks. Its edge is moved outwards to even pixels.
struct HideShape {
  double x = 0, y = 0, width = 0, height = 0;
  // Side of a block, at least 4 and rounded up to an even number.
  double block = 16;
  bool smooth = false;
};

using Shape = std::variant<BoxShape, FillShape, LineShape, TextShape, HideShape>;

// Draws in order, later shapes over earlier ones.
//
// Any thread. The caller has `frame` mapped for reading and writing, exclusively during the call, and owns `shapes` and
// `error`. The first text of a size takes some milliseconds.
// False, with the reason in `error` and the frame unchanged, for an invalid shape or a frame that is neither I420 nor NV12.
bool draw_shapes(GstVideoFrame& frame, const std::vector<Shape>& shapes, std::string* error);

}  // namespace windhover
