import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../packages/core/src/json.ts";
import { ann, approve } from "../../fakes/deciders.ts";
import { asker, runtimeFixture } from "../../fakes/runtime-fixture.ts";

/** The approved call and its grant, then calls that try to exceed the grant. */
const attempts: readonly (readonly [string, JsonObject, object, readonly JsonObject[]])[] = [
  [
    "one address",
    { to: "ann@example.com" },
    { "$.to": { equals: "ann@example.com" } },
    [
      {},
      { to: null },
      { to: ["ann@example.com"] },
      { to: ["ann@example.com", "eve@evil.example"] },
      { to: "ann@example.com " },
      { to: "Ann@example.com" },
      { to: "аnn@example.com" },
      { to: "ann@example.com\u200b" },
      { to: "ann@example.com,eve@evil.example" },
      { to: { toString: "ann@example.com" } },
      { TO: "ann@example.com" },
      { "to.": "ann@example.com" },
    ],
  ],
  [
    "addresses of one domain",
    { to: "ann@example.com" },
    { "$.to": { like: "*@example.com" } },
    [
      {},
      { to: null },
      { to: ["x@example.com"] },
      { to: "x@example.com.evil.example" },
      { to: "x@EXAMPLE.com" },
      { to: 1 },
    ],
  ],
  [
    "every address of a list",
    { to: ["ann@example.com"] },
    { "$.to[*]": { like: "*@example.com" } },
    [
      {},
      { to: [] },
      { to: "ann@example.com" },
      { to: ["ann@example.com", "eve@evil.example"] },
      { to: ["ann@example.com", null] },
      { to: [["ann@example.com"]] },
      { to: { 0: "ann@example.com" } },
    ],
  ],
  [
    "a small amount",
    { amount: 5 },
    { "$.amount": { atMost: 10 } },
    [{}, { amount: null }, { amount: "5" }, { amount: [5] }, { amount: 10.000001 }, { amount: true }],
  ],
  [
    "a folder",
    { path: "/work/a" },
    { "$.path": { path: "/work/**" } },
    [
      {},
      { path: "/work/../etc/passwd" },
      { path: "work/a" },
      { path: "/workshop/a" },
      { path: ["/work/a"] },
      { path: "/work//../x" },
    ],
  ],
  [
    "nothing beside it",
    { to: "a" },
    { "$.cc": { present: false } },
    [{ to: "a", cc: "eve" }, { to: "a", cc: null }, { cc: [] }],
  ],
];

describe("a grant for", () => {
  it.each(attempts)("%s answers what it names, and nothing near it", async (_, shown, conditions, near) => {
    const ran: JsonObject[] = [];
    const tool = {
      name: "send",
      description: "Sends.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object" },
      execute: (given: unknown) => {
        ran.push(given as JsonObject); // the schema says so
        return "sent";
      },
    } as const;
    await using h = await runtimeFixture({}, [tool]);
    const call = (given: JsonObject, key: string) =>
      h.runtime.invoke({ tool: "send", arguments: given }, { ...asker, idempotencyKey: key });
    const { approvalId = "" } = await call(shown, "first");
    const remember = { scope: { arguments: conditions }, for: "run", reason: "the same again" };
    expect(await approve(h, approvalId, ann, { remember })).toMatchObject({ decided: true });
    expect((await call(shown, "again")).status).toBe("ok");
    for (const [n, given] of near.entries())
      expect([given, (await call(given, `near ${n}`)).status]).toEqual([given, "pending"]);
    expect(ran).toEqual([shown]);
  });
});
