// Coverage of a thick line. For kernels_*.cc only.
#pragma once

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

// Where segments meet the larger coverage counts: no gap, and no joint that is darker than the rest. The edge fades with
// the square of the distance, over one pixel: that needs no root, and gives thin lines a little more weight.
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
