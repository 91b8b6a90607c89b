// Letters of a bold monospace font as coverage, made once a size.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace windhover {

inline constexpr int smallest_text_px = 6;
inline constexpr int largest_text_px = 128;

// Never changes once made, so any number of threads may read it.
class GlyphAtlas {
 public:
  // Renders every glyph: some milliseconds.
  explicit GlyphAtlas(int size_px);

  int cell_width() const { return cell_width_; }
  int cell_height() const { return cell_height_; }
  // cell_width() * cell_height() bytes, 0 to 255, owned by the atlas. ASCII and Latin-1; a hollow box for all else.
  const uint8_t* glyph(uint32_t code_point) const;

 private:
  int cell_width_ = 0;
  int cell_height_ = 0;
  std::vector<uint8_t> coverage_;
};

// The atlas of that size, within the limits above. Any thread: the sizes used last are kept for all of them, a bounded
// number, and what the caller holds stays good after it has left the cache.
std::shared_ptr<const GlyphAtlas> find_atlas(int size_px);

}  // namespace windhover
