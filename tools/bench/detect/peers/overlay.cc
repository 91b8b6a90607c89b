// 20 labelled boxes on a frame, with and without trails: ours against OpenCV, which draws on the same planes.
#include <cmath>
#include <memory>

#include "contest.h"
#include "draw.h"
#include "peers.h"
#ifdef WITH_OPENCV
#include <opencv2/imgproc.hpp>
#endif

using namespace windhover;

namespace {

constexpr int objects = 20, trail_points = 50;
constexpr uint32_t colours[] = {0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442, 0xcc79a7, 0x0072b2, 0xd55e00};

// What the element `overlay` draws, in its sizes.
struct Drawing {
  struct Object {
    int x, y, width, height;
    uint32_t colour;
    std::string label;
    std::vector<Point> trail;
  };
  std::vector<Object> all;
  int text, line, box, rim;
  double trail;
  bool has_trails;

  Drawing(const Video& video, bool with_trails) : has_trails(with_trails) {
    const double lines = video.height;
    text = static_cast<int>(std::lround(lines / 54));
    line = static_cast<int>(std::lround(text * 1.25));
    box = std::max(static_cast<int>(std::lround(lines / 400)), 2);
    rim = std::max(static_cast<int>(std::lround(lines / 1080)), 1);
    trail = std::max(lines / 300, 2.0);
    for (int i = 0; i < objects; i++) {
      const double reach = 0.42 * std::sqrt((i + 0.5) / objects);
      const auto x = [&](double angle) { return (0.48 + reach * std::cos(angle)) * video.width; };
      const auto y = [&](double angle) { return (0.45 + reach * std::sin(angle)) * video.height; };
      const int width = video.width / 25 / 2 * 2, height = video.height / 11 / 2 * 2;
      Object object{static_cast<int>(x(i * 2.4)) & ~1, static_cast<int>(y(i * 2.4)) & ~1, width, height, colours[i % 7],
                    "person #" + std::to_string(i + 1) + " 87%", {}};
      for (int k = trail_points; k >= 0; k--) {
        const double angle = i * 2.4 - k * 0.01;
        object.trail.push_back({x(angle) + width / 2, y(angle) + height});
      }
      all.push_back(std::move(object));
    }
  }
};

std::vector<Shape> shapes_of(const Drawing& d) {
  std::vector<Shape> shapes;
  for (const auto& o : d.all) {
    if (d.has_trails) shapes.push_back(LineShape{o.trail, o.colour, d.trail, 1, 0});
  }
  for (const auto& o : d.all) {
    const double x = o.x, y = o.y, width = o.width, height = o.height, rim = d.rim;
    shapes.push_back(BoxShape{x - rim, y - rim, width + 2 * rim, height + 2 * rim, 0, d.box + 2 * rim, 0.4, 0});
    shapes.push_back(BoxShape{x, y, width, height, o.colour, static_cast<double>(d.box), 1, 0});
  }
  for (const auto& o : d.all) {
    shapes.push_back(TextShape{static_cast<double>(o.x), static_cast<double>(o.y - d.line), o.label,
                               static_cast<double>(d.text), 0x000000, o.colour, 1});
  }
  return shapes;
}

#ifdef WITH_OPENCV
// Onto one plane, `shrink` times smaller than the frame. Opaque: it knows nothing else.
void draw_by_opencv(cv::Mat plane, const Drawing& d, int shrink) {
  const auto px = [&](double value) { return static_cast<int>(std::lround(value / shrink)); };
  const auto thick = [&](double value) { return std::max(px(value), 1); };
  const auto colour = [](uint32_t rgb) { return cv::Scalar(rgb >> 8 & 255, rgb & 255); };
  for (const auto& o : d.all) {
    if (!d.has_trails) break;
    std::vector<cv::Point> points;
    for (const Point& point : o.trail) points.emplace_back(px(point.x), px(point.y));
    cv::polylines(plane, points, false, colour(o.colour), thick(d.trail), cv::LINE_AA);
  }
  for (const auto& o : d.all) {
    const int rim = d.rim;
    cv::rectangle(plane, {px(o.x - rim), px(o.y - rim), px(o.width + 2 * rim), px(o.height + 2 * rim)}, colour(0),
                  thick(d.box + 2 * rim));
    cv::rectangle(plane, {px(o.x), px(o.y), px(o.width), px(o.height)}, colour(o.colour), thick(d.box));
  }
  for (const auto& o : d.all) {
    const double width = static_cast<double>(o.label.size()) * 0.602 * d.text + d.text / 2.0;
    cv::rectangle(plane, {px(o.x), px(o.y - d.line), px(width), px(d.line)}, colour(o.colour), cv::FILLED);
    cv::putText(plane, o.label, {px(o.x + d.text / 4.0), px(o.y - d.text / 4.0)}, cv::FONT_HERSHEY_SIMPLEX,
                d.text / 30.0 / shrink, colour(0), 1, cv::LINE_AA);
  }
}

void draw_by_opencv(GstVideoFrame& frame, const Drawing& drawing) {
  const auto plane = [&](int i, int type) {
    const int shrink = i == 0 ? 1 : 2;
    draw_by_opencv(cv::Mat(frame.info.height / shrink, frame.info.width / shrink, type, frame.data[i],
                           static_cast<size_t>(frame.info.stride[i])),
                   drawing, shrink);
  };
  plane(0, CV_8UC1);
  if (GST_VIDEO_FRAME_FORMAT(&frame) == GST_VIDEO_FORMAT_NV12) {
    plane(1, CV_8UC2);
  } else {
    plane(1, CV_8UC1);
    plane(2, CV_8UC1);
  }
}
#endif

}  // namespace

void compare_overlays(const Video& video, bool with_trails, int turns) {
  std::vector<std::unique_ptr<TestFrame>> frames;
  for (int i = 0; i < contest_frames; i++) {
    frames.push_back(std::make_unique<TestFrame>(video.format, video.width, video.height));
  }
  const Drawing drawing(video, with_trails);
  const std::vector<Shape> shapes = shapes_of(drawing);
  const std::vector<Contestant> contestants = {
      {"ours",
       [&](int i) {
         std::string error;
         draw_shapes(frames[i]->frame(), shapes, &error);
       }},
#ifdef WITH_OPENCV
      {"OpenCV", [&](int i) { draw_by_opencv(frames[i]->frame(), drawing); }},
#endif
  };
  hold_contest("overlay of 20 boxes" + std::string(with_trails ? " and trails, " : ", ") + video.name(), contestants, turns);
}
