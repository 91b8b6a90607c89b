// The only path from GStreamer's threads to JavaScript. One Bridge per napi_env (main thread or worker).
#pragma once
#include <napi.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

class Bridge;
class PipelineCore;
struct ElementCore;

// Work for the JS thread. Exactly one of run() and dropped() is called, then the task is destroyed.
struct Task {
  virtual ~Task() = default;
  virtual void run(Napi::Env env) = 0;
  // Any thread, when the environment is closing: must not touch JavaScript.
  virtual void dropped() {}
};

class Bridge : public std::enable_shared_from_this<Bridge> {
 public:
  // JS thread. Owned by the environment through its instance data; threads hold shared_ptrs.
  static std::shared_ptr<Bridge> create(Napi::Env env);
  static std::shared_ptr<Bridge> of(Napi::Env env);

  // The bridge of elements created on this thread: the environment's own on a JS thread, the pipeline's on its control
  // thread, the first environment's on GStreamer's own threads.
  static std::shared_ptr<Bridge> current();
  static void set_current(std::shared_ptr<Bridge> bridge);

  // Any thread. Never blocks. False when the environment is closing; dropped() has been called then.
  bool post(std::unique_ptr<Task> task);
  // The same for a function that takes a Napi::Env.
  template <typename Function>
  bool run(Function function) {
    struct FunctionTask : Task {
      Function function;
      explicit FunctionTask(Function f) : function(std::move(f)) {}
      void run(Napi::Env env) override { function(env); }
    };
    return post(std::make_unique<FunctionTask>(std::move(function)));
  }

  // Any thread. napi_refs may only be deleted on the JS thread: they are collected and deleted in batches.
  void retire(napi_ref reference);

  // JS thread. Counted: the event loop stays alive until each hold() is released.
  void hold();
  void release();

  bool on_js_thread() const;
  bool closing() const { return closing_; }

  // JS thread; set once by native/handlers.ts.
  Napi::FunctionReference dispatch;

  // Any thread: the elements and pipelines to stop when the environment closes. Elements are not owned.
  void add(ElementCore* core);
  void remove(ElementCore* core);
  void add(const std::shared_ptr<PipelineCore>& pipeline);
  void remove(PipelineCore* pipeline);

  // Metadata objects alive on buffers; tests check that none leaks.
  std::atomic<int> boxes{0};

 private:
  void close();
  void drain_references(napi_env env);
  static void on_task(napi_env env, napi_value, void* context, void* data);

  napi_env env_ = nullptr;
  std::thread::id js_thread_;
  napi_threadsafe_function function_ = nullptr;
  std::mutex mutex_;  // guards closed_, and function_ against a call that races with its release
  bool closed_ = false;
  std::atomic<bool> closing_{false};
  int holds_ = 0;
  std::mutex retired_mutex_;
  std::vector<napi_ref> retired_;
  std::mutex members_mutex_;
  std::set<ElementCore*> cores_;
  std::set<std::shared_ptr<PipelineCore>> pipelines_;
};

// JS thread. Null for GST_CLOCK_TIME_NONE.
inline Napi::Value to_bigint(Napi::Env env, uint64_t ns) {
  return ns == UINT64_MAX ? env.Null() : Napi::Value(Napi::BigInt::New(env, ns));
}
