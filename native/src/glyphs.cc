#include "glyphs.h"

#include <pango/pangocairo.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace windhover {
namespace {

constexpr size_t cached_sizes = 12;
// DejaVu first, which the set-up installs, so that pictures look the same everywhere; else the default of the system.
constexpr const char* font_family = "DejaVu Sans Mono, monospace";

// Letters beyond Latin-1 per size: enough for a few alphabets, or the class names of a model in Chinese.
constexpr size_t rare_limit = 1024;

// Printable ASCII, then the upper half of Latin-1, then the hollow box.
constexpr int ascii_first = 32, ascii_last = 126, latin_first = 160, latin_last = 255;
constexpr int ascii_count = ascii_last - ascii_first + 1;
constexpr int hollow_box = ascii_count + latin_last - latin_first + 1;
constexpr int glyph_count = hollow_box + 1;

// Index of a letter that every atlas has; -1 for others.
int glyph_index(uint32_t code_point) {
  if (code_point >= ascii_first && code_point <= ascii_last) return code_point - ascii_first;
  if (code_point >= latin_first && code_point <= latin_last) return ascii_count + code_point - latin_first;
  return -1;
}

uint32_t code_point_of(int index) {
  return index < ascii_count ? ascii_first + index : latin_first + index - ascii_count;
}

int cells_of(uint32_t code_point) {
  if (g_unichar_iszerowidth(code_point)) return 0;
  return g_unichar_iswide(code_point) ? 2 : 1;
}

struct Unref {
  void operator()(gpointer object) const { g_object_unref(object); }
  void operator()(PangoFontDescription* font) const { pango_font_description_free(font); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, Unref>;

// Renders letters of one size. One thread.
class Pen {
 public:
  explicit Pen(int size_px)
      // Not the default font map, which lives as long as the thread.
      : fonts_(pango_cairo_font_map_new()),
        context_(pango_font_map_create_context(fonts_.get())),
        layout_(pango_layout_new(context_.get())) {
    const Owned<PangoFontDescription> font(pango_font_description_new());
    pango_font_description_set_family(font.get(), font_family);
    pango_font_description_set_weight(font.get(), PANGO_WEIGHT_BOLD);
    pango_font_description_set_absolute_size(font.get(), size_px * PANGO_SCALE);
    pango_layout_set_font_description(layout_.get(), font.get());
    set_text('W');
    baseline_ = pango_layout_get_baseline(layout_.get());
  }

  // Without any font the layout is empty: text is blank but keeps its size.
  void measure(uint32_t code_point, int* width, int* height) {
    set_text(code_point);
    pango_layout_get_pixel_size(layout_.get(), width, height);
  }

  // False when no font has the letter. A letter of a fallback font is put on our baseline, centred.
  bool draw(uint32_t code_point, int width, int height, uint8_t* into) {
    set_text(code_point);
    if (pango_layout_get_unknown_glyphs_count(layout_.get()) > 0) return false;
    if (!surface_ || cairo_image_surface_get_width(surface_.get()) != width) {
      surface_.reset(cairo_image_surface_create(CAIRO_FORMAT_A8, width, height));
      canvas_.reset(cairo_create(surface_.get()));
    }
    cairo_set_operator(canvas_.get(), CAIRO_OPERATOR_CLEAR);
    cairo_paint(canvas_.get());
    cairo_set_operator(canvas_.get(), CAIRO_OPERATOR_OVER);
    int own_width = 0, own_height = 0;
    pango_layout_get_pixel_size(layout_.get(), &own_width, &own_height);
    const int drop = PANGO_PIXELS(baseline_ - pango_layout_get_baseline(layout_.get()));
    cairo_move_to(canvas_.get(), (width - own_width) / 2, drop);
    pango_cairo_show_layout(canvas_.get(), layout_.get());
    cairo_surface_flush(surface_.get());
    const uint8_t* pixels = cairo_image_surface_get_data(surface_.get());
    if (!pixels) return false;
    const int stride = cairo_image_surface_get_stride(surface_.get());
    for (int y = 0; y < height; y++) std::copy_n(pixels + y * stride, width, into + y * width);
    return true;
  }

 private:
  void set_text(uint32_t code_point) {
    char utf8[6];
    pango_layout_set_text(layout_.get(), utf8, g_unichar_to_utf8(code_point, utf8));
  }

  const Owned<PangoFontMap> fonts_;
  const Owned<PangoContext> context_;
  const Owned<PangoLayout> layout_;
  Owned<cairo_surface_t> surface_;
  Owned<cairo_t> canvas_;
  int baseline_ = 0;
};

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

GlyphAtlas::GlyphAtlas(int size_px) : size_px_(size_px) {
  Pen pen(size_px);
  pen.measure('W', &cell_width_, &cell_height_);
  cell_width_ = std::clamp(cell_width_, std::max(size_px / 2, 1), size_px * 2);
  cell_height_ = std::clamp(cell_height_, size_px, size_px * 2);
  coverage_.assign(cell_size() * glyph_count, 0);
  for (int index = 0; index < hollow_box; index++) {
    pen.draw(code_point_of(index), cell_width_, cell_height_, coverage_.data() + cell_size() * index);
  }
  draw_hollow_box(cell_width_, cell_height_, coverage_.data() + cell_size() * hollow_box);
}

Glyph GlyphAtlas::glyph(uint32_t code_point) const {
  const int index = glyph_index(code_point);
  return index < 0 ? rare_glyph(code_point) : Glyph{coverage_.data() + cell_size() * index, 1};
}

Glyph GlyphAtlas::rare_glyph(uint32_t code_point) const {
  const Glyph unknown{coverage_.data() + cell_size() * hollow_box, 1};
  const int cells = cells_of(code_point);
  if (cells == 0) return {nullptr, 0};
  if (g_unichar_isspace(code_point)) return glyph(' ');
  if (!g_unichar_isgraph(code_point)) return unknown;
  const std::lock_guard<std::mutex> hold(lock_);
  auto found = rare_.find(code_point);
  if (found == rare_.end()) {
    if (rare_.size() >= rare_limit) return unknown;
    const int width = cells * cell_width_;
    std::vector<uint8_t> coverage(cell_size() * cells, 0);
    if (!Pen(size_px_).draw(code_point, width, cell_height_, coverage.data())) {
      draw_hollow_box(width, cell_height_, coverage.data());
    }
    found = rare_.emplace(code_point, std::move(coverage)).first;
  }
  return {found->second.data(), cells};
}

std::shared_ptr<const GlyphAtlas> find_atlas(int size_px) {
  using Entry = std::pair<int, std::shared_ptr<const GlyphAtlas>>;
  // Never destroyed: streaming threads may draw while the process exits.
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
  // Serialised, without blocking lookups of cached sizes.
  const std::lock_guard<std::mutex> making(making_lock);
  if (auto atlas = look_up()) return atlas;
  auto atlas = std::make_shared<const GlyphAtlas>(size);
  const std::lock_guard<std::mutex> hold(cache_lock);
  if (cache.size() >= cached_sizes) cache.pop_back();
  cache.emplace_front(size, atlas);
  return atlas;
}

}  // namespace windhover
