// Coverage masks of the letters of a bold monospace font, rendered once per size.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace windhover {

inline constexpr int smallest_text_px = 6;
inline constexpr int largest_text_px = 128;

struct Glyph {
  // Owned by the atlas; cells * cell_width() * cell_height() bytes, 0 to 255.
  const uint8_t* coverage;
  // 1; 2 for wide East Asian characters; 0 for combining marks, which are omitted.
  int cells;
};

// Thread-safe.
class GlyphAtlas {
 public:
  // Renders ASCII and Latin-1, which takes some milliseconds.
  explicit GlyphAtlas(int size_px);

  int cell_width() const { return cell_width_; }
  int cell_height() const { return cell_height_; }
  // Other letters are rendered on demand, up to a limit. Beyond it, and for letters that no font has, a hollow box. No
  // ligatures, no right-to-left order.
  Glyph glyph(uint32_t code_point) const;

 private:
  Glyph rare_glyph(uint32_t code_point) const;
  size_t cell_size() const { return static_cast<size_t>(cell_width_) * cell_height_; }

  int size_px_ = 0;
  int cell_width_ = 0;
  int cell_height_ = 0;
  std::vector<uint8_t> coverage_;
  mutable std::mutex lock_;
  // Guarded by lock_; entries never move or change.
  mutable std::unordered_map<uint32_t, std::vector<uint8_t>> rare_;
};

// Any thread. The atlas of that size, within the limits above, from a bounded cache of the sizes used last. It stays valid
// while the caller holds it.
std::shared_ptr<const GlyphAtlas> find_atlas(int size_px);

}  // namespace windhover
