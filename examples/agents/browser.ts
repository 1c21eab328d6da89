/** A web page for a model: it looks freely, and a person decides before it clicks. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openAgentTools } from "@postern/agents";
import { anthropicResult, anthropicTools, anthropicToolUses } from "@postern/agents/anthropic";
import { browserTools } from "@postern/agents/browser";
import { createRuntime } from "postern";

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const page = `<body style="margin:0"><button style="width:100%;height:200px" onclick="fetch('/sent')">Send the mail</button>`;
const server = createServer((request, answer) => {
  if (request.url === "/sent") console.log("(a mail leaves for ada@example.org)");
  answer.setHeader("content-type", "text/html").end(page);
}).listen(0, "127.0.0.1");
await new Promise((listening) => server.once("listening", listening));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

// Without `sandbox: false`, which this example needs as root in a container, Chromium's own sandbox is on.
await using pages = browserTools({
  allowedHosts: ["127.0.0.1"],
  allowPrivate: true,
  executablePath,
  sandbox: process.getuid?.() !== 0,
});
await using runtime = await createRuntime({
  tools: pages,
  approvals: { patience: "suspend" },
  policy: { maxRiskUnapproved: "safe" },
});
await using tools = openAgentTools(runtime, { runId: "run-42" });
console.log(anthropicTools(tools.list())); // what the model is told

/** What a model would send; here it is written down, so that this runs offline. */
const turn = (id: string, name: string, input: object) => ({
  type: "tool_use",
  id,
  name,
  input,
  toolset_name: "browser",
});
const turns = [
  turn("toolu_1", "navigate", { url }),
  turn("toolu_2", "left_click", { target: { type: "coordinate", x: 200, y: 100 } }),
];

for (const block of turns) {
  for (const use of anthropicToolUses([block])) {
    console.log((await tools.call(use)).text); // a person must decide
    // In production a person does this in the console, on the command line or in Slack.
    const [request] = await runtime.approvals.list({ state: "pending" });
    console.log(request?.preview?.summary);
    await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
    const result = anthropicResult(use, await tools.call(use));
    console.log(JSON.stringify(result).slice(0, 200));
  }
}
server.closeAllConnections();
server.close();
