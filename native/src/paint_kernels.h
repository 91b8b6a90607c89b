// Blending on the planes of a frame, and the coverage of lines. For kernels_*.cc only.
#pragma once

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

// Exactly rounded, in 16 bits, which doubles the lanes of a vector.
inline uint8_t divide_by_255(uint16_t product) {
  const auto sum = static_cast<uint16_t>(product + 128);
  return static_cast<uint8_t>(static_cast<uint16_t>(sum + (sum >> 8)) >> 8);
}

inline uint8_t scale(uint8_t value, uint8_t by) { return divide_by_255(static_cast<uint16_t>(value * by)); }

inline uint8_t blend(uint8_t under, uint8_t colour, uint8_t alpha) {
  const auto left = static_cast<uint8_t>(255 - alpha);
  return divide_by_255(static_cast<uint16_t>(under * left + colour * alpha));
}

void blend_run(uint8_t* at, int count, uint8_t colour, uint8_t alpha) {
  if (alpha == 255) {
    std::memset(at, colour, count);
  } else {
    for (int i = 0; i < count; i++) at[i] = blend(at[i], colour, alpha);
  }
}

void blend_chroma_run(const YuvPlanes& planes, int x, int y, int count, YuvColour colour, uint8_t alpha) {
  const ChromaRow row = chroma_row(planes, x, y);
  if (planes.chroma_step == 1) {
    blend_run(row.u, count, colour.u, alpha);
    blend_run(row.v, count, colour.v, alpha);
    return;
  }
  for (int i = 0; i < count; i++) {
    row.u[2 * i] = blend(row.u[2 * i], colour.u, alpha);
    row.u[2 * i + 1] = blend(row.u[2 * i + 1], colour.v, alpha);
  }
}

void blend_masked(uint8_t* __restrict at, int count, uint8_t colour, const uint8_t* __restrict alpha) {
  for (int i = 0; i < count; i++) at[i] = blend(at[i], colour, alpha[i]);
}

void blend_masked_pairs(uint8_t* __restrict at, int count, YuvColour colour, const uint8_t* __restrict alpha) {
  for (int i = 0; i < count; i++) {
    at[2 * i] = blend(at[2 * i], colour.u, alpha[i]);
    at[2 * i + 1] = blend(at[2 * i + 1], colour.v, alpha[i]);
  }
}

void fade(const uint8_t* __restrict coverage, int count, uint8_t opacity, uint8_t* __restrict faded) {
  for (int i = 0; i < count; i++) faded[i] = scale(coverage[i], opacity);
}

// Means of 2 x 2 pixels for each chroma sample.
void fade_chroma(const uint8_t* __restrict upper, const uint8_t* __restrict lower, int samples, uint8_t opacity,
                 uint8_t* __restrict faded) {
  for (int i = 0; i < samples; i++) {
    const auto sum = static_cast<uint16_t>(upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1] + 2);
    faded[i] = scale(static_cast<uint8_t>(sum >> 2), opacity);
  }
}

// Whether only half of a chroma sample is covered on this axis; the frame may end in the middle of a sample.
bool covers_half(int sample, int from, int until, int limit) {
  return sample * 2 < from || (sample * 2 + 1 >= until && sample * 2 + 1 < limit);
}

#if !defined(WINDHOVER_PLAIN)

// Eight adjacent bytes, each with its own colour and opacity; opacity 0 keeps the byte.
class EightBytes {
 public:
  void set(int i, uint8_t colour, uint8_t alpha) {
    added_[i] = static_cast<uint16_t>(colour * alpha + 128);
    left_[i] = static_cast<uint16_t>(255 - alpha);
  }
  void blend_onto(uint8_t* at) const {
    Bytes bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    const Wide sums = __builtin_convertvector(bytes, Wide) * left_ + added_;
    bytes = __builtin_convertvector((sums + (sums >> 8)) >> 8, Bytes);
    std::memcpy(at, &bytes, sizeof bytes);
  }

 private:
  using Bytes = uint8_t __attribute__((vector_size(8)));
  using Wide = uint16_t __attribute__((vector_size(16)));
  Wide added_{}, left_{};
};

// The sides of boxes are narrow and high. Each row is blended as a block of constant size, which includes neighbours that
// keep their values.
constexpr int narrow_pixels = 16, narrow_samples = narrow_pixels / 2;

bool is_narrow(const YuvPlanes& planes, int left, int right) {
  // One column less on either side for the samples of odd edges.
  return right - left <= narrow_pixels - 2 && planes.width >= narrow_pixels;
}

void paint_narrow_luma(const YuvPlanes& planes, int left, int right, int top, int bottom, uint8_t colour, uint8_t opacity) {
  const int from = smaller(left, planes.width - narrow_pixels);
  EightBytes blocks[2];
  for (int i = 0; i < narrow_pixels; i++) {
    const bool is_inside = from + i >= left && from + i < right;
    blocks[i / 8].set(i % 8, colour, is_inside ? opacity : 0);
  }
  for (int y = top; y < bottom; y++) {
    uint8_t* at = planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride + from;
    blocks[0].blend_onto(at);
    if (right - from > 8) blocks[1].blend_onto(at + 8);
  }
}

// One row of samples with opacity `alpha`, or half of it where a sample is half covered.
struct NarrowChroma {
  EightBytes u, v;
};

NarrowChroma narrow_chroma(const YuvPlanes& planes, int from, int left, int right, YuvColour colour, uint8_t alpha) {
  NarrowChroma row;
  for (int i = 0; i < narrow_samples; i++) {
    const int sample = from + i;
    const bool is_inside = sample >= left / 2 && sample <= (right - 1) / 2;
    const bool is_half = covers_half(sample, left, right, planes.width);
    const auto share = static_cast<uint8_t>(!is_inside ? 0 : is_half ? alpha / 2 : alpha);
    if (planes.chroma_step == 1) {
      row.u.set(i, colour.u, share);
      row.v.set(i, colour.v, share);
    } else {
      // Interleaved U and V: `u` holds the first four samples.
      EightBytes& pairs = i < 4 ? row.u : row.v;
      pairs.set(2 * i % 8, colour.u, share);
      pairs.set(2 * i % 8 + 1, colour.v, share);
    }
  }
  return row;
}

void paint_narrow_chroma(const YuvPlanes& planes, int left, int right, int top, int bottom, YuvColour colour,
                         uint8_t opacity) {
  const int from = smaller(left / 2, (planes.width + 1) / 2 - narrow_samples);
  const NarrowChroma whole = narrow_chroma(planes, from, left, right, colour, opacity);
  const NarrowChroma half = narrow_chroma(planes, from, left, right, colour, opacity / 2);
  for (int y = top / 2; y <= (bottom - 1) / 2; y++) {
    const NarrowChroma& row = covers_half(y, top, bottom, planes.height) ? half : whole;
    const ChromaRow at = chroma_row(planes, from, y);
    row.u.blend_onto(at.u);
    row.v.blend_onto(planes.chroma_step == 1 ? at.v : at.u + 8);
  }
}

#endif

void paint_area(const YuvPlanes& planes, const Edges& edges, const Paint& paint) {
  const int left = larger(edges.left, 0), right = smaller(edges.right, planes.width);
  const int top = larger(edges.top, 0), bottom = smaller(edges.bottom, planes.height);
  if (left >= right || top >= bottom || paint.opacity <= 0) return;
  const auto opacity = static_cast<uint8_t>(smaller(paint.opacity, 255));
#if !defined(WINDHOVER_PLAIN)
  if (is_narrow(planes, left, right)) {
    paint_narrow_luma(planes, left, right, top, bottom, paint.colour.y, opacity);
    paint_narrow_chroma(planes, left, right, top, bottom, paint.colour, opacity);
    return;
  }
#endif
  for (int y = top; y < bottom; y++) {
    uint8_t* row = planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride;
    blend_run(row + left, right - left, paint.colour.y, opacity);
  }
  const int first = left / 2, last = (right - 1) / 2;
  const bool half_first = covers_half(first, left, right, planes.width);
  const bool half_last = last > first && covers_half(last, left, right, planes.width);
  const int whole_from = first + half_first, whole_until = last + 1 - half_last;
  for (int y = top / 2; y <= (bottom - 1) / 2; y++) {
    const auto alpha = static_cast<uint8_t>(covers_half(y, top, bottom, planes.height) ? opacity / 2 : opacity);
    if (half_first) blend_chroma_run(planes, first, y, 1, paint.colour, alpha / 2);
    if (whole_until > whole_from) {
      blend_chroma_run(planes, whole_from, y, whole_until - whole_from, paint.colour, alpha);
    }
    if (half_last) blend_chroma_run(planes, last, y, 1, paint.colour, alpha / 2);
  }
}

void paint_coverage(const YuvPlanes& planes, const Mask& mask, const Paint& paint, uint8_t* faded) {
  const int right = smaller(mask.left + mask.width, planes.width);
  const int bottom = smaller(mask.top + mask.height, planes.height);
  if (mask.left >= right || mask.top >= bottom || paint.opacity <= 0) return;
  const int columns = right - mask.left, samples = (columns + 1) / 2;
  const auto opacity = static_cast<uint8_t>(smaller(paint.opacity, 255));

  for (int y = mask.top; y < bottom; y++) {
    const uint8_t* coverage = mask.coverage + static_cast<ptrdiff_t>(y - mask.top) * mask.stride;
    if (opacity < 255) fade(coverage, columns, opacity, faded);
    blend_masked(planes.y + static_cast<ptrdiff_t>(y) * planes.y_stride + mask.left, columns, paint.colour.y,
                 opacity < 255 ? faded : coverage);
    if (y % 2 != 0) continue;
    fade_chroma(coverage, coverage + mask.stride, samples, opacity, faded);
    const ChromaRow chroma = chroma_row(planes, mask.left / 2, y / 2);
    if (planes.chroma_step == 2) {
      blend_masked_pairs(chroma.u, samples, paint.colour, faded);
    } else {
      blend_masked(chroma.u, samples, paint.colour.u, faded);
      blend_masked(chroma.v, samples, paint.colour.v, faded);
    }
  }
}

// Where segments meet the larger coverage counts, so that joints have neither gaps nor dark spots. The edge fades with the
// square of the distance over one pixel: needs no root, and makes thin lines a little stronger.
#if defined(WINDHOVER_AVX2)

void cover(const SegmentRow& row, int count, uint8_t* coverage) {
  const auto all = [](float value) { return _mm256_set1_ps(value); };
  const auto within = [&](__m256 value, float most) {
    return _mm256_min_ps(_mm256_max_ps(value, _mm256_setzero_ps()), all(most));
  };
  const __m256 dx = all(row.dx), dy = all(row.dy), y = all(row.y), across = all(row.y * row.dy);
  const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int i = 0; i < count; i += 8) {
    const __m256 x = _mm256_add_ps(all(row.x), _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_set1_epi32(i), steps)));
    const __m256 t = within(_mm256_mul_ps(_mm256_add_ps(_mm256_mul_ps(x, dx), across), all(row.along)), 1);
    const __m256 off_x = _mm256_sub_ps(x, _mm256_mul_ps(t, dx)), off_y = _mm256_sub_ps(y, _mm256_mul_ps(t, dy));
    const __m256 rest = _mm256_sub_ps(_mm256_sub_ps(all(row.outside), _mm256_mul_ps(off_x, off_x)),
                                      _mm256_mul_ps(off_y, off_y));
    const __m256 opacity = _mm256_add_ps(all(row.share), _mm256_mul_ps(t, all(row.growth)));
    const __m256 shared = _mm256_mul_ps(within(_mm256_mul_ps(rest, all(row.fade)), 255), opacity);
    const __m256i whole = _mm256_cvttps_epi32(shared);
    const __m128i shorts = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    auto* at = reinterpret_cast<__m128i*>(coverage + i);
    _mm_storel_epi64(at, _mm_max_epu8(_mm_loadl_epi64(at), _mm_packus_epi16(shorts, shorts)));
  }
}

#else

void cover(const SegmentRow& row, int count, uint8_t* __restrict coverage) {
  const SegmentRow r = row;
  const float across = r.y * r.dy;
  for (int i = 0; i < count; i++) {
    const float x = r.x + static_cast<float>(i);
    const float t = smaller(larger((x * r.dx + across) * r.along, 0.0f), 1.0f);
    const float off_x = x - t * r.dx, off_y = r.y - t * r.dy;
    const float covered = (r.outside - off_x * off_x - off_y * off_y) * r.fade;
    const float shared = smaller(larger(covered, 0.0f), 255.0f) * (r.share + t * r.growth);
    const auto level = static_cast<uint8_t>(static_cast<int>(shared));
    coverage[i] = larger(coverage[i], level);
  }
}

#endif

}  // namespace
}  // namespace windhover
