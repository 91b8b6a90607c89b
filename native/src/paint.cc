#include "paint.h"

#include <algorithm>
#include <cmath>

namespace windhover {
namespace {

constexpr int cache_line_bytes = 64;

struct Segment {
  double x0, y0, x1, y1;
  // Shares of the opacity at both ends.
  double share0, share1;
};

// Rows whose coverage is computed before they are painted: few enough for the cache at any frame size.
constexpr int band_rows = 16;
// Block sizes, so that vector loops have no remainder: coverage is computed in the smaller, painted in the larger, half of
// which is a block of chroma.
constexpr int block_pixels = 8, painted_pixels = 32;
// Keeps sums and products of coordinates precise, far outside of any frame.
constexpr double coordinate_limit = 1e9;

double limit(double value) { return std::clamp(value, -coordinate_limit, coordinate_limit); }

// Liang-Barsky for one axis: narrows from..until to where start + t * delta is within low..high.
bool narrow(double start, double delta, double low, double high, double* from, double* until) {
  if (delta == 0) return start >= low && start <= high;
  double enter = (low - start) / delta, leave = (high - start) / delta;
  if (enter > leave) std::swap(enter, leave);
  *from = std::max(*from, enter);
  *until = std::min(*until, leave);
  return *from <= *until;
}

// Clips to the frame with a margin of `reach` pixels. False when nothing is visible.
bool clip(const YuvPlanes& planes, double reach, Segment* segment) {
  const double dx = segment->x1 - segment->x0, dy = segment->y1 - segment->y0;
  double from = 0, until = 1;
  if (!narrow(segment->x0, dx, -reach, planes.width + reach, &from, &until)) return false;
  if (!narrow(segment->y0, dy, -reach, planes.height + reach, &from, &until)) return false;
  const double growth = segment->share1 - segment->share0;
  *segment = {segment->x0 + dx * from,   segment->y0 + dy * from,         segment->x0 + dx * until,
              segment->y0 + dy * until, segment->share0 + growth * from, segment->share0 + growth * until};
  return true;
}

std::vector<Segment> visible_segments(const YuvPlanes& planes, const std::vector<Point>& points, double start,
                                      double reach) {
  std::vector<Segment> segments;
  const auto at = [&](size_t i) { return Point{limit(points[i].x), limit(points[i].y)}; };
  const auto distance = [&](size_t i) { return std::hypot(at(i).x - at(i - 1).x, at(i).y - at(i - 1).y); };
  double way = 0, gone = 0;
  for (size_t i = 1; i < points.size(); i++) way += distance(i);
  const auto share = [&] { return way > 0 ? start + (1 - start) * std::min(gone / way, 1.0) : 1; };
  for (size_t i = points.size() > 1 ? 1 : 0; i < points.size(); i++) {
    const Point a = at(i == 0 ? 0 : i - 1), b = at(i);
    Segment segment{a.x, a.y, b.x, b.y, share(), 1};
    if (i > 0) gone += distance(i);
    segment.share1 = share();
    if (clip(planes, reach, &segment)) segments.push_back(segment);
  }
  return segments;
}

struct Span {
  int from, until;

  bool empty() const { return from >= until; }
};

int round_up(int count, int to) { return (count + to - 1) / to * to; }

Span around(Span a, Span b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return {std::min(a.from, b.from), std::max(a.until, b.until)};
}

Span whole_pixels(double from, double until, int limit) {
  return {static_cast<int>(std::clamp<double>(std::floor(from), 0, limit)),
          static_cast<int>(std::clamp<double>(std::ceil(until), 0, limit))};
}

// A segment with the values that are constant for all its rows.
class Brush {
 public:
  Brush(const Segment& s, double radius)
      : reach_(static_cast<float>(radius) + edge),
        x_(static_cast<float>(s.x0)),
        y_(static_cast<float>(s.y0)),
        dx_(static_cast<float>(s.x1 - s.x0)),
        dy_(static_cast<float>(s.y1 - s.y0)),
        share_(static_cast<float>(s.share0)),
        growth_(static_cast<float>(s.share1 - s.share0)) {
    const float length_squared = dx_ * dx_ + dy_ * dy_;
    along_ = length_squared > 0 ? 1 / length_squared : 0;
    slope_ = std::abs(dy_) > 0.01f ? 1 / dy_ : 0;
    across_ = reach_ * std::sqrt(1 + dx_ * slope_ * dx_ * slope_);
    const auto r = static_cast<float>(radius), inside = std::max(r - edge, 0.0f);
    outside_ = (r + edge) * (r + edge);
    fade_ = 255 / (outside_ - inside * inside);
  }

  Span rows(int top, int count) const {
    return whole_pixels(std::min(y_, y_ + dy_) - reach_ - top, std::max(y_, y_ + dy_) + reach_ - top, count);
  }

  // Pixels of the row within reach of the segment.
  Span columns(int y, int width) const {
    float left = std::min(x_, x_ + dx_) - reach_, right = std::max(x_, x_ + dx_) + reach_;
    if (slope_ != 0) {
      const float middle = (y + 0.5f - y_) * slope_, half = std::abs(reach_ * slope_);
      const float from = std::max(middle - half, 0.0f), until = std::min(middle + half, 1.0f);
      if (from > until) return {0, 0};
      // Within reach of the part next to the row, and of the infinite line.
      const float a = x_ + dx_ * from, b = x_ + dx_ * until, centre = x_ + dx_ * middle;
      left = std::max(std::min(a, b) - reach_, centre - across_);
      right = std::min(std::max(a, b) + reach_, centre + across_);
    }
    // Clipped segments are near the frame, so that plain casts are safe. Called too often for anything slower.
    const int last = static_cast<int>(std::max(right, 0.0f));
    return {static_cast<int>(std::max(left, 0.0f)), std::min(last + 1, width)};
  }

  // The span is a whole number of blocks, for which the row has room.
  void cover(int y, Span span, uint8_t* row) const {
    const float x = static_cast<float>(span.from) + 0.5f - x_, down = static_cast<float>(y) + 0.5f - y_;
    kernels().cover({x, down, dx_, dy_, along_, share_, growth_, outside_, fade_}, span.until - span.from,
                    row + span.from);
  }

 private:
  // Coverage fades over this distance on both sides of the edge.
  static constexpr float edge = 0.5f;
  float reach_, x_, y_, dx_, dy_, share_, growth_, along_, slope_, across_, outside_, fade_;
};

// Rows of the frame within reach of any segment, from the start of a band.
Span reachable_rows(const std::vector<Segment>& segments, double reach, int height) {
  double high = height, low = 0;
  for (const Segment& s : segments) {
    high = std::min({high, s.y0 - reach, s.y1 - reach});
    low = std::max({low, s.y0 + reach, s.y1 + reach});
  }
  const Span rows = whole_pixels(high, low, height);
  return {rows.from / band_rows * band_rows, rows.until};
}

}  // namespace

void prefetch_row(const YuvPlanes& planes, int left, int right, int y) {
  const uint8_t* luma = planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride;
  for (int x = left; x < right; x += cache_line_bytes) __builtin_prefetch(luma + x, 1);
  __builtin_prefetch(luma + right - 1, 1);
  if (y % 2 != 0) return;
  const ChromaRow first = chroma_row(planes, left / 2, y / 2), last = chroma_row(planes, (right - 1) / 2, y / 2);
  for (const uint8_t* at = first.u; at < last.u; at += cache_line_bytes) __builtin_prefetch(at, 1);
  __builtin_prefetch(last.u, 1);
  if (planes.chroma_step == 2) return;
  for (const uint8_t* at = first.v; at < last.v; at += cache_line_bytes) __builtin_prefetch(at, 1);
  __builtin_prefetch(last.v, 1);
}

void paint_rectangle(const YuvPlanes& planes, Edges edges, Paint paint) { kernels().paint_rectangle(planes, edges, paint); }

void paint_mask(const YuvPlanes& planes, const Mask& mask, Paint paint) {
  thread_local std::vector<uint8_t> scratch;
  if (scratch.size() < static_cast<size_t>(mask.width)) scratch.resize(mask.width);
  kernels().paint_mask(planes, mask, paint, scratch.data());
}

void paint_line(const YuvPlanes& planes, const std::vector<Point>& points, double thickness, double start, Paint paint) {
  const double radius = std::clamp(thickness, 1.0, 2.0 * (planes.width + planes.height)) / 2, reach = radius + 1;
  const std::vector<Segment> segments = visible_segments(planes, points, start, reach);
  if (segments.empty()) return;
  std::vector<Brush> brushes;
  brushes.reserve(segments.size());
  for (const Segment& segment : segments) brushes.emplace_back(segment, radius);
  const int width = (planes.width + 1) / 2 * 2, stride = round_up(width + block_pixels, painted_pixels);
  // All zero between calls.
  thread_local std::vector<uint8_t> coverage;
  const size_t size = static_cast<size_t>(stride) * band_rows;
  if (coverage.size() < size) coverage.resize(size, 0);

  const Span rows = reachable_rows(segments, reach, planes.height);
  for (int top = rows.from; top < rows.until; top += band_rows) {
    Span touched[band_rows] = {};
    for (const Brush& brush : brushes) {
      const Span lines = brush.rows(top, band_rows);
      for (int y = lines.from; y < lines.until; y++) {
        Span span = brush.columns(top + y, width);
        if (span.empty()) continue;
        const int painted = span.from + round_up(span.until - span.from, painted_pixels);
        prefetch_row(planes, span.from, std::min(painted, width), top + y);
        span.until = span.from + round_up(span.until - span.from, block_pixels);
        brush.cover(top + y, span, coverage.data() + static_cast<size_t>(y) * stride);
        touched[y] = around(touched[y], span);
      }
    }
    // Two rows at a time, as they share chroma samples; rows that the line does not touch are skipped.
    for (int y = 0; y < band_rows; y += 2) {
      const Span both = around(touched[y], touched[y + 1]);
      if (both.empty()) continue;
      const int left = both.from / 2 * 2, until = left + round_up(both.until - left, painted_pixels);
      uint8_t* upper = coverage.data() + static_cast<size_t>(y) * stride;
      paint_mask(planes, {left, top + y, std::min(until, width) - left, 2, upper + left, stride}, paint);
      for (uint8_t* row : {upper, upper + stride}) std::fill(row + left, row + std::min(until, stride), 0);
    }
  }
}

}  // namespace windhover
