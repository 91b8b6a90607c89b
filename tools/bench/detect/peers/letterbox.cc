// From a frame to the input of a model, in bytes: ours against GStreamer and OpenCV. All on one thread.
#include <cmath>
#include <memory>

#include "contest.h"
#include "peers.h"
#include "tensor.h"
#ifdef WITH_OPENCV
#include <opencv2/imgproc.hpp>
#endif

using namespace windhover;

namespace {

constexpr int padding = 127;

// As `videoconvertscale` sets it up by default: bilinear, of two samples each way however far it shrinks. Ours takes the
// mean of all samples.
class Videoconvertscale {
 public:
  Videoconvertscale(const GstVideoInfo& in, int side, int width, int height) {
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_RGB, side, side);
    buffer_ = gst_buffer_new_allocate(nullptr, info_.size, nullptr);
    gst_video_frame_map(&frame_, &info_, buffer_, GST_MAP_READWRITE);
    GstStructure* options = gst_structure_new(
        "options", GST_VIDEO_CONVERTER_OPT_DEST_WIDTH, G_TYPE_INT, width, GST_VIDEO_CONVERTER_OPT_DEST_HEIGHT, G_TYPE_INT,
        height, GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD, GST_TYPE_VIDEO_RESAMPLER_METHOD,
        GST_VIDEO_RESAMPLER_METHOD_LINEAR, GST_VIDEO_RESAMPLER_OPT_MAX_TAPS, G_TYPE_INT, 2, nullptr);
    converter_ = gst_video_converter_new(&in, &info_, options);
  }
  Videoconvertscale(const Videoconvertscale&) = delete;
  ~Videoconvertscale() {
    gst_video_converter_free(converter_);
    gst_video_frame_unmap(&frame_);
    gst_buffer_unref(buffer_);
  }
  void convert(const GstVideoFrame& frame) { gst_video_converter_frame(converter_, &frame, &frame_); }

 private:
  GstVideoInfo info_;
  GstBuffer* buffer_;
  GstVideoFrame frame_;
  GstVideoConverter* converter_;
};

#ifdef WITH_OPENCV
// As its users do it: all of the frame to RGB, that resized, in a padded square. INTER_LINEAR takes four samples however
// far it shrinks; INTER_AREA, which does what ours does, takes twice as long and more.
void letterbox_by_opencv(const GstVideoFrame& frame, int side, int width, int height) {
  const bool is_nv12 = GST_VIDEO_FRAME_FORMAT(&frame) == GST_VIDEO_FORMAT_NV12;
  const cv::Mat yuv(frame.info.height * 3 / 2, frame.info.width, CV_8UC1, frame.data[0]);
  static cv::Mat rgb, square;
  cv::cvtColor(yuv, rgb, is_nv12 ? cv::COLOR_YUV2RGB_NV12 : cv::COLOR_YUV2RGB_I420);
  square.create(side, side, CV_8UC3);
  square.setTo(cv::Scalar::all(padding));
  cv::Mat picture = square(cv::Rect(0, 0, width, height));
  cv::resize(rgb, picture, picture.size(), 0, 0, cv::INTER_LINEAR);
}
#endif

}  // namespace

void compare_letterboxes(const Video& video, int side, int turns) {
  std::vector<std::unique_ptr<TestFrame>> frames;
  for (int i = 0; i < contest_frames; i++) {
    frames.push_back(std::make_unique<TestFrame>(video.format, video.width, video.height));
  }
  TensorOrder order;
  order.width = order.height = side;
  order.layout = TensorOrder::Layout::nhwc;
  order.anchor = TensorOrder::Anchor::top_left;
  order.padding = padding;
  std::vector<uint8_t> tensor(static_cast<size_t>(3) * side * side);
  const int width = side, height = static_cast<int>(std::lround(static_cast<double>(side) * video.height / video.width));
  Videoconvertscale converter(frames[0]->info(), side, width, height);
  const std::vector<Contestant> contestants = {
      {"ours",
       [&](int i) {
         TensorGeometry geometry;
         std::string error;
         fill_tensor(frames[i]->frame(), order, tensor.data(), tensor.size(), false, &geometry, &error);
       }},
      {"videoconvertscale", [&](int i) { converter.convert(frames[i]->frame()); }},
#ifdef WITH_OPENCV
      {"OpenCV", [&](int i) { letterbox_by_opencv(frames[i]->frame(), side, width, height); }},
#endif
  };
  hold_contest("letterbox, " + video.name() + " to " + std::to_string(side), contestants, turns);
}
