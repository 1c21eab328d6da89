/** An agent edits a file by OpenAI's `apply_patch`; a person sees the diff and approves. A script is its model. No network. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent, scriptedModel } from "@postern/agents/loop";
import { applyPatchTool } from "@postern/agents/provider-tools";
import { createRuntime } from "postern";

const folder = mkdtempSync(join(tmpdir(), "notes-"));
const file = join(folder, "notes.txt");
writeFileSync(file, "buy milk\ncall Ada\n");

const diff = "@@\n-buy milk\n+buy tea\n call Ada";
const operation = { type: "update_file", path: "notes/notes.txt", diff };
const model = scriptedModel([
  { uses: [{ name: "apply_patch_call", arguments: { operation } }] }, // as OpenAI's item arrives
  { text: "The list says tea now." },
]);

await using runtime = await createRuntime({
  tools: [applyPatchTool({ roots: { notes: { path: folder, writable: true } } })],
  autonomy: "A2", // medium and high ask
  approvals: { patience: "suspend" },
});
const agent = createAgent({ runtime, model, instructions: "You keep a list." });
const held = await agent.run({ prompt: "We need tea and no milk.", runId: "run-42" });
console.log(held.status, JSON.stringify(readFileSync(file, "utf8"))); // waiting: nothing was changed

const [request] = await runtime.approvals.list({ state: "pending" });
console.log(request?.preview?.diff);
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

const done = await agent.resume("run-42");
console.log(done?.status, done?.text);
console.log(`(the file holds ${JSON.stringify(readFileSync(file, "utf8"))})`);
