/** Which calls of a model with ids are one call, and which are new. */
import { expect, it } from "vitest";
import { openAgentTools } from "../../packages/agents/src/index.ts";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";

async function opened() {
  const runs: string[] = [];
  const test = defineTool({
    ...{ name: "run_tests", description: "Runs the tests.", risk: "high", effects: "write", idempotent: false },
    execute: () => {
      runs.push("run");
      return `run ${runs.length}`;
    },
  });
  const runtime = await createRuntime({ tools: [test], approvals: { patience: "suspend" } });
  const tools = openAgentTools(runtime, { runId: "run-1", patience: "suspend" });
  const call = (id: string) => tools.call({ id, name: "run_tests", arguments: {} });
  const approve = (approvalId = "") =>
    runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "ada" } });
  return { runtime, tools, call, approve, runs };
}

it("asks again when the model repeats a call whose result it has read", async () => {
  const { runtime, tools, call, approve, runs } = await opened();
  const first = await call("call_1");
  await approve(first.outcome.approvalId);
  expect((await call("call_1")).text).toBe("run 1");
  expect((await call("call_1")).text).toMatch(/^This is the answer of the same call made before .*\n\nrun 1$/s);
  const second = await call("call_2");
  expect(second.outcome.status).toBe("pending");
  expect((await call("call_3")).outcome.approvalId).toBe(second.outcome.approvalId);
  await approve(second.outcome.approvalId);
  expect((await call("call_3")).text).toBe("run 2");
  expect((await call("call_4")).outcome.status).toBe("pending");
  expect(runs).toHaveLength(2);
  await tools[Symbol.asyncDispose]();
  await runtime.close();
});

it("gives the result of a resumed call to the next call with the same arguments", async () => {
  const { runtime, tools, call, approve, runs } = await opened();
  const { outcome } = await call("call_1");
  await approve(outcome.approvalId);
  expect(await runtime.resume(outcome.approvalId ?? "")).toMatchObject({ text: "run 1" });
  expect((await call("call_2")).text).toMatch(/^This is the answer of the same call made before .*\n\nrun 1$/s);
  expect(runs).toHaveLength(1);
  await tools[Symbol.asyncDispose]();
  await runtime.close();
});
