// From RTP timestamps to running time. Packets come in decoding order, so with B-frames their timestamps go back and
// forth: the PTS of a jitter buffer, which expects them to rise, are wrong then. Here a PTS is the timestamp plus an
// offset, which follows the arrival of packets so slowly that pictures keep their order. One thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

class RtpClock {
 public:
  // `arrival_ns`: running time. Returns the PTS, which may be negative for pictures that are shown before the first one.
  int64_t place(uint32_t timestamp, uint32_t clock_rate, int64_t arrival_ns) {
    if (!started_) start(timestamp, arrival_ns);
    const auto step = static_cast<int32_t>(timestamp - last_timestamp_);
    const int64_t passed_ns = std::max<int64_t>(arrival_ns - last_arrival_ns_, 0);
    last_timestamp_ = timestamp;
    last_arrival_ns_ = arrival_ns;
    ticks_ += step;
    const auto media_ns = static_cast<int64_t>(static_cast<__int128>(ticks_) * kSecond / clock_rate);
    const int64_t forward_ns = media_ns - furthest_ns_;
    if (forward_ns > passed_ns + kJumpNs || forward_ns < -kJumpNs) jump(media_ns, arrival_ns);
    observe(arrival_ns - media_ns, arrival_ns);
    if (media_ns > furthest_ns_) {
      follow(media_ns - furthest_ns_);
      furthest_ns_ = media_ns;
    }
    return media_ns + offset_ns_;
  }

 private:
  static constexpr int64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
  // The sender's clock was set. No B-frame is shown this long before a picture that came earlier.
  static constexpr int64_t kJumpNs = 3 * kSecond;
  static constexpr int64_t kWindowNs = 2 * kSecond;
  // With B-frames the arrival of packets swings by the frames that are reordered: that alone must move nothing.
  static constexpr int64_t kToleratedNs = 500 * kMillisecond;
  // 2 %: over the 16 frames that H.264 can reorder this is less than half the distance of two frames.
  static constexpr int64_t kSlowness = 50;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  void start(uint32_t timestamp, int64_t arrival_ns) {
    started_ = true;
    last_timestamp_ = timestamp;
    last_arrival_ns_ = window_began_ns_ = arrival_ns;
    offset_ns_ = arrival_ns;
  }

  // Goes on at the arrival, and after everything before.
  void jump(int64_t media_ns, int64_t arrival_ns) {
    offset_ns_ = std::max(arrival_ns, furthest_ns_ + offset_ns_ + kMillisecond) - media_ns;
    furthest_ns_ = media_ns;
    following_ = false;
    least_ns_ = before_ns_ = kNever;
    window_began_ns_ = arrival_ns;
  }

  // The packets that were delayed least tell how the two clocks stand; one late window may be a stalled network.
  void observe(int64_t distance_ns, int64_t arrival_ns) {
    least_ns_ = std::min(least_ns_, distance_ns);
    if (arrival_ns - window_began_ns_ < kWindowNs) return;
    if (before_ns_ != kNever) {
      target_ns_ = std::min(before_ns_, least_ns_);
      if (std::llabs(target_ns_ - offset_ns_) > kToleratedNs) following_ = true;
    }
    before_ns_ = least_ns_;
    least_ns_ = kNever;
    window_began_ns_ = arrival_ns;
  }

  void follow(int64_t advance_ns) {
    if (!following_) return;
    const int64_t most_ns = advance_ns / kSlowness;
    offset_ns_ += std::clamp(target_ns_ - offset_ns_, -most_ns, most_ns);
    if (offset_ns_ == target_ns_) following_ = false;
  }

  bool started_ = false, following_ = false;
  uint32_t last_timestamp_ = 0;
  int64_t ticks_ = 0;  // since the first timestamp
  int64_t last_arrival_ns_ = 0, furthest_ns_ = 0, offset_ns_ = 0;
  int64_t window_began_ns_ = 0, least_ns_ = kNever, before_ns_ = kNever, target_ns_ = 0;
};
