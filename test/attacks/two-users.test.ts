import { expect, it } from "vitest";
import { mail } from "../fakes/deciders.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { approved } from "./approvals/approved.ts";

/** The same agent, called by another user. */
const other = { principal: { ...asker.principal, user: "somebody else" } };
const alone = { principal: { tenant: "default", agent: "a", via: "token:agent" } };

it.each([
  ["another user", other],
  ["no user", alone],
])(
  "an approved and finished call, sent again for %s of the same agent, is asked again and not replayed",
  async (_who, theirs) => {
    await using h = await runtimeFixture();
    const id = await approved(h);
    expect(await h.runtime.invoke(mail("x"), theirs)).toMatchObject({ status: "pending" }); // while it is approved only
    expect(await h.runtime.invoke(mail("x"), asker)).toMatchObject({ status: "ok" });
    const again = await h.runtime.invoke(mail("x"), theirs);
    expect(again).toMatchObject({ status: "pending" });
    expect(again.approvalId).not.toBe(id);
    expect(await h.runtime.invoke(mail("x"), asker)).toMatchObject({ status: "ok", replayed: true });
    expect(h.ran).toHaveLength(1);
  },
);

it.each([
  ["another user", other],
  ["no user", alone],
])("one idempotency key of two users, the second being %s of the agent, runs two calls", async (_who, theirs) => {
  await using h = await runtimeFixture();
  const call = (to: string, who: typeof alone) =>
    h.runtime.invoke({ tool: "echo", arguments: { to } }, { ...who, idempotencyKey: "k" });
  expect((await call("ann", asker)).text).toBe("to ann");
  const second = await call("bob", theirs);
  expect(second).toMatchObject({ status: "ok", text: "to bob" });
  expect(second.replayed).not.toBe(true);
  expect(await call("ann", asker)).toMatchObject({ text: "to ann", replayed: true });
  expect(h.ran).toHaveLength(2);
});
