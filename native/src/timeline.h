// When a frame was captured, by its PTS. One per pipeline; any thread.
#pragma once
#include <gst/gst.h>

#include <array>
#include <atomic>
#include <mutex>

inline uint64_t unix_now_ns() { return static_cast<uint64_t>(g_get_real_time()) * 1000; }

class Timeline {
 public:
  // Stands for "not known before the first frame, which counts as taken when it is first seen".
  static constexpr uint64_t kOnArrival = UINT64_MAX;
  // Unix time of PTS 0: start time at real-time pace, a fixed epoch at pace `fast`, or kOnArrival.
  explicit Timeline(uint64_t epoch_ns) : epoch_ns_(epoch_ns) {}

  // A live source measured when this access unit was captured (RTCP) or arrived. Access units come in decoding order;
  // what is kept rises with the PTS, however the measurements jump: one that would go back is followed at half speed.
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
  // Decoders forget the DISCONT flag of what they decode, and queues may drop the very frame that had it.
  bool gap_between(GstClockTime after, GstClockTime upto) const {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t filled = next_gap_ < gaps_.size() ? next_gap_ : gaps_.size();
    for (size_t i = 0; i < filled; i++) {
      if (gaps_[i] > after && gaps_[i] <= upto) return true;
    }
    return false;
  }

  // The pipeline is live and has begun to play, or continues after a pause: Unix time of its running time 0. An epoch that
  // was given stays: a file that is paced by the clock looks live to GStreamer, too.
  void set_live(uint64_t zero_ns) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (epoch_ns_ == kOnArrival) live_zero_ns_ = zero_ns;
  }

  // A noted frame's own time; between notes, in proportion; after the last, as much later. Without notes, in a live
  // pipeline: what the camera reported (0: nothing), else when the source gave the frame its running time, on arrival.
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
  // A clock that goes back by more was set, and is believed.
  static constexpr uint64_t kClockSetNs = 5 * GST_SECOND;
  struct Note {
    GstClockTime pts;
    uint64_t unix_ns;
  };
  struct Neighbours {
    const Note *before, *after;  // null where there is none; `before` may be of the very PTS
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
  mutable std::mutex mutex_;
  uint64_t live_zero_ns_ = 0;  // 0: not live
  std::array<Note, 512> notes_{};
  size_t next_ = 0;
  std::array<GstClockTime, 16> gaps_{};
  size_t next_gap_ = 0;
};
