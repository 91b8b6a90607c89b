// peers TURNS: the pixel kernels as they are in the addon against GStreamer's and OpenCV's, as JSON. Compiled and run by
// cli/bench/detect/peers.ts.
#include <cstdio>
#include <cstdlib>

#include "peers.h"
#ifdef WITH_OPENCV
#include <opencv2/core.hpp>
#endif

int main(int, char** words) {
  gst_init(nullptr, nullptr);
#ifdef WITH_OPENCV
  // Ours and GStreamer's use one thread, too.
  cv::setNumThreads(1);
#endif
  const int turns = std::atoi(words[1]);
  std::printf("[");
  for (const auto& [width, height] : {std::pair{1280, 720}, std::pair{1920, 1080}}) {
    for (const GstVideoFormat format : {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12}) {
      const Video video{format, width, height};
      // The inputs of the models `default` and `quality`.
      for (const int side : {320, 448}) compare_letterboxes(video, side, turns);
      for (const bool with_trails : {false, true}) compare_overlays(video, with_trails, turns);
    }
    time_motion({GST_VIDEO_FORMAT_I420, width, height}, turns);
  }
  std::printf("]\n");
  return 0;
}
