/** Exit code 0 while the service answers and all of its parts are well. */
const port = process.env.WINDHOVER_HTTP_PORT ?? "8080";
const scheme = process.env.WINDHOVER_HTTP_TLS_CERT === undefined ? "http" : "https";
// It asks itself, under a name that no certificate is made out for.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
try {
  const answer = await fetch(`${scheme}://127.0.0.1:${port}/status`, { signal: AbortSignal.timeout(4_000) });
  const { status } = await answer.json();
  console.log(status);
  process.exitCode = answer.ok && status === "ok" ? 0 : 1;
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
