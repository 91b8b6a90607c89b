// The core of a TypeScript element, without its GObject: its calls into JavaScript and their life cycle.
//
// Threads: `call`, `submit`, `emit_next` and `drain` run on streaming threads; `cancel` on the thread that flushes or stops
// the element; `Call::settle` and everything that touches napi on the JS thread. One mutex guards the shared state.
#pragma once
#include <gst/gst.h>
#include <gst/video/video.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bridge.h"
#include "probes.h"
#include "timeline.h"

// Same order as `CALL` in native/addon.ts.
enum class CallKind { kStart, kStop, kFormat, kFrame, kEnd, kProperties, kFlush, kCancel };

struct PropertySpec {
  GParamSpec* param;  // owned, never freed
  bool is_json;       // a string property whose text is JSON
};
// Created once per element name and never freed, like its GType.
struct ElementSpec {
  std::string name, about, klass, caps;
  bool sink = false, writes_pixels = false;
  guint in_flight = 1;
  std::vector<PropertySpec> properties;
};

// A JavaScript object that travels on a GstBuffer; all copies of the buffer share it. Reference-counted from any thread;
// the napi_ref is created and read on the JS thread only.
struct MetadataBox {
  static MetadataBox* create(std::shared_ptr<Bridge> bridge, napi_ref reference);
  MetadataBox* ref();
  void unref();
  napi_ref reference;
  std::shared_ptr<Bridge> bridge;

 private:
  std::atomic<int> count_{1};
};
// Borrowed; null when the buffer has no metadata.
MetadataBox* metadata_of(GstBuffer* buffer);
// Takes ownership of `box` and replaces earlier metadata. The buffer must be writable.
void metadata_set(GstBuffer* buffer, MetadataBox* box);

struct ElementCore;

// A kernel ordered by JavaScript, executed by the streaming thread that waits for the frame.
struct Job {
  virtual ~Job() = default;
  // Streaming thread, with the frame mapped. Empty on success, else the error.
  virtual std::string execute(GstVideoFrame& frame) = 0;
  // JS thread; `error` is empty on success.
  virtual void finished(Napi::Env env, const std::string& error) = 0;
};

// One call from a streaming thread into JavaScript. Shared by that thread and the JS thread.
struct Call {
  Call(std::shared_ptr<ElementCore> owner, CallKind what, GstBuffer* frame) : core(std::move(owner)), kind(what), buffer(frame) {}
  ~Call();
  Call(const Call&) = delete;

  const std::shared_ptr<ElementCore> core;
  const CallKind kind;
  GstBuffer* buffer;          // owned; null for calls without a frame
  GstEvent* event = nullptr;  // owned; an event queued between frames in flight, settled from the start
  size_t size_bytes = 0;      // of the buffer at arrival
  std::string payload;
  uint32_t id = 0;  // JS thread: key in the table of live calls
  uint64_t frame_index = 0;
  uint64_t capture_ns = 0;
  bool discontinuity = false;
  GstVideoInfo video;  // the format of this frame: later caps must not affect a frame in flight
  bool is_video = false;

  // Guarded by core->mutex.
  bool done = false, cancelled = false;
  int jobs = 0;  // unfinished jobs: the frame is not passed on before they are done
  GstFlowReturn flow = GST_FLOW_OK;
  bool drop = false;
  std::string error, stack;
  // Owned. Attached when the frame is passed on, not earlier: until then a kernel may hold a reference to the buffer.
  MetadataBox* metadata = nullptr;
  std::chrono::steady_clock::time_point since;
  // From `since` until now; for calls with a frame.
  Span span() const;

  // Any thread, before the call is done. False, with the reason, when the memory cannot be mapped.
  bool map(std::string* why);
  void unmap();
  // JS thread: detaches the array buffers handed out.
  void detach(Napi::Env env);
  // JS thread: the handler has settled. Detaches, records the outcome, wakes the streaming thread. False when the
  // streaming thread no longer waits.
  bool settle(Napi::Env env, GstFlowReturn flow, bool drop, std::string error, std::string stack);

  std::mutex map_mutex;
  bool mapped = false;
  GstVideoFrame frame;
  GstMapInfo bytes;
  std::vector<napi_ref> views;  // JS thread
};

struct ElementCore : std::enable_shared_from_this<ElementCore> {
  ElementCore(const ElementSpec* spec, std::shared_ptr<Bridge> bridge);
  ~ElementCore();

  const ElementSpec* const spec;
  const uint32_t id;
  const std::shared_ptr<Bridge> bridge;
  // Set by the pipeline before the element starts: selects the handler in JavaScript. 0: none.
  double binding = 0;
  std::shared_ptr<Timeline> timeline;

  // Blocks until JavaScript has settled or the element is flushed. On the JS thread it never blocks.
  GstFlowReturn call(CallKind kind, GstBuffer* buffer, std::string payload, std::shared_ptr<Call>* out = nullptr);
  // Does not wait for an answer.
  void notify(CallKind kind);

  // Several frames in flight. submit() takes ownership of the buffer and waits for room, which is limited by the number
  // of frames and by their bytes; emit_next() waits for the oldest frame.
  GstFlowReturn submit(GstBuffer* buffer);
  // Takes ownership of the event and passes it on in order. For events that do not affect frames: draining the frames in
  // flight would cost frames in a live pipeline.
  GstFlowReturn submit(GstEvent* event);
  std::shared_ptr<Call> emit_next();  // null when flushing
  void emitted(GstFlowReturn flow);   // downstream's result for the frame of emit_next()
  GstFlowReturn drain();              // waits until all submitted frames have been emitted

  // It only prepares decoders, and is not for JavaScript.
  // The PTS that the frame had before encoders moved it: capture times are known by that.
  GstClockTime source_pts(GstBuffer* buffer) const;
  bool is_primer(GstBuffer* buffer) const { return timeline && timeline->is_primer(source_pts(buffer)); }

  void cancel();
  void allow();  // after a flush or at start: calls are possible again
  void cancel_for_good();

  bool order(const std::shared_ptr<Call>& call, std::unique_ptr<Job> job);

  std::string properties_json();

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<GValue> values;  // guarded by mutex, like the next two
  bool started = false;        // between START and STOP: the handler receives property updates
  bool properties_posted = false;
  GstVideoInfo video;  // streaming thread, like the next five
  GstSegment segment;
  bool is_video = false;
  std::string format;                     // as JSON; empty before the first caps
  int input_width = 0, input_height = 0;  // 0: unknown
  std::string format_due;                 // a format that the handler must receive before the next frame
  std::atomic<uint64_t> frames{0}, dropped{0};
  std::atomic<uint64_t> latency_ns{0};
  std::atomic<guint> in_flight;  // at most the limit of the spec; fixed once started
  Durations durations;

 private:
  std::shared_ptr<Call> make(CallKind kind, GstBuffer* buffer, std::string payload);
  GstFlowReturn enqueue(const std::shared_ptr<Call>& call);
  // Waits for `ready` and runs ordered jobs meanwhile. False when flushed.
  template <typename Ready>
  bool wait(std::unique_lock<std::mutex>& lock, Ready ready);
  void run_job(std::unique_lock<std::mutex>& lock);

  struct Ordered {
    std::shared_ptr<Call> call;
    std::unique_ptr<Job> job;
  };
  // Work abandoned by a flush or a downstream error: removed under the lock, reported to JavaScript without it.
  struct Abandoned {
    std::vector<std::shared_ptr<Call>> calls;
    std::deque<Ordered> orders;
  };
  Abandoned abandon_all();
  void report(Abandoned abandoned);
  bool flushing_ = true, closed_ = false, emitting_ = false;
  GstFlowReturn downstream_ = GST_FLOW_OK;
  GstClockTime last_pts_ = 0;  // streaming thread
  std::deque<std::shared_ptr<Call>> in_flight_;
  size_t bytes_in_flight_ = 0;
  std::deque<Ordered> jobs_;
};

// Any thread: hands the call to JavaScript; informs it that the answer is no longer needed.
void post_call(const std::shared_ptr<Call>& call);
void post_cancel(const std::shared_ptr<Call>& call);
// JS thread: the call with this id, or null when it has been settled or cancelled.
std::shared_ptr<Call> live_call(uint32_t id);
size_t live_calls();

// A quoted JSON string; null becomes an empty one.
std::string json_string(const char* text);
