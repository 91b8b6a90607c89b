// Building segments into a pipeline, and branches that are attached and removed while it plays. Control thread unless noted.
// In branches the order of the steps keeps the main chain flowing: other orders stall it or lose frames.
#include <algorithm>
#include <thread>

#include "addon.h"
#include "pad_link.h"
#include "pipeline_core.h"
#include "ts_element.h"

namespace {
// A sink that waits for preroll deadlocks graphs whose branches take different time to their first frame, and takes a playing
// pipeline back to PAUSED when a branch is attached.
void never_preroll(GstBin* bin) {
  GstIterator* sinks = gst_bin_iterate_sinks(bin);
  auto set = [](const GValue* item, gpointer) {
    auto* object = G_OBJECT(g_value_get_object(item));
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(object), "async") != nullptr) g_object_set(object, "async", FALSE, nullptr);
  };
  while (gst_iterator_foreach(sinks, set, nullptr) == GST_ITERATOR_RESYNC) gst_iterator_resync(sinks);
  gst_iterator_free(sinks);
}

// gst_bin_add() would print a warning on stderr.
bool is_taken(GstBin* bin, const std::string& name) {
  Ref<GstElement> other(gst_bin_get_by_name(bin, name.c_str()));
  return other && GST_OBJECT_PARENT(other.get()) == GST_OBJECT(bin);
}

std::string link_nodes(const LinkSpec& link, GstBin* bin) {
  Ref<GstElement> from(gst_bin_get_by_name(bin, link.from.c_str())), to(gst_bin_get_by_name(bin, link.to.c_str()));
  if (!from || !to) return "no node \"" + (from ? link.to : link.from) + "\" to link";
  return link_elements(from.get(), link.from_pad, to.get(), link.to_pad, link.caps);
}
}  // namespace

std::string PipelineCore::build(const SegmentSpec& spec, GstBin* bin) {
  std::vector<GstElement*> added;  // owned by `bin`
  std::string error;
  for (size_t i = 0; i < spec.nodes.size() && error.empty(); i++) {
    GstElement* element = add_node(spec.nodes[i], bin, &error);
    if (element != nullptr) added.push_back(element);
  }
  for (size_t i = 0; i < spec.links.size() && error.empty(); i++) error = link_nodes(spec.links[i], bin);
  never_preroll(bin);
  if (error.empty()) return {};
  for (GstElement* element : added) {
    gst_element_set_state(element, GST_STATE_NULL);
    gst_bin_remove(bin, element);
  }
  return error;
}

GstElement* PipelineCore::add_node(const NodeSpec& node, GstBin* bin, std::string* error) {
  GstElement* made = gst_element_factory_make(node.factory.c_str(), node.name.c_str());
  if (made == nullptr) {
    *error = node.name + ": unknown GStreamer element \"" + node.factory + "\" (is its plugin installed?)";
    return nullptr;
  }
  Ref<GstElement> element(GST_ELEMENT(gst_object_ref_sink(made)));
  guard_datagrams(made);
  mend_element(made);
  *error = prepare_element(made, node.properties);
  if (!error->empty()) {
    *error = node.name + " (" + node.factory + ") " + *error;
    return nullptr;
  }
  if (auto core = ts_element_core(made)) {
    core->binding = node.binding;
    core->timeline = timeline;
    std::lock_guard<std::mutex> lock(mutex_);
    cores_.erase(std::remove_if(cores_.begin(), cores_.end(), [](auto& weak) { return weak.expired(); }), cores_.end());
    cores_.push_back(core);
    if (closing_) core->cancel_for_good();
  }
  if (!is_taken(bin, node.name) && gst_bin_add(bin, made)) return made;
  *error = node.name + ": a node with this name exists already";
  return nullptr;
}

// ------------------------------------------------------------------------------------------------ branches

namespace {
// Polling interval for the end of a branch: GStreamer has no notification after the fact.
constexpr std::chrono::milliseconds kPoll{2};

// The inputs of all sinks of the branch.
std::vector<Ref<GstPad>> last_pads(GstElement* bin) {
  std::vector<Ref<GstPad>> pads;
  auto add = [](const GValue* item, gpointer data) {
    auto* sink = GST_ELEMENT(g_value_get_object(item));
    GST_OBJECT_LOCK(sink);
    for (GList* at = sink->sinkpads; at != nullptr; at = at->next)
      static_cast<std::vector<Ref<GstPad>>*>(data)->push_back(new_ref(GST_PAD(at->data)));
    GST_OBJECT_UNLOCK(sink);
  };
  GstIterator* sinks = gst_bin_iterate_sinks(GST_BIN(bin));
  while (gst_iterator_foreach(sinks, add, &pads) == GST_ITERATOR_RESYNC) {
    pads.clear();
    gst_iterator_resync(sinks);
  }
  gst_iterator_free(sinks);
  return pads;
}
// A pad is EOS once its element has handled the event: a handler's end() has run, a file is complete.
bool at_end(const std::vector<Ref<GstPad>>& pads) {
  return std::all_of(pads.begin(), pads.end(), [](const auto& pad) { return GST_PAD_IS_EOS(pad.get()); });
}

struct Unlinking {
  std::shared_ptr<std::atomic<bool>> done;
  Ref<GstPad> sink;
};
// Runs between two buffers of the tee's pad, on any thread.
GstPadProbeReturn on_idle(GstPad* tee_pad, GstPadProbeInfo*, gpointer data) {
  auto* unlinking = static_cast<Unlinking*>(data);
  gst_pad_unlink(tee_pad, unlinking->sink.get());
  *unlinking->done = true;
  return GST_PAD_PROBE_REMOVE;
}
// Sends EOS into the branch. Asynchronously: a query that waits for a stuck sink holds the stream lock, which the event needs.
void send_end(GstElement* bin, GstPad* sink) {
  auto send = [](GstElement*, gpointer pad) { gst_pad_send_event(GST_PAD(pad), gst_event_new_eos()); };
  gst_element_call_async(bin, send, gst_object_ref(sink), gst_object_unref);
}
bool has_failed(GstObject* bin) { return g_object_get_data(G_OBJECT(bin), kBranchFailed) != nullptr; }
// A format that an element rejects is no error for a queue: it returns the result upstream, where the whole pipeline would
// fail. Posted here, it is an error of the branch.
void post_rejection(GstPad* pad) {
  Ref<GstPad> target(gst_ghost_pad_get_target(GST_GHOST_PAD(pad)));
  Ref<GstElement> first(target ? gst_pad_get_parent_element(target.get()) : nullptr);
  if (!first) return;
  Ref<GstCaps> caps(gst_pad_get_current_caps(pad));
  const gchar* format = caps && !gst_caps_is_any(caps.get()) && gst_caps_get_size(caps.get()) > 0
                            ? gst_structure_get_name(gst_caps_get_structure(caps.get(), 0))
                            : "this format";
  GST_ELEMENT_ERROR(first.get(), STREAM, FORMAT, ("an element after it does not accept %s", format), (nullptr));
}
// A branch that has posted an error will be removed: its result must not make the tee stop the other branches.
GstFlowReturn ignore_failed(GstPad* pad, GstObject* bin, GstFlowReturn result) {
  if (result == GST_FLOW_OK || bin == nullptr) return result;
  if (result == GST_FLOW_NOT_NEGOTIATED && !has_failed(bin)) post_rejection(pad);
  return has_failed(bin) ? GST_FLOW_OK : result;
}
GstFlowReturn on_buffer(GstPad* pad, GstObject* bin, GstBuffer* buffer) {
  return ignore_failed(pad, bin, gst_proxy_pad_chain_default(pad, bin, buffer));
}
GstFlowReturn on_buffers(GstPad* pad, GstObject* bin, GstBufferList* buffers) {
  return ignore_failed(pad, bin, gst_proxy_pad_chain_list_default(pad, bin, buffers));
}
}  // namespace

// Builds the branch and links it to the tee. On failure add_branch() undoes it.
std::string PipelineCore::attach(Branch& branch, const std::string& name, const LinkSpec& entry, const SegmentSpec& spec) {
  GstElement* bin = branch.bin.get();
  std::string error = build(spec, GST_BIN(bin));
  if (!error.empty()) return error;
  Ref<GstElement> first(gst_bin_get_by_name(GST_BIN(bin), entry.to.c_str()));
  Ref<GstPad> target = first ? take_pad(first.get(), entry.to_pad, GST_PAD_SINK, nullptr) : nullptr;
  if (!target) return "branch \"" + name + "\" must begin with an element that has a sink pad";
  error = prepare_pad(first.get(), target.get());
  if (!error.empty()) return entry.to + " " + error;
  GstPad* ghost = gst_ghost_pad_new("sink", target.get());
  branch.sink_pad.reset(GST_PAD(gst_object_ref_sink(ghost)));
  gst_pad_set_chain_function(ghost, on_buffer);
  gst_pad_set_chain_list_function(ghost, on_buffers);
  gst_pad_set_active(ghost, TRUE);
  gst_element_add_pad(bin, ghost);
  // Running before it is linked: the tee must never meet a pad that is not ready.
  if (!gst_bin_add(GST_BIN(pipeline), bin)) return "branch \"" + name + "\": a node with this name exists already";
  if (!gst_element_sync_state_with_parent(bin)) {
    std::string why = last_error();
    return "branch \"" + name + "\" does not start" + (why.empty() ? "" : ": " + why);
  }
  branch.tee_pad.reset(gst_element_request_pad_simple(branch.tee.get(), entry.from_pad.empty() ? "src_%u" : entry.from_pad.c_str()));
  if (!branch.tee_pad) return "node \"" + entry.from + "\" is not a tee";
  if (gst_pad_link(branch.tee_pad.get(), ghost) != GST_PAD_LINK_OK)
    return "branch \"" + name + "\" does not accept the output of \"" + entry.from + "\"";
  return {};
}

std::string PipelineCore::add_branch(const std::string& name, const LinkSpec& entry, const SegmentSpec& spec) {
  if (branches_.count(name) != 0) return "branch \"" + name + "\" is attached already";
  Branch branch;
  branch.tee = find(entry.from);
  if (!branch.tee) return "no node \"" + entry.from + "\" to attach to";
  branch.bin.reset(GST_ELEMENT(gst_object_ref_sink(gst_bin_new(("branch:" + name).c_str()))));
  GstElement* bin = branch.bin.get();
  g_object_set_data(G_OBJECT(bin), kBranch, bin);
  clear_error();
  attaching_ = GST_OBJECT(bin);
  std::string error = attach(branch, name, entry, spec);
  if (!error.empty()) gst_element_set_state(bin, GST_STATE_NULL);
  attaching_ = nullptr;
  if (error.empty()) {
    branches_[name] = std::move(branch);
    return {};
  }
  if (branch.tee_pad) gst_element_release_request_pad(branch.tee.get(), branch.tee_pad.get());
  if (GST_OBJECT_PARENT(bin) != nullptr) gst_bin_remove(GST_BIN(pipeline), bin);
  return error;
}

std::string PipelineCore::remove_branch(const std::string& name, std::chrono::milliseconds limit) {
  auto found = branches_.find(name);
  if (found == branches_.end()) return "branch \"" + name + "\" is not attached";
  Branch branch = std::move(found->second);
  branches_.erase(found);

  GstElement* bin = branch.bin.get();
  auto pads = last_pads(bin);
  if (GST_STATE(pipeline) == GST_STATE_PAUSED) {
    // Sinks of a paused pipeline handle no EOS: the branch plays its remaining frames.
    gst_element_set_locked_state(bin, TRUE);
    gst_element_set_state(bin, GST_STATE_PLAYING);
  }
  auto unlinked = std::make_shared<std::atomic<bool>>(false);
  gst_pad_add_probe(branch.tee_pad.get(), GST_PAD_PROBE_TYPE_IDLE, on_idle, new Unlinking{unlinked, new_ref(branch.sink_pad.get())},
                    delete_data<Unlinking>);
  auto until = std::chrono::steady_clock::now() + limit;
  auto ended = [&] { return *unlinked && at_end(pads); };
  for (bool sent = false; !ended() && !closing() && std::chrono::steady_clock::now() < until;) {
    if (*unlinked && !sent) send_end(bin, branch.sink_pad.get()), sent = true;
    std::this_thread::sleep_for(kPoll);
  }
  bool whole = ended();
  // The pad is released first: if the tee is stuck pushing into this branch, it then ignores the error of the push instead
  // of stopping the whole stream.
  gst_element_release_request_pad(branch.tee.get(), branch.tee_pad.get());
  if (!whole) gst_pad_send_event(branch.sink_pad.get(), gst_event_new_flush_start());
  gst_element_set_state(bin, GST_STATE_NULL);
  pads.clear();
  gst_bin_remove(GST_BIN(pipeline), bin);
  return whole ? "" : "branch \"" + name + "\" did not end within " + std::to_string(limit.count()) + " ms and was cut off";
}
