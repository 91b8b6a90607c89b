/**
 * The one way in which onnxruntime is loaded. From 1.29 on it reports its use to its makers and keeps an identifier of the
 * machine in the home folder, unless the environment says otherwise before it is loaded. What Windhover looks at is
 * nobody else's business. Worker threads must share the environment of the process for this to reach native code.
 */
export async function loadOnnxruntime(): Promise<typeof import("onnxruntime-node")> {
  process.env.ORT_DISABLE_TELEMETRY = "1";
  return import("onnxruntime-node");
}
