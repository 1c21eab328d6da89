import { describe, expect, it } from "vitest";
import { callTool } from "../../packages/postern/src/mcp/server/call.ts";
import { CallTasks } from "../../packages/postern/src/mcp/server/tasks.ts";
import { Windows } from "../../packages/postern/src/runtime/services/windows.ts";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { bodyOf, httpFixture } from "../fakes/http-fixture.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const value = "p@ss hunter2-hunter2";
const secretly = [value, encodeURIComponent(value), Buffer.from(`x${value}`).toString("base64url")];
const members = ["idempotency_key", "task_id", "step_id", "trace_id", "run_id"] as const;
const cases = members.flatMap((member) => secretly.map((text) => [member, text] as const));

async function knowing(): Promise<RuntimeFixture> {
  const redactor = createRedactor();
  const secrets = environmentSecrets({ redactor, environment: { POSTERN_SECRET_MAIL_TOKEN: value } });
  return runtimeFixture({ redactor, secrets });
}

describe("a call whose context names a known secret", () => {
  it.each(cases)("is refused over HTTP with 422: %s is %s", async (member, text) => {
    await using made = await knowing();
    const logged: string[] = [];
    await using web = await httpFixture(made.runtime, { log: (message) => void logged.push(message) });
    const body = { tool: "echo", arguments: { to: "ann" }, [member]: text };
    for (const path of ["/v1/calls", "/v1/explain"]) {
      const response = await web.ask(path, { as: "agent", body });
      const answer = await bodyOf(response);
      // A text that has not the form of its id is refused before the search for secrets.
      expect(answer).toMatchObject({ error: { code: expect.stringMatching(/^(context|request)_invalid$/) } });
      expect(response.status).toBe(422);
      expect(JSON.stringify(answer)).not.toContain(text);
    }
    expect(logged).toEqual([]);
    expect(made.ran).toEqual([]);
  });

  it("is refused over HTTP when the Idempotency-Key header names it", async () => {
    await using made = await knowing();
    await using web = await httpFixture(made.runtime);
    const headers = { "idempotency-key": value };
    const response = await web.ask("/v1/calls", { as: "agent", body: { tool: "echo" }, headers });
    expect([response.status, await bodyOf(response)]).toMatchObject([422, { error: { code: "context_invalid" } }]);
  });

  it.each(secretly)("is refused over MCP as invalid parameters: the key is %s", async (text) => {
    await using made = await knowing();
    const windows = new Windows(made.runtime, made.clock);
    const parts = { ...made, windows, approvalWaitMs: 1000, console: undefined, tasks: new CallTasks(made.clock) };
    const visit = { caller: { principal: asker.principal, scopes: [] }, server: undefined };
    const request = {
      ...{
        id: 1,
        method: "tools/call",
        params: { name: "echo", arguments: { to: "ann" } },
        source: visit,
        isOld: false,
        capabilities: {},
      },
      meta: { "postern/idempotency-key": text },
      signal: new AbortController().signal,
      tell: () => {},
    };
    const refused = callTool(request, parts);
    await expect(refused).rejects.toMatchObject({ code: -32602, data: { code: "context_invalid" } });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining(text) });
    await windows.close();
  });
});

describe("a fault inside a request", () => {
  it("of the store answers 503 with its code, and anything unknown 500 internal", async () => {
    await using made = await knowing();
    const { runtime } = made;
    const { RuntimeFault } = await import("../../packages/postern/src/index.ts");
    const faults: readonly (readonly [Error, number, string])[] = [
      [new RuntimeFault("store_unwritable", "The disk is full."), 503, "store_unwritable"],
      [new RuntimeFault("request_invalid", "No such thing."), 422, "request_invalid"],
      [new RuntimeFault("store_foreign", "Not ours: /secret/path"), 500, "internal"],
      [new TypeError("a bug of ours"), 500, "internal"],
    ];
    for (const [fault, status, code] of faults) {
      const invoke = (): Promise<never> => Promise.reject(fault);
      await using web = await httpFixture({
        ...runtime,
        openSession: () => ({ ...runtime.openSession(), invoke }),
      } as never);
      const response = await web.ask("/v1/calls", { as: "agent", body: { tool: "echo" } });
      expect([response.status, (await bodyOf(response))["error"]]).toMatchObject([status, { code }]);
    }
  });
});
