// Boxes, areas, lines and text straight onto the planes of a frame.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stroke.h"

namespace windhover {

// These mirror `Shape` in elements/element.ts: pixels of the frame, colours as 0xRRGGBB, opacity from 0 to 1.
// Coordinates may be any finite number; what lies outside the frame is clipped.

// An outline whose outer edge is the rectangle; at least one pixel thick. From two pixels on, that edge goes outwards
// to even pixels unless it is grey, as does the edge of a text's background: chroma has half the resolution, and an odd
// edge would bleed.
struct BoxShape {
  double x = 0, y = 0, width = 0, height = 0;
  uint32_t colour = 0;
  double thickness = 1;
  double opacity = 1;
  // Length of dashes and gaps, about: every side begins and ends with a dash. 0 for a solid line.
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
  // At the last point; at the first it is `opacity * start`, and between them it changes evenly with the way.
  double opacity = 1;
  double start = 1;
};

// (x, y) is the top left corner of the background where there is one, else of the text. The line is 1.25 * size high;
// a letter is about 0.6 * size wide, an East Asian one twice that; a background has size / 4 more left and right.
struct TextShape {
  double x = 0, y = 0;
  // UTF-8; a byte that is not counts as a character that cannot be drawn.
  std::string text;
  // Pixels of the font's em, from 6 to 128; beyond, the nearest of these.
  double size = 16;
  uint32_t colour = 0;
  std::optional<uint32_t> background;
  double opacity = 1;
};

using Shape = std::variant<BoxShape, FillShape, LineShape, TextShape>;

// Draws in order, later shapes over earlier ones.
//
// `frame` is mapped for reading and writing by the caller, and nobody else touches its planes during the call. `shapes`
// and `error` are the caller's. Any thread, any number at once on different frames; the first text of a size costs some
// milliseconds.
// False, with the reason in `error` and the frame as it was, for a shape that makes no sense or a frame that is neither
// I420 nor NV12.
bool draw_shapes(GstVideoFrame& frame, const std::vector<Shape>& shapes, std::string* error);

}  // namespace windhover
