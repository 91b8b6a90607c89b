// When the picture of a frame was taken, by the frame's PTS. One per pipeline; any thread.
#pragma once
#include <gst/gst.h>

#include <array>
#include <atomic>
#include <mutex>

class Timeline {
 public:
  // Unix time of PTS 0: start time at real-time pace, a fixed epoch at pace `fast`.
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

  // A noted frame's own time; between notes, the nearest earlier one plus the distance.
  uint64_t capture_ns(GstClockTime pts) const {
    if (!GST_CLOCK_TIME_IS_VALID(pts)) pts = 0;
    std::lock_guard<std::mutex> lock(mutex_);
    const Note* best = nullptr;
    size_t filled = next_ < notes_.size() ? next_ : notes_.size();
    for (size_t back = 1; back <= filled; back++) {
      const Note& note = notes_[(next_ - back) % notes_.size()];
      if (note.pts == pts) return note.unix_ns;
      if (note.pts < pts && (best == nullptr || note.pts > best->pts)) best = &note;
    }
    return best == nullptr ? epoch_ns_ + pts : best->unix_ns + (pts - best->pts);
  }

 private:
  struct Note {
    GstClockTime pts;
    uint64_t unix_ns;
  };
  const uint64_t epoch_ns_;
  mutable std::mutex mutex_;
  std::array<Note, 512> notes_{};
  size_t next_ = 0;
  std::array<GstClockTime, 16> gaps_{};
  size_t next_gap_ = 0;
};
