/** The sentences of code mode, for each engine that can run here: nothing a script is promised depends on which one runs it. */
import { existsSync } from "node:fs";
import { afterAll, describe, expect, it, vi } from "vitest";
import { holdsIn } from "../fakes/artifact-holds.ts";
import {
  bigText,
  type EngineRoom,
  type EngineUnderTest,
  engineRoom,
  enginesHere,
  resultOf,
  roomWith,
  watched,
  wholeResultOf,
} from "../fakes/engine-room.ts";
import { by } from "../fakes/engine-scripts.ts";
import { boss } from "../fakes/house.ts";

type Language = EngineUnderTest["language"];
const engines = await enginesHere();
/** What a part of Python leaves to all of it. */
const wholePython = engines.find(({ name, missing }) => name === "cpython" && missing === undefined)?.driver;
const patient = 90_000;
const reused: ReadonlySet<string> = new Set(["quickjs", "monty"]);

afterAll(async () => {
  await Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]()));
});

describe.each(engines)("on $name", (engine) => {
  const { name, language, missing } = engine;
  const room = (options = {}): Promise<EngineRoom> => engineRoom(engine, options);
  const code = (which: keyof typeof by): { readonly code: string; readonly language: Language } => ({
    code: by[which]?.[language] ?? "",
    language,
  });
  /** Its process is gone, or is rinsed for the next script of the same caller (docs/reference/sandboxes.md). */
  const expectLetGo = async (session: object | undefined): Promise<void> => {
    if (!reused.has(name)) await expect.poll(() => isAlive(session), { timeout: patient }).toBe(false);
  };
  /** Sentences that need all of Python: what a part of it cannot do, the next engine does, in the same run. */
  const wide = (): Promise<EngineRoom> => engineRoom(engine, {}, name === "monty" && wholePython ? [wholePython] : []);
  const says = (sentence: string, body: () => Promise<void>): void => {
    it.skipIf(missing !== undefined)(sentence, body, patient);
  };
  const saysWide = (sentence: string, body: () => Promise<void>): void => {
    it.skipIf(missing !== undefined || (name === "monty" && wholePython === undefined))(sentence, body, patient);
  };

  says(
    "the prelude has the tools' names, the handle's type, tools and artifacts; the frames bear the chain's id (case 204)",
    async () => {
      await using at = await room();
      const { output_text } = resultOf(await at.runtime.runChain(code("prelude")));
      expect(output_text).toBe(language === "python" ? "a,2,ok" : "function,function,true,function,function");
      expect(at.seen.programs[0]?.chainId).toMatch(/^chain_[0-9a-f]{32}$/);
    },
  );

  says("a call of `echo` is answered with 'hi' (case 205)", async () => {
    await using at = await room();
    expect(resultOf(await at.runtime.runChain(code("echo")))).toMatchObject({
      ...{ status: "ok", output_text: "hi", engine: name },
      call_trace: [{ tool: "echo", status: "ok" }],
    });
  });

  says("when the house closes the script ends as closed, and nothing more is called (case 206)", async () => {
    await using at = await room();
    const running = at.runtime.runChain(code("sleeps"));
    await expect.poll(() => at.ran.length, { timeout: patient }).toBe(1);
    await at.runtime.close(1_500);
    const { structured } = await running;
    expect(resultOf({ structured: structured ?? null })?.error_kind ?? "closed").toBe("closed");
    expect(at.ran).toEqual(["1"]);
    expect((await at.runtime.runChain(code("echo"))).status).not.toBe("ok");
  });

  says("while it runs it is listed, afterwards nothing is; an unknown one is no error (case 207)", async () => {
    await using at = await room();
    const cancel = new AbortController();
    const running = at.runtime.runChain(code("sleeps"), { signal: cancel.signal });
    await expect.poll(async () => (await at.runtime.chains?.list())?.length, { timeout: patient }).toBe(1);
    cancel.abort();
    await running.catch(() => undefined);
    expect(await at.runtime.chains?.list()).toEqual([]);
    expect(await at.runtime.chains?.resume("call_unknown")).toBeUndefined();
  });

  says(
    "a script that ended leaves no session: no process, and no place that could be answered (case 208)",
    async () => {
      await using at = await room();
      await at.runtime.runChain(code("echo"));
      expect(await at.runtime.chains?.list()).toEqual([]);
      const [session] = at.seen.sessions;
      await expectLetGo(session);
      expect(() => session?.settle([{ place: 0, status: "ok", value: null }])).toThrow(/not waited for/);
      expect(await session?.next()).toMatchObject({ step: "done" });
    },
  );

  says("an error of the script is is_error, status error, with the trace (case 209)", async () => {
    await using at = await room();
    const outcome = await at.runtime.runChain(code("fails"));
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
    expect(resultOf(outcome)).toMatchObject({
      ...{ status: "error", error_kind: "script", error: expect.stringContaining("boom") },
      call_trace: [{ tool: "echo", status: "ok" }],
    });
  });

  says("where it cannot run, the tool is not registered, and naming it is refused (case 210)", async () => {
    const away = (seen: EngineRoom["seen"]) => ({
      ...watched(engine.driver, { seen }),
      unavailable: async () => "gone",
    });
    await expect(roomWith((seen) => [away(seen)])).rejects.toThrow(/cannot run here: gone/);
  });

  says("what is sent to the sandbox holds the registry's names (case 211)", async () => {
    await using at = await room();
    await at.runtime.runChain(code("echo"));
    expect(at.seen.programs[0]?.tools.map((tool) => tool.name)).toEqual([
      "count",
      "echo",
      "hold",
      "mail",
      "note",
      "query_db",
      "report",
    ]);
  });

  says("an engine that throws is an error, no session is left, and no pin (case 212)", async () => {
    await using at = await roomWith((seen) => [watched(engine.driver, { seen, tornAfter: 1 })]);
    const held = holdsIn(at.runtime);
    const outcome = await at.runtime.runChain(code("handle"));
    const kept = vi.mocked(at.runtime.artifacts.put).mock.calls.length;
    expect(resultOf(outcome)).toMatchObject({
      status: "error",
      error_kind: "crash",
      error: expect.stringContaining("wire torn"),
    });
    expect(resultOf(outcome).call_trace).toMatchObject([{ tool: "report", status: "ok" }]);
    expect(await at.runtime.chains?.list()).toEqual([]);
    expect(isAlive(at.seen.sessions[0])).toBe(false);
    expect(kept).toBeGreaterThan(0);
    expect(held()).toBe(0);
  });

  says("9999 seconds asked for are as many as a script may have (case 213)", async () => {
    await using at = await room({ chains: { limits: { totalTimeoutMs: 30_000 } } });
    await at.runtime.runChain({ ...code("echo"), timeout: 9999 });
    expect(at.seen.limits[0]?.wallMs).toBeGreaterThan(0);
    expect(at.seen.limits[0]?.wallMs).toBeLessThanOrEqual(30_000);
  });

  says("a high tool without approval is a permission exception inside, and recorded as denied (case 214)", async () => {
    await using at = await room({ approvals: { patience: "deny" } });
    const result = resultOf(await at.runtime.runChain(code("denied")));
    expect(result.output_text).toMatch(/^(true,approval_unavailable|permission: )/);
    expect(result.call_trace).toMatchObject([{ tool: "mail", status: "denied", code: "approval_unavailable" }]);
    expect(at.ran).toEqual([]);
  });

  saysWide("an unknown tool is an exception that lists what there is (case 215)", async () => {
    await using at = await wide();
    const outcome = await at.runtime.runChain(code("unknown"));
    expect(outcome.text).toMatch(
      /ehco[\s\S]*Did you mean `?echo`?\?[\s\S]*(There are|Available)[\s\S]*count[\s\S]*echo/,
    );
    expect(resultOf(outcome).call_trace).toEqual([]);
  });

  says(
    "a handle is passed on by reference: the next tool gets the bytes, the sandbox never held them (case 216)",
    async () => {
      await using at = await room();
      const { output_text } = resultOf(await at.runtime.runChain(code("handle")));
      expect(output_text.replace(/[[\]]/g, "")).toBe(`true,true,${bigText.length}`);
      expect(at.ran).toEqual([bigText.length]);
      expect(JSON.stringify(at.seen.settled).length).toBeLessThan(10_000);
    },
  );

  says("a crash after the second of three tools lists two records with their statuses (case 217)", async () => {
    await using at = await room();
    const outcome = await at.runtime.runChain(code("crashes"));
    expect(resultOf(outcome).call_trace).toMatchObject([
      { tool: "note", status: "ok" },
      { tool: "echo", status: "ok" },
    ]);
    expect(outcome.text).toContain("It had called: note ok, echo ok.");
    expect(at.ran).toEqual(["1"]);
  });

  says("the 51st call fails with a budget error, which the script may catch (case 218)", async () => {
    await using at = await room();
    const outcome = await at.runtime.runChain(code("many"));
    expect(outcome).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/^50 .*(budget|calls)[\s\S]*\[chain: 51 tool calls/),
    });
    expect(at.ran).toHaveLength(50);
  });

  says("10 kB of prints hide neither its answer nor its error, its calls and the last lines", async () => {
    await using at = await room();
    const ends = [code("printsAndAnswers"), code("printsAndFails")];
    for (const [place, told] of [
      /\n42\n\[chain: 1 tool call/,
      /boom[\s\S]*It had called: note ok\.\n\[chain: 1/,
    ].entries()) {
      const outcome = await at.runtime.runChain(ends[place] ?? code("prints"));
      expect(outcome.text).toMatch(told);
      expect(outcome.text).toMatch(/^row 0\n[\s\S]*…\n[\s\S]*row 999\n/);
      expect(resultOf(outcome)).toMatchObject({
        logs: expect.stringMatching(/^row 0\n[\s\S]*row 999$/),
        call_trace: [{ tool: "note", status: "ok" }],
      });
      expect(Buffer.byteLength(outcome.text + JSON.stringify(outcome.structured))).toBeLessThanOrEqual(4_096);
      expect((await wholeResultOf(at, outcome)).logs).toHaveLength("row 999".length * 1_000 + 999 - 110);
    }
  });

  says("past its total time it is a timeout with its trace, and the sandbox is killed (case 219)", async () => {
    await using at = await room();
    const result = resultOf(await at.runtime.runChain({ ...code("sleeps"), timeout: name === "pyodide" ? 20 : 3 }));
    expect(result.status).toBe("timeout");
    expect(result.call_trace).toMatchObject([
      { tool: "note", status: "ok" },
      { tool: "hold", status: "timeout" },
    ]);
    expect(isAlive(at.seen.sessions[0])).toBe(false);
  });

  says("what is printed is in the logs, what is returned in the output (case 220)", async () => {
    await using at = await room();
    expect(resultOf(await at.runtime.runChain(code("prints")))).toMatchObject({ logs: "hello 1", output_text: "42" });
  });

  saysWide(
    "materialize gives a path under /workspace with the whole content, inline and offloaded (case 225)",
    async () => {
      await using at = await wide();
      const { output_text, error } = resultOf(await at.runtime.runChain(code("materializes")));
      expect([output_text, error]).toEqual([`true:5,true:${bigText.length}`, null]);
    },
  );

  saysWide("artifacts.put gives a reference: usable as an argument, and returned as media (case 226)", async () => {
    await using at = await wide();
    const outcome = await at.runtime.runChain(code("puts"));
    expect(resultOf(outcome)).toMatchObject({ output_text: "9", error: null });
    expect(at.ran).toEqual([9]);
    expect(outcome.content.filter(({ type }) => type === "image")).toHaveLength(1);
    expect(resultOf(outcome).output_blocks_refs).toHaveLength(1);
  });

  says("a variable set in one run is not visible in the next (case 228)", async () => {
    await using at = await room();
    await at.runtime.runChain(code("sets"));
    const outcome = await at.runtime.runChain(code("finds"));
    expect(outcome.text).toMatch(/undefined|leftover/);
    expect(resultOf(outcome).output_text).not.toBe("1");
  });

  says("an endless loop is ended at its limit, not ok (case 230)", async () => {
    await using at = await room({ chains: { cpuMs: 1_000 } });
    const result = resultOf(await at.runtime.runChain(code("loops")));
    expect(result).toMatchObject({ status: "timeout", error_kind: expect.stringMatching(/^(cpu|wall)$/) });
    expect(isAlive(at.seen.sessions[0])).toBe(false);
  });

  saysWide("no id and no path leads out of a script's place (case 231)", async () => {
    await using at = await wide();
    for (const idempotencyKey of ["../../etc", "..", "chain_1/../.."]) {
      const outcome = await at.runtime.runChain(code("echo"), { idempotencyKey });
      expect(outcome.status).toBe("ok");
    }
    expect(at.seen.programs.every(({ chainId }) => /^chain_[0-9a-f]{32}$/.test(chainId))).toBe(true);
    expect(new Set(at.seen.programs.map(({ chainId }) => chainId)).size).toBe(at.seen.programs.length);
    expect(resultOf(await at.runtime.runChain(code("outside"))).output_text).toBe("refused,refused,refused");
  });

  says("one that needs a person waits without a process, and goes on when it is sent again", async () => {
    await using at = await room();
    const asks = {
      language,
      code:
        language === "python"
          ? "a = tools.note(text='first')\nb = tools.mail(text=a.text)\n[a.text, b.text]"
          : 'const a = await tools.note({ text: "first" }); const b = await tools.mail({ text: a.text }); return [a.text, b.text];',
    };
    const pending = await at.runtime.runChain(asks);
    expect(pending).toMatchObject({ status: "pending", approvalId: expect.stringMatching(/^apr_/) });
    await expectLetGo(at.seen.sessions[0]);
    await at.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    const done = resultOf(await at.runtime.runChain(asks));
    expect([done.error, done.output_text]).toEqual([null, '["did first","did did first"]']);
    expect(at.ran).toEqual(["first", "did first"]);
  });
});

/** Whether its process is there still; sessions of ours know their process. */
function isAlive(session: object | undefined): boolean {
  if (session === undefined || !("pid" in session)) throw new Error("This session knows no process.");
  return existsSync(`/proc/${String(session.pid)}/root`);
}
