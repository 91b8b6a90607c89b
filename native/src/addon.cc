// Registers; does nothing else.
#include "addon.h"

#include <gst/gst.h>

#include <mutex>

#include "bridge.h"
#include "keyframes.h"
#include "metadata.h"
#include "rtp_times.h"

static Napi::Object init(Napi::Env env, Napi::Object exports) {
  static std::once_flag once;
  std::call_once(once, [] {
    gst_init(nullptr, nullptr);
    metadata_register();
    register_keyframes();
    register_rtp_times();
  });
  Bridge::create(env);
  export_connections(env, exports);
  export_registry(env, exports);
  export_elements(env, exports);
  export_frames(env, exports);
  export_motion(env, exports);
  export_pipelines(env, exports);
  export_log(env, exports);
  return exports;
}
NODE_API_MODULE(windhover, init)
