#include "draw.h"

#include <algorithm>
#include <cmath>

#include "glyphs.h"
#include "hide.h"

namespace windhover {
namespace {

// Far outside of any frame, and small enough for integer arithmetic.
constexpr double coordinate_limit = 1e8;

constexpr int smallest_block_px = 4, largest_block_px = 16384;

int round_px(double value) {
  return static_cast<int>(std::lround(std::clamp(value, -coordinate_limit, coordinate_limit)));
}

int to_alpha(double opacity) { return static_cast<int>(std::lround(opacity * 255)); }

// Records the first invalid field of a shape.
class ShapeCheck {
 public:
  explicit ShapeCheck(size_t index) : index_(index) {}

  void operator()(const BoxShape& box) {
    rectangle("box", box);
    positive("thickness", box.thickness);
    fraction("opacity", box.opacity);
    finite("dash", box.dash);
  }
  void operator()(const FillShape& fill) {
    rectangle("fill", fill);
    fraction("opacity", fill.opacity);
  }
  void operator()(const LineShape& line) {
    kind_ = "line";
    for (const Point& point : line.points) {
      finite("x of a point", point.x);
      finite("y of a point", point.y);
    }
    positive("thickness", line.thickness);
    fraction("opacity", line.opacity);
    fraction("start", line.start);
    colour("colour", line.colour);
  }
  void operator()(const TextShape& text) {
    kind_ = "text";
    finite("x", text.x);
    finite("y", text.y);
    positive("size", text.size);
    colour("colour", text.colour);
    if (text.background) colour("background", *text.background);
    fraction("opacity", text.opacity);
  }
  void operator()(const HideShape& hide) {
    kind_ = "hide";
    place(hide);
    positive("block", hide.block);
  }
  const std::string& error() const { return error_; }

 private:
  template <typename Rectangle>
  void rectangle(const char* kind, const Rectangle& shape) {
    kind_ = kind;
    place(shape);
    colour("colour", shape.colour);
  }
  template <typename Rectangle>
  void place(const Rectangle& shape) {
    finite("x", shape.x);
    finite("y", shape.y);
    finite("width", shape.width);
    finite("height", shape.height);
  }
  void finite(const char* field, double value) { require(std::isfinite(value), field, "a finite number", value); }
  void positive(const char* field, double value) {
    require(std::isfinite(value) && value > 0, field, "a number above 0", value);
  }
  void fraction(const char* field, double value) { require(value >= 0 && value <= 1, field, "a number from 0 to 1", value); }
  void colour(const char* field, uint32_t value) {
    require(value <= 0xffffff, field, "a colour from 0x000000 to 0xffffff", value);
  }
  void require(bool holds, const char* field, const char* expected, double value) {
    if (holds || !error_.empty()) return;
    error_ = "shape " + std::to_string(index_) + " (" + kind_ + "): expected " + expected + " as " + field + ", got " +
             std::to_string(value);
  }
  const size_t index_;
  const char* kind_ = "";
  std::string error_;
};

// Draws shapes on one frame.
class Canvas {
 public:
  Canvas(const YuvPlanes& planes, const GstVideoInfo& info) : planes_(planes), info_(info) {}

  void operator()(const BoxShape& box) const {
    const int thick = std::max(1, round_px(box.thickness));
    const Paint paint = paint_of(box.colour, to_alpha(box.opacity));
    const bool grey = paint.colour.u == 128 && paint.colour.v == 128;
    const Edges edge = thick > 1 && !grey ? whole_samples(edges_of(box)) : edges_of(box);
    if (edge.left >= edge.right || edge.top >= edge.bottom) return;
    const int top = std::min(edge.top + thick, edge.bottom),
              bottom = std::max(edge.bottom - thick, top), left = std::min(edge.left + thick, edge.right),
              right = std::max(edge.right - thick, left);
    const int dash = box.dash > 0 ? std::max(2, round_px(box.dash)) : 0;
    const auto across = [&](int from, int until, int y0, int y1) {
      paint_dashes(from, until, dash, [&](int a, int b) { paint_rectangle(planes_, {a, y0, b, y1}, paint); });
    };
    const auto down = [&](int x0, int x1) {
      paint_dashes(top, bottom, dash, [&](int a, int b) { paint_rectangle(planes_, {x0, a, x1, b}, paint); });
    };
    across(edge.left, edge.right, edge.top, top);
    across(edge.left, edge.right, bottom, edge.bottom);
    down(edge.left, left);
    down(right, edge.right);
  }

  void operator()(const FillShape& fill) const {
    paint_rectangle(planes_, edges_of(fill), paint_of(fill.colour, to_alpha(fill.opacity)));
  }

  void operator()(const HideShape& hide) const {
    const int block = std::clamp((round_px(hide.block) + 1) / 2 * 2, smallest_block_px, largest_block_px);
    hide_rectangle(planes_, whole_samples(edges_of(hide)), {block, hide.smooth});
  }

  void operator()(const LineShape& line) const {
    const Paint paint = paint_of(line.colour, to_alpha(line.opacity));
    paint_line(planes_, line.points, line.thickness, line.start, paint);
  }

  void operator()(const TextShape& text) const {
    const auto atlas = find_atlas(round_px(text.size));
    const double size = std::clamp<double>(text.size, smallest_text_px, largest_text_px);
    const std::vector<Glyph> glyphs = find_glyphs(text.text, *atlas);
    const int x = round_px(text.x), y = round_px(text.y), height = round_px(size * 1.25);
    const int margin = text.background ? round_px(size / 4) : 0, alpha = to_alpha(text.opacity);
    double cells = 0;
    for (const Glyph& glyph : glyphs) cells += glyph.cells;
    const double width = cells * atlas->cell_width();
    if (text.background) {
      const Edges around = {x, y, round_px(x + 2.0 * margin + width), y + height};
      paint_rectangle(planes_, whole_samples(around), paint_of(*text.background, alpha));
    }
    const int top = y + (height - atlas->cell_height()) / 2;
    write(glyphs, *atlas, {x + margin, top, round_px(x + margin + width), top + atlas->cell_height()},
          paint_of(text.colour, alpha));
  }

 private:
  template <typename Rectangle>
  static Edges edges_of(const Rectangle& r) {
    return {round_px(r.x), round_px(r.y), round_px(r.x + r.width), round_px(r.y + r.height)};
  }

  // Outwards to even pixels: a chroma sample covers 2 x 2 of them, so an odd edge would bleed.
  static Edges whole_samples(const Edges& e) {
    if (e.left >= e.right || e.top >= e.bottom) return e;
    return {e.left & ~1, e.top & ~1, (e.right + 1) & ~1, (e.bottom + 1) & ~1};
  }

  Paint paint_of(uint32_t colour, int opacity) const { return {yuv_from_rgb(info_, colour), opacity}; }

  // Dashes of about that length from `from` to `until`, one at each end; a side too short for a gap is solid.
  template <typename PaintDash>
  static void paint_dashes(int from, int until, int dash, PaintDash paint_dash) {
    const int length = until - from;
    if (length <= 0) return;
    // No visible side has more gaps, and a dash is never longer than its side.
    const int gaps = dash == 0 ? 0 : std::clamp((length / dash - 1) / 2, 0, 10000);
    for (int i = 0; i <= gaps; i++) {
      const auto at = [&](int part) {
        const double place = from + static_cast<double>(length) * part / (2 * gaps + 1);
        return gaps == 0 || part == 2 * gaps + 1 ? round_px(place) : round_px(place) & ~1;
      };
      paint_dash(at(2 * i), at(2 * i + 1));
    }
  }

  static std::vector<Glyph> find_glyphs(const std::string& text, const GlyphAtlas& atlas) {
    std::vector<Glyph> glyphs;
    glyphs.reserve(text.size());
    for (const char *at = text.data(), *end = at + text.size(); at < end;) {
      const gunichar letter = g_utf8_get_char_validated(at, end - at);
      // For invalid UTF-8 GLib returns values beyond Unicode.
      const bool valid = letter < 0x110000;
      glyphs.push_back(atlas.glyph(valid ? letter : 0xffff));
      at += valid ? g_unichar_to_utf8(letter, nullptr) : 1;
    }
    return glyphs;
  }

  // Copies the visible part of all letters into one mask and paints that. `room` is their area in the frame.
  void write(const std::vector<Glyph>& glyphs, const GlyphAtlas& atlas, const Edges& room, Paint paint) const {
    const int left = std::max(room.left, 0) / 2 * 2, top = std::max(room.top, 0) / 2 * 2;
    const int right = std::min(room.right, planes_.width), bottom = std::min(room.bottom, planes_.height);
    if (left >= right || top >= bottom) return;
    const int width = (right - left + 1) / 2 * 2, height = (bottom - top + 1) / 2 * 2;
    thread_local std::vector<uint8_t> coverage;
    coverage.assign(static_cast<size_t>(width) * height, 0);

    const int first_row = std::max(top - room.top, 0), rows = std::min(atlas.cell_height(), top + height - room.top);
    int at = room.left - left;
    for (const Glyph& glyph : glyphs) {
      if (at >= width) break;
      const int wide = glyph.cells * atlas.cell_width(), from = std::max(-at, 0), until = std::min(wide, width - at);
      for (int row = first_row; from < until && row < rows; row++) {
        const uint8_t* cells = glyph.coverage + row * wide;
        std::copy(cells + from, cells + until, coverage.data() + (room.top + row - top) * width + at + from);
      }
      at += wide;
    }
    paint_mask(planes_, {left, top, width, height, coverage.data(), width}, paint);
  }

  const YuvPlanes& planes_;
  const GstVideoInfo& info_;
};

// The pixels below a shape are prefetched while earlier shapes are painted: painting is bound by memory latency.
constexpr size_t shapes_ahead = 2;

struct Prefetch {
  const YuvPlanes& planes;

  void operator()(const BoxShape& box) const {
    const int left = round_px(box.x), right = round_px(box.x + box.width), thick = std::max(1, round_px(box.thickness));
    const int top = round_px(box.y), bottom = round_px(box.y + box.height);
    rows(left, right, top, top + thick);
    rows(left, left + thick, top + thick, bottom - thick);
    rows(right - thick, right, top + thick, bottom - thick);
    rows(left, right, bottom - thick, bottom);
  }
  void operator()(const FillShape&) const {}
  void operator()(const HideShape&) const {}
  void operator()(const LineShape&) const {}  // paint_line() prefetches itself
  void operator()(const TextShape& text) const {
    const int x = round_px(text.x), y = round_px(text.y);
    rows(x, round_px(text.x + 0.6 * text.size * static_cast<double>(text.text.size())), y, round_px(text.y + 1.25 * text.size));
  }

 private:
  void rows(int left, int right, int top, int bottom) const {
    left = std::max(left, 0), right = std::min(right, planes.width);
    if (left >= right) return;
    for (int y = std::max(top, 0); y < std::min(bottom, planes.height); y++) prefetch_row(planes, left, right, y);
  }
};

}  // namespace

bool draw_shapes(GstVideoFrame& frame, const std::vector<Shape>& shapes, std::string* error) {
  YuvPlanes planes;
  if (!view_planes(frame, &planes, error)) return false;
  for (size_t i = 0; i < shapes.size(); i++) {
    ShapeCheck check(i);
    std::visit(check, shapes[i]);
    *error = check.error();
    if (!error->empty()) return false;
  }
  const Canvas canvas(planes, frame.info);
  const Prefetch prefetch{planes};
  for (size_t i = 0; i < shapes.size(); i++) {
    if (i + shapes_ahead < shapes.size()) std::visit(prefetch, shapes[i + shapes_ahead]);
    std::visit(canvas, shapes[i]);
  }
  return true;
}

}  // namespace windhover
