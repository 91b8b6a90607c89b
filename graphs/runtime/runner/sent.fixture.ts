/** A graph with outputs. Without a model: one printed line for each frame. */
export const SENT = `
graph: sent
about: Prints a line for every frame, and publishes video.
chains:
  main:
    - source
    - decode
    - stage: { buffers: 500 } # so that a busy machine drops none
    - tee: { name: frames }
  data:
    - from: frames
    - stage: { buffers: 500 }
    - print
slots:
  rtsp:
    params:
      url: { type: string }
      resolution: { enum: [360p, 720p, 1080p, null], default: null }
    chain:
      - from: frames
      - stage: { buffers: 500 }
      - resize: { to: $resolution }
      - encode: { resolution: $resolution, keyframe-seconds: 0.4 }
      - publish: { url: $url }
  recording:
    params: { path: { type: string } }
    chain:
      - from: frames
      - stage: { buffers: 500 }
      - encode
      - record: { path: $path }
  slow:
    params: { url: { type: string } }
    chain:
      - from: frames
      - stage: { buffers: 2 }
      - identity: { sleep-time: 200000 } # microseconds for each frame
      - encode: { keyframe-seconds: 0.4 }
      - publish: { url: $url }
`;
