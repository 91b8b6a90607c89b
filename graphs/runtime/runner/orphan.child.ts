/** Acts as the server: forks a runner, starts it, prints its process id, and waits to be killed. */
import { fork } from "node:child_process";
import { ENTRY, jobOn } from "./runner.fixture.ts";

const child = fork(ENTRY, [], { execArgv: [], stdio: ["ignore", "ignore", "ignore", "ipc"] });
child.on("message", (message: { type: string }) => {
  if (message.type === "hello")
    child.send({ type: "start", id: 1, job: jobOn({ sourceUri: "test:ball?width=64&height=48" }) });
  if (message.type === "flowing") process.stdout.write(`${child.pid}\n`);
});
