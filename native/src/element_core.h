// What a TypeScript element is made of, apart from its GObject shell: its calls into JavaScript and their life.
//
// Threads: `call`, `submit`, `emit_next` and `drain` run on streaming threads; `cancel` on whoever flushes or stops;
// `Call::settle` and everything that touches napi on the JS thread. One mutex guards it all.
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
#include "durations.h"
#include "metadata.h"
#include "timeline.h"

enum class CallKind { kStart, kStop, kFormat, kFrame, kEnd, kProperties, kFlush, kCancel };

enum class PropertyKind { kBoolean, kInteger, kNumber, kString, kEnum, kJson };
struct PropertySpec {
  std::string name, about;
  PropertyKind kind;
  bool live = false;
  double minimum = 0, maximum = 0, number = 0;  // `number` is the default of the numeric kinds, bools and enums
  std::string text;                             // default of strings
  bool has_text = false;
  GType enum_type = 0;
};
// Made once per element name and never freed: GTypes are for ever.
struct ElementSpec {
  std::string name, about, klass, caps;
  bool sink = false, writes_pixels = false;
  guint in_flight = 1;
  std::vector<PropertySpec> properties;
};

struct ElementCore;

// A kernel that JavaScript ordered and a streaming thread runs on the frame it waits for.
struct Job {
  virtual ~Job() = default;
  // Streaming thread, the frame mapped. Empty: done; else what went wrong.
  virtual std::string execute(GstVideoFrame& frame) = 0;
  // JS thread; `error` empty on success.
  virtual void finished(Napi::Env env, const std::string& error) = 0;
};

// One call from a streaming thread into JavaScript. Shared by that thread and the JS side.
struct Call {
  Call(std::shared_ptr<ElementCore> owner, CallKind what, GstBuffer* frame) : core(std::move(owner)), kind(what), buffer(frame) {}
  ~Call();
  Call(const Call&) = delete;

  const std::shared_ptr<ElementCore> core;
  const CallKind kind;
  GstBuffer* buffer;  // owned; null for calls that are not about a frame
  GstEvent* event = nullptr;  // owned; what stands between two frames in flight instead of a call, and is done already
  size_t size_bytes = 0;  // of the buffer as it came
  std::string payload;
  uint32_t id = 0;  // JS thread: key of the table of live calls
  uint64_t frame_index = 0;
  uint64_t capture_ns = 0;
  bool discontinuity = false;
  GstVideoInfo video;  // format of this very frame: a later caps change must not reach a frame in flight
  bool is_video = false;

  // Guarded by core->mutex.
  bool done = false, cancelled = false;
  int jobs = 0;  // ordered and not finished: the frame does not go on before they are
  GstFlowReturn flow = GST_FLOW_OK;
  bool drop = false;
  std::string error, stack;
  // Owned. Put on the buffer when the frame goes on and not earlier: until then a kernel may hold a reference to it.
  MetadataBox* metadata = nullptr;
  std::chrono::steady_clock::time_point since;

  // Any thread, before the call is done. False with a reason when the memory cannot be mapped.
  bool map(std::string* why);
  void unmap();
  // JS thread: views handed out become empty.
  void detach(Napi::Env env);
  // JS thread: the handler has settled. Detaches, records the outcome, wakes the streaming thread. False when that one
  // has gone on without the answer.
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
  // Set by the pipeline's builder before the element starts: tells JavaScript which handler is meant. 0: none.
  double binding = 0;
  std::shared_ptr<Timeline> timeline;

  // Blocks until JavaScript has answered or the element is flushed. On the JS thread itself it never waits.
  GstFlowReturn call(CallKind kind, GstBuffer* buffer, std::string payload, std::shared_ptr<Call>* out = nullptr);
  // No answer awaited.
  void notify(CallKind kind);

  // Several frames in flight. submit() takes the buffer and waits for room, which ends at a number of frames or of
  // bytes, whichever comes first; emit_next() waits for the oldest one.
  GstFlowReturn submit(GstBuffer* buffer);
  // Takes the event, which goes on in its turn. For events that change nothing about frames: live, waiting for all that
  // is in flight would cost frames.
  GstFlowReturn submit(GstEvent* event);
  std::shared_ptr<Call> emit_next();  // null: flushing
  void emitted(GstFlowReturn flow);   // what downstream said of the frame that emit_next() gave
  GstFlowReturn drain();              // until everything submitted has been sent on

  void cancel();
  void allow();  // after a flush or at start: calls may be made again
  void cancel_for_good();

  bool order(const std::shared_ptr<Call>& call, std::unique_ptr<Job> job);

  std::string properties_json();

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<GValue> values;  // guarded by mutex, as the next two
  bool started = false;        // between START and STOP: changes of properties reach the handler
  bool properties_posted = false;
  GstVideoInfo video;  // streaming thread, as the next five
  GstSegment segment;
  bool is_video = false;
  std::string format;                     // as JSON; empty before the first caps
  int input_width = 0, input_height = 0;  // 0: nobody said
  std::string format_due;  // a format that a flush kept from the handler: it comes before the next frame
  std::atomic<uint64_t> frames{0}, dropped{0};
  std::atomic<uint64_t> latency_ns{0};
  std::atomic<guint> in_flight;  // of this element: at most what its type allows; fixed once it has started
  Durations durations;

 private:
  std::shared_ptr<Call> make(CallKind kind, GstBuffer* buffer, std::string payload);
  GstFlowReturn line_up(const std::shared_ptr<Call>& call);
  // Waits for `ready`, running ordered jobs meanwhile. False when flushed.
  template <typename Ready>
  bool wait(std::unique_lock<std::mutex>& lock, Ready ready);
  void run_job(std::unique_lock<std::mutex>& lock);

  struct Ordered {
    std::shared_ptr<Call> call;
    std::unique_ptr<Job> job;
  };
  // What a flush or a refusal downstream leaves behind: taken out under the lock, told to JavaScript without it.
  struct Lost {
    std::vector<std::shared_ptr<Call>> calls;
    std::deque<Ordered> orders;
  };
  Lost take_all();
  void tell(Lost lost);
  bool flushing_ = true, closed_ = false, emitting_ = false;
  GstFlowReturn downstream_ = GST_FLOW_OK;
  GstClockTime last_pts_ = 0;  // streaming thread
  std::deque<std::shared_ptr<Call>> in_flight_;
  size_t bytes_in_flight_ = 0;
  std::deque<Ordered> jobs_;
};

// Any thread: hands the call to JavaScript; tells JavaScript that nobody waits for its answer any more.
void post_call(const std::shared_ptr<Call>& call);
void post_cancel(const std::shared_ptr<Call>& call);
// JS thread: the call with this id, or an exception that says the frame is dead.
std::shared_ptr<Call> live_call(Napi::Env env, uint32_t id);
size_t live_calls(Napi::Env env);

