// What each part of the addon puts into its exports.
#pragma once
#include <napi.h>

void export_connections(Napi::Env env, Napi::Object exports);
void export_registry(Napi::Env env, Napi::Object exports);
void export_elements(Napi::Env env, Napi::Object exports);
void export_frames(Napi::Env env, Napi::Object exports);
void export_motion(Napi::Env env, Napi::Object exports);
void export_pipelines(Napi::Env env, Napi::Object exports);
void export_log(Napi::Env env, Napi::Object exports);
