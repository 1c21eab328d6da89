import { expect, it } from "vitest";
import { RuntimeFault } from "../../packages/core/src/fault.ts";
import type { Account } from "../../packages/postern/src/identity/index.ts";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { asker, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const ann = { user: "ann", via: "session:ann" };
const admin = { by: "ann", via: "session:ann" };
const from = { address: "here" };
const someone = { name: "ann", tenant: "default", roles: ["admin"] } as unknown as Account; // what is looked at of one

type Verb = (runtime: Runtime, odd: never) => unknown;

const notFilters: readonly unknown[] = [null, 5, "x", [], { nonsense: 1 }, { tenant: 7 }, { tenant: null }];
const notLimits: readonly unknown[] = [{ limit: -1 }, { limit: 1.5 }, { limit: Number.POSITIVE_INFINITY }];
const lists: readonly (readonly [string, readonly unknown[], Verb])[] = [
  [
    "approvals",
    [{ state: "open" }, { risk: "tiny" }, { limit: "9" }, ...notLimits, { after: 5 }, { principal: 1 }],
    ({ approvals }, odd) => approvals.list(odd),
  ],
  ["a page of approvals", [{ limit: Number.NaN }, ...notLimits], ({ approvals }, odd) => approvals.page(odd)],
  ["grants", [{ state: "dead" }, { tool: {} }], ({ approvals }, odd) => approvals.grants.list(odd)],
];

const notTexts: readonly unknown[] = [undefined, null, 5, {}, ["x"]];
const notObjects: readonly unknown[] = [undefined, null, 5, "x", []];
const approvalVerbs: readonly (readonly [string, readonly unknown[], Verb])[] = [
  ["an approval's id", notTexts, ({ approvals }, odd) => approvals.get(odd)],
  ["an id to decide", notTexts, ({ approvals }, odd) => approvals.decide(odd, { decision: "denied", by: ann })],
  [
    "a typed name",
    [5, null],
    ({ approvals }, odd) => approvals.decide("apr_1", { decision: "approved", by: ann, confirmation: odd }),
  ],
  [
    "a digest",
    [5, null],
    ({ approvals }, odd) => approvals.decide("apr_1", { decision: "approved", by: ann, expectedDigest: odd }),
  ],
  [
    "a list of ids",
    [undefined, null, 5, "apr_1", {}, [5]],
    ({ approvals }, odd) => approvals.decideMany(odd, { decision: "denied", by: ann }),
  ],
  [
    "digests",
    [5, "x", [], null],
    ({ approvals }, odd) => approvals.decideMany(["apr_1"], { decision: "denied", by: ann, expectedDigests: odd }),
  ],
  [
    "approvals to weigh",
    [undefined, null, 5, {}, [5], [null]],
    ({ approvals }, odd) => approvals.eligibility(odd, ann),
  ],
  ["whose they are", [null, 5, {}], ({ approvals }, odd) => approvals.page({}, odd)],
  ["an id to take back", notTexts, ({ approvals }, odd) => approvals.withdraw(odd, ann)],
  ["an id to revoke", notTexts, ({ approvals }, odd) => approvals.revoke(odd, ann)],
  ["a grant's id", notTexts, ({ approvals }, odd) => approvals.grants.get(odd)],
  ["a grant to revoke", notTexts, ({ approvals }, odd) => approvals.grants.revoke(odd, ann)],
  ["why it is revoked", [5, {}], ({ approvals }, odd) => approvals.grants.revoke("grt_1", ann, odd)],
  ["a grant", [...notObjects, {}, { id: "grt_1" }], ({ approvals }, odd) => approvals.grants.stateOf(odd)],
  ["a silent grant", [...notObjects, {}], ({ approvals }, odd) => approvals.grants.problem(odd)],
];

const accountVerbs: readonly (readonly [string, readonly unknown[], Verb])[] = [
  ["a name", notTexts, ({ accounts }, odd) => accounts.get(odd, admin)],
  [
    "an account",
    [
      ...notObjects,
      {},
      { name: 5, roles: [] },
      { name: "bob" },
      { name: "bob", roles: "admin" },
      { name: "bob", roles: [], tenant: 5 },
    ],
    ({ accounts }, odd) => accounts.add(odd, admin),
  ],
  ["a name to change", notTexts, ({ accounts }, odd) => accounts.change(odd, {}, admin)],
  [
    "a change",
    [...notObjects, { roles: 5 }, { disabled: "yes" }, { groups: [5] }, { displayName: {} }],
    ({ accounts }, odd) => accounts.change("ann", odd, admin),
  ],
  ["a password", notTexts, ({ accounts }, odd) => accounts.setPassword("ann", odd, admin)],
  ["whose sessions end", notTexts, ({ accounts }, odd) => accounts.endSessions(odd, admin)],
  ["whose link", notTexts, ({ accounts }, odd) => accounts.makeLink(odd, admin)],
  ["who signs in", notTexts, ({ accounts }, odd) => accounts.signIn(odd, "secret", from)],
  ["with what", notTexts, ({ accounts }, odd) => accounts.signIn("ann", odd, from)],
  ["from where", [...notObjects, {}], ({ accounts }, odd) => accounts.signIn("ann", "secret", odd)],
  ["a link", notTexts, ({ accounts }, odd) => accounts.signInByLink(odd, from)],
  [
    "a provider's word",
    [...notObjects, {}, { refused: 5 }, { issuer: "i", subject: "s" }],
    ({ accounts }, odd) => accounts.signInByOpenId(odd, from),
  ],
  [
    "whose password",
    [...notObjects, {}],
    ({ accounts }, odd) => accounts.changeOwnPassword(odd, { current: "a", next: "b" }, from),
  ],
  ["a password", [...notObjects, {}], ({ accounts }, odd) => accounts.changeOwnPassword(someone, odd, from)],
  [
    "a next password",
    notTexts,
    ({ accounts }, odd) => accounts.changeOwnPassword(someone, { current: "a", next: odd }, from),
  ],
  ["a cookie", notTexts, ({ accounts }, odd) => accounts.session(odd, "csrf")],
  ["a proof", notTexts, ({ accounts }, odd) => accounts.session("cookie", odd)],
  ["a cookie to end", notTexts, ({ accounts }, odd) => accounts.signOut(odd)],
  ["an owner", [null, 5, {}], ({ accounts }, odd) => accounts.listTokens(admin, odd)],
  [
    "whose token",
    [...notObjects, {}],
    ({ accounts }, odd) => accounts.makeToken({ name: "x", kind: "agent" }, odd, admin),
  ],
  ["a token's id", notTexts, ({ accounts }, odd) => accounts.revokeToken(odd, admin)],
  ["a token", notTexts, ({ accounts }, odd) => accounts.token(odd)],
  ["a credential", notTexts, ({ accounts }, odd) => accounts.isRevoked(odd)],
];
const tokens: readonly unknown[] = [
  ...notObjects,
  {},
  { name: "x", kind: "robot" },
  { name: "x", kind: "agent", ttlMs: "1" },
  { name: "x", kind: "agent", scopes: "all" },
];

/** Returns what the function threw or rejected with. */
async function thrownBy(verb: () => unknown): Promise<unknown> {
  try {
    return { instead: await verb() };
  } catch (error) {
    return error;
  }
}

async function refuses(verb: Verb, odds: readonly unknown[], codes: readonly string[]): Promise<void> {
  await using h = await runtimeFixture();
  const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, asker);
  for (const odd of odds) {
    const thrown = await thrownBy(() => verb(h.runtime, odd as never));
    expect([odd, thrown]).toEqual([odd, expect.any(RuntimeFault)]);
    expect(codes).toContain((thrown as RuntimeFault).code);
  }
  expect(await h.runtime.approvals.get(approvalId)).toMatchObject({ state: "pending" });
  expect(await eventTypes(h.runtime)).toEqual(["gate.required"]);
}

it.each(lists)("%s with an unknown filter is refused, and not answered with everything", (_what, odds, verb) =>
  refuses(verb, [...notFilters, ...odds], ["request_invalid"]),
);

it.each(approvalVerbs)("%s that is invalid is refused with the value, and nothing is written", (_what, odds, verb) =>
  refuses(verb, odds, ["request_invalid", "decision_invalid"]),
);

it.each(accountVerbs)(
  "%s that is invalid, in accounts, is refused with the value, and nothing is written",
  (_what, odds, verb) => refuses(verb, odds, ["request_invalid"]),
);

it("an invalid token to make is refused, and nothing is written", () =>
  refuses(({ accounts }, odd) => accounts.makeToken(odd, someone, admin), tokens, ["token_refused"]));

it("a refusal names the wrong value and what it must be", async () => {
  await using h = await runtimeFixture();
  const { approvals, accounts } = h.runtime;
  await expect(approvals.list(5 as never)).rejects.toThrow("The filter is 5; it must be an object.");
  await expect(approvals.page({ state: "open" as never })).rejects.toThrow(
    '`state` is "open"; it must be one of pending,',
  );
  await expect(approvals.list({ tenantt: "x" } as never)).rejects.toThrow(
    "`tenantt` is not a filter of approvals; there are",
  );
  await expect(approvals.decideMany("x" as never, { decision: "denied", by: ann })).rejects.toThrow(
    '`ids` is "x"; it must be a list of texts.',
  );
  await expect(accounts.add({ name: "bob", roles: "admin" as never }, admin)).rejects.toThrow(
    '`roles` is "admin"; it must be a list of texts.',
  );
});
