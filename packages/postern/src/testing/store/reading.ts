import type { Authority } from "@postern/core";
import { describe, expect, it } from "vitest";
import type { Audience } from "../../store/audience.ts";
import type { Store, StoreEntry } from "../../store/store.ts";
import {
  all,
  approvalOf,
  authority,
  callOf,
  claimOf,
  decideOf,
  eventOf,
  holdOf,
  note,
  recordOf,
  settleOf,
} from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

/** The event log, its followers, and the lists. */
export function readingContract(kit: StoreKit): void {
  const { commit, held, attempted, problems } = kit;

  describe("events and followers", () => {
    it("numbers events from 0 without gaps, and lost writes leave none", async () => {
      const record = await attempted();
      const writes = Array.from({ length: 300 }, (_, i) =>
        i % 3 === 0 ? settleOf({ ...record, fence: "x" }, "ok") : note(`n${i}`),
      );
      await Promise.all(writes.map((write) => kit.store.commit(write, "committed")));
      const entries = await all(kit.store.events({ after: -1 }));
      expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i));
      expect(entries).toHaveLength(201);
      expect((await all(kit.store.events({ after: 150, limit: 3 }))).map(({ seq }) => seq)).toEqual([151, 152, 153]);
      expect(await all(kit.store.events({ after: 200 }))).toEqual([]);
    });

    it("gives every follower each entry once, in order, before the commit is answered", async () => {
      const received: StoreEntry[] = [];
      using _ = kit.store.follow((entries) => received.push(...entries));
      const event = eventOf("first");
      await kit.store.commit({ write: "note", event }, "committed");
      expect(received[0]?.event).toBe(event);
      await Promise.all(
        Array.from({ length: 50 }, (_, i) => kit.store.commit(note(`n${i}`), i % 2 === 0 ? "synced" : "committed")),
      );
      expect(received.map(({ seq, body }) => ({ seq, body }))).toEqual(await all(kit.store.events({ after: -1 })));
    });

    it("continues when a follower throws, reports it, and stops calling a follower that left", async () => {
      const received: number[] = [];
      const thrower = kit.store.follow(() => {
        throw new Error("tripped");
      });
      const leaver = kit.store.follow((entries) => received.push(entries.length));
      expect(await commit(note("a"))).toEqual(wins);
      expect(problems.join()).toContain("tripped");
      leaver[Symbol.dispose]();
      thrower[Symbol.dispose]();
      await commit(note("b"));
      expect(received).toEqual([1]);
    });

    it("lets a follower write, and delivers that batch after the present one", async () => {
      const received: number[] = [];
      using _writer = kit.store.follow((entries) => {
        if (entries[0]?.seq === 0) void kit.store.commit(note("echo"), "queued");
        if (entries[0]?.seq === 0) void kit.store.calls({});
      });
      using _ = kit.store.follow((entries) => received.push(...entries.map(({ seq }) => seq)));
      await commit(note("a"));
      await commit(note("b"));
      expect(received).toEqual([0, 1, 2]);
    });
  });

  describe("lists", () => {
    it("lists calls new to old, filtered and in pages", async () => {
      const other: Authority = {
        ...authority,
        runId: "run_2",
        principal: { tenant: "other", agent: "b" },
      };
      const made: string[] = [];
      for (let i = 0; i < 9; i += 1) {
        const call = callOf(kit.clock, {
          tool: i % 3 === 0 ? "read" : "write",
          authority: i % 2 === 0 ? authority : other,
        });
        made.push(call.id);
        const record = recordOf(call, { fence: kit.store.incarnation });
        void kit.store.commit(claimOf(record, { fresh: true }), "queued");
        if (i > 4) void kit.store.commit(settleOf(record, "ok"), "queued");
      }
      const numbers = async (where: Parameters<Store["calls"]>[0]): Promise<number[]> =>
        (await kit.store.calls(where)).map(({ call }) => made.indexOf(call.id) + 1);
      expect(await numbers({})).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
      expect(await numbers({ before: made[6] ?? "", limit: 3 })).toEqual([6, 5, 4]);
      expect(await numbers({ state: "ok" })).toEqual([9, 8, 7, 6]);
      expect(await numbers({ tool: "read" })).toEqual([7, 4, 1]);
      expect(await numbers({ tenant: "other" })).toEqual([8, 6, 4, 2]);
      expect(await numbers({ runId: "run_1", state: "attempted", limit: 2 })).toEqual([5, 3]);
      expect(await numbers({ tool: "constructor" })).toEqual([]);
      expect(await numbers({ limit: 0 })).toEqual([]);
    });

    it("lists the calls that one call made, new to old and in pages, beside other calls", async () => {
      const parents = [callOf(kit.clock), callOf(kit.clock)];
      for (const parent of parents)
        expect(await commit(claimOf(recordOf(parent, { fence: kit.store.incarnation })))).toEqual(wins);
      const made = parents.map((): string[] => []);
      const all = parents.map(({ id }) => id);
      for (let i = 0; i < 240; i += 1) {
        const parent = i % 3 === 0 ? undefined : parents[i % 3 === 1 ? 0 : 1];
        const call = callOf(kit.clock, { ...(parent && { parentId: parent.id }) });
        if (parent !== undefined) made[parents.indexOf(parent)]?.unshift(call.id);
        all.unshift(call.id);
        const record = recordOf(call, { key: `child ${i}`, fence: kit.store.incarnation });
        const claimed = kit.store.commit(claimOf(record), i > 8 ? "queued" : "synced");
        if (i < 6) await claimed;
        if (i < 6) await commit(settleOf(record, "ok"));
      }
      const [one, other] = parents;
      const numbers = async (where: Parameters<Store["calls"]>[0]): Promise<string[]> =>
        (await kit.store.calls(where)).map(({ call }) => call.id);
      expect(await numbers({ parentId: one?.id ?? "" })).toEqual(made[0]);
      expect(await numbers({ parentId: other?.id ?? "" })).toEqual(made[1]);
      expect(await numbers({ limit: 200 })).toEqual(all.slice(0, 200));
      for (const limit of [2, 70])
        expect(await numbers({ parentId: one?.id ?? "", limit })).toEqual(made[0]?.slice(0, limit));
      expect(await numbers({ parentId: one?.id ?? "", before: made[0]?.[1] ?? "" })).toEqual(made[0]?.slice(2));
      expect(await numbers({ parentId: one?.id ?? "", state: "ok" })).toEqual(made[0]?.slice(-2));
      expect(await numbers({ parentId: one?.id ?? "", tenant: "other" })).toEqual([]);
      expect(await numbers({ keys: ["child 3", "child 239", "child none"] })).toEqual([all[0], all.at(-6)]);
      expect(await numbers({ keys: ["child 1", "child 2"], parentId: one?.id ?? "" })).toEqual(made[0]?.slice(-1));
      const own = callOf(kit.clock);
      await commit(claimOf(recordOf(own, { key: own.id, fence: kit.store.incarnation })));
      expect(await numbers({ keys: [own.id, "child 0"] })).toEqual([own.id, all.at(-3)]);
      expect(await numbers({ keys: [] })).toEqual([]);
      const later = callOf(kit.clock, { id: "call_019a9e5d-0000-7000-8000-000000000001" });
      await commit(claimOf(recordOf(later, { key: later.id, fence: kit.store.incarnation })));
      const at = 0x019a9e5d0000;
      expect(await numbers({ since: at - 1 })).toEqual([later.id]);
      expect(await numbers({ since: at })).toEqual([later.id]);
      expect(await numbers({ since: at + 1 })).toEqual([]);
      expect(await numbers({ since: 0x019a9e5c0000, limit: 3 })).toEqual([later.id, own.id, all[0]]);
      expect(await numbers({ since: at, before: later.id })).toEqual([]);
      expect(await numbers({ since: 0, limit: 1_000 })).toHaveLength(all.length + 2);
      for (const parentId of ["", "call_1", one?.id.replace(/^call_./, "call_f") ?? ""])
        expect(await numbers({ parentId })).toEqual([]);
    });

    it("lists approvals by risk, tool, run and agent, and from behind another one", async () => {
      const ids: string[] = [];
      for (const tool of ["mail", "pay", "mail"]) {
        const record = recordOf(callOf(kit.clock), { state: "held", match: `match ${ids.length}` });
        const approval = approvalOf(record, { tool });
        expect(await commit(holdOf(record, approval))).toEqual(wins);
        ids.push(approval.id);
      }
      const list = async (where: Parameters<Store["approvals"]>[0]): Promise<readonly string[]> =>
        (await kit.store.approvals(where)).map(({ id }) => id).filter((id) => ids.includes(id));
      const [first, second, third] = ids;
      const one = await kit.store.approval(first ?? "");
      expect(await list({ tool: "mail" })).toEqual([first, third]);
      expect(await list({ tool: "mail", after: first ?? "" })).toEqual([third]);
      expect(await list({ after: second ?? "", limit: 1 })).toEqual([third]);
      expect(
        await list(one === undefined ? {} : { risk: one.risk, runId: one.runId, agent: one.principal.agent }),
      ).toEqual(ids);
      for (const where of [
        { risk: "critical" as const },
        { runId: "none" },
        { agent: '"' },
        { tool: "%" },
        { after: "apr_none" },
      ])
        expect(await list(where)).toEqual([]);
    });

    it("gives the audiences of pending requests, and lists the approvals of some, also after votes", async () => {
      const ids: string[] = [];
      for (const [tool, voters] of [
        ["mail", []],
        ["pay", []],
        ["mail", []],
        ["mail", ["ann"]],
      ] as const) {
        const record = recordOf(callOf(kit.clock), { state: "held", match: `match ${ids.length}` });
        const approval = approvalOf(record, { tool });
        expect(await commit(holdOf(record, approval))).toEqual(wins);
        const votes = voters.map((by, at) => ({ as: "approved", by, via: `user:${by}`, at }) as const);
        const next = { ...approval, votes, revision: 1 };
        const voted = { write: "decide", approval: next, expectedRevision: 0, event: eventOf("voted") } as const;
        if (votes.length > 0) expect(await commit(voted)).toEqual(wins);
        ids.push(approval.id);
      }
      const list = async (where: Parameters<Store["approvals"]>[0]): Promise<readonly string[]> =>
        (await kit.store.approvals({ state: "pending", ...where }))
          .map(({ id }) => id)
          .filter((id) => ids.includes(id));
      const [first, second, third, fourth] = ids;
      const found = await kit.store.audiences({});
      const keysOf = (fits: (audience: Audience) => boolean): readonly string[] =>
        found.filter(({ audience }) => fits(audience)).map(({ key }) => key);
      expect(found.map(({ waiting }) => waiting).sort()).toEqual([1, 1, 2]);
      for (const { audience } of found) expect(audience).toMatchObject({ risk: "high", principal: { agent: "agent" } });
      const mail = keysOf(({ tool }) => tool === "mail");
      expect(await list({ audiences: mail })).toEqual([first, third, fourth]);
      expect(await list({ audiences: mail, after: first ?? "", limit: 1 })).toEqual([third]);
      expect(await list({ audiences: mail, tool: "pay" })).toEqual([]);
      const voted = keysOf(({ votes = [] }) => votes.some(({ by }) => by === "ann"));
      expect(await list({ audiences: voted })).toEqual([fourth]);
      expect(await list({ audiences: [] })).toEqual([]);
      expect((await kit.store.audiences({ tool: "pay" })).map(({ audience }) => audience.tool)).toEqual(["pay"]);
      const { principal } = authority;
      expect(await list({ principal, tool: "pay" })).toEqual([second]);
      const { user: _, ...userless } = principal;
      for (const other of [
        userless,
        { ...principal, user: "bob" },
        { ...principal, agent: "b" },
        { ...principal, tenant: "t" },
      ]) {
        expect(await list({ principal: other })).toEqual([]);
        expect(await kit.store.audiences({ principal: other })).toEqual([]);
      }
    });

    it("lists approvals old to new, filtered by state and tenant", async () => {
      const made = [await held(), await held(), await held()].map(({ approval }) => approval);
      const [first, second, third] = made.map(({ id }) => id);
      if (made[1]) await commit(decideOf(made[1], "approved"));
      const listed = async (where: Parameters<Store["approvals"]>[0]): Promise<string[]> =>
        (await kit.store.approvals(where)).map(({ id }) => id);
      expect(await listed({})).toEqual([first, second, third]);
      expect(await listed({ state: "pending" })).toEqual([first, third]);
      expect(await listed({ state: "approved", tenant: "default" })).toEqual([second]);
      expect(await listed({ tenant: "other" })).toEqual([]);
      expect(await listed({ limit: 1 })).toEqual([first]);
    });

    it("lists decided requests new to old, page by page, with those that expired by the clock", async () => {
      const made = [await held(), await held(), await held(), await held()].map(({ approval }) => approval);
      const [first, second, third, fourth] = made.map(({ id }) => id);
      if (made[0]) await commit(decideOf(made[0], "approved"));
      if (made[2]) await commit(decideOf(made[2], "denied"));
      if (made[3]) await commit(decideOf(made[3], "denied"));
      const listed = async (where: Parameters<Store["approvals"]>[0]): Promise<string[]> =>
        (await kit.store.approvals({ state: "decided", ...where })).map(({ id }) => id);
      expect(await listed({})).toEqual([fourth, third, first]);
      expect(await listed({ after: fourth ?? "", limit: 1 })).toEqual([third]);
      expect(await listed({ after: third ?? "" })).toEqual([first]);
      expect(await listed({ tenant: "other" })).toEqual([]);
      await kit.clock.advance((made[1]?.expiresAt ?? 0) - kit.clock.now());
      expect(await listed({ limit: 3 })).toEqual([fourth, third, second]);
    });

    it("finds no stranded call of its own", async () => {
      await attempted();
      expect(await kit.store.stranded()).toEqual([]);
    });
  });
}
