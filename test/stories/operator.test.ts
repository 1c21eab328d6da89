import { describe, expect, it } from "vitest";
import { actor } from "../fakes/actors.ts";
import { asker, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

describe("an operator", () => {
  it("pauses all calls and resumes them, audited", async () => {
    await using h = await runtimeFixture();
    await h.runtime.controls.pause(actor("operator"), "maintenance");
    expect(await h.runtime.invoke(echo)).toMatchObject({
      status: "error",
      refusal: { code: "paused", retry: "later" },
    });
    await h.runtime.controls.resume(actor("operator"));
    expect((await h.runtime.invoke(echo)).status).toBe("ok");
    expect((await eventTypes(h.runtime)).filter((type) => type.startsWith("operator."))).toHaveLength(2);
  });

  it("switches a tool off and on", async () => {
    await using h = await runtimeFixture();
    await h.runtime.controls.setTool("echo", false, actor("operator"));
    expect((await h.runtime.invoke(echo)).refusal?.code).toBe("tool_unavailable");
    await h.runtime.controls.setTool("echo", true, actor("operator"));
    expect((await h.runtime.invoke(echo)).status).toBe("ok");
  });

  it("changes autonomy for the next call, audited; a running task keeps its snapshot if it is raised (case 141)", async () => {
    await using h = await runtimeFixture({ autonomy: "A1" });
    const session = h.runtime.openSession({}, asker);
    await h.runtime.controls.setAutonomy("A3", actor("operator"));
    expect((await session.invoke(echo)).status).toBe("pending");
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    expect(await eventTypes(h.runtime)).toContain("operator.action.autonomy");
  });
});

describe("a child call", () => {
  it("has its parent's authority and budget, and passes the same gates", async () => {
    const outcomes: unknown[] = [];
    await using h = await runtimeFixture({}, [
      {
        name: "parent",
        description: "Calls others.",
        risk: "safe",
        effects: "read",
        idempotent: true,
        input: { type: "object" },
        execute: async (
          _given: unknown,
          context: { call(request: object): Promise<{ status: string; refusal?: { code: string } }> },
        ) => {
          for (const tool of ["echo", "mail", "echo"]) {
            const { status, refusal } = await context.call({ tool, arguments: { to: tool } });
            outcomes.push(refusal?.code ?? status);
          }
          return "done";
        },
      } as never,
    ]);
    const session = h.runtime.openSession({ maxToolCalls: 3 }, { ...asker, patience: "deny" });
    expect((await session.invoke({ tool: "parent" })).status).toBe("ok");
    expect(outcomes).toEqual(["ok", "approval_unavailable", "budget_exhausted"]);
    expect(session.callCount).toBe(3);
  });
});
