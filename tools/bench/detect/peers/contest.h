// Times several ways of doing the same work, call by call in turn, so that whatever else the machine does meets them all.
// In time of the processor: on a busy machine long calls would be interrupted more often than short ones.
#pragma once

#include <gst/video/video.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

struct Contestant {
  const char* name;
  // Gets the number of the frame.
  std::function<void(int)> work;
};

// Frames that the work is done on by turns: together larger than the nearer caches, as in a pipeline.
inline constexpr int contest_frames = 6;

inline double thread_ms() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Prints {"name": "...", "ms": {"ours": 0.1, ...}}: medians.
inline void hold_contest(const std::string& name, const std::vector<Contestant>& contestants, int turns) {
  std::vector<std::vector<double>> times(contestants.size());
  for (int turn = -contest_frames; turn < turns; turn++) {
    for (size_t i = 0; i < contestants.size(); i++) {
      const double started_ms = thread_ms();
      contestants[i].work((turn + contest_frames) % contest_frames);
      const double took_ms = thread_ms() - started_ms;
      // The first ones fill caches and tables.
      if (turn >= 0) times[i].push_back(took_ms);
    }
  }
  static bool is_first = true;
  std::printf("%s{\"name\": \"%s\", \"ms\": {", is_first ? "" : ",\n", name.c_str());
  is_first = false;
  for (size_t i = 0; i < contestants.size(); i++) {
    auto middle = times[i].begin() + static_cast<ptrdiff_t>(times[i].size() / 2);
    std::nth_element(times[i].begin(), middle, times[i].end());
    std::printf("%s\"%s\": %.5f", i == 0 ? "" : ", ", contestants[i].name, *middle);
  }
  std::printf("}}");
}

// A frame with detail everywhere, mapped for as long as it lives.
class TestFrame {
 public:
  TestFrame(GstVideoFormat format, int width, int height) {
    gst_video_info_set_format(&info_, format, width, height);
    buffer_ = gst_buffer_new_allocate(nullptr, info_.size, nullptr);
    gst_video_frame_map(&frame_, &info_, buffer_, GST_MAP_READWRITE);
    auto* bytes = static_cast<uint8_t*>(frame_.data[0]);
    uint32_t noise = 1;
    for (size_t i = 0; i < info_.size; i++) {
      noise = noise * 1664525u + 1013904223u;
      bytes[i] = static_cast<uint8_t>(60 + i / 7 % 90 + (noise >> 26));
    }
  }
  TestFrame(const TestFrame&) = delete;
  ~TestFrame() {
    gst_video_frame_unmap(&frame_);
    gst_buffer_unref(buffer_);
  }
  GstVideoFrame& frame() { return frame_; }
  const GstVideoInfo& info() const { return info_; }

 private:
  GstVideoInfo info_;
  GstBuffer* buffer_;
  GstVideoFrame frame_;
};
