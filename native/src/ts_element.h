// TypeScript elements as GstElements: one GType per element, made from its specification.
#pragma once
#include <gst/gst.h>

#include <memory>
#include <string>

#include "element_core.h"

// Any thread. Registers the factory; a second registration of the same name (another worker thread) changes nothing.
void register_ts_element(std::unique_ptr<ElementSpec> spec);
// Null when `element` is not a TypeScript element.
std::shared_ptr<ElementCore> ts_element_core(GstElement* element);
// JavaScript's description of a format, from caps.
std::string format_json(GstCaps* caps, const GstVideoInfo* video);
