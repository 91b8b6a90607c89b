// A GstPipeline and the one thread that changes it, its control thread. JavaScript holds a wrapper (pipelines.cc); streaming
// threads, bus and probes hold weak or counted references.
#pragma once
#include <gst/gst.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bridge.h"
#include "element_core.h"
#include "gst_cpp.h"
#include "property.h"
#include "timeline.h"

struct NodeSpec {
  std::string name, factory;
  double binding = 0;
  Properties properties;
};
struct LinkSpec {
  std::string from, from_pad, to, to_pad, caps;
};
struct SegmentSpec {
  std::vector<NodeSpec> nodes;
  std::vector<LinkSpec> links;
};

// A segment attached to a tee. Owns its references; the pipeline contains the bin. Control thread.
struct Branch {
  Ref<GstElement> bin, tee;
  Ref<GstPad> tee_pad;   // requested from the tee, to be released
  Ref<GstPad> sink_pad;  // the ghost pad of the bin
};

// Data of a branch's bin: marks it as one; marks it after an error inside (set on any thread).
inline constexpr char kBranch[] = "windhover-branch";
inline constexpr char kBranchFailed[] = "windhover-branch-failed";

class Relay;

class PipelineCore : public std::enable_shared_from_this<PipelineCore> {
 public:
  static std::shared_ptr<PipelineCore> create(std::shared_ptr<Bridge> bridge, const std::string& name, uint64_t epoch_ns);
  ~PipelineCore();

  const std::shared_ptr<Bridge> bridge;
  const std::shared_ptr<Timeline> timeline;
  GstElement* pipeline = nullptr;  // set once; owned until the control thread has closed
  napi_ref on_message = nullptr;   // JS thread; retired with this object

  // Any thread: runs on the control thread, in order. Operations check closing() and return early; after the control
  // thread has ended they run immediately.
  void run(std::function<void()> operation);
  bool closing() const { return closing_; }

  // Any thread. Cancels all waits, then takes the pipeline to NULL on the control thread, which calls `on_closed` last.
  void shut_down();
  bool wait_closed(std::chrono::steady_clock::time_point until);
  std::function<void()> on_closed;

  // Control thread. Empty on success, else the error; `bin` is unchanged then.
  std::string build(const SegmentSpec& spec, GstBin* bin);
  // Limit 0 does not wait. With `stop_if_live` a live pipeline stays PAUSED.
  std::string set_state(GstState state, std::chrono::milliseconds limit, bool stop_if_live = false);
  bool is_live() const { return is_live_; }  // known in PAUSED: live sources have no data before PLAYING
  // `entry` leads from a tee of the pipeline to a node of the branch.
  std::string add_branch(const std::string& name, const LinkSpec& entry, const SegmentSpec& spec);
  std::string remove_branch(const std::string& name, std::chrono::milliseconds limit);

  // Any thread. Null when the pipeline has no such node.
  Ref<GstElement> find(const std::string& node) const;
  std::shared_ptr<Relay> relay_into(const std::string& appsrc, std::string* error);

 private:
  PipelineCore(std::shared_ptr<Bridge> bridge, uint64_t epoch_ns);
  void loop();
  void close_on_control_thread();
  // Borrowed from `bin`, or null with the error.
  GstElement* add_node(const NodeSpec& node, GstBin* bin, std::string* error);
  std::string attach(Branch& branch, const std::string& name, const LinkSpec& entry, const SegmentSpec& spec);
  static GstBusSyncReply on_bus(GstBus*, GstMessage* message, gpointer data);
  void deliver(GstMessage* message);
  void note_live();
  void note_error(GstObject* source, const char* message);
  // The first error since the last clear, as the reason of a failed state change.
  std::string last_error();
  void clear_error();
  std::string node_of(GstObject* source) const;

  mutable std::mutex mutex_;  // guards everything down to relays_
  std::condition_variable changed_;
  std::deque<std::function<void()>> operations_;
  std::atomic<bool> closing_{false};  // written under mutex_
  // No call waits for JavaScript. The control thread closes only after this, so that JavaScript learns about all discarded
  // frames before the pipeline is closed.
  bool cancelled_ = false;
  bool loop_ended_ = false;  // the control thread takes no more operations
  bool unbuilt_ = false;     // `pipeline` is about to be freed
  bool closed_ = false;
  std::string last_error_;
  std::vector<std::weak_ptr<ElementCore>> cores_;
  std::map<std::string, std::shared_ptr<Relay>> relays_;
  std::atomic<int> queued_messages_{0};
  std::atomic<bool> latency_queued_{false};
  std::atomic<bool> is_live_{false};
  // The bin of a branch that is being attached; only compared. Its errors are the result of add_branch(), not the pipeline's.
  std::atomic<GstObject*> attaching_{nullptr};
  std::map<std::string, Branch> branches_;  // control thread
};
