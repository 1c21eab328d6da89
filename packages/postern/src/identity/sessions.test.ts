import { describe, expect, it } from "vitest";
import { holder, people } from "../../../../test/fakes/people.ts";
import type { Accounts, FoundSession, SignedIn } from "./accounts.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

type Shown = Pick<SignedIn, "cookie" | "csrf">;

const found = (accounts: Accounts, { cookie, csrf }: Shown): Promise<FoundSession | undefined> =>
  accounts.session(cookie, csrf);

describe("a session", () => {
  it("ends by signing out, by the clock unused, and by the clock however much it is used", async () => {
    const { accounts, add, signIn, clock } = await people({ sessions: { idleMs: dayMs, absoluteMs: 3 * dayMs } });
    await add("ada", ["viewer"]);
    const [out, unused, used] = [await signIn("ada"), await signIn("ada"), await signIn("ada")];
    await accounts.signOut(out.cookie);
    expect(await found(accounts, out)).toBeUndefined();
    let shown: Shown = used;
    for (let hour = 0; hour < 71; hour += 1) {
      await clock.advance(60 * minuteMs);
      const known = await found(accounts, shown);
      expect(known, `after ${hour} hours`).toBeDefined();
      shown = { ...shown, ...(known?.cookie !== undefined && { cookie: known.cookie }) };
    }
    expect(await found(accounts, unused)).toBeUndefined();
    await clock.advance(60 * minuteMs);
    expect(await found(accounts, shown)).toBeUndefined();
  });

  it.each([
    ["its account is disabled", { disabled: true }],
    ["its password is set", undefined],
  ])("ends at once when %s, with every other of that person", async (_, change) => {
    const { accounts, add, signIn } = await people();
    await add("ada", ["viewer"]);
    const [one, other] = [await signIn("ada"), await signIn("ada")];
    let told = 0;
    (await found(accounts, one))?.whenEnded(() => {
      told += 1;
    });
    if (change === undefined) await accounts.setPassword("ada", "another horse battery", holder);
    else await accounts.change("ada", change, holder);
    for (const each of [one, other]) expect(await found(accounts, each)).toBeUndefined();
    expect(told).toBe(1);
  });

  it("gets another secret after a quarter of an hour; the one before stays good until the new one was seen, and a minute", async () => {
    const { accounts, add, signIn, clock } = await people();
    await add("ada", ["viewer"]);
    const begun = await signIn("ada");
    const { csrf, cookie: first } = begun;
    await clock.advance(15 * minuteMs);
    const second = (await found(accounts, begun))?.cookie ?? "";
    expect(second).not.toBe("");
    await clock.advance(5 * minuteMs);
    const third = (await found(accounts, begun))?.cookie ?? ""; // the second one never arrived
    expect(await accounts.session(second, csrf)).toBeUndefined();
    expect(await accounts.session(third, csrf)).toBeDefined(); // the proof stays what it was
    expect(await accounts.session(first, csrf)).toBeDefined();
    await clock.advance(minuteMs);
    expect(await accounts.session(first, csrf)).toBeUndefined();
    expect(await accounts.session(third, csrf)).toBeDefined();
  });

  it("is not found, extended or renewed by its cookie without its own proof", async () => {
    const { accounts, add, signIn, clock, store } = await people({
      sessions: { idleMs: dayMs, absoluteMs: 3 * dayMs },
    });
    await add("ada", ["viewer"]);
    const [ada, again] = [await signIn("ada"), await signIn("ada")];
    await clock.advance(dayMs - 1);
    const [place = ""] = ada.cookie.split(".");
    const before = (await store.documents.get("session", place))?.version;
    for (const csrf of ["", "wrong", again.csrf, ada.cookie, ada.csrf.slice(1), `${ada.csrf}x`])
      expect(await accounts.session(ada.cookie, csrf), csrf).toBeUndefined();
    expect((await store.documents.get("session", place))?.version).toBe(before);
    await clock.advance(1);
    expect(await found(accounts, ada)).toBeUndefined();
  });

  it("gives its new secret to one of fifty requests at the same moment, and serves all of them", async () => {
    const { accounts, add, signIn, clock } = await people();
    await add("ada", ["viewer"]);
    const shown = await signIn("ada");
    await clock.advance(15 * minuteMs);
    const all = await Promise.all(Array.from({ length: 50 }, () => found(accounts, shown)));
    expect(all.filter((one) => one === undefined)).toEqual([]);
    expect(all.filter((one) => one?.cookie !== undefined)).toHaveLength(1);
  });

  it("is one of ten at most a person; the one that was not used for longest gives way", async () => {
    const { add, accounts, signIn, clock } = await people();
    await add("ada", ["viewer"]);
    const oldest = await signIn("ada");
    const others: Shown[] = [];
    for (let count = 0; count < 10; count += 1) {
      await clock.advance(1_000);
      others.push(await signIn("ada"));
    }
    expect(await found(accounts, oldest)).toBeUndefined();
    for (const other of others) expect(await found(accounts, other)).toBeDefined();
  });

  it.each(["", ".", "usr_operator-0.", `usr_operator-0.${"A".repeat(43)}`, "../x-1.y", "a.b.c", "x".repeat(5_000)])(
    "is not begun by the cookie %j",
    async (cookie) => {
      const { accounts, add } = await people();
      await add("ada", ["viewer"]);
      expect(await accounts.session(cookie, "A".repeat(43))).toBeUndefined();
      await accounts.signOut(cookie);
    },
  );

  it("narrows at once when roles are taken away", async () => {
    const { accounts, add, signIn } = await people();
    await add("ada", ["approver"]);
    const shown = await signIn("ada");
    await accounts.change("ada", { roles: ["viewer"] }, holder);
    expect((await found(accounts, shown))?.permissions.has("approvals:decide")).toBe(false);
  });

  it("of another tenant has no permission that concerns everybody here", async () => {
    const { accounts, add, signIn } = await people();
    await add("eve", ["admin", "operator", "auditor", "approver"], "acme");
    const known = await found(accounts, await signIn("eve"));
    expect(known?.permissions.has("approvals:decide")).toBe(true);
    for (const wide of ["controls:write", "tools:switch", "tools:approve", "policy:write", "audit:sign"] as const)
      expect(known?.permissions.has(wide), wide).toBe(false);
  });
});
