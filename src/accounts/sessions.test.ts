import { describe, expect, it } from "vitest";
import { holder, people } from "../../test/fakes/people.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

describe("a session", () => {
  it("ends by signing out, by the clock unused, and by the clock however much it is used", async () => {
    const { accounts, add, signIn, clock } = await people({ sessions: { idleMs: dayMs, absoluteMs: 3 * dayMs } });
    await add("ada", ["viewer"]);
    const [out, unused, used] = [await signIn("ada"), await signIn("ada"), await signIn("ada")];
    await accounts.signOut(out);
    expect(await accounts.session(out)).toBeUndefined();
    let cookie = used;
    for (let hour = 0; hour < 71; hour += 1) {
      await clock.advance(60 * minuteMs);
      const found = await accounts.session(cookie);
      expect(found, `after ${hour} hours`).toBeDefined();
      cookie = found?.cookie ?? cookie;
    }
    expect(await accounts.session(unused)).toBeUndefined();
    await clock.advance(60 * minuteMs);
    expect(await accounts.session(cookie)).toBeUndefined();
  });

  it.each([
    ["its account is disabled", { disabled: true }],
    ["its password is set", undefined],
  ])("ends at once when %s, with every other of that person", async (_, change) => {
    const { accounts, add, signIn } = await people();
    await add("ada", ["viewer"]);
    const cookies = [await signIn("ada"), await signIn("ada")];
    let told = 0;
    (await accounts.session(cookies[0] ?? ""))?.whenEnded(() => {
      told += 1;
    });
    if (change === undefined) await accounts.setPassword("ada", "another horse battery", holder);
    else await accounts.change("ada", change, holder);
    for (const cookie of cookies) expect(await accounts.session(cookie)).toBeUndefined();
    expect(told).toBe(1);
  });

  it("gets another secret after a quarter of an hour; the one before stays good until the new one was seen, and a minute", async () => {
    const { accounts, add, signIn, clock } = await people();
    await add("ada", ["viewer"]);
    const first = await signIn("ada");
    const csrf = (await accounts.session(first))?.session.csrf;
    await clock.advance(15 * minuteMs);
    const second = (await accounts.session(first))?.cookie ?? "";
    expect(second).not.toBe("");
    await clock.advance(5 * minuteMs);
    const third = (await accounts.session(first))?.cookie ?? ""; // the second one never arrived
    expect(await accounts.session(second)).toBeUndefined();
    expect((await accounts.session(third))?.session.csrf).toBe(csrf);
    expect(await accounts.session(first)).toBeDefined();
    await clock.advance(minuteMs);
    expect(await accounts.session(first)).toBeUndefined();
    expect(await accounts.session(third)).toBeDefined();
  });

  it("gives its new secret to one of fifty requests at the same moment, and serves all of them", async () => {
    const { accounts, add, signIn, clock } = await people();
    await add("ada", ["viewer"]);
    const cookie = await signIn("ada");
    await clock.advance(15 * minuteMs);
    const found = await Promise.all(Array.from({ length: 50 }, () => accounts.session(cookie)));
    expect(found.filter((one) => one === undefined)).toEqual([]);
    expect(found.filter((one) => one?.cookie !== undefined)).toHaveLength(1);
  });

  it("is one of ten at most a person; the one that was not used for longest gives way", async () => {
    const { add, accounts, signIn, clock } = await people();
    await add("ada", ["viewer"]);
    const cookies: string[] = [];
    for (let count = 0; count < 11; count += 1) {
      cookies.push(await signIn("ada"));
      await clock.advance(1_000);
    }
    expect(await accounts.session(cookies[0] ?? "")).toBeUndefined();
    for (const cookie of cookies.slice(1)) expect(await accounts.session(cookie)).toBeDefined();
  });

  it.each(["", ".", "usr_operator-0.", `usr_operator-0.${"A".repeat(43)}`, "../x-1.y", "a.b.c", "x".repeat(5_000)])(
    "is not begun by the cookie %j",
    async (cookie) => {
      const { accounts, add } = await people();
      await add("ada", ["viewer"]);
      expect(await accounts.session(cookie)).toBeUndefined();
      await accounts.signOut(cookie);
    },
  );

  it("narrows at once when roles are taken away", async () => {
    const { accounts, add, signIn } = await people();
    await add("ada", ["approver"]);
    const cookie = await signIn("ada");
    await accounts.change("ada", { roles: ["viewer"] }, holder);
    expect((await accounts.session(cookie))?.permissions.has("approvals:decide")).toBe(false);
  });

  it("of another tenant has no permission that concerns everybody here", async () => {
    const { accounts, add, signIn } = await people();
    await add("eve", ["admin", "operator", "auditor", "approver"], "acme");
    const found = await accounts.session(await signIn("eve"));
    expect(found?.permissions.has("approvals:decide")).toBe(true);
    for (const wide of ["controls:write", "tools:switch", "tools:approve", "policy:write", "audit:sign"] as const)
      expect(found?.permissions.has(wide), wide).toBe(false);
  });
});
