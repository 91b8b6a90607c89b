// `rtptimes`: gives RTP packets the PTS that their RTP timestamps mean, also where these do not rise (B-frames). Put it
// right behind `rtspsrc` or `rtpjitterbuffer`.
#pragma once
void register_rtp_times();
