// Letters of a bold monospace font as coverage, made once a size.
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
  // cells * cell_width() * cell_height() bytes, 0 to 255, owned by the atlas.
  const uint8_t* coverage;
  // 1; 2 for what East Asian text writes wide; 0 for marks that belong to the letter before them, which are left out.
  int cells;
};

// Any number of threads may use one.
class GlyphAtlas {
 public:
  // Renders ASCII and Latin-1: some milliseconds.
  explicit GlyphAtlas(int size_px);

  int cell_width() const { return cell_width_; }
  int cell_height() const { return cell_height_; }
  // Other letters are rendered when they are first asked for, a bounded number of them. A hollow box for what no font
  // has, and for what comes after that number. Letters stand one after the other: nothing is joined, and nothing is
  // turned to run from right to left.
  Glyph glyph(uint32_t code_point) const;

 private:
  Glyph rare_glyph(uint32_t code_point) const;
  size_t cell_size() const { return static_cast<size_t>(cell_width_) * cell_height_; }

  int size_px_ = 0;
  int cell_width_ = 0;
  int cell_height_ = 0;
  std::vector<uint8_t> coverage_;
  mutable std::mutex lock_;
  // Guarded by lock_; entries stay where they are and never change.
  mutable std::unordered_map<uint32_t, std::vector<uint8_t>> rare_;
};

// The atlas of that size, within the limits above. Any thread: the sizes used last are kept for all of them, a bounded
// number, and what the caller holds stays good after it has left the cache.
std::shared_ptr<const GlyphAtlas> find_atlas(int size_px);

}  // namespace windhover
