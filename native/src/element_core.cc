#include "element_core.h"

#include "relay.h"

namespace {
std::atomic<uint32_t> next_core_id{1};
// 80 frames of 1080p, 20 of 4K: bounds the memory of an element whose `inFlight` was chosen for small frames.
constexpr size_t kMostBytesInFlight = size_t{256} << 20;

GValue default_value(GParamSpec* param) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, param->value_type);
  g_param_value_set_default(param, &value);
  return value;
}

// Empty when there is no value.
std::string to_json(const GValue* value, bool is_json) {
  if (G_VALUE_HOLDS_BOOLEAN(value)) return g_value_get_boolean(value) ? "true" : "false";
  if (G_VALUE_HOLDS_INT64(value)) return std::to_string(g_value_get_int64(value));
  if (G_VALUE_HOLDS_DOUBLE(value)) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    return g_ascii_dtostr(digits, sizeof digits, g_value_get_double(value));
  }
  if (G_VALUE_HOLDS_ENUM(value)) {
    auto* klass = static_cast<GEnumClass*>(g_type_class_peek(G_VALUE_TYPE(value)));
    GEnumValue* chosen = g_enum_get_value(klass, g_value_get_enum(value));
    return json_string(chosen == nullptr ? "" : chosen->value_nick);
  }
  const gchar* text = g_value_get_string(value);
  return text == nullptr ? "" : is_json ? text : json_string(text);
}

// Any thread.
void post_finished(const std::shared_ptr<Call>& call, std::unique_ptr<Job> job, std::string error) {
  call->core->bridge->run([call, job = std::move(job), error = std::move(error)](Napi::Env env) { job->finished(env, error); });
}
}  // namespace

ElementCore::ElementCore(const ElementSpec* s, std::shared_ptr<Bridge> b)
    : spec(s), id(next_core_id++), bridge(std::move(b)), in_flight(s->in_flight) {
  gst_video_info_init(&video);
  gst_segment_init(&segment, GST_FORMAT_UNDEFINED);
  for (const auto& property : spec->properties) values.push_back(default_value(property.param));
  if (bridge) bridge->add(this);
}
ElementCore::~ElementCore() {
  if (bridge) bridge->remove(this);
  for (auto& value : values) g_value_unset(&value);
}

GstClockTime ElementCore::source_pts(GstBuffer* buffer) const {
  // x264enc and others move PTS and segment so that the first PTS is 1000 hours, for DTS before it
  // (gst_video_encoder_set_min_pts). Running times stay.
  constexpr GstClockTime kEncoderStart = 1000 * 60 * 60 * GST_SECOND;
  GstClockTime pts = GST_BUFFER_PTS(buffer);
  bool moved = GST_CLOCK_TIME_IS_VALID(pts) && pts >= kEncoderStart && segment.format == GST_FORMAT_TIME && segment.start > 0;
  if (!moved || !timeline) return pts;
  GstClockTime running = gst_segment_to_running_time(&segment, GST_FORMAT_TIME, pts);
  return GST_CLOCK_TIME_IS_VALID(running) ? running + timeline->start() : pts;
}

std::shared_ptr<Call> ElementCore::make(CallKind kind, GstBuffer* buffer, std::string payload) {
  auto call = std::make_shared<Call>(shared_from_this(), kind, buffer);
  call->payload = std::move(payload);
  call->since = std::chrono::steady_clock::now();
  if (buffer != nullptr) {
    call->frame_index = frames++;
    GstClockTime pts = source_pts(buffer);
    call->discontinuity = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    if (timeline) {
      bool timed = segment.format == GST_FORMAT_TIME;
      GstClockTime running = timed ? gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer)) : GST_CLOCK_TIME_NONE;
      call->capture_ns = timeline->capture_ns(pts, running, reported_capture_ns(buffer));
      if (GST_CLOCK_TIME_IS_VALID(pts) && timeline->gap_between(last_pts_, pts)) call->discontinuity = true;
      if (GST_CLOCK_TIME_IS_VALID(pts)) last_pts_ = pts;
    }
    call->is_video = is_video;
    call->video = video;
  }
  return call;
}
void ElementCore::run_job(std::unique_lock<std::mutex>& lock) {
  Ordered ordered = std::move(jobs_.front());
  jobs_.pop_front();
  lock.unlock();
  std::string error;
  if (ordered.call->map(&error)) {
    if (ordered.call->is_video) error = ordered.job->execute(ordered.call->frame);
    else error = "expected raw video: put `decode` before this element";
  }
  post_finished(ordered.call, std::move(ordered.job), std::move(error));
  lock.lock();
  ordered.call->jobs--;
  changed.notify_all();
}

template <typename Ready>
bool ElementCore::wait(std::unique_lock<std::mutex>& lock, Ready ready) {
  while (!flushing_) {
    if (ready()) return true;
    if (!jobs_.empty()) run_job(lock);
    else changed.wait(lock);
  }
  return false;
}

GstFlowReturn ElementCore::call(CallKind kind, GstBuffer* buffer, std::string payload, std::shared_ptr<Call>* out) {
  auto call = make(kind, buffer, std::move(payload));
  if (!bridge) return GST_FLOW_ERROR;
  if (bridge->on_js_thread()) {
    // Waiting would be a deadlock. Frames cannot get here; start, format and end can, and run later.
    if (kind == CallKind::kFrame) return GST_FLOW_ERROR;
    post_call(call);
    return GST_FLOW_OK;
  }
  std::unique_lock<std::mutex> lock(mutex);
  if (flushing_) return GST_FLOW_FLUSHING;
  lock.unlock();
  post_call(call);
  lock.lock();
  bool answered = wait(lock, [&] { return call->done && call->jobs == 0; }) || (call->done && call->jobs == 0);
  GstFlowReturn flow = answered ? call->flow : GST_FLOW_FLUSHING;
  const bool abandoned = !call->done;
  if (abandoned) call->cancelled = true;
  lock.unlock();
  if (abandoned) post_cancel(call);
  if (answered) call->unmap();
  if (kind == CallKind::kFrame && answered) durations.add(call->span());
  if (out != nullptr) *out = call;
  return flow;
}

void ElementCore::notify(CallKind kind) {
  if (!bridge) return;
  bridge->run([core = shared_from_this(), kind](Napi::Env env) {
    Napi::Value payload = kind == CallKind::kProperties ? Napi::String::New(env, core->properties_json()) : env.Undefined();
    core->bridge->dispatch.Call({Napi::Number::New(env, static_cast<double>(kind)), Napi::Number::New(env, core->id),
                                 Napi::Number::New(env, 0), payload});
  });
}

GstFlowReturn ElementCore::submit(GstBuffer* buffer) {
  auto call = make(CallKind::kFrame, buffer, {});
  call->size_bytes = gst_buffer_get_size(buffer);
  const GstFlowReturn flow = enqueue(call);
  if (flow == GST_FLOW_OK) post_call(call);
  return flow;
}
GstFlowReturn ElementCore::submit(GstEvent* event) {
  auto call = make(CallKind::kFrame, nullptr, {});
  call->event = event;
  call->done = true;
  return enqueue(call);
}
GstFlowReturn ElementCore::enqueue(const std::shared_ptr<Call>& call) {
  auto has_room = [&] {
    return in_flight_.empty() ||
           (in_flight_.size() < in_flight && bytes_in_flight_ + call->size_bytes <= kMostBytesInFlight);
  };
  std::unique_lock<std::mutex> lock(mutex);
  if (!wait(lock, [&] { return downstream_ != GST_FLOW_OK || has_room(); })) return GST_FLOW_FLUSHING;
  if (downstream_ != GST_FLOW_OK) return downstream_;
  in_flight_.push_back(call);
  bytes_in_flight_ += call->size_bytes;
  changed.notify_all();
  return GST_FLOW_OK;
}
std::shared_ptr<Call> ElementCore::emit_next() {
  std::unique_lock<std::mutex> lock(mutex);
  auto settled = [&] { return !in_flight_.empty() && in_flight_.front()->done && in_flight_.front()->jobs == 0; };
  if (downstream_ != GST_FLOW_OK || !wait(lock, settled)) return nullptr;
  auto call = in_flight_.front();
  in_flight_.pop_front();
  bytes_in_flight_ -= call->size_bytes;
  emitting_ = true;
  changed.notify_all();
  lock.unlock();
  if (call->event != nullptr) return call;
  call->unmap();
  durations.add(call->span());
  return call;
}
void ElementCore::emitted(GstFlowReturn flow) {
  Abandoned abandoned;
  {
    std::lock_guard<std::mutex> lock(mutex);
    emitting_ = false;
    downstream_ = flow;
    if (flow != GST_FLOW_OK) abandoned = abandon_all();  // downstream takes no more frames
    changed.notify_all();
  }
  report(std::move(abandoned));
}
GstFlowReturn ElementCore::drain() {
  std::unique_lock<std::mutex> lock(mutex);
  if (!wait(lock, [&] { return downstream_ != GST_FLOW_OK || (in_flight_.empty() && !emitting_); })) return GST_FLOW_FLUSHING;
  return downstream_;
}

ElementCore::Abandoned ElementCore::abandon_all() {
  Abandoned abandoned;
  for (auto& call : in_flight_) {
    if (!call->done) call->cancelled = true, abandoned.calls.push_back(call);
  }
  in_flight_.clear();
  bytes_in_flight_ = 0;
  abandoned.orders.swap(jobs_);
  for (auto& ordered : abandoned.orders) ordered.call->jobs--;
  return abandoned;
}
void ElementCore::report(Abandoned abandoned) {
  for (auto& call : abandoned.calls) post_cancel(call);
  for (auto& ordered : abandoned.orders) post_finished(ordered.call, std::move(ordered.job), "the frame was discarded");
}

void ElementCore::cancel() {
  Abandoned abandoned;
  {
    std::lock_guard<std::mutex> lock(mutex);
    flushing_ = true;
    abandoned = abandon_all();
    changed.notify_all();
  }
  report(std::move(abandoned));
}
void ElementCore::allow() {
  std::lock_guard<std::mutex> lock(mutex);
  flushing_ = closed_;
  downstream_ = GST_FLOW_OK;
}
void ElementCore::cancel_for_good() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    closed_ = true;
  }
  cancel();
}

bool ElementCore::order(const std::shared_ptr<Call>& call, std::unique_ptr<Job> job) {
  std::lock_guard<std::mutex> lock(mutex);
  if (flushing_ || call->done || call->cancelled) return false;
  call->jobs++;
  jobs_.push_back({call, std::move(job)});
  changed.notify_all();
  return true;
}

std::string ElementCore::properties_json() {
  std::string out = "{";
  std::lock_guard<std::mutex> lock(mutex);
  properties_posted = false;
  for (size_t i = 0; i < values.size(); i++) {
    const auto& [param, is_json] = spec->properties[i];
    const std::string literal = to_json(&values[i], is_json);
    if (!literal.empty()) out += (out.size() > 1 ? "," : "") + json_string(param->name) + ":" + literal;
  }
  return out + "}";
}

std::string json_string(const char* text) {
  std::string out = "\"";
  for (const char* at = text == nullptr ? "" : text; *at != 0; at++) {
    const auto c = static_cast<unsigned char>(*at);
    if (c < 0x20) {
      char escape[8];
      g_snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += *at;
  }
  return out + "\"";
}
