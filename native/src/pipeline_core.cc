#include "pipeline_core.h"

#include <algorithm>
#include <thread>

#include "connections.h"
#include "pad_link.h"
#include "relay.h"
#include "ts_element.h"

namespace {
// Bus messages waiting for the JS thread beyond this are dropped, except those that decide the pipeline's fate.
constexpr int kQueuedMessages = 256;
constexpr auto kSlice = 20 * GST_MSECOND;
constexpr int kErrorSlices = 25;

gchar* name_or_empty(GstObject* object) { return object == nullptr ? g_strdup("") : gst_object_get_name(object); }

// A sink that waits for its first frame before the pipeline may play deadlocks graphs whose branches take different
// time to their first frame, and takes a playing pipeline back to waiting when a branch comes. None does here.
void never_preroll(GstBin* bin) {
  GstIterator* sinks = gst_bin_iterate_sinks(bin);
  auto set = [](const GValue* item, gpointer) {
    auto* object = G_OBJECT(g_value_get_object(item));
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(object), "async") != nullptr) g_object_set(object, "async", FALSE, nullptr);
  };
  while (gst_iterator_foreach(sinks, set, nullptr) == GST_ITERATOR_RESYNC) gst_iterator_resync(sinks);
  gst_iterator_free(sinks);
}

// Asked first, as gst_bin_add() answers with a warning on standard error.
bool is_taken(GstBin* bin, const std::string& name) {
  GstElement* other = gst_bin_get_by_name(bin, name.c_str());
  bool taken = other != nullptr && GST_OBJECT_PARENT(other) == GST_OBJECT(bin);
  if (other != nullptr) gst_object_unref(other);
  return taken;
}
}  // namespace

PipelineCore::PipelineCore(std::shared_ptr<Bridge> b, uint64_t epoch_ns)
    : bridge(std::move(b)), timeline(std::make_shared<Timeline>(epoch_ns)) {}

std::shared_ptr<PipelineCore> PipelineCore::create(std::shared_ptr<Bridge> bridge, const std::string& name, uint64_t epoch_ns) {
  std::shared_ptr<PipelineCore> core(new PipelineCore(std::move(bridge), epoch_ns));
  core->pipeline = GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(name.c_str())));
  GstBus* bus = gst_element_get_bus(core->pipeline);
  gst_bus_set_sync_handler(bus, on_bus, new std::weak_ptr<PipelineCore>(core),
                           [](gpointer data) { delete static_cast<std::weak_ptr<PipelineCore>*>(data); });
  gst_object_unref(bus);
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
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_bus_set_sync_handler(bus, nullptr, nullptr, nullptr);
  gst_object_unref(bus);
  for (auto& [name, branch] : branches_) {
    gst_element_release_request_pad(branch.tee, branch.tee_pad);
    gst_object_unref(branch.tee_pad);
    gst_object_unref(branch.sink_pad);
    gst_object_unref(branch.tee);
  }
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
GstElement* PipelineCore::find(const std::string& node) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return unbuilt_ ? nullptr : gst_bin_get_by_name(GST_BIN(pipeline), node.c_str());
}
std::string PipelineCore::last_error() {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_error_;
}

std::string PipelineCore::set_state(GstState state, std::chrono::milliseconds limit, bool stop_if_live) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last_error_.clear();
  }
  auto failed = [&] {
    // The state change may fail a moment before the streaming thread has posted why.
    for (int slice = 0; slice < kErrorSlices && last_error().empty() && !closing_; slice++) g_usleep(kSlice / GST_USECOND);
    std::string why = last_error();
    return std::string("cannot go to ") + gst_element_state_get_name(state) + (why.empty() ? "" : ": " + why);
  };
  auto until = std::chrono::steady_clock::now() + limit;
  GstStateChangeReturn result = GST_STATE_CHANGE_SUCCESS;
  // Only the change to PAUSED tells whether it is live. At once after it comes PLAYING: what is not live has begun to
  // flow, and an end of stream that is reached before PLAYING gets lost.
  if (state == GST_STATE_PLAYING && GST_STATE_TARGET(pipeline) < GST_STATE_PAUSED) {
    result = gst_element_set_state(pipeline, GST_STATE_PAUSED);
    if (result == GST_STATE_CHANGE_NO_PREROLL) is_live_ = true;
    if (is_live_ && stop_if_live) return "";
  }
  // Sources may push before the bus reports PLAYING: until then, an estimate.
  if (state == GST_STATE_PLAYING && is_live_) timeline->set_live(unix_now_ns() - gst_element_get_start_time(pipeline));
  if (result != GST_STATE_CHANGE_FAILURE) result = gst_element_set_state(pipeline, state);
  if (result == GST_STATE_CHANGE_NO_PREROLL) is_live_ = true;
  while (result == GST_STATE_CHANGE_ASYNC && limit.count() > 0) {
    // An error on the bus does not end an asynchronous state change by itself.
    if (closing_) return "the pipeline was closed";
    if (!last_error().empty()) return failed();
    if (std::chrono::steady_clock::now() > until)
      return std::string("did not reach ") + gst_element_state_get_name(state) + " within " + std::to_string(limit.count()) + " ms";
    result = gst_element_get_state(pipeline, nullptr, nullptr, kSlice);
  }
  return result == GST_STATE_CHANGE_FAILURE ? failed() : "";
}

// ------------------------------------------------------------------------------------------------ building

std::string PipelineCore::build(const SegmentSpec& spec, GstBin* bin) {
  std::vector<GstElement*> added;
  std::string error;
  for (const auto& node : spec.nodes) {
    GstElement* element = gst_element_factory_make(node.factory.c_str(), node.name.c_str());
    if (element == nullptr) {
      error = node.name + ": there is no GStreamer element \"" + node.factory + "\" (is its plugin installed?)";
      break;
    }
    guard_datagrams(element);
    error = prepare_element(element, node.properties);
    if (!error.empty()) error = node.name + " (" + node.factory + ") " + error;
    if (auto core = ts_element_core(element)) {
      core->binding = node.binding;
      core->timeline = timeline;
      std::lock_guard<std::mutex> lock(mutex_);
      cores_.erase(std::remove_if(cores_.begin(), cores_.end(), [](auto& weak) { return weak.expired(); }), cores_.end());
      cores_.push_back(core);
      if (closing_) core->cancel_for_good();
    }
    if (error.empty() && (is_taken(bin, node.name) || !gst_bin_add(bin, element)))
      error = node.name + ": a node of that name is there already";
    if (!error.empty()) {
      gst_object_unref(gst_object_ref_sink(element));
      break;
    }
    added.push_back(element);
  }
  for (const auto& link : spec.links) {
    if (error.empty()) error = this->link(link, bin);
  }
  never_preroll(bin);
  if (!error.empty()) {
    for (GstElement* element : added) {
      gst_element_set_state(element, GST_STATE_NULL);
      gst_bin_remove(bin, element);
    }
  }
  return error;
}
std::string PipelineCore::link(const LinkSpec& link, GstBin* bin) {
  GstElement* from = gst_bin_get_by_name(bin, link.from.c_str());
  GstElement* to = gst_bin_get_by_name(bin, link.to.c_str());
  std::string error;
  if (from == nullptr || to == nullptr) error = "no node \"" + (from == nullptr ? link.from : link.to) + "\" to link";
  else error = link_elements(from, link.from_pad, to, link.to_pad, link.caps);
  if (from != nullptr) gst_object_unref(from);
  if (to != nullptr) gst_object_unref(to);
  return error;
}
std::shared_ptr<Relay> PipelineCore::relay_into(const std::string& appsrc, std::string* error) {
  GstElement* element = find(appsrc);
  std::lock_guard<std::mutex> lock(mutex_);
  auto known = relays_.find(appsrc);
  std::shared_ptr<Relay> relay = known == relays_.end() ? nullptr : known->second;
  if (element != nullptr && !relay && !unbuilt_) {
    relay = Relay::create(element, pipeline, timeline);
    if (relay) relays_[appsrc] = relay;
  }
  if (!relay) *error = "the pipeline has no appsrc \"" + appsrc + "\"";
  if (element != nullptr) gst_object_unref(element);
  return relay;
}

// ------------------------------------------------------------------------------------------------ bus

// The node an author knows: the outermost element below the pipeline or below a branch's bin.
std::string PipelineCore::node_of(GstObject* source) const {
  std::string name;
  GstObject* at = source == nullptr ? nullptr : GST_OBJECT(gst_object_ref(source));
  while (at != nullptr && at != GST_OBJECT(pipeline)) {
    GstObject* parent = gst_object_get_parent(at);
    bool is_branch = g_object_get_data(G_OBJECT(at), kBranch) != nullptr;
    if (GST_IS_ELEMENT(at) && !is_branch) {
      gchar* own = gst_object_get_name(at);
      name = own;
      g_free(own);
    }
    gst_object_unref(at);
    at = parent;
  }
  if (at != nullptr) gst_object_unref(at);
  return name;
}

namespace {
// Before the streaming thread goes on: what it returns then is met by a tee that must not stop for it.
void mark_failed(GstObject* source) {
  GstObject* at = source == nullptr ? nullptr : GST_OBJECT(gst_object_ref(source));
  while (at != nullptr) {
    if (g_object_get_data(G_OBJECT(at), kBranch) != nullptr) g_object_set_data(G_OBJECT(at), kBranchFailed, at);
    GstObject* parent = gst_object_get_parent(at);
    gst_object_unref(at);
    at = parent;
  }
}

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

GstBusSyncReply PipelineCore::on_bus(GstBus*, GstMessage* message, gpointer data) {
  if (auto core = static_cast<std::weak_ptr<PipelineCore>*>(data)->lock()) core->deliver(message);
  gst_message_unref(message);  // a handler that answers DROP owns the message
  return GST_BUS_DROP;
}
void PipelineCore::note_error(GstObject* source, const char* message) {
  std::string text = node_of(source) + ": " + message;
  std::lock_guard<std::mutex> lock(mutex_);
  if (last_error_.empty()) last_error_ = std::move(text);
}
// Running time and wall clock at one moment. After a pause anew: running time stood still meanwhile.
void PipelineCore::note_live() {
  GstClock* clock = gst_element_get_clock(pipeline);
  if (clock == nullptr) return;
  timeline->set_live(unix_now_ns() - (gst_clock_get_time(clock) - gst_element_get_base_time(pipeline)));
  gst_object_unref(clock);
}
void PipelineCore::deliver(GstMessage* message) {
  auto task = std::make_unique<MessageTask>();
  queued_messages_++;
  task->core = shared_from_this();
  task->queued = &queued_messages_;
  GstObject* source = GST_MESSAGE_SRC(message);
  bool vital = false;
  auto add_source = [&] {
    gchar* name = name_or_empty(source);
    task->fields.emplace_back("source", name);
    g_free(name);
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
      if (is_error) note_error(source, error->message), mark_failed(source);
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
      gchar* text = gst_structure_to_string(structure);
      task->type = "element";
      add_source();
      task->fields.emplace_back("name", gst_structure_get_name(structure));
      task->fields.emplace_back("structure", text);
      g_free(text);
      break;
    }
    case GST_MESSAGE_LATENCY: {  // with a sync handler that drops, GstPipeline's own handling never happens
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
