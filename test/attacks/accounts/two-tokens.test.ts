import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture } from "../../fakes/http-fixture.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

let h: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  h = await runtimeFixture({ accounts: { passwordCost: cheap } });
  http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
  await h.runtime.accounts.add({ name: "eve", roles: ["approver", "operator"] }, holder);
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await h.runtime.close();
});

async function token(kind: "person" | "agent", scopes: readonly string[] = []) {
  const eve = await h.runtime.accounts.get("eve", holder);
  const made = await h.runtime.accounts.makeToken({ name: "bot", kind, scopes }, eve, holder);
  return { id: made.token.id, headers: { authorization: `Bearer ${made.text}` } };
}

async function call({ headers }: { headers: Readonly<Record<string, string>> }, tool: string, more: object = {}) {
  return bodyOf(await http.ask("/v1/calls", { headers, body: { tool, arguments: { to: "x" }, ...more } }));
}

describe.each(["person", "agent"] as const)("two tokens of one name, made for a %s", (kind) => {
  it("are each named in the log for what they asked, whichever came first", async () => {
    const [one, two] = [await token(kind), await token(kind)];
    await call(one, "echo");
    const { call_id: callId } = await call(two, "mail");
    const [asked] = await h.runtime.audit.query({ callId: String(callId) });
    expect(asked).toMatchObject({ principal: { via: `token:${two.id}` } });
  });
});

it("a token cannot decide what it asked for through another token of the same person", async () => {
  const [one, two] = [await token("person"), await token("person")];
  await call(one, "echo");
  const { approval_id: id } = await call(two, "mail");
  const decided = await http.ask(`/v1/approvals/${String(id)}/approve`, { headers: two.headers, body: {} });
  expect(decided.status).toBe(403);
  expect((await h.runtime.approvals.get(String(id)))?.state).toBe("pending");
});
