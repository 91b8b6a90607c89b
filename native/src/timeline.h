// Capture times of frames by their PTS. One per pipeline; any thread.
#pragma once
#include <gst/gst.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

inline uint64_t unix_now_ns() { return static_cast<uint64_t>(g_get_real_time()) * 1000; }

class Timeline {
 public:
  // The epoch is not known before the first frame, whose capture time is its arrival.
  static constexpr uint64_t kOnArrival = UINT64_MAX;
  // Unix time of PTS 0: the start time at real-time pace, a fixed epoch at pace `fast`, or kOnArrival.
  explicit Timeline(uint64_t epoch_ns) : epoch_ns_(epoch_ns) {}

  // Capture (RTCP) or arrival time of an access unit, measured by a live source. Access units come in decoding order; the
  // stored times rise with the PTS even if measurements jump: one that goes back is followed at half speed.
  void note(GstClockTime pts, uint64_t unix_ns) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [before, after] = neighbours(pts);
    if (after != nullptr) unix_ns = between(before, after, pts);
    else if (before != nullptr) {
      uint64_t least = before->unix_ns + (pts - before->pts) / 2;
      if (unix_ns < least && least - unix_ns < kClockSetNs) unix_ns = least;
    }
    notes_[next_ % notes_.size()] = {pts, unix_ns};
    next_++;
  }

  // The stream was interrupted before the frame with this PTS.
  void note_gap(GstClockTime pts) {
    std::lock_guard<std::mutex> lock(mutex_);
    gaps_[next_gap_++ % gaps_.size()] = pts;
  }
  // Decoders lose the DISCONT flag, and queues may drop the frame that has it.
  bool gap_between(GstClockTime after, GstClockTime upto) const {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t filled = next_gap_ < gaps_.size() ? next_gap_ : gaps_.size();
    for (size_t i = 0; i < filled; i++) {
      if (gaps_[i] > after && gaps_[i] <= upto) return true;
    }
    return false;
  }

  // The access unit with this PTS only prepares decoders: no element receives it, or a frame decoded from it.
  void note_primer(GstClockTime pts) {
    std::lock_guard<std::mutex> lock(mutex_);
    primers_[next_primer_++ % primers_.size()] = pts;
  }
  bool is_primer(GstClockTime pts) const {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < std::min(next_primer_, primers_.size()); i++) {
      if (primers_[i] == pts) return true;
    }
    return false;
  }

  // PTS at running time 0: of a file with an edit list it is not 0.
  void set_start(GstClockTime start) { start_ = start; }
  GstClockTime start() const { return start_; }

  // Unix time of running time 0 of a live pipeline, at each change to PLAYING. A given epoch is kept: a file paced by the
  // clock is live for GStreamer, too.
  void set_live(uint64_t zero_ns) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (epoch_ns_ == kOnArrival) live_zero_ns_ = zero_ns;
  }

  // The noted time of the frame, interpolated between notes, extrapolated after the last. Without notes, in a live pipeline:
  // the time that the camera reported (0: none), else the arrival, from the running time.
  uint64_t capture_ns(GstClockTime pts, GstClockTime running, uint64_t reported_ns) {
    if (!GST_CLOCK_TIME_IS_VALID(pts)) pts = 0;
    std::lock_guard<std::mutex> lock(mutex_);
    auto [before, after] = neighbours(pts);
    if (after != nullptr) return between(before, after, pts);
    if (before != nullptr) return before->unix_ns + (pts - before->pts);
    if (!GST_CLOCK_TIME_IS_VALID(running)) running = pts;
    if (live_zero_ns_ == 0 && epoch_ns_ == kOnArrival) live_zero_ns_ = unix_now_ns() - running;
    if (live_zero_ns_ == 0) return epoch_ns_ + pts;
    return reported_ns != 0 ? reported_ns : live_zero_ns_ + running;
  }

 private:
  // A clock that goes back by more than this was set, and is trusted.
  static constexpr uint64_t kClockSetNs = 5 * GST_SECOND;
  struct Note {
    GstClockTime pts;
    uint64_t unix_ns;
  };
  struct Neighbours {
    const Note *before, *after;  // or null; `before` may have the same PTS
  };
  Neighbours neighbours(GstClockTime pts) const {
    Neighbours found{nullptr, nullptr};
    size_t filled = next_ < notes_.size() ? next_ : notes_.size();
    for (size_t back = 1; back <= filled; back++) {
      const Note& note = notes_[(next_ - back) % notes_.size()];
      const Note*& nearest = note.pts <= pts ? found.before : found.after;
      bool nearer = nearest == nullptr || (note.pts <= pts ? note.pts > nearest->pts : note.pts < nearest->pts);
      if (nearer) nearest = &note;
    }
    return found;
  }
  static uint64_t between(const Note* before, const Note* after, GstClockTime pts) {
    if (before == nullptr) return after->unix_ns - (after->pts - pts);
    double share = static_cast<double>(pts - before->pts) / static_cast<double>(after->pts - before->pts);
    return before->unix_ns + static_cast<int64_t>(share * static_cast<double>(static_cast<int64_t>(after->unix_ns - before->unix_ns)));
  }
  const uint64_t epoch_ns_;
  std::atomic<GstClockTime> start_{0};
  mutable std::mutex mutex_;
  uint64_t live_zero_ns_ = 0;  // 0: not live
  std::array<Note, 512> notes_{};
  size_t next_ = 0;
  std::array<GstClockTime, 16> gaps_{};
  size_t next_gap_ = 0;
  std::array<GstClockTime, 4> primers_{};
  size_t next_primer_ = 0;
};
