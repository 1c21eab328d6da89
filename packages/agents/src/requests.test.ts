/** The request of a model's call, as an adapter of an agent library finds and withdraws it. */
import { describe, expect, it } from "vitest";
import { newStore, storeKinds } from "../../../test/fakes/story-store.ts";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import { type AgentTools, openAgentTools, type ToolUse } from "./agent-tools.ts";

describe.each(storeKinds)("on a %s store", (kind) => {
  async function opened(): Promise<{
    tools: AgentTools;
    sent: unknown[];
    runtime: Awaited<ReturnType<typeof createRuntime>>;
  }> {
    const sent: unknown[] = [];
    const runtime = await createRuntime({ store: newStore(kind), approvals: { patience: "suspend" } });
    runtime.tools.register({
      ...{ name: "send", description: "Sends.", risk: "high", effects: "write", idempotent: false },
      execute: (input) => {
        sent.push(input);
        return `sent ${sent.length}`;
      },
    });
    return { tools: openAgentTools(runtime, { runId: "r1" }), sent, runtime };
  }
  const use: ToolUse = { id: "c1", turn: "t1", name: "send", arguments: {} };

  it("asks without running the call, also when the call is approved already", async () => {
    const { tools, sent, runtime } = await opened();
    const request = await tools.requestApproval(use);
    expect(request).toMatchObject({ state: "pending" });
    expect(await tools.requestApproval(use)).toMatchObject({ id: request?.id });
    await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
    expect(await tools.requestApproval(use)).toBeUndefined();
    expect(await tools.requestApproval({ ...use, id: "c9", turn: "t2" })).toBeUndefined(); // it would use the approval
    expect(sent).toEqual([]);
    expect(await tools.call(use)).toMatchObject({ text: "sent 1" });
    await runtime.close();
  });

  it("finds the request of a call by id and turn, also of a call that joined it", async () => {
    const { tools, runtime } = await opened();
    const later = { ...use, turn: "t2" };
    const twin = { ...use, id: "c2" };
    expect(await tools.approvalOf(use)).toBeUndefined();
    const request = await tools.requestApproval(use);
    const other = await tools.requestApproval(twin);
    await tools.requestApproval(later);
    expect(await tools.approvalOf(use)).toMatchObject({ id: request?.id });
    expect(await tools.approvalOf(later)).toMatchObject({ id: request?.id });
    expect(await tools.approvalOf(twin)).toMatchObject({ id: other?.id });
    expect(other?.id).not.toBe(request?.id);
    await runtime.close();
  });

  it("withdraws a request, so that a later approval runs nothing", async () => {
    const { tools, sent, runtime } = await opened();
    const request = await tools.requestApproval(use);
    expect(await tools.withdraw(use, "not ann")).toBe(true);
    expect(await tools.withdraw(use)).toBe(false);
    const decision = { decision: "approved", by: { user: "grace" } } as const;
    expect(await runtime.approvals.decide(request?.id ?? "", decision)).toMatchObject({ decided: false });
    expect(await tools.call({ ...use, id: "c9", turn: "t2" })).toMatchObject({ outcome: { status: "pending" } });
    const [, asked] = await runtime.approvals.list();
    expect(asked?.id).not.toBe(request?.id);
    expect((await runtime.approvals.get(request?.id ?? ""))?.decision?.reason).toContain("not ann");
    expect(sent).toEqual([]);
    await runtime.close();
  });

  it("withdraws an approval that is not used yet", async () => {
    const { tools, sent, runtime } = await opened();
    const request = await tools.requestApproval(use);
    await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
    expect(await tools.withdraw(use)).toBe(true);
    expect(await tools.call(use)).toMatchObject({ outcome: { status: "pending" } });
    expect(sent).toEqual([]);
    await runtime.close();
  });
});
