/** A tool that its server runs only as a task. */
import type { ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { type RawHttp, rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type Runtime } from "../../index.ts";

const tool = { name: "research", inputSchema: { type: "object" }, execution: { taskSupport: "required" } };

/** @param onResult answers the request for the task's result */
async function serve(onResult: (answer: (result: object) => void) => void): Promise<RawHttp & { runtime: Runtime }> {
  const http = await rawHttp(({ id, method, params }, response: ServerResponse) => {
    const answer = (result: object): true => reply(response, JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (method === "tools/list") return answer({ tools: [tool] });
    if (method === "tools/call" && Reflect.get(params ?? {}, "task") !== undefined)
      return answer({ task: { taskId: "t1", status: "working", ttl: null, createdAt: "", lastUpdatedAt: "" } });
    if (method === "tasks/cancel") return answer({ taskId: "t1", status: "cancelled" });
    if (method !== "tasks/result" || Reflect.get(params ?? {}, "taskId") !== "t1") return false;
    onResult(answer);
    return true;
  });
  const runtime = await createRuntime({ servers: { one: { url: http.url, risk: "safe" } } });
  onTestFinished(() => runtime.close(0));
  return { ...http, runtime };
}

it("is called as one, and its result is the result of the call", async () => {
  const { runtime, asked } = await serve((answer) => answer({ content: [{ type: "text", text: "found" }] }));
  expect(await runtime.invoke({ tool: "one__research" })).toMatchObject({ status: "ok", text: "found" });
  expect(asked.slice(-2)).toEqual(["tools/call", "tasks/result"]);
});

it("is cancelled with its call", async () => {
  const caller = new AbortController();
  const { runtime, asked } = await serve(() => caller.abort());
  await expect(runtime.invoke({ tool: "one__research" }, { signal: caller.signal })).rejects.toThrow();
  await expect.poll(() => asked).toContain("tasks/cancel");
});
