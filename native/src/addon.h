// What parts of the addon offer to addon.cc, which registers them, and to each other.
#pragma once
#include <gst/gst.h>
#include <napi.h>

// JS thread, once per environment.
void export_connections(Napi::Env env, Napi::Object exports);
void export_registry(Napi::Env env, Napi::Object exports);
void export_elements(Napi::Env env, Napi::Object exports);
void export_frames(Napi::Env env, Napi::Object exports);
void export_kernels(Napi::Env env, Napi::Object exports);
void export_pipelines(Napi::Env env, Napi::Object exports);
void export_log(Napi::Env env, Napi::Object exports);

// Once per process, after gst_init().
void register_keyframes();
void register_rtp_times();
void register_skip_frames();
void register_ts_klv();
void register_region_crop();

// Control thread, before the element leaves NULL. Takes no reference. An rtspsrc then sends no UDP to hosts that are not
// allowed (connections.cc).
void guard_datagrams(GstElement* element);

// Control thread, before the element leaves NULL. Takes no reference. Works around defects of GStreamer (mend.cc).
void mend_element(GstElement* element);
