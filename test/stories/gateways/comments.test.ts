import { expect, it } from "vitest";
import type { AgentProgress } from "../../../packages/core/src/event.ts";
import { ann, mail } from "../../fakes/deciders.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();

it("passes a comment that is written at one gateway to the caller that waits at the other", async () => {
  await using g = await twoGateways(postgres.newStore(), () => ({ approvals: { patience: "wait" } }));
  const told: string[] = [];
  const onProgress = ({ step, content }: AgentProgress): void => void told.push(`${step} ${content}`);
  const waiting = g.a.invoke(mail("x"), { ...asker, onProgress });
  await expect.poll(() => g.b.approvals.list(), { timeout: 15_000 }).toHaveLength(1);
  const [{ id = "" } = {}] = await g.b.approvals.list();
  const comments = await Promise.all(["One.", "Two."].map((text) => g.b.approvals.comment(id, ann, text)));
  expect(comments.map(({ decided }) => decided)).toEqual([true, true]);
  await expect.poll(() => told, { timeout: 15_000 }).toHaveLength(2);
  expect(told.join()).toMatch(/TOOL_COMMENT A person \(ann\) .*TOOL_COMMENT A person \(ann\) /);
  await g.b.approvals.decide(id, { decision: "approved", by: ann });
  expect((await waiting).status).toBe("ok");
  expect(g.problems).toEqual([]);
});
