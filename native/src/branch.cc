// Branches that come and go while the pipeline plays. The order of the steps is what keeps the main chain flowing;
// every other order that was tried stalls it or loses frames.
#include <algorithm>
#include <thread>

#include "pad_link.h"
#include "pipeline_core.h"

namespace {
// How often it is looked whether a branch has come to its end: nothing tells of it after the fact.
constexpr std::chrono::milliseconds kLook{2};

void add_pads(GstElement* sink, std::vector<GstPad*>* pads) {
  GST_OBJECT_LOCK(sink);
  for (GList* at = sink->sinkpads; at != nullptr; at = at->next) pads->push_back(GST_PAD(gst_object_ref(at->data)));
  GST_OBJECT_UNLOCK(sink);
}
// Owned: the inputs of all sinks of the branch.
std::vector<GstPad*> last_pads(GstElement* bin) {
  std::vector<GstPad*> pads;
  GstIterator* sinks = gst_bin_iterate_sinks(GST_BIN(bin));
  GValue item = G_VALUE_INIT;
  bool more = true;
  while (more) {
    switch (gst_iterator_next(sinks, &item)) {
      case GST_ITERATOR_OK:
        add_pads(GST_ELEMENT(g_value_get_object(&item)), &pads);
        g_value_reset(&item);
        break;
      case GST_ITERATOR_RESYNC:
        for (GstPad* pad : pads) gst_object_unref(pad);
        pads.clear();
        gst_iterator_resync(sinks);
        break;
      default:
        more = false;
    }
  }
  g_value_unset(&item);
  gst_iterator_free(sinks);
  return pads;
}
// A pad is at its end when its element has dealt with the event, not when the event arrives: a handler's end(), a file's
// last bytes are done then.
bool at_end(const std::vector<GstPad*>& pads) {
  return std::all_of(pads.begin(), pads.end(), [](GstPad* pad) { return GST_PAD_IS_EOS(pad); });
}

using Flag = std::shared_ptr<std::atomic<bool>>;
struct Unlinking {
  Flag done;
  GstPad* sink;  // owned
};
// Runs between two buffers of the tee's pad.
GstPadProbeReturn on_idle(GstPad* tee_pad, GstPadProbeInfo*, gpointer data) {
  auto* unlinking = static_cast<Unlinking*>(data);
  gst_pad_unlink(tee_pad, unlinking->sink);
  *unlinking->done = true;
  return GST_PAD_PROBE_REMOVE;
}
// Ends the branch from its own queue on. On a thread of its own: should a query wait in the branch for a sink that is
// stuck, it holds the lock that the event needs, and whoever sends it.
void send_end(GstElement* bin, GstPad* sink) {
  auto send = [](GstElement*, gpointer pad) { gst_pad_send_event(GST_PAD(pad), gst_event_new_eos()); };
  gst_element_call_async(bin, send, gst_object_ref(sink), gst_object_unref);
}
// A branch that has told of its error is about to be taken out, and takes nothing any more: that is no reason for the
// tee to stop the stream of all the others.
GstFlowReturn spare(GstObject* bin, GstFlowReturn result) {
  bool failed = result != GST_FLOW_OK && bin != nullptr && g_object_get_data(G_OBJECT(bin), kBranchFailed) != nullptr;
  return failed ? GST_FLOW_OK : result;
}
GstFlowReturn on_buffer(GstPad* pad, GstObject* bin, GstBuffer* buffer) {
  return spare(bin, gst_proxy_pad_chain_default(pad, bin, buffer));
}
GstFlowReturn on_buffers(GstPad* pad, GstObject* bin, GstBufferList* buffers) {
  return spare(bin, gst_proxy_pad_chain_list_default(pad, bin, buffers));
}
void free_unlinking(gpointer data) {
  auto* unlinking = static_cast<Unlinking*>(data);
  gst_object_unref(unlinking->sink);
  delete unlinking;
}

}  // namespace

std::string PipelineCore::add_branch(const std::string& name, const LinkSpec& entry, const SegmentSpec& spec) {
  if (branches_.count(name) != 0) return "branch \"" + name + "\" is attached already";
  const std::string& tee_name = entry.from;
  GstElement* tee = find(tee_name);
  if (tee == nullptr) return "no node \"" + tee_name + "\" to attach to";

  GstElement* bin = gst_bin_new(("branch:" + name).c_str());
  gst_object_ref_sink(bin);
  g_object_set_data(G_OBJECT(bin), kBranch, bin);
  Branch branch{bin, tee, nullptr, nullptr};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last_error_.clear();
  }
  attaching_ = GST_OBJECT(bin);
  std::string error = build(spec, GST_BIN(bin));
  bool added = false;
  if (error.empty()) {
    GstElement* first = gst_bin_get_by_name(GST_BIN(bin), entry.to.c_str());
    GstPad* target = first == nullptr ? nullptr : take_pad(first, entry.to_pad, GST_PAD_SINK, nullptr);
    if (target == nullptr) error = "branch \"" + name + "\" must begin with an element that has a sink pad";
    else if (std::string wrong = prepare_pad(first, target); !wrong.empty()) error = entry.to + " " + wrong;
    else {
      branch.sink_pad = GST_PAD(gst_object_ref(gst_ghost_pad_new("sink", target)));
      gst_pad_set_chain_function(branch.sink_pad, on_buffer);
      gst_pad_set_chain_list_function(branch.sink_pad, on_buffers);
      gst_pad_set_active(branch.sink_pad, TRUE);
      gst_element_add_pad(bin, branch.sink_pad);
    }
    if (target != nullptr) gst_object_unref(target);
    if (first != nullptr) gst_object_unref(first);
  }
  if (error.empty()) {
    // Running before it is linked: the tee never meets a pad that is not ready, so the main chain never waits.
    added = gst_bin_add(GST_BIN(pipeline), bin);
    if (!added) error = "branch \"" + name + "\": a node of that name is there already";
    else if (!gst_element_sync_state_with_parent(bin)) {
      std::string why = last_error();
      error = "branch \"" + name + "\" does not start" + (why.empty() ? "" : ": " + why);
    }
  }
  if (error.empty()) {
    branch.tee_pad = gst_element_request_pad_simple(tee, entry.from_pad.empty() ? "src_%u" : entry.from_pad.c_str());
    if (branch.tee_pad == nullptr) error = "node \"" + tee_name + "\" is no tee";
    else if (gst_pad_link(branch.tee_pad, branch.sink_pad) != GST_PAD_LINK_OK)
      error = "branch \"" + name + "\" does not take what \"" + tee_name + "\" gives";
  }
  if (error.empty()) {
    attaching_ = nullptr;
    branches_[name] = branch;
    gst_object_unref(bin);  // the pipeline's now
    return {};
  }
  gst_element_set_state(bin, GST_STATE_NULL);
  attaching_ = nullptr;
  if (branch.tee_pad != nullptr) {
    gst_element_release_request_pad(tee, branch.tee_pad);
    gst_object_unref(branch.tee_pad);
  }
  if (branch.sink_pad != nullptr) gst_object_unref(branch.sink_pad);
  if (added) gst_bin_remove(GST_BIN(pipeline), bin);
  gst_object_unref(bin);
  gst_object_unref(tee);
  return error;
}

std::string PipelineCore::remove_branch(const std::string& name, std::chrono::milliseconds limit) {
  auto found = branches_.find(name);
  if (found == branches_.end()) return "branch \"" + name + "\" is not attached";
  Branch branch = found->second;
  branches_.erase(found);

  auto pads = last_pads(branch.bin);
  if (GST_STATE(pipeline) == GST_STATE_PAUSED) {
    // Sinks of a paused pipeline take nothing, not even the end: this branch plays out what it has got.
    gst_element_set_locked_state(branch.bin, TRUE);
    gst_element_set_state(branch.bin, GST_STATE_PLAYING);
  }
  auto unlinked = std::make_shared<std::atomic<bool>>(false);
  gst_pad_add_probe(branch.tee_pad, GST_PAD_PROBE_TYPE_IDLE, on_idle,
                    new Unlinking{unlinked, GST_PAD(gst_object_ref(branch.sink_pad))}, free_unlinking);
  auto until = std::chrono::steady_clock::now() + limit;
  auto ended = [&] { return *unlinked && at_end(pads); };
  for (bool told = false; !ended() && !closing() && std::chrono::steady_clock::now() < until;) {
    if (*unlinked && !told) send_end(branch.bin, branch.sink_pad), told = true;
    std::this_thread::sleep_for(kLook);
  }
  bool whole = ended();
  // Released before anything else: should the tee be stuck pushing into this very branch, it then takes the refusal
  // that ends the push for a pad that has gone, and not for one that wants the whole stream to stop.
  gst_element_release_request_pad(branch.tee, branch.tee_pad);
  if (!whole) gst_pad_send_event(branch.sink_pad, gst_event_new_flush_start());
  gst_element_set_state(branch.bin, GST_STATE_NULL);
  for (GstPad* pad : pads) gst_object_unref(pad);
  gst_bin_remove(GST_BIN(pipeline), branch.bin);
  gst_object_unref(branch.tee_pad);
  gst_object_unref(branch.sink_pad);
  gst_object_unref(branch.tee);
  return whole ? "" : "branch \"" + name + "\" did not come to its end within " + std::to_string(limit.count()) + " ms and was cut off";
}
