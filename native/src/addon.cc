// Registers the parts of the addon; does nothing else.
#include "addon.h"

#include <mutex>

#include "bridge.h"

static Napi::Object init(Napi::Env env, Napi::Object exports) {
  static std::once_flag once;
  std::call_once(once, [] {
    gst_init(nullptr, nullptr);
    register_keyframes();
    register_rtp_times();
    register_skip_frames();
    register_ts_klv();
    register_region_crop();
  });
  Bridge::create(env);
  export_connections(env, exports);
  export_registry(env, exports);
  export_elements(env, exports);
  export_frames(env, exports);
  export_kernels(env, exports);
  export_pipelines(env, exports);
  export_log(env, exports);
  return exports;
}
NODE_API_MODULE(windhover, init)
