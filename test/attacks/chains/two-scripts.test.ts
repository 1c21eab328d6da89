import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import type { RuntimeOptions } from "../../../packages/postern/src/index.ts";
import { fakeDriver } from "../../fakes/fake-sandbox.ts";
import { httpFixture } from "../../fakes/http-fixture.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { asker, boss } from "../../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../../fakes/script-fixture.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

const mailing = 'return (await call("mail", { to: "x" })).text;';

function keyed(idempotencyKey: string) {
  return { ...asker, idempotencyKey };
}

describe("two scripts that wait for the same call", () => {
  it("need two approvals: one approval runs one of them", async () => {
    await using h = await scriptFixture();
    const [one, two] = [
      await h.runtime.runChain({ code: mailing }, keyed("1")),
      await h.runtime.runChain({ code: mailing }, keyed("2")),
    ];
    expect(one.approvalId).not.toBe(two.approvalId);
    await h.runtime.approvals.decide(one.approvalId ?? "", { decision: "approved", by: boss });
    expect(await h.runtime.chains?.resume(two.callId)).toMatchObject({ status: "pending" });
    expect(resultOf(await h.runtime.chains?.resume(one.callId))).toMatchObject({ status: "ok" });
    expect(await h.runtime.chains?.resume(two.callId)).toMatchObject({ status: "pending" });
    expect(h.ran).toHaveLength(1);
  });

  it("run the call once when they are resumed a hundred times after one approval", async () => {
    await using h = await scriptFixture();
    const one = await h.runtime.runChain({ code: mailing }, keyed("1"));
    await h.runtime.approvals.decide(one.approvalId ?? "", { decision: "approved", by: boss });
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        n % 2 === 0 ? h.runtime.chains?.resume(one.callId) : h.runtime.resume(one.approvalId ?? ""),
      ),
    );
    expect(h.ran).toHaveLength(1);
    expect(all.some((outcome) => outcome?.status === "ok")).toBe(true);
  });

  it("do not help a direct call: it needs its own approval", async () => {
    await using h = await scriptFixture();
    const one = await h.runtime.runChain({ code: mailing }, asker);
    await h.runtime.approvals.decide(one.approvalId ?? "", { decision: "approved", by: boss });
    const direct = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, asker);
    expect(direct.status).toBe("pending");
    expect(direct.approvalId).not.toBe(one.approvalId);
    expect(h.ran).toEqual([]);
  });

  it.each([
    ["its key and place", (key: string) => `${key}/0`],
    ["its place alone", () => "/0"],
    ["the script's own key", (key: string) => key],
  ])("are not resumed by a direct call under %s", async (_, keyOf) => {
    await using h = await scriptFixture();
    const one = await h.runtime.runChain({ code: mailing }, keyed("mine"));
    await h.runtime.approvals.decide(one.approvalId ?? "", { decision: "approved", by: boss });
    for (const key of ["mine", one.callId, String((await h.runtime.calls.get(one.callId))?.key)]) {
      const direct = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, keyed(keyOf(key)));
      expect(direct.status).not.toBe("ok");
      expect(direct.approvalId).not.toBe(one.approvalId);
    }
    expect(h.ran).toEqual([]);
  });

  it("cannot have their images exchanged in the store", async () => {
    const place = ownFolder();
    folders.push(place);
    const options: RuntimeOptions = { store: `sqlite:${join(place, "postern.db")}`, folder: place };
    const other = 'const r = await call("mail", { to: "y" }); await call("echo", { to: "evil" }); return r.text;';
    const ids: string[] = [];
    {
      await using h = await scriptFixture(options);
      for (const code of [mailing, other]) {
        const one = await h.runtime.runChain({ code }, asker);
        await h.runtime.approvals.decide(one.approvalId ?? "", { decision: "approved", by: boss });
        ids.push(one.callId);
      }
    }
    exchange(join(place, "postern.db"));
    await using h = await scriptFixture(options);
    for (const id of ids) expect((await h.runtime.chains?.resume(id))?.status).toBe("error");
    expect(h.ran).toEqual([]);
  });
});

/** Exchanges the documents of two frozen scripts. */
function exchange(file: string): void {
  const database = new DatabaseSync(file);
  const table = String(
    database.prepare("select name from sqlite_master where type = 'table' and name like '%document%'").get()?.["name"],
  );
  const rows = database.prepare(`select id, body from "${table}" where kind = 'frozen-script'`).all();
  const [one, two] = rows;
  const set = database.prepare(`update "${table}" set body = ? where kind = 'frozen-script' and id = ?`);
  set.run(two?.["body"] ?? "", one?.["id"] ?? "");
  set.run(one?.["body"] ?? "", two?.["id"] ?? "");
  expect(rows).toHaveLength(2);
  database.close();
}

describe("a script that waits", () => {
  it("is invisible to another agent, which can neither resume it nor approve its call", async () => {
    await using h = await scriptFixture();
    const principal = { tenant: "default", agent: "other", via: "token:other" };
    const one = await h.runtime.runChain({ code: mailing }, { principal });
    await h.runtime.approvals.decide(one.approvalId ?? "", { decision: "approved", by: boss });
    await using http = await httpFixture(h.runtime, { clock: h.clock });
    const paths = [`/v1/chains/${one.callId}/resume`, `/v1/approvals/${one.approvalId}/resume`];
    for (const path of paths)
      expect((await http.ask(path, { as: "agent", method: "POST", body: {} })).status).toBe(404);
    expect(await (await http.ask("/v1/chains", { as: "agent" })).json()).toMatchObject({ chains: [] });
    expect(h.ran).toEqual([]);
  });
});

describe("the fields that a script adds to its call", () => {
  it.each([
    ["run", { run_id: "other", runId: "other" }],
    ["scopes", { scopes: ["*"] }],
    ["principal", { principal: { tenant: "acme", agent: "boss" } }],
    ["approval", { approvalId: "apr_1", approved: true, resumes: "key_1" }],
    ["parent", { parentId: "call_1", fromChain: false, authority: {} }],
  ])("widen nothing: its %s is ignored", async (_, claims) => {
    const seen: object[] = [];
    const driver = fakeDriver({
      step: (step) => {
        if (step.step !== "calls") return step;
        return { ...step, calls: step.calls.map((asked) => ({ ...asked, ...claims })) };
      },
    });
    await using h = await scriptFixture({}, driver);
    const outcome = await h.runtime.runChain({ code: 'return (await call("echo", { to: "x" })).text;' }, asker);
    for (const record of await h.runtime.calls.list({ tool: "echo" })) seen.push(record.call.authority);
    expect(resultOf(outcome)).toMatchObject({ status: "ok" });
    expect(seen).toMatchObject([{ principal: asker.principal, scopes: [], fromChain: true }]);
  });

  it.each([[-1], [0.5], [Number.NaN], [2 ** 53], ["0"], [null]])(
    "end the script and call nothing when its place is %j",
    async (place) => {
      const driver = fakeDriver({
        step: (step) =>
          step.step === "calls"
            ? { ...step, calls: step.calls.map((asked) => ({ ...asked, place: place as number })) }
            : step,
      });
      await using h = await scriptFixture({}, driver);
      const outcome = await h.runtime.runChain({ code: 'return (await call("echo", { to: "x" })).text;' }, asker);
      expect(outcome.status).toBe("error");
      expect(h.ran).toEqual([]);
    },
  );

  it("end the script when two calls have one place", async () => {
    const driver = fakeDriver({
      step: (step) =>
        step.step === "calls"
          ? { ...step, calls: step.calls.flatMap((asked) => [asked, { ...asked, tool: "mail" }]) }
          : step,
    });
    await using h = await scriptFixture({}, driver);
    const outcome = await h.runtime.runChain({ code: 'return (await call("echo", { to: "x" })).text;' }, asker);
    expect(outcome.status).toBe("error");
    expect(h.ran).toEqual([]);
  });

  it("let 50 of 51 parallel calls run, and end a script that catches the refusal and calls again", async () => {
    await using h = await scriptFixture();
    const code = `const all = await Promise.allSettled(Array.from({ length: 51 }, (_, n) => call("echo", { to: "n" + n })));
      let more = 0;
      try { await call("echo", { to: "late" }); more += 1; } catch {}
      return [all.filter((one) => one.status === "fulfilled").length, more];`;
    expect((await h.runtime.runChain({ code }, asker)).text).toMatch(/^\[50,0\]\n/);
    expect(h.ran).toHaveLength(50);
  });
});
