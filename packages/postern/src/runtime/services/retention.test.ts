import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  EffectTools,
  holdingScript,
  openRuntime as openScripts,
  runAndLeave,
} from "../../../../../test/fakes/effect-tools.ts";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { asker } from "../../../../../test/fakes/runtime-fixture.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { leafHash, verifyExport, verifyInclusion } from "../../audit/index.ts";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../index.ts";
import { createRedactor } from "../../secrets/redactor.ts";
import { MemoryStore } from "../../store/memory-store.ts";
import type { StoreUpkeep } from "../../store/store.ts";
import { serializePlainly } from "../../testing/records.ts";

const dayMs = 86_400_000;
const retention = { callsDays: 30, approvalsDays: 30, eventsDays: 30 };
const base = { description: "A tool.", idempotent: false, input: z.object({ text: z.string() }) } as const;
let ran = 0;
const tools = [
  defineTool({ ...base, name: "say", risk: "medium", execute: () => `said ${++ran}` }),
  defineTool({ ...base, name: "ask", risk: "high", execute: () => "asked" }),
];

interface Place {
  readonly clock: FakeClock;
  readonly options: RuntimeOptions;
  readonly file: string;
}

function place(more: RuntimeOptions = {}): Place {
  const folder = ownFolder();
  const [clock, file] = [new FakeClock(), join(folder, "postern.db")];
  const policy = { rules: [{ effect: "allow", tool: "say" }] } as const;
  const options = {
    limits: { maxRiskUnapproved: "medium" },
    folder,
    clock,
    tools,
    policy,
    store: `sqlite:${file}`,
    approvals: { patience: "suspend", ttlMs: 60 * dayMs },
  } as const;
  return { clock, file, options: { ...options, ...more } };
}

/** Opens it after so many days and waits until the sweep at the start has ended. */
async function after(days: number, { clock, options }: Place): Promise<Runtime> {
  await clock.advance(days * dayMs);
  const runtime = await createRuntime({ ...options, retention });
  await runtime.close();
  return createRuntime(options);
}

const say = (text: string) => ({ tool: "say", arguments: { text } });

describe("retention", () => {
  it("erases what has ended, and the log still verifies, exports and proves", async () => {
    const here = place();
    const first = await createRuntime(here.options);
    await first.invoke(say("a private text"));
    await first.close();
    await using runtime = await after(40, here);
    expect(await runtime.calls.list()).toEqual([]);
    expect(readFileSync(here.file).includes("a private text")).toBe(false);
    const found = await runtime.audit.verify();
    expect(found).toMatchObject({ intact: true, outcome: "ok", erased: 2 });
    const proof = await runtime.audit.prove(0);
    if (proof === undefined) throw new Error("there is an entry");
    expect(proof.body).toMatch(/^#erased [0-9a-f]{64}$/);
    expect([leafHash(proof.body) === proof.leaf, verifyInclusion({ ...proof, index: 0 })]).toEqual([true, true]);
    const { publicKey } = proof;
    expect(await verifyExport(runtime.audit.export(), { publicKey })).toMatchObject({ intact: true, erased: 2 });
    const notes = await runtime.audit.query({ type: ["runtime.rows_erased", "runtime.entries_erased"] });
    expect(notes.map(({ data }) => data)).toEqual([
      expect.objectContaining({ kind: "calls", count: 1 }),
      { count: 2, first: 0, last: 1, places: "0-1", checkpoint: 3, signature: expect.any(String) },
    ]);
  });

  it("keeps an open request with its call and its events, and what is younger", async () => {
    const here = place();
    const first = await createRuntime(here.options);
    const asked = await first.invoke({ tool: "ask", arguments: { text: "may I" } });
    await first.close();
    await here.clock.advance(20 * dayMs);
    const second = await createRuntime(here.options);
    await second.invoke(say("young"));
    await second.close();
    await using runtime = await after(20, here);
    expect((await runtime.calls.list()).map(({ call }) => call.tool)).toEqual(["say", "ask"]);
    expect(await runtime.audit.query({ type: "gate.required" })).toHaveLength(1);
    expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(1);
    expect(asked.status).toBe("pending");
  });

  it("never lets a call with a key run again", async () => {
    const here = place();
    const first = await createRuntime(here.options);
    const once = await first.invoke(say("once"), { idempotencyKey: "k" });
    await first.close();
    await using runtime = await after(40, here);
    const again = await runtime.invoke(say("once"), { idempotencyKey: "k" });
    expect(once.text).toBe(`said ${ran}`); // it did not run again
    expect([once.status, again.status, again.refusal?.code]).toEqual(["ok", "error", "result_unavailable"]);
    expect(readFileSync(here.file).includes('"text":"once"')).toBe(false);
  });

  it.each(["without a key", "with its key", "settled as `retry`"])(
    "keeps the calls of a script that may go on, %s",
    async (how) => {
      const effects = new EffectTools();
      const [clock, folder] = [new FakeClock(), ownFolder()];
      const options = { clock, folder, store: `sqlite:${join(folder, "postern.db")}` } as const;
      const first = await openScripts(effects, undefined, options);
      const more = how === "without a key" ? {} : { idempotencyKey: "k" };
      await runAndLeave(first, effects, { code: holdingScript }, more);
      const [script] = await first.runtime.calls.list({ tool: "tool_chain" });
      expect(script?.state).toBe("unknown");
      if (how.startsWith("settled")) await first.runtime.ledger.settle(script?.call.id ?? "", "retry", "looked");
      await first.runtime.close();
      await clock.advance(40 * dayMs);
      const second = await openScripts(effects, undefined, { ...options, retention });
      await second.runtime.close(); // waits for the sweep
      effects.isHeld = false;
      await using third = await openScripts(effects, undefined, options);
      await third.runtime.runChain({ code: holdingScript }, { ...asker, ...more });
      expect(effects.did.filter((one) => one === "a")).toEqual(["a"]);
    },
  );

  it("keeps calls that a rule still counts", async () => {
    const limit = {
      effect: "deny",
      tool: "say",
      history: { within: "principal", windowSeconds: 90 * 86_400, atMost: 1 },
    };
    const here = place({ policy: { rules: [{ effect: "allow", tool: "say" }, limit] } as never });
    const first = await createRuntime(here.options);
    await first.invoke(say("counted"));
    await first.close();
    await using runtime = await after(40, here);
    expect(await runtime.calls.list()).toHaveLength(1);
  });

  it("is told from an entry that was taken away", async () => {
    const here = place();
    const first = await createRuntime(here.options);
    await first.invoke(say("one"));
    await first.note("operator.action.tested", "kept");
    await first.close();
    const database = new DatabaseSync(here.file);
    const { body } = database.prepare("select body from event where seq = 0").get() ?? {};
    database.prepare("update event set body = ? where seq = 0").run(`#erased ${leafHash(String(body))}`);
    database.close();
    await using runtime = await createRuntime(here.options);
    expect(await runtime.audit.verify()).toMatchObject({
      intact: false,
      firstBroken: 0,
      why: "Entry 0 was erased, and no later entry proves that retention did it.",
    });
  });

  it.each(["without a proof", "with a proof of other places"])(
    "hides no act of an operator by a forged note %s",
    async (how) => {
      const here = place();
      const first = await createRuntime(here.options);
      await first.invoke(say("one"));
      await first.note("operator.action.tested", "an act to hide");
      await first.close();
      await (await after(40, here)).close();
      const database = new DatabaseSync(here.file);
      const list = database.prepare("select seq, body from event order by seq").all();
      const act = list.find(({ body }) => String(body).includes("an act to hide"));
      const real = JSON.parse(String(list.find(({ body }) => String(body).includes("entries_erased"))?.["body"]));
      const seq = Number(act?.["seq"]);
      const data = { ...real.call.data, first: seq, last: seq, count: 1, places: String(seq) };
      if (how === "without a proof") delete data.signature;
      const forged = JSON.stringify({ ...real, call: { ...real.call, data } });
      database
        .prepare("update event set body = ? where seq = ?")
        .run(`#erased ${leafHash(String(act?.["body"]))}`, seq);
      database.prepare("insert into event (seq, body) values (?, ?)").run(Number(list.at(-1)?.["seq"]) + 1, forged);
      database.close();
      await using runtime = await createRuntime(here.options);
      expect(await runtime.audit.verify()).toMatchObject({ intact: false, firstBroken: seq });
      expect(await verifyExport(runtime.audit.export())).toMatchObject({ intact: false, firstBroken: seq });
    },
  );

  it("erases no entry whose proof would be masked as a secret", async () => {
    const redactor = createRedactor();
    redactor.learn("0-1,3-4");
    const problems: string[] = [];
    const here = place({ redactor, log: (problem) => void problems.push(problem) });
    const first = await createRuntime(here.options);
    await first.invoke(say("one"));
    await first.note("operator.action.tested", "stays");
    await first.invoke(say("two"));
    await first.close();
    await using runtime = await after(40, here);
    expect(problems).toContainEqual(expect.stringContaining("Entries were not erased"));
    expect(await runtime.audit.verify()).toMatchObject({ intact: true, outcome: "ok" });
    expect(await runtime.audit.verify()).not.toHaveProperty("erased");
  });

  it("does not hold up a close for longer than five seconds", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock, serialize: serializePlainly });
    async function* endless(): AsyncGenerator<number> {
      for (;;) {
        yield 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    const upkeep = { erase: endless } as unknown as StoreUpkeep; // the rest is not reached
    const runtime = await createRuntime({ clock, retention, store: Object.assign(store, { upkeep }) });
    let isClosed = false;
    const closing = runtime.close().then(() => {
      isClosed = true;
    });
    await clock.advance(4_999);
    expect(isClosed).toBe(false);
    await clock.advance(1);
    await closing;
  });

  it("lets no application write that entries were erased", async () => {
    await using runtime = await createRuntime();
    const note = runtime.note("runtime.entries_erased", "one", { data: { first: 0, last: 9, count: 9 } });
    await expect(note).rejects.toMatchObject({ code: "request_invalid" });
  });
});
