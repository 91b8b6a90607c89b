/** Health check: exit code 0 while the service responds and all of its components are healthy. */
const port = process.env.WINDHOVER_HTTP_PORT ?? "8080";
const scheme = process.env.WINDHOVER_HTTP_TLS_CERT === undefined ? "http" : "https";
// A local request to 127.0.0.1, which the certificate does not name.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
try {
  const response = await fetch(`${scheme}://127.0.0.1:${port}/status`, { signal: AbortSignal.timeout(4_000) });
  const { status } = await response.json();
  console.log(status);
  process.exitCode = response.ok && status === "ok" ? 0 : 1;
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
