// When a frame was captured, by its PTS. One per pipeline; any thread.
#pragma once
#include <gst/gst.h>

#include <array>
#include <atomic>
#include <mutex>

class Timeline {
 public:
  // Unix time of PTS 0: start time at real-time pace, a fixed epoch at pace `fast`.
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

  // A noted frame's own time; between notes, in proportion; after the last, as much later.
  uint64_t capture_ns(GstClockTime pts) const {
    if (!GST_CLOCK_TIME_IS_VALID(pts)) pts = 0;
    std::lock_guard<std::mutex> lock(mutex_);
    auto [before, after] = neighbours(pts);
    if (before == nullptr && after == nullptr) return epoch_ns_ + pts;
    return after == nullptr ? before->unix_ns + (pts - before->pts) : between(before, after, pts);
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
  std::array<Note, 512> notes_{};
  size_t next_ = 0;
  std::array<GstClockTime, 16> gaps_{};
  size_t next_gap_ = 0;
};
