/**
 * A gateway in a process of its own, on the store in its first argument and with the servers in its second (JSON). It says
 * `ready`, makes a call of `files__work` with each line of its input as arguments, and prints the status of each outcome.
 */
import { createInterface } from "node:readline";
import { createRuntime } from "../../packages/postern/src/index.ts";

const [, , store = "", servers = "{}"] = process.argv;
const runtime = await createRuntime({ store, servers: JSON.parse(servers) });
process.stdout.write("ready\n");
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { status } = await runtime.invoke({ tool: "files__work", arguments: JSON.parse(line) });
  process.stdout.write(`${status}\n`);
});
