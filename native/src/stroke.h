// Thick lines with round ends and joints, smooth at their edges.
#pragma once

#include <vector>

#include "paint.h"

namespace windhover {

struct Point {
  double x, y;
};

// Through points that may lie anywhere but are finite; one point makes a dot. What the line crosses twice is painted
// once. `start`, from 0 to 1, is how much of the paint the first point gets; it grows evenly with the way to all of it
// at the last. The caller holds the frame behind `planes` mapped for writing, and is the only one that does.
void stroke_line(const YuvPlanes& planes, const std::vector<Point>& points, double thickness, double start,
                 Paint paint);

}  // namespace windhover
