#include "draw.h"

#include <algorithm>
#include <cmath>

#include "finite.h"
#include "glyphs.h"

namespace windhover {
namespace {

// Far outside any frame, and small enough for sums and differences of whole numbers.
constexpr double coordinate_limit = 1e8;

int round_px(double value) {
  return static_cast<int>(std::lround(std::clamp(value, -coordinate_limit, coordinate_limit)));
}

int to_alpha(double opacity) { return static_cast<int>(std::lround(opacity * 255)); }

// Collects the first thing that is wrong with a shape.
class ShapeCheck {
 public:
  ShapeCheck(size_t index, const char* kind) : name_("shape " + std::to_string(index) + " (" + kind + "): ") {}

  void finite(const char* field, double value) {
    if (!is_finite(value)) complain(field, "a finite number", value);
  }
  void positive(const char* field, double value) {
    if (!is_finite(value) || value <= 0) complain(field, "a number above 0", value);
  }
  void fraction(const char* field, double value) {
    if (!is_finite(value) || value < 0 || value > 1) complain(field, "a number from 0 to 1", value);
  }
  void colour(const char* field, uint32_t value) {
    if (value > 0xffffff) complain(field, "a colour from 0x000000 to 0xffffff", value);
  }
  const std::string& complaint() const { return complaint_; }

 private:
  void complain(const char* field, const char* expected, double value) {
    if (complaint_.empty()) {
      complaint_ = name_ + "expected " + expected + " as " + field + ", got " + std::to_string(value);
    }
  }
  std::string name_, complaint_;
};

template <typename Rectangle>
void check_rectangle(ShapeCheck& check, const Rectangle& shape) {
  check.finite("x", shape.x);
  check.finite("y", shape.y);
  check.finite("width", shape.width);
  check.finite("height", shape.height);
  check.colour("colour", shape.colour);
}

std::string check_shape(size_t index, const BoxShape& box) {
  ShapeCheck check(index, "box");
  check_rectangle(check, box);
  check.positive("thickness", box.thickness);
  return check.complaint();
}

std::string check_shape(size_t index, const FillShape& fill) {
  ShapeCheck check(index, "fill");
  check_rectangle(check, fill);
  check.fraction("opacity", fill.opacity);
  return check.complaint();
}

std::string check_shape(size_t index, const LineShape& line) {
  ShapeCheck check(index, "line");
  for (const Point& point : line.points) {
    check.finite("x of a point", point.x);
    check.finite("y of a point", point.y);
  }
  check.positive("thickness", line.thickness);
  check.fraction("opacity", line.opacity);
  check.colour("colour", line.colour);
  return check.complaint();
}

std::string check_shape(size_t index, const TextShape& text) {
  ShapeCheck check(index, "text");
  check.finite("x", text.x);
  check.finite("y", text.y);
  check.positive("size", text.size);
  check.colour("colour", text.colour);
  if (text.background) check.colour("background", *text.background);
  return check.complaint();
}

// One frame while it is drawn on.
class Canvas {
 public:
  Canvas(const YuvPlanes& planes, const GstVideoInfo& info) : planes_(planes), info_(info) {}

  void operator()(const BoxShape& box) const {
    const int thick = std::max(1, round_px(box.thickness));
    const Edges edge = thick > 1 ? whole_samples(edges_of(box)) : edges_of(box);
    if (edge.left >= edge.right || edge.top >= edge.bottom) return;
    const int top = std::min(edge.top + thick, edge.bottom),
              bottom = std::max(edge.bottom - thick, top), left = std::min(edge.left + thick, edge.right),
              right = std::max(edge.right - thick, left);
    const Paint paint = paint_of(box.colour, 255);
    paint_rectangle(planes_, {edge.left, edge.top, edge.right, top}, paint);
    paint_rectangle(planes_, {edge.left, bottom, edge.right, edge.bottom}, paint);
    paint_rectangle(planes_, {edge.left, top, left, bottom}, paint);
    paint_rectangle(planes_, {right, top, edge.right, bottom}, paint);
  }

  void operator()(const FillShape& fill) const {
    paint_rectangle(planes_, edges_of(fill), paint_of(fill.colour, to_alpha(fill.opacity)));
  }

  void operator()(const LineShape& line) const {
    stroke_line(planes_, line.points, line.thickness, paint_of(line.colour, to_alpha(line.opacity)));
  }

  void operator()(const TextShape& text) const {
    const auto atlas = find_atlas(round_px(text.size));
    const double size = std::clamp<double>(text.size, smallest_text_px, largest_text_px);
    const std::vector<uint32_t> letters = decode_utf8(text.text);
    const int x = round_px(text.x), y = round_px(text.y), height = round_px(size * 1.25);
    const int margin = text.background ? round_px(size / 4) : 0;
    if (text.background) {
      const double right = x + 2.0 * margin + static_cast<double>(letters.size()) * atlas->cell_width();
      paint_rectangle(planes_, whole_samples({x, y, round_px(right), y + height}), paint_of(*text.background, 255));
    }
    write(letters, *atlas, x + margin, y + (height - atlas->cell_height()) / 2, paint_of(text.colour, 255));
  }

 private:
  template <typename Rectangle>
  static Edges edges_of(const Rectangle& r) {
    return {round_px(r.x), round_px(r.y), round_px(r.x + r.width), round_px(r.y + r.height)};
  }

  // Outwards to even pixels: chroma has one sample for 2 x 2 of them, so an odd edge would be pale and bleed.
  static Edges whole_samples(const Edges& e) {
    if (e.left >= e.right || e.top >= e.bottom) return e;
    return {e.left & ~1, e.top & ~1, (e.right + 1) & ~1, (e.bottom + 1) & ~1};
  }

  Paint paint_of(uint32_t colour, int opacity) const { return {yuv_from_rgb(info_, colour), opacity}; }

  static std::vector<uint32_t> decode_utf8(const std::string& text) {
    std::vector<uint32_t> letters;
    letters.reserve(text.size());
    for (const char *at = text.data(), *end = at + text.size(); at < end;) {
      const gunichar letter = g_utf8_get_char_validated(at, end - at);
      // Not UTF-8 here: GLib answers with numbers beyond Unicode.
      const bool valid = letter < 0x110000;
      letters.push_back(valid ? letter : 0xfffd);
      at += valid ? g_unichar_to_utf8(letter, nullptr) : 1;
    }
    return letters;
  }

  // Lays the visible part of all letters into one mask, then paints that.
  void write(const std::vector<uint32_t>& letters, const GlyphAtlas& atlas, int x, int y, Paint paint) const {
    const int cell_width = atlas.cell_width(), cell_height = atlas.cell_height();
    const double end = x + static_cast<double>(letters.size()) * cell_width;
    const int left = std::max(x, 0) / 2 * 2, top = std::max(y, 0) / 2 * 2;
    const int right = static_cast<int>(std::min<double>(end, planes_.width));
    const int bottom = std::min(y + cell_height, planes_.height);
    if (left >= right || top >= bottom) return;
    const int width = (right - left + 1) / 2 * 2, height = (bottom - top + 1) / 2 * 2;
    thread_local std::vector<uint8_t> coverage;
    coverage.assign(static_cast<size_t>(width) * height, 0);

    const int first_row = std::max(top - y, 0), rows = std::min(cell_height, top + height - y);
    const int first_letter = std::max(left - x, 0) / cell_width;
    const int last_letter = std::min<int>(static_cast<int>(letters.size()) - 1, (left + width - 1 - x) / cell_width);
    for (int i = first_letter; i <= last_letter; i++) {
      const uint8_t* glyph = atlas.glyph(letters[i]);
      const int at = x + i * cell_width - left, from = std::max(-at, 0), until = std::min(cell_width, width - at);
      for (int row = first_row; row < rows; row++) {
        const uint8_t* cells = glyph + row * cell_width;
        std::copy(cells + from, cells + until, coverage.data() + (y + row - top) * width + at + from);
      }
    }
    paint_mask(planes_, {left, top, width, height, coverage.data(), width}, paint);
  }

  const YuvPlanes& planes_;
  const GstVideoInfo& info_;
};

}  // namespace

bool draw_shapes(GstVideoFrame& frame, const std::vector<Shape>& shapes, std::string* error) {
  YuvPlanes planes;
  if (!view_planes(frame, &planes, error)) return false;
  for (size_t i = 0; i < shapes.size(); i++) {
    *error = std::visit([&](const auto& shape) { return check_shape(i, shape); }, shapes[i]);
    if (!error->empty()) return false;
  }
  const Canvas canvas(planes, frame.info);
  for (const Shape& shape : shapes) std::visit(canvas, shape);
  return true;
}

}  // namespace windhover
