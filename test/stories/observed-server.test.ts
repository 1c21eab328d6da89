import { expect, it } from "vitest";
import { runtimeFixture } from "../fakes/runtime-fixture.ts";

const everything = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const principal = { tenant: "default", agent: "local-agent" };

it("a server that is only observed runs what enforce would ask about, and the log says so", async () => {
  const server = { command: process.execPath, args: [everything, "stdio"] };
  await using h = await runtimeFixture({
    autonomy: "A2",
    approvals: { patience: "suspend" },
    servers: { watched: { ...server, mode: "observe" }, strict: server },
  });
  const call = (tool: string) => h.runtime.invoke({ tool, arguments: { message: "hi" } }, { principal, runId: "r1" });
  expect(await call("watched__echo")).toMatchObject({ status: "ok" });
  expect(await call("strict__echo")).toMatchObject({ status: "pending" });
  const [ran] = await h.runtime.audit.query({ type: "tool_call.attempted" });
  expect(ran).toMatchObject({ connector_id: "watched", verdict: "ALLOW", observed: "CONFIRM" });
  const [held] = await h.runtime.audit.query({ type: "gate.required" });
  expect(held).not.toHaveProperty("observed");
});
