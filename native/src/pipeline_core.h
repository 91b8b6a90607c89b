// A GstPipeline and the one thread that changes it. JavaScript holds a wrapper (pipeline.cc); streaming threads, bus
// and probes hold weak or counted references.
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

// Owner of one branch: the bin is in the pipeline, the tee's request pad is ours until released.
struct Branch {
  GstElement* bin = nullptr;
  GstElement* tee = nullptr;
  GstPad* tee_pad = nullptr;
  GstPad* sink_pad = nullptr;
};

// Data of a branch's bin: it is one; something in it has told of an error (set on whatever thread that was).
inline constexpr char kBranch[] = "windhover-branch";
inline constexpr char kBranchFailed[] = "windhover-branch-failed";

class Relay;

class PipelineCore : public std::enable_shared_from_this<PipelineCore> {
 public:
  static std::shared_ptr<PipelineCore> create(std::shared_ptr<Bridge> bridge, const std::string& name, uint64_t epoch_ns);
  ~PipelineCore();

  const std::shared_ptr<Bridge> bridge;
  const std::shared_ptr<Timeline> timeline;
  GstElement* pipeline = nullptr;  // set once; owned, and alive, until the control thread has closed
  napi_ref on_message = nullptr;   // JS thread; retired with this object

  // Any thread: runs on the control thread, in order. Operations see closing() and give up early; when the control
  // thread is gone they run at once, to give up.
  void run(std::function<void()> operation);
  bool closing() const { return closing_; }

  // Any thread. Wakes whoever waits, then takes the pipeline to NULL on the control thread; `closed` follows there.
  void shut_down();
  bool wait_closed(std::chrono::steady_clock::time_point until);
  std::function<void()> on_closed;  // control thread, its last act

  // Control thread. Empty on success, else what is wrong; nothing is left behind in `bin` then.
  std::string build(const SegmentSpec& spec, GstBin* bin);
  // Limit 0: started, not waited for. `stop_if_live`: a live pipeline goes no further than PAUSED.
  std::string set_state(GstState state, std::chrono::milliseconds limit, bool stop_if_live = false);
  bool is_live() const { return is_live_; }  // known once it is PAUSED: live sources have no data before PLAYING
  // `entry` leads from a tee of the pipeline to a node of the branch.
  std::string add_branch(const std::string& name, const LinkSpec& entry, const SegmentSpec& spec);
  std::string remove_branch(const std::string& name, std::chrono::milliseconds limit);

  // Any thread. A counted reference or null.
  GstElement* find(const std::string& node) const;
  std::shared_ptr<Relay> relay_into(const std::string& appsrc, std::string* error);

  // The last error on the bus, for a state change that failed because of it.
  std::string last_error();

 private:
  PipelineCore(std::shared_ptr<Bridge> bridge, uint64_t epoch_ns);
  void loop();
  void close_on_control_thread();
  std::string link(const LinkSpec& link, GstBin* bin);
  static GstBusSyncReply on_bus(GstBus*, GstMessage* message, gpointer data);
  void deliver(GstMessage* message);
  void note_live();
  void note_error(GstObject* source, const char* message);
  std::string node_of(GstObject* source) const;

  mutable std::mutex mutex_;  // guards everything down to relays_
  std::condition_variable changed_;
  std::deque<std::function<void()>> operations_;
  std::atomic<bool> closing_{false};  // written under mutex_
  // Guarded by mutex_: nobody waits for JavaScript any more. The control thread closes not before, so that JavaScript
  // hears of every frame it has lost before it hears that the pipeline is closed.
  bool cancelled_ = false;
  bool loop_ended_ = false;  // operations are no longer taken
  bool unbuilt_ = false;     // `pipeline` is about to go
  bool closed_ = false;
  std::string last_error_;
  std::vector<std::weak_ptr<ElementCore>> cores_;
  std::map<std::string, std::shared_ptr<Relay>> relays_;
  std::atomic<int> queued_messages_{0};
  std::atomic<bool> latency_queued_{false};
  std::atomic<bool> is_live_{false};
  // A branch that is not attached yet: its errors are the answer of add_branch(), not the pipeline's.
  std::atomic<GstObject*> attaching_{nullptr};
  std::map<std::string, Branch> branches_;  // control thread
};
