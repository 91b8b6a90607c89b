#include "shapes.h"

namespace {
using namespace windhover;

// Hands out the numbers one after the other.
class Reader {
 public:
  Reader(const Napi::Float64Array& numbers, const Napi::Array& texts)
      : env_(numbers.Env()), at_(numbers.Data()), end_(at_ + numbers.ElementLength()), texts_(texts) {}

  bool more() const { return at_ < end_; }
  double number() {
    if (!more()) throw Napi::RangeError::New(env_, "a shape ends in the middle");
    return *at_++;
  }
  // What is no colour becomes one that there is not: the drawing then says which shape it was.
  uint32_t colour() {
    const double value = number();
    return value >= 0 && value <= 0xffffff ? static_cast<uint32_t>(value) : 0xffffffff;
  }
  std::string text() { return texts_.Get(next_text_++).ToString().Utf8Value(); }
  std::vector<Point> points() {
    const double count = number();
    if (!(count >= 0 && count <= static_cast<double>(end_ - at_))) throw Napi::RangeError::New(env_, "a line ends in the middle");
    std::vector<Point> points(static_cast<size_t>(count) / 2);
    for (Point& point : points) point = {at_[0], at_[1]}, at_ += 2;
    at_ += static_cast<size_t>(count) % 2;
    return points;
  }

 private:
  Napi::Env env_;
  const double *at_, *end_;
  const Napi::Array& texts_;
  uint32_t next_text_ = 0;
};

Shape read_box(Reader& from) {
  BoxShape box;
  box.x = from.number(), box.y = from.number(), box.width = from.number(), box.height = from.number();
  box.colour = from.colour(), box.thickness = from.number(), box.opacity = from.number(), box.dash = from.number();
  return box;
}
Shape read_fill(Reader& from) {
  FillShape fill;
  fill.x = from.number(), fill.y = from.number(), fill.width = from.number(), fill.height = from.number();
  fill.colour = from.colour(), fill.opacity = from.number();
  return fill;
}
Shape read_line(Reader& from) {
  LineShape line;
  line.colour = from.colour(), line.thickness = from.number(), line.opacity = from.number(), line.start = from.number();
  line.points = from.points();
  return line;
}
Shape read_text(Reader& from) {
  TextShape text;
  text.x = from.number(), text.y = from.number(), text.size = from.number(), text.colour = from.colour();
  const double background = from.number();
  if (background >= 0) text.background = background <= 0xffffff ? static_cast<uint32_t>(background) : 0xffffffff;
  text.opacity = from.number();
  text.text = from.text();
  return text;
}
}  // namespace

std::vector<Shape> read_shapes(const Napi::Float64Array& numbers, const Napi::Array& texts) {
  // In the order of the codes in native/shapes.ts.
  static constexpr Shape (*readers[])(Reader&) = {read_box, read_fill, read_line, read_text};
  std::vector<Shape> shapes;
  Reader from(numbers, texts);
  while (from.more()) {
    const double code = from.number();
    if (!(code >= 0 && code < std::size(readers))) throw Napi::RangeError::New(numbers.Env(), "no such shape");
    shapes.push_back(readers[static_cast<size_t>(code)](from));
  }
  return shapes;
}
