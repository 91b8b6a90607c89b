#pragma once

#include <gst/video/video.h>

#include <string>

struct Video {
  GstVideoFormat format;
  int width, height;

  std::string name() const { return std::to_string(height) + "p " + gst_video_format_to_string(format); }
};

// Each prints one result of contest.h.
void compare_letterboxes(const Video& video, int side, int turns);
void compare_overlays(const Video& video, bool with_trails, int turns);
// Nothing without OpenCV.
void time_motion(const Video& video, int turns);
