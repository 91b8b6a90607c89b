// Paints rectangles, masks and lines on the planes of a frame, clipped to it. The caller has the frame mapped for writing, and
// no other thread accesses it.
#pragma once

#include <vector>

#include "kernels.h"

namespace windhover {

// Hints that pixels of a row are about to be painted.
void prefetch_row(const YuvPlanes& planes, int left, int right, int y);

void paint_rectangle(const YuvPlanes& planes, Edges edges, Paint paint);
void paint_mask(const YuvPlanes& planes, const Mask& mask, Paint paint);

struct Point {
  double x, y;
};

// An anti-aliased line with round ends and joints through finite points; one point makes a dot. Where the line crosses
// itself it is painted once. `start`, from 0 to 1, is the share of the opacity at the first point; it grows evenly to 1 at
// the last.
void paint_line(const YuvPlanes& planes, const std::vector<Point>& points, double thickness, double start, Paint paint);

}  // namespace windhover
