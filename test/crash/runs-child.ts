/** Makes endless calls that fill run folders until it is killed: `node runs-child.ts FOLDER`. Prints a dot a round. */
import { join } from "node:path";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";

const [folder = "."] = process.argv.slice(2);
const lookUp = defineTool({
  name: "look_up",
  description: "Looks up.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  input: { type: "object" },
  execute: (_, context) => {
    context.emit("file.read", "read", { path: "a.txt" });
    return "x".repeat(300);
  },
});
const change = defineTool({
  name: "change",
  description: "Changes.",
  risk: "safe",
  effects: "write",
  idempotent: false,
  input: { type: "object" },
  execute: () => new Promise((resolve) => setImmediate(resolve)),
});

const runtime = await createRuntime({
  tools: [lookUp, change],
  store: `sqlite:${join(folder, "postern.db")}`,
  archive: { folder: join(folder, "runs") },
  log: (problem) => process.stderr.write(`${problem}\n`),
});
for (let i = 0; ; i += 1) {
  if (i >= 3) process.stdout.write("."); // each run has had a call
  const runId = `run_${i % 3}`;
  await Promise.all(
    ["look_up", "change", "nope", "look_up"].map((tool) => runtime.invoke({ tool, arguments: { i } }, { runId })),
  );
}
