// How the camera moved, by OpenCV, with the numbers of vision/picture-motion.ts: a picture up to 240 pixels wide, up to 48
// corners of its half, found again in 4 pyramid levels by squares of 7 x 7 in up to 6 steps, and the similarity that most
// of them agree on. Ours is called from TypeScript: cli/bench/detect/motion.ts times it on the same pictures.
#include "contest.h"
#include "peers.h"
#ifdef WITH_OPENCV
#include <opencv2/calib3d.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>
#include <stdexcept>

namespace {

constexpr int widest = 240, corners = 48, margin = 256, side = 48;

// Squares of 48 pixels, each of one brightness, seen through a window that moves; the same as in motion.ts.
cv::Mat make_scene(const Video& video) {
  cv::Mat scene(video.height + margin, video.width + margin, CV_8UC1);
  const int columns = (scene.cols + side - 1) / side;
  std::vector<uint8_t> squares(static_cast<size_t>(columns) * ((scene.rows + side - 1) / side));
  int64_t seed = 1;
  for (uint8_t& square : squares) {
    seed = seed * 48271 % 2147483647;
    square = static_cast<uint8_t>(40 + seed % 170);
  }
  for (int y = 0; y < scene.rows; y++) {
    for (int x = 0; x < scene.cols; x++) scene.at<uint8_t>(y, x) = squares[static_cast<size_t>(y / side * columns + x / side)];
  }
  return scene;
}

class MotionByOpencv {
 public:
  void next(const cv::Mat& frame) {
    const int step = std::max(1, (frame.cols + widest - 1) / widest);
    cv::Mat small, half;
    cv::resize(frame, small, cv::Size(frame.cols / step, frame.rows / step), 0, 0, cv::INTER_AREA);
    if (!points_.empty()) compare(small);
    cv::resize(small, half, cv::Size(small.cols / 2, small.rows / 2), 0, 0, cv::INTER_AREA);
    cv::goodFeaturesToTrack(half, points_, corners, 0.01, 6, cv::noArray(), 3);
    for (cv::Point2f& point : points_) point *= 2;
    last_ = small;
  }

 private:
  void compare(const cv::Mat& small) {
    std::vector<cv::Point2f> found, from, to;
    std::vector<uint8_t> status;
    std::vector<float> errors;
    const cv::TermCriteria steps(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 6, 0.03);
    cv::calcOpticalFlowPyrLK(last_, small, points_, found, status, errors, cv::Size(7, 7), 3, steps);
    for (size_t i = 0; i < found.size(); i++) {
      if (!status[i]) continue;
      from.push_back(points_[i]);
      to.push_back(found[i]);
    }
    if (cv::estimateAffinePartial2D(from, to, cv::noArray(), cv::RANSAC, 0.8, 60).empty()) {
      throw std::runtime_error("OpenCV did not find the motion");
    }
  }

  cv::Mat last_;
  std::vector<cv::Point2f> points_;
};

}  // namespace

void time_motion(const Video& video, int turns) {
  const cv::Mat scene = make_scene(video);
  std::vector<cv::Mat> frames;
  // Right and down, and back again.
  for (int i : {0, 1, 2, 3, 2, 1}) frames.push_back(scene(cv::Rect(8 + 12 * i, 8 + 5 * i, video.width, video.height)));
  MotionByOpencv motion;
  const std::vector<Contestant> contestants = {{"OpenCV", [&](int i) { motion.next(frames[i]); }}};
  hold_contest("camera motion, " + std::to_string(video.height) + "p", contestants, turns);
}
#else
void time_motion(const Video&, int) {}
#endif
