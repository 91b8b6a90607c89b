// When the picture of a frame was taken, by the frame's PTS. One per pipeline; any thread.
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

  // A live source noted when this access unit was captured (RTCP) or arrived.
  void note(GstClockTime pts, uint64_t unix_ns) {
    std::lock_guard<std::mutex> lock(mutex_);
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

  // A noted frame's own time; between notes, the nearest earlier one plus the distance. Without notes, in a live pipeline:
  // what the camera reported (0: nothing), else when the source gave the frame its running time, which is on arrival.
  uint64_t capture_ns(GstClockTime pts, GstClockTime running, uint64_t reported_ns) {
    if (!GST_CLOCK_TIME_IS_VALID(pts)) pts = 0;
    std::lock_guard<std::mutex> lock(mutex_);
    const Note* best = nullptr;
    size_t filled = next_ < notes_.size() ? next_ : notes_.size();
    for (size_t back = 1; back <= filled; back++) {
      const Note& note = notes_[(next_ - back) % notes_.size()];
      if (note.pts == pts) return note.unix_ns;
      if (note.pts < pts && (best == nullptr || note.pts > best->pts)) best = &note;
    }
    if (best != nullptr) return best->unix_ns + (pts - best->pts);
    if (!GST_CLOCK_TIME_IS_VALID(running)) running = pts;
    if (live_zero_ns_ == 0 && epoch_ns_ == kOnArrival) live_zero_ns_ = unix_now_ns() - running;
    if (live_zero_ns_ == 0) return epoch_ns_ + pts;
    return reported_ns != 0 ? reported_ns : live_zero_ns_ + running;
  }

 private:
  struct Note {
    GstClockTime pts;
    uint64_t unix_ns;
  };
  const uint64_t epoch_ns_;
  mutable std::mutex mutex_;
  uint64_t live_zero_ns_ = 0;  // 0: not live
  std::array<Note, 512> notes_{};
  size_t next_ = 0;
  std::array<GstClockTime, 16> gaps_{};
  size_t next_gap_ = 0;
};
