import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createAgent } from "../../src/agents/loop.ts";
import { scriptedModel } from "../../src/agents/model.ts";
import { createRuntime } from "../../src/index.ts";
import { connectMcp, type McpServer } from "../../src/mcp/client/connect-mcp.ts";

const root = join(import.meta.dirname, "../..");
const everything: McpServer = {
  command: process.execPath,
  args: [join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
  tools: { echo: { risk: "safe", effects: "read", idempotent: true }, "get-env": { enabled: false } },
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  server.close();
  await once(server, "close");
  return port;
}

it("gives a server's tools to a runtime, behind its gates, and ends with its server", async () => {
  const box = await connectMcp({ ...everything, name: "demo" });
  await using runtime = await createRuntime({ tools: box });
  expect(box.names()).toContain("demo__echo");
  expect(box.has("demo__get-env")).toBe(false);
  expect(await runtime.invoke({ tool: "demo__echo", arguments: { message: "hello" } })).toMatchObject({ status: "ok" });
  expect(await runtime.invoke({ tool: "demo__get-sum", arguments: { a: 1, b: 2 } })).toMatchObject({
    ...{ status: "denied", refusal: { code: "approval_unavailable" } },
  });
  await box.close();
  expect(await runtime.invoke({ tool: "demo__echo", arguments: { message: "late" } })).toMatchObject({
    status: "error",
  });
});

it("gives them to an agent under the server's own names, and to a running runtime", async () => {
  await using box = await connectMcp(everything);
  await using runtime = await createRuntime();
  const model = scriptedModel([{ uses: [{ name: "echo", arguments: { message: "hi" } }] }, { text: "Done." }]);
  const read: string[] = [];
  const result = await createAgent({ runtime, model, tools: box }).run(
    { prompt: "Go." },
    { onEvent: (event) => void (event.type === "tool_answer" && read.push(event.answer.text)) },
  );
  expect(result).toMatchObject({ status: "done" });
  expect(read.join()).toContain("hi");
});

it("says why a server cannot be reached, and leaves no process", async () => {
  const failing = connectMcp({
    command: process.execPath,
    args: ["-e", "console.error('no licence'); process.exit(3)"],
  });
  await expect(failing).rejects.toThrow("no licence");
  await expect(connectMcp({ url: "ftp://example.org" })).rejects.toThrow("not an http or https address");
});

it("connects over HTTP", async () => {
  const port = await freePort();
  const child = spawn(process.execPath, [everything.args?.[0] ?? "", "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    await once(child.stderr, "data");
    await using box = await connectMcp({ url: `http://127.0.0.1:${port}/mcp`, risk: "safe" });
    await using runtime = await createRuntime({ tools: box });
    expect(await runtime.invoke({ tool: "echo", arguments: { message: "over HTTP" } })).toMatchObject({ status: "ok" });
  } finally {
    child.kill();
  }
});
