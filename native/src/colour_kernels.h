// Conversion of rows of levels to colours. For kernels_*.cc only.
#pragma once

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

constexpr Level grey = 128 * level_unit;

inline int32_t clamp_colour(int32_t colour) { return smaller(larger(colour, 0), 255 << colour_bits); }

// STEP is the distance between pixels.
template <int STEP>
inline void to_floats_by(const ColourRow& row, const ColourMatrix& matrix, const ColourRange& range, size_t next,
                         float* __restrict out) {
  const Level *__restrict y = row.y, *__restrict outer = row.outer, *__restrict inner = row.inner;
  const ColourMatrix m = matrix;
  float scale[3], shift[3];
  for (int i = 0; i < 3; i++) {
    scale[i] = range.scale[i] / (1 << colour_bits);
    shift[i] = range.shift[i];
  }
  for (int x = 0, length = row.length; x < length; x++) {
    const auto light = static_cast<int16_t>(y[x] - m.y_offset), a = static_cast<int16_t>(outer[x] - grey),
               b = static_cast<int16_t>(inner[x] - grey);
    const int32_t base = light * m.y_scale, first = base + a * m.first_from_outer,
                  second = base + a * m.second_from_outer + b * m.second_from_inner,
                  third = base + b * m.third_from_inner;
    out[x * STEP] = static_cast<float>(clamp_colour(first)) * scale[0] + shift[0];
    out[x * STEP + next] = static_cast<float>(clamp_colour(second)) * scale[1] + shift[1];
    out[x * STEP + 2 * next] = static_cast<float>(clamp_colour(third)) * scale[2] + shift[2];
  }
}

void to_floats(const ColourRow& row, const ColourMatrix& matrix, const ColourRange& range, const ColourPlaces& places,
               float* out) {
  if (places.interleaved) to_floats_by<3>(row, matrix, range, 1, out);
  else to_floats_by<1>(row, matrix, range, places.plane, out);
}

#if defined(WINDHOVER_AVX2)

// Sixteen pixels of one colour.
struct Colours {
  __m128i first, second, third;
};

// Luma and chroma in pairs, so that one instruction multiplies and adds both. Divides by 2^colour_bits in two steps, like
// store_bytes.
class ByteMaker {
 public:
  explicit ByteMaker(const ColourMatrix& m)
      : offset_(_mm256_set1_epi16(m.y_offset)),
        first_(pair(m.y_scale, m.first_from_outer)),
        second_(pair(m.y_scale, m.second_from_outer)),
        second_inner_(pair(m.second_from_inner, 0)),
        third_(pair(m.y_scale, m.third_from_inner)) {}

  Colours make(const Level* y, const Level* outer, const Level* inner) const {
    const __m256i middle = _mm256_set1_epi16(grey);
    const __m256i light = _mm256_sub_epi16(load(y), offset_), a = _mm256_sub_epi16(load(outer), middle),
                  b = _mm256_sub_epi16(load(inner), middle), none = _mm256_setzero_si256();
    const __m256i low_a = _mm256_unpacklo_epi16(light, a), high_a = _mm256_unpackhi_epi16(light, a);
    const __m256i low_b = _mm256_unpacklo_epi16(light, b), high_b = _mm256_unpackhi_epi16(light, b);
    const __m256i rest_low = _mm256_madd_epi16(_mm256_unpacklo_epi16(b, none), second_inner_);
    const __m256i rest_high = _mm256_madd_epi16(_mm256_unpackhi_epi16(b, none), second_inner_);
    return {round(_mm256_madd_epi16(low_a, first_), _mm256_madd_epi16(high_a, first_)),
            round(_mm256_add_epi32(_mm256_madd_epi16(low_a, second_), rest_low),
                  _mm256_add_epi32(_mm256_madd_epi16(high_a, second_), rest_high)),
            round(_mm256_madd_epi16(low_b, third_), _mm256_madd_epi16(high_b, third_))};
  }

 private:
  static __m256i load(const Level* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
  static __m256i pair(int16_t low, int16_t high) {
    return _mm256_set1_epi32(static_cast<uint16_t>(low) | static_cast<int32_t>(static_cast<uint32_t>(high) << 16));
  }
  static __m128i round(__m256i low, __m256i high) {
    constexpr int last = 5, before = colour_bits - last;
    const __m256i half = _mm256_set1_epi32(1 << (before - 1));
    const __m256i shorts = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, half), before),
                                              _mm256_srai_epi32(_mm256_add_epi32(high, half), before));
    const __m256i near = _mm256_srai_epi16(_mm256_adds_epi16(shorts, _mm256_set1_epi16(1 << (last - 1))), last);
    return _mm_packus_epi16(_mm256_castsi256_si128(near), _mm256_extracti128_si256(near, 1));
  }

  __m256i offset_, first_, second_, second_inner_, third_;
};

inline void store(uint8_t* at, __m128i bytes) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), bytes); }

// Source byte of a colour for each byte of a third of 16 interleaved pixels; -128 for bytes of other colours.
struct Shuffles {
  alignas(16) int8_t from[3][3][16];
};
constexpr Shuffles make_shuffles() {
  Shuffles shuffles{};
  for (int third = 0; third < 3; third++) {
    for (int colour = 0; colour < 3; colour++) {
      for (int i = 0; i < 16; i++) {
        const int at = 16 * third + i;
        shuffles.from[third][colour][i] = static_cast<int8_t>(at % 3 == colour ? at / 3 : -128);
      }
    }
  }
  return shuffles;
}
constexpr Shuffles shuffles = make_shuffles();

inline void store_interleaved(const Colours& colours, uint8_t* out) {
  for (int third = 0; third < 3; third++) {
    const auto place = [&](__m128i colour, const int8_t* from) {
      return _mm_shuffle_epi8(colour, _mm_load_si128(reinterpret_cast<const __m128i*>(from)));
    };
    const auto& from = shuffles.from[third];
    const __m128i a = place(colours.first, from[0]), b = place(colours.second, from[1]), c = place(colours.third, from[2]);
    store(out + 16 * third, _mm_or_si128(_mm_or_si128(a, b), c));
  }
}

void to_bytes(const ColourRow& row, const ColourMatrix& matrix, const ColourPlaces& places, uint8_t* out) {
  const ByteMaker maker(matrix);
  constexpr int block = 16;
  static_assert(pixels_at_once % block == 0);
  for (int x = 0; x < row.length; x += block) {
    const Colours colours = maker.make(row.y + x, row.outer + x, row.inner + x);
    const int count = smaller(block, row.length - x);
    if (places.interleaved) {
      uint8_t rest[3 * block];
      store_interleaved(colours, count == block ? out + 3 * x : rest);
      if (count < block) std::memcpy(out + 3 * x, rest, 3 * count);
    } else {
      uint8_t rest[3][block];
      const __m128i each[] = {colours.first, colours.second, colours.third};
      for (int i = 0; i < 3; i++) {
        uint8_t* to = out + i * places.plane + x;
        store(count == block ? to : rest[i], each[i]);
        if (count < block) std::memcpy(to, rest[i], count);
      }
    }
  }
}

#else

inline void interleave(const uint8_t* __restrict a, const uint8_t* __restrict b, const uint8_t* __restrict c, int length,
                       uint8_t* __restrict out) {
  for (int x = 0; x < length; x++) {
    out[3 * x] = a[x];
    out[3 * x + 1] = b[x];
    out[3 * x + 2] = c[x];
  }
}

void to_bytes(const ColourRow& row, const ColourMatrix& matrix, const ColourPlaces& places, uint8_t* out) {
  const ColourMatrix m = matrix;
  constexpr int block = 8, room = 512;
  static_assert(pixels_at_once % block == 0);
  for (int done = 0; done < row.length; done += room) {
    const int count = smaller(room, row.length - done);
    uint8_t colours[3][room];
    for (int x = 0; x < count; x += block) {
      const Shorts8 light = load8(row.y + done + x) - m.y_offset, a = load8(row.outer + done + x) - grey,
                    b = load8(row.inner + done + x) - grey;
      const Ints8 base = multiply(light, m.y_scale);
      store_bytes<colour_bits>(colours[0] + x, base + multiply(a, m.first_from_outer));
      store_bytes<colour_bits>(colours[1] + x, base + multiply(a, m.second_from_outer) + multiply(b, m.second_from_inner));
      store_bytes<colour_bits>(colours[2] + x, base + multiply(b, m.third_from_inner));
    }
    if (places.interleaved) {
      interleave(colours[0], colours[1], colours[2], count, out + 3 * done);
    } else {
      for (int i = 0; i < 3; i++) std::memcpy(out + i * places.plane + done, colours[i], count);
    }
  }
}

#endif

}  // namespace
}  // namespace windhover
