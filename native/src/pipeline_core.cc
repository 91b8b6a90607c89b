#include "pipeline_core.h"

#include <thread>

#include "relay.h"

namespace {
// More messages than this are dropped while the JS thread is busy, except errors, EOS and state changes.
constexpr int kQueuedMessages = 256;
constexpr auto kSlice = 20 * GST_MSECOND;
constexpr int kErrorSlices = 25;
}  // namespace

PipelineCore::PipelineCore(std::shared_ptr<Bridge> b, uint64_t epoch_ns)
    : bridge(std::move(b)), timeline(std::make_shared<Timeline>(epoch_ns)) {}

std::shared_ptr<PipelineCore> PipelineCore::create(std::shared_ptr<Bridge> bridge, const std::string& name, uint64_t epoch_ns) {
  std::shared_ptr<PipelineCore> core(new PipelineCore(std::move(bridge), epoch_ns));
  core->pipeline = GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(name.c_str())));
  using Weak = std::weak_ptr<PipelineCore>;
  Ref<GstBus> bus(gst_element_get_bus(core->pipeline));
  gst_bus_set_sync_handler(bus.get(), on_bus, new Weak(core), delete_data<Weak>);
  core->bridge->add(core);
  std::thread([core] { core->loop(); }).detach();
  return core;
}
PipelineCore::~PipelineCore() {
  if (on_message != nullptr) bridge->retire(on_message);
}

// ------------------------------------------------------------------------------------------------ control thread

void PipelineCore::run(std::function<void()> operation) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!loop_ended_) {
      operations_.push_back(std::move(operation));
      changed_.notify_all();
      return;
    }
  }
  operation();
}
void PipelineCore::loop() {
  Bridge::set_current(bridge);
  for (;;) {
    std::function<void()> operation;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return !operations_.empty() || cancelled_; });
      if (operations_.empty()) {
        loop_ended_ = true;
        break;
      }
      operation = std::move(operations_.front());
      operations_.pop_front();
    }
    operation();
  }
  close_on_control_thread();
  Bridge::set_current(nullptr);
}
void PipelineCore::shut_down() {
  std::vector<std::shared_ptr<ElementCore>> cores;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closing_) return;
    closing_ = true;
    for (auto& weak : cores_) {
      if (auto core = weak.lock()) cores.push_back(core);
    }
  }
  for (auto& core : cores) core->cancel_for_good();
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}
void PipelineCore::close_on_control_thread() {
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_bus_set_sync_handler(Ref<GstBus>(gst_element_get_bus(pipeline)).get(), nullptr, nullptr, nullptr);
  for (auto& [name, branch] : branches_) gst_element_release_request_pad(branch.tee.get(), branch.tee_pad.get());
  branches_.clear();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [node, relay] : relays_) {
      if (relay) relay->close();
    }
    relays_.clear();
    unbuilt_ = true;
  }
  gst_object_unref(pipeline);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  auto self = shared_from_this();
  bridge->remove(this);
  if (on_closed) on_closed();
  on_closed = nullptr;
}
bool PipelineCore::wait_closed(std::chrono::steady_clock::time_point until) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, until, [&] { return closed_; });
}
Ref<GstElement> PipelineCore::find(const std::string& node) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return Ref<GstElement>(unbuilt_ ? nullptr : gst_bin_get_by_name(GST_BIN(pipeline), node.c_str()));
}
std::shared_ptr<Relay> PipelineCore::relay_into(const std::string& appsrc, std::string* error) {
  Ref<GstElement> element = find(appsrc);
  std::lock_guard<std::mutex> lock(mutex_);
  auto known = relays_.find(appsrc);
  std::shared_ptr<Relay> relay = known == relays_.end() ? nullptr : known->second;
  if (element && !relay && !unbuilt_) {
    relay = Relay::create(element.get(), pipeline, timeline);
    if (relay) relays_[appsrc] = relay;
  }
  if (!relay) *error = "the pipeline has no appsrc \"" + appsrc + "\"";
  return relay;
}

std::string PipelineCore::set_state(GstState state, std::chrono::milliseconds limit, bool stop_if_live) {
  clear_error();
  auto failed = [&] {
    // The state change may fail before the streaming thread has posted the reason.
    for (int slice = 0; slice < kErrorSlices && last_error().empty() && !closing_; slice++) g_usleep(kSlice / GST_USECOND);
    std::string why = last_error();
    return std::string("cannot go to ") + gst_element_state_get_name(state) + (why.empty() ? "" : ": " + why);
  };
  auto until = std::chrono::steady_clock::now() + limit;
  GstStateChangeReturn result = GST_STATE_CHANGE_SUCCESS;
  // Only the change to PAUSED shows whether the pipeline is live. PLAYING follows at once: data of a pipeline that is not
  // live flows already, and an EOS before PLAYING would be lost.
  if (state == GST_STATE_PLAYING && GST_STATE_TARGET(pipeline) < GST_STATE_PAUSED) {
    result = gst_element_set_state(pipeline, GST_STATE_PAUSED);
    if (result == GST_STATE_CHANGE_NO_PREROLL) is_live_ = true;
    if (is_live_ && stop_if_live) return "";
  }
  // An estimate until the bus reports PLAYING: sources may push before that.
  if (state == GST_STATE_PLAYING && is_live_) timeline->set_live(unix_now_ns() - gst_element_get_start_time(pipeline));
  if (result != GST_STATE_CHANGE_FAILURE) result = gst_element_set_state(pipeline, state);
  if (result == GST_STATE_CHANGE_NO_PREROLL) is_live_ = true;
  while (result == GST_STATE_CHANGE_ASYNC && limit.count() > 0) {
    // An error on the bus does not end an asynchronous state change.
    if (closing_) return "the pipeline was closed";
    if (!last_error().empty()) return failed();
    if (std::chrono::steady_clock::now() > until)
      return std::string("did not reach ") + gst_element_state_get_name(state) + " within " + std::to_string(limit.count()) + " ms";
    result = gst_element_get_state(pipeline, nullptr, nullptr, kSlice);
  }
  return result == GST_STATE_CHANGE_FAILURE ? failed() : "";
}

// ------------------------------------------------------------------------------------------------ bus

namespace {
// Calls `visit` with the object and its ancestors, until it returns false.
template <typename Visit>
void visit_ancestors(GstObject* source, Visit visit) {
  Ref<GstObject> at = source == nullptr ? nullptr : new_ref(source);
  while (at && visit(at.get())) at.reset(gst_object_get_parent(at.get()));
}
bool is_branch(GstObject* object) { return g_object_get_data(G_OBJECT(object), kBranch) != nullptr; }

struct MessageTask : Task {
  std::shared_ptr<PipelineCore> core;
  std::atomic<int>* queued;
  std::string type;
  std::vector<std::pair<const char*, std::string>> fields;
  int code = 0;
  ~MessageTask() override { (*queued)--; }
  void run(Napi::Env env) override {
    if (core->on_message == nullptr) return;
    napi_value function = nullptr;
    napi_get_reference_value(env, core->on_message, &function);
    if (function == nullptr) return;
    auto message = Napi::Object::New(env);
    message.Set("type", type);
    for (auto& [key, value] : fields) message.Set(key, value);
    if (type == "error" || type == "warning") message.Set("code", code);
    Napi::Function(env, function).Call({message});
  }
};
}  // namespace

// The node of the plan: the outermost element below the pipeline or below the bin of a branch.
std::string PipelineCore::node_of(GstObject* source) const {
  std::string name;
  visit_ancestors(source, [&](GstObject* at) {
    if (at == GST_OBJECT(pipeline)) return false;
    if (GST_IS_ELEMENT(at) && !is_branch(at)) name = name_of(at);
    return true;
  });
  return name;
}

GstBusSyncReply PipelineCore::on_bus(GstBus*, GstMessage* message, gpointer data) {
  if (auto core = static_cast<std::weak_ptr<PipelineCore>*>(data)->lock()) core->deliver(message);
  gst_message_unref(message);  // a sync handler that returns DROP owns the message
  return GST_BUS_DROP;
}
void PipelineCore::note_error(GstObject* source, const char* message) {
  std::string text = node_of(source) + ": " + message;
  std::lock_guard<std::mutex> lock(mutex_);
  if (last_error_.empty()) last_error_ = std::move(text);
}
std::string PipelineCore::last_error() {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_error_;
}
void PipelineCore::clear_error() {
  std::lock_guard<std::mutex> lock(mutex_);
  last_error_.clear();
}
// Relates running time to the wall clock. Repeated after a pause, during which running time stops.
void PipelineCore::note_live() {
  Ref<GstClock> clock(gst_element_get_clock(pipeline));
  if (clock) timeline->set_live(unix_now_ns() - (gst_clock_get_time(clock.get()) - gst_element_get_base_time(pipeline)));
}
void PipelineCore::deliver(GstMessage* message) {
  auto task = std::make_unique<MessageTask>();
  queued_messages_++;
  task->core = shared_from_this();
  task->queued = &queued_messages_;
  GstObject* source = GST_MESSAGE_SRC(message);
  bool vital = false;
  auto add_source = [&] {
    task->fields.emplace_back("source", name_of(source));
    task->fields.emplace_back("node", node_of(source));
  };
  switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_EOS:
      task->type = "eos";
      vital = true;
      break;
    case GST_MESSAGE_ERROR:
    case GST_MESSAGE_WARNING: {
      bool is_error = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
      GError* error = nullptr;
      gchar* debug = nullptr;
      if (is_error) gst_message_parse_error(message, &error, &debug);
      else gst_message_parse_warning(message, &error, &debug);
      task->type = is_error ? "error" : "warning";
      add_source();
      task->fields.emplace_back("domain", g_quark_to_string(error->domain));
      task->fields.emplace_back("message", error->message);
      task->fields.emplace_back("debug", debug == nullptr ? "" : debug);
      task->code = error->code;
      if (is_error) {
        note_error(source, error->message);
        // Before the streaming thread returns an error, for which the tee of a failed branch must not stop.
        visit_ancestors(source, [](GstObject* at) {
          if (is_branch(at)) g_object_set_data(G_OBJECT(at), kBranchFailed, at);
          return true;
        });
      }
      g_clear_error(&error);
      g_free(debug);
      vital = is_error;
      GstObject* attaching = attaching_;
      if (is_error && attaching != nullptr && gst_object_has_as_ancestor(source, attaching)) return;
      break;
    }
    case GST_MESSAGE_STATE_CHANGED: {
      if (source != GST_OBJECT(pipeline)) return;
      GstState before, now, pending;
      gst_message_parse_state_changed(message, &before, &now, &pending);
      task->type = "state";
      task->fields.emplace_back("from", gst_element_state_get_name(before));
      task->fields.emplace_back("to", gst_element_state_get_name(now));
      if (now == GST_STATE_PLAYING && is_live_) note_live();
      vital = true;
      break;
    }
    case GST_MESSAGE_ELEMENT: {
      const GstStructure* structure = gst_message_get_structure(message);
      task->type = "element";
      add_source();
      task->fields.emplace_back("name", gst_structure_get_name(structure));
      task->fields.emplace_back("structure", take_text(gst_structure_to_string(structure)));
      break;
    }
    case GST_MESSAGE_LATENCY: {  // this sync handler drops messages, so GstPipeline never handles them itself
      if (latency_queued_.exchange(true)) return;
      auto self = shared_from_this();
      run([self] {
        self->latency_queued_ = false;
        if (!self->closing()) gst_bin_recalculate_latency(GST_BIN(self->pipeline));
      });
      return;
    }
    case GST_MESSAGE_CLOCK_LOST: {
      auto self = shared_from_this();
      run([self] {
        if (self->closing() || GST_STATE_TARGET(self->pipeline) != GST_STATE_PLAYING) return;
        gst_element_set_state(self->pipeline, GST_STATE_PAUSED);
        gst_element_set_state(self->pipeline, GST_STATE_PLAYING);
      });
      return;
    }
    case GST_MESSAGE_DURATION_CHANGED:
      task->type = "duration-changed";
      break;
    default:
      return;
  }
  if (!vital && queued_messages_ > kQueuedMessages) return;
  bridge->post(std::move(task));
}
