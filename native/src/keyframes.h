// `keyframes`: asks the encoder after it for a key frame every so many nanoseconds of stream time, whatever the frame
// rate. Encoders count frames instead, and a graph does not know the rate before it runs.
#pragma once
void register_keyframes();
