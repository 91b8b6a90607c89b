#include "glyphs.h"

#include <pango/pangocairo.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace windhover {
namespace {

constexpr size_t cached_sizes = 12;
// DejaVu first, as every machine that was set up has it and pictures then look the same; else what the system prefers.
constexpr const char* font_family = "DejaVu Sans Mono, monospace";

// Printable ASCII, then the upper half of Latin-1, then the hollow box.
constexpr int ascii_first = 32, ascii_last = 126, latin_first = 160, latin_last = 255;
constexpr int ascii_count = ascii_last - ascii_first + 1;
constexpr int hollow_box = ascii_count + latin_last - latin_first + 1;
constexpr int glyph_count = hollow_box + 1;

int glyph_index(uint32_t code_point) {
  if (code_point >= ascii_first && code_point <= ascii_last) return code_point - ascii_first;
  if (code_point >= latin_first && code_point <= latin_last) return ascii_count + code_point - latin_first;
  return hollow_box;
}

uint32_t code_point_of(int index) {
  return index < ascii_count ? ascii_first + index : latin_first + index - ascii_count;
}

struct Unref {
  void operator()(gpointer object) const { g_object_unref(object); }
  void operator()(PangoFontDescription* font) const { pango_font_description_free(font); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, Unref>;

void set_text(PangoLayout* layout, uint32_t code_point) {
  char utf8[6];
  pango_layout_set_text(layout, utf8, g_unichar_to_utf8(code_point, utf8));
}

void draw_hollow_box(int width, int height, uint8_t* cell) {
  const int stroke = std::max(1, height / 16), side = std::max(1, width / 8);
  const int left = side, right = width - side, top = height / 5, bottom = height - height / 5;
  for (int y = top; y < bottom; y++) {
    for (int x = left; x < right; x++) {
      const bool edge = y < top + stroke || y >= bottom - stroke || x < left + stroke || x >= right - stroke;
      if (edge) cell[y * width + x] = 255;
    }
  }
}

}  // namespace

GlyphAtlas::GlyphAtlas(int size_px) {
  // A font map of our own: the default one is kept for each thread that ever drew.
  const Owned<PangoFontMap> fonts(pango_cairo_font_map_new());
  const Owned<PangoContext> context(pango_font_map_create_context(fonts.get()));
  const Owned<PangoLayout> layout(pango_layout_new(context.get()));
  const Owned<PangoFontDescription> font(pango_font_description_new());
  pango_font_description_set_family(font.get(), font_family);
  pango_font_description_set_weight(font.get(), PANGO_WEIGHT_BOLD);
  pango_font_description_set_absolute_size(font.get(), size_px * PANGO_SCALE);
  pango_layout_set_font_description(layout.get(), font.get());

  // Where no font is installed the layout is empty; text is then blank and takes the room it would have taken.
  set_text(layout.get(), 'W');
  pango_layout_get_pixel_size(layout.get(), &cell_width_, &cell_height_);
  cell_width_ = std::clamp(cell_width_, std::max(size_px / 2, 1), size_px * 2);
  cell_height_ = std::clamp(cell_height_, size_px, size_px * 2);

  const size_t cell = static_cast<size_t>(cell_width_) * cell_height_;
  coverage_.assign(cell * glyph_count, 0);
  const Owned<cairo_surface_t> surface(cairo_image_surface_create(CAIRO_FORMAT_A8, cell_width_, cell_height_));
  const Owned<cairo_t> canvas(cairo_create(surface.get()));
  for (int index = 0; index < hollow_box; index++) {
    cairo_set_operator(canvas.get(), CAIRO_OPERATOR_CLEAR);
    cairo_paint(canvas.get());
    cairo_set_operator(canvas.get(), CAIRO_OPERATOR_OVER);
    set_text(layout.get(), code_point_of(index));
    pango_cairo_show_layout(canvas.get(), layout.get());
    cairo_surface_flush(surface.get());
    const uint8_t* pixels = cairo_image_surface_get_data(surface.get());
    if (!pixels) continue;
    const int stride = cairo_image_surface_get_stride(surface.get());
    uint8_t* into = coverage_.data() + cell * index;
    for (int y = 0; y < cell_height_; y++) std::copy_n(pixels + y * stride, cell_width_, into + y * cell_width_);
  }
  draw_hollow_box(cell_width_, cell_height_, coverage_.data() + cell * hollow_box);
}

const uint8_t* GlyphAtlas::glyph(uint32_t code_point) const {
  return coverage_.data() + static_cast<size_t>(cell_width_) * cell_height_ * glyph_index(code_point);
}

std::shared_ptr<const GlyphAtlas> find_atlas(int size_px) {
  using Entry = std::pair<int, std::shared_ptr<const GlyphAtlas>>;
  // Never destroyed: streaming threads may still draw while the process ends.
  static auto& cache = *new std::list<Entry>;
  static auto& cache_lock = *new std::mutex;
  static auto& making_lock = *new std::mutex;

  const int size = std::clamp(size_px, smallest_text_px, largest_text_px);
  const auto look_up = [&]() -> std::shared_ptr<const GlyphAtlas> {
    const std::lock_guard<std::mutex> hold(cache_lock);
    const auto found = std::find_if(cache.begin(), cache.end(), [&](const Entry& e) { return e.first == size; });
    if (found == cache.end()) return nullptr;
    cache.splice(cache.begin(), cache, found);
    return found->second;
  };
  if (auto atlas = look_up()) return atlas;
  // One at a time, and without keeping others from the sizes that are there.
  const std::lock_guard<std::mutex> making(making_lock);
  if (auto atlas = look_up()) return atlas;
  auto atlas = std::make_shared<const GlyphAtlas>(size);
  const std::lock_guard<std::mutex> hold(cache_lock);
  if (cache.size() >= cached_sizes) cache.pop_back();
  cache.emplace_front(size, atlas);
  return atlas;
}

}  // namespace windhover
