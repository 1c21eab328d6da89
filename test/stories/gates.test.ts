import { describe, expect, it } from "vitest";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const owner = { tenant: "default", agent: "a" };

/** A tool that reads a document given as text, alone or in lists and objects. */
async function reading(): ReturnType<typeof runtimeFixture> {
  return runtimeFixture({}, [
    {
      name: "read",
      description: "Reads documents.",
      risk: "safe",
      effects: "read",
      idempotent: true,
      input: {
        type: "object",
        properties: {
          text: { type: "string" },
          more: {
            type: "array",
            items: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
          },
          count: { type: "number" },
        },
        additionalProperties: false,
      },
      execute: (given) => JSON.stringify(given),
    },
  ]);
}

describe("artifacts in arguments", () => {
  it("become their text in every place, also in lists of objects", async () => {
    await using h = await reading();
    const { digest } = await h.runtime.artifacts.put(Buffer.from("hello"), "text/plain", owner);
    const reference = { $artifact: digest };
    const outcome = await h.runtime.invoke(
      { tool: "read", arguments: { text: reference, more: [{ text: reference }, { text: "plain" }], count: 1 } },
      { principal: owner },
    );
    expect(JSON.parse(outcome.text)).toEqual({ text: "hello", more: [{ text: "hello" }, { text: "plain" }], count: 1 });
  });

  it("do not hide other errors, and cannot replace a number", async () => {
    await using h = await reading();
    const { digest } = await h.runtime.artifacts.put(Buffer.from("hello"), "text/plain", owner);
    const call = (given: object) => h.runtime.invoke({ tool: "read", arguments: given as never }, { principal: owner });
    expect((await call({ text: { $artifact: digest }, count: "one" })).refusal?.code).toBe("arguments_invalid");
    expect((await call({ count: { $artifact: digest } })).status).toBe("error");
    expect((await call({ text: { $artifact: "0".repeat(64) } })).refusal?.code).toBe("artifact_unavailable");
    expect((await call({ text: { $artifact: 7 } })).refusal?.code).toBe("arguments_invalid");
    const names = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`no${i}`, i]));
    expect((await call(names)).text).toMatch(/and [1-9] more/);
  });

  it("of another principal are refused before a person is asked", async () => {
    await using h = await reading();
    const { digest } = await h.runtime.artifacts.put(Buffer.from("hello"), "text/plain", owner);
    const stolen = await h.runtime.invoke({ tool: "read", arguments: { text: { $artifact: digest } } }, asker);
    expect(stolen.refusal?.code).toBe("artifact_unavailable");
  });
});

describe("a caller that does not wait", () => {
  it("learns that a request is open, and asks no second time", async () => {
    await using h = await runtimeFixture();
    const { approvalId } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, asker);
    const impatient = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { ...asker, patience: "deny" });
    expect(impatient.refusal).toMatchObject({ code: "approval_unavailable", details: { approval_id: approvalId } });
    expect(await h.runtime.approvals.list()).toHaveLength(1);
  });
});

describe("a policy that was loosened meanwhile", () => {
  it("withdraws an open request, and the call runs", async () => {
    await using h = await runtimeFixture({ autonomy: "A2" });
    const { approvalId = "" } = await h.runtime.invoke(
      { tool: "echo", arguments: { to: "x" } },
      { ...asker, autonomy: "A1" },
    );
    const ran = await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, asker);
    expect(ran).toMatchObject({ status: "ok", text: "to x" });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("withdrawn");
  });

  it("lets a denied or withdrawn call run when it is sent again under its key", async () => {
    await using h = await runtimeFixture({ autonomy: "A2", approvals: { patience: "suspend", ttlMs: 1000 } });
    const keyed = { ...asker, idempotencyKey: "k" };
    const { approvalId = "" } = await h.runtime.invoke(
      { tool: "echo", arguments: { to: "x" } },
      { ...keyed, autonomy: "A1" },
    );
    await h.runtime.approvals.withdraw(approvalId, { user: "asker" });
    expect((await h.runtime.resume(approvalId))?.refusal?.code).toBe("approval_withdrawn");
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, keyed)).status).toBe("ok");
  });
});

describe("a tool's own risk check", () => {
  const tool = (classifyRisk: unknown) =>
    defineTool({
      name: "judge",
      description: "Judges itself.",
      risk: "safe",
      effects: "read",
      idempotent: true,
      input: { type: "object" },
      classifyRisk: classifyRisk as never,
      execute: () => "ran",
    });

  for (const [name, check, verdict] of [
    ["a level", () => "critical", "BLOCK"],
    ["a level with words", () => ({ risk: "high", summary: "writes to everybody" }), "CONFIRM"],
    ["nothing", () => undefined, "ALLOW"],
    [
      "a throw",
      () => {
        throw new Error("no");
      },
      "BLOCK",
    ],
  ] as const) {
    it(`that answers with ${name} is heeded`, async () => {
      await using runtime = await createRuntime({ tools: [tool(check)], autonomy: "A2" });
      const explained = await runtime.explain({ tool: "judge" });
      expect(explained.decision?.verdict).toBe(verdict);
    });
  }

  it("is shown to the approver", async () => {
    const { decision } = { decision: "denied" } as const;
    const seen: unknown[] = [];
    const approver = {
      name: "test",
      ask: async (request: { summary?: string }) => {
        seen.push(request.summary);
        return { decision };
      },
    };
    await using runtime = await createRuntime({
      tools: [tool(() => ({ risk: "high", summary: "to everybody" }))],
      autonomy: "A2",
      approvals: { approver },
    });
    expect((await runtime.invoke({ tool: "judge" })).refusal?.code).toBe("approval_denied");
    expect(seen).toEqual(["to everybody"]);
  });
});

it("a tool may destructure its context: each member works alone, and none works after the end", async () => {
  const kept: { check?: () => void } = {};
  const received: string[] = [];
  const messages: string[] = [];
  const inner = defineTool({
    name: "inner",
    description: "Answers.",
    risk: "safe",
    effects: "read",
    idempotent: true,
    input: { type: "object" },
    execute: () => "from inside",
  });
  const apart = defineTool({
    name: "apart",
    description: "Takes its context apart.",
    risk: "safe",
    effects: "read",
    idempotent: true,
    input: { type: "object" },
    execute: async (_, { progress, emit, check, call, callId }) => {
      check();
      progress("half", 0.5);
      emit("note.taken", "noted");
      kept.check = check;
      return `${callId.startsWith("call_")} ${(await call({ tool: "inner", arguments: {} })).text}`;
    },
  });
  await using runtime = await createRuntime({ tools: [inner, apart], autonomy: "A2" });
  using _ = runtime.watch((event) => {
    if (event.moment === "emitted") messages.push(event.type);
  });
  const outcome = await runtime.invoke({ tool: "apart" }, { onProgress: ({ content }) => void received.push(content) });
  expect(outcome.text).toBe("true from inside");
  expect(received).toEqual(["apart", "half", "inner", "from inside", outcome.text]);
  expect(messages).toEqual(["note.taken"]);
  expect(() => kept.check?.()).toThrow("The call is over.");
});
