// How long things took, lately: a ring of the last samples. Written by streaming threads, read by anyone.
#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

class Durations {
 public:
  void add(uint64_t ns) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (ring_.size() < kSize) ring_.push_back(static_cast<float>(ns));
    else ring_[next_++ % kSize] = static_cast<float>(ns);
  }
  struct Summary {
    double mean_ms = 0, p50_ms = 0, p95_ms = 0;
  };
  Summary summary() const {
    std::vector<float> copy;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      copy = ring_;
    }
    if (copy.empty()) return {};
    double sum = 0;
    for (float value : copy) sum += value;
    auto part = [&](double share) {
      auto at = copy.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(copy.size() - 1) + 0.5);
      std::nth_element(copy.begin(), at, copy.end());
      return *at / 1e6;
    };
    return {sum / static_cast<double>(copy.size()) / 1e6, part(0.5), part(0.95)};
  }

 private:
  static constexpr size_t kSize = 256;
  mutable std::mutex mutex_;
  std::vector<float> ring_;
  size_t next_ = 0;
};
