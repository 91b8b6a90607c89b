#include "bridge.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "element_core.h"
#include "pipeline_core.h"

namespace {
thread_local std::shared_ptr<Bridge> current_bridge;
// Never destroyed: GStreamer's threads may use them while the process exits.
auto& first_mutex = *new std::mutex;
auto& first_bridge = *new std::weak_ptr<Bridge>;

// References are deleted in batches of this size, or earlier with any other task.
constexpr size_t kRetireBatch = 64;
// How long a closing environment waits for its pipelines. Later ones are leaked.
constexpr std::chrono::seconds kShutdownLimit{5};

struct Holder {  // instance data: owns the bridge as long as the environment lives
  std::shared_ptr<Bridge> bridge;
};
void release_holder(Napi::Env, Holder* holder) {
  holder->bridge->dispatch.Reset();
  current_bridge.reset();
  delete holder;
}
}  // namespace

std::shared_ptr<Bridge> Bridge::create(Napi::Env env) {
  auto bridge = std::make_shared<Bridge>();
  bridge->env_ = env;
  bridge->js_thread_ = std::this_thread::get_id();
  env.SetInstanceData<Holder, release_holder>(new Holder{bridge});
  current_bridge = bridge;
  {
    std::lock_guard<std::mutex> lock(first_mutex);
    if (first_bridge.expired()) first_bridge = bridge;
  }
  // The thread-safe function owns a share: it drains the tasks that are queued when the environment closes.
  auto* share = new std::shared_ptr<Bridge>(bridge);
  napi_value name = Napi::String::New(env, "windhover");
  napi_status status = napi_create_threadsafe_function(
      env, nullptr, nullptr, name, 0, 1, nullptr,
      [](napi_env, void*, void* context) { delete static_cast<std::shared_ptr<Bridge>*>(context); }, share, on_task,
      &bridge->function_);
  if (status != napi_ok) throw Napi::Error::New(env, "cannot create the thread-safe function");
  napi_unref_threadsafe_function(env, bridge->function_);
  napi_add_env_cleanup_hook(env, [](void* data) { static_cast<Bridge*>(data)->close(); }, bridge.get());
  return bridge;
}

std::shared_ptr<Bridge> Bridge::of(Napi::Env env) { return env.GetInstanceData<Holder>()->bridge; }

std::shared_ptr<Bridge> Bridge::current() {
  if (current_bridge) return current_bridge;
  std::lock_guard<std::mutex> lock(first_mutex);
  return first_bridge.lock();
}
void Bridge::set_current(std::shared_ptr<Bridge> bridge) { current_bridge = std::move(bridge); }

bool Bridge::on_js_thread() const { return std::this_thread::get_id() == js_thread_; }

bool Bridge::post(std::unique_ptr<Task> task) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!closed_ && napi_call_threadsafe_function(function_, task.get(), napi_tsfn_nonblocking) == napi_ok) {
    task.release();
    return true;
  }
  lock.unlock();
  task->dropped();
  return false;
}

void Bridge::on_task(napi_env env, napi_value, void* context, void* data) {
  std::unique_ptr<Task> task(static_cast<Task*>(data));
  auto& bridge = *static_cast<std::shared_ptr<Bridge>*>(context);
  if (env == nullptr || bridge->closing_) {
    task->dropped();
    return;
  }
  bridge->drain_references(env);
  Napi::HandleScope scope(env);
  try {
    task->run(Napi::Env(env));
  } catch (const Napi::Error& error) {
    // A closing environment fails every call into JavaScript: ignored. Anything else is a bug and must surface.
    bool pending = false;
    napi_is_exception_pending(env, &pending);
    if (!pending && !error.IsEmpty()) {
      napi_value value = error.Value();
      if (value != nullptr) napi_fatal_exception(env, value);
    }
  }
}

void Bridge::retire(napi_ref reference) {
  bool kick;
  {
    std::lock_guard<std::mutex> lock(retired_mutex_);
    retired_.push_back(reference);
    kick = retired_.size() == kRetireBatch;
  }
  if (kick) run([](Napi::Env) {});  // on_task drains
}
void Bridge::drain_references(napi_env env) {
  std::vector<napi_ref> batch;
  {
    std::lock_guard<std::mutex> lock(retired_mutex_);
    if (retired_.empty()) return;
    batch.swap(retired_);
  }
  for (napi_ref reference : batch) napi_delete_reference(env, reference);
}

// In Node the reference of a thread-safe function is a flag, not a counter.
void Bridge::hold() {
  if (holds_++ == 0) napi_ref_threadsafe_function(env_, function_);
}
void Bridge::release() {
  if (--holds_ == 0 && !closed_) napi_unref_threadsafe_function(env_, function_);
}

void Bridge::add(ElementCore* core) {
  std::lock_guard<std::mutex> lock(members_mutex_);
  cores_.insert(core);
}
void Bridge::remove(ElementCore* core) {
  std::lock_guard<std::mutex> lock(members_mutex_);
  cores_.erase(core);
}
void Bridge::add(const std::shared_ptr<PipelineCore>& pipeline) {
  std::lock_guard<std::mutex> lock(members_mutex_);
  pipelines_.insert(pipeline);
}
void Bridge::remove(PipelineCore* pipeline) {
  std::lock_guard<std::mutex> lock(members_mutex_);
  auto is_it = [&](const auto& other) { return other.get() == pipeline; };
  auto found = std::find_if(pipelines_.begin(), pipelines_.end(), is_it);
  if (found != pipelines_.end()) pipelines_.erase(found);
}

// Order matters: first cancel all waits for JavaScript, then take pipelines to NULL on their own threads, then release the
// thread-safe function. In any other order a streaming thread could wait for an answer that never comes.
void Bridge::close() {
  closing_ = true;
  std::set<std::shared_ptr<PipelineCore>> pipelines;
  std::vector<std::shared_ptr<ElementCore>> cores;
  {
    std::lock_guard<std::mutex> lock(members_mutex_);
    for (ElementCore* core : cores_) {
      if (auto alive = core->weak_from_this().lock()) cores.push_back(std::move(alive));
    }
    pipelines = pipelines_;
  }
  // Without the lock: this may drop the last reference to a core, whose destructor takes it.
  for (auto& core : cores) core->cancel_for_good();
  cores.clear();
  for (auto& pipeline : pipelines) pipeline->shut_down();
  auto until = std::chrono::steady_clock::now() + kShutdownLimit;
  for (auto& pipeline : pipelines) pipeline->wait_closed(until);
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  napi_release_threadsafe_function(function_, napi_tsfn_abort);
}
