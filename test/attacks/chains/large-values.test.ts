/** A script that passes on more than it may gets an exception in its language, is recorded, and blocks no other call. */
import { afterAll, describe, expect, it } from "vitest";
import { createRuntime, defineTool } from "../../../packages/postern/src/index.ts";
import { type EngineFixture, engineFixture, enginesHere, wholeResultOf } from "../../fakes/engine-fixture.ts";
import { inShortTurns } from "../../fakes/held-up.ts";
import { asker, boss, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../../fakes/script-fixture.ts";

const engines = await enginesHere();
const thirty = 30_000_000;

afterAll(async () => {
  await Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]()));
});

/** Values with as many values and names as a call's arguments may hold, including `value` itself. */
const shapes = {
  "names out of order":
    'Array.from({ length: 4 }, () => { const one = {}; for (let n = 0; n < 10_000; n++) one["k" + ((n * 7919) % 10_007)] = n; return one; })',
  "numbers for names":
    "Array.from({ length: 4 }, () => { const one = {}; for (let n = 0; n < 10_000; n++) one[(n * 7919) % 10_007] = n; return one; })",
  "empty lists": "Array(49_998).fill([])",
  "empty objects": "Array(49_998).fill({})",
  numbers: "Array(99_995).fill(1.5)",
  "objects in objects": "Array.from({ length: 14_000 }, () => ({ b: { a: 1 }, a: 0 }))",
  "texts of 40 letters": 'Array(99_995).fill("x".repeat(38))',
} as const;

const take: Parameters<typeof defineTool>[0] = {
  ...{ name: "take", description: "Takes anything.", risk: "safe", effects: "read", idempotent: true },
  input: { type: "object", properties: { value: {} } },
  execute: () => "taken",
};

describe.each(engines)("on $name", (engine) => {
  const { language } = engine;
  const isPython = language === "python";
  const open = (): Promise<EngineFixture> =>
    engineFixture(engine, { chains: { cpuMs: 60_000, memoryBytes: 512 << 20, outputBytes: 1 << 20 } });
  it.skipIf(engine.missing !== undefined)(
    "refuses an argument of 30 MB so that the script can catch it, and blocks no other call",
    async () => {
      const code = isPython
        ? `try:\n    tools.echo(text="x" * ${thirty})\nexcept Exception as error:\n    print(error)\ntools.echo(text="small")\n"went on"`
        : `try { await tools.echo({ text: "x".repeat(${thirty}) }) } catch (error) { console.log(error.code + ": " + error.message) }
           await tools.echo({ text: "small" }); return "went on";`;
      const { result, events } = await inShortTurns(100, async () => {
        await using at = await open();
        const outcome = await at.runtime.runChain({ code, language, timeout: 150 });
        return { result: await wholeResultOf(at, outcome), events: await at.runtime.audit.query({ tool: "echo" }) };
      });
      expect(result).toMatchObject({ status: "ok", output_text: "went on", tool_calls: 2 });
      expect(result.logs).toMatch(/The arguments of `echo` have \d{8} bytes and a script's call may have 4194304/);
      expect(result.logs).toContain("artifacts.put");
      expect(result.call_trace).toMatchObject([
        { tool: "echo", status: "error", code: "arguments_invalid", line: isPython ? 2 : 1 },
        { tool: "echo", status: "ok" },
      ]);
      expect(events.map(({ type }) => type)).toEqual([
        "tool_call.refused",
        "tool_call.attempted",
        "tool_call.succeeded",
      ]);
    },
    180_000,
  );

  it.skipIf(engine.missing !== undefined)(
    "refuses more values than a call may hold so that the script can catch it, and blocks no other call",
    async () => {
      const code = isPython
        ? `many = {}
for n in range(100_000):
    many[str(n * 7919 % 100_003)] = n
for value in [many, [[] for n in range(200_000)]]:
    try:
        tools.take(value=value)
    except Exception as error:
        print(error)
tools.take(value=[])
"went on"`
        : `const many = {}; for (let n = 0; n < 100_000; n++) many[(n * 7919) % 100_003] = n;
           for (const value of [many, Array(200_000).fill([])]) try { await tools.take({ value }); } catch (error) { console.log(error.code + ": " + error.message); }
           await tools.take({ value: [] }); return "went on";`;
      const result = await inShortTurns(100, async () => {
        const chains = { cpuMs: 60_000, memoryBytes: 512 << 20 };
        await using at = await engineFixture(engine, { chains, tools: [defineTool(take)] });
        return await wholeResultOf(at, await at.runtime.runChain({ code, language, timeout: 150 }));
      });
      expect(result).toMatchObject({ status: "ok", output_text: "went on", tool_calls: 3 });
      const expected =
        /The arguments of `take` hold more than 100000 values and names, .*`argument_values`.*artifacts\.put/g;
      expect(result.logs.match(expected)).toHaveLength(2);
      expect(result.call_trace).toMatchObject([
        { status: "error", code: "arguments_invalid" },
        { status: "error", code: "arguments_invalid" },
        { tool: "take", status: "ok" },
      ]);
    },
    180_000,
  );

  it.skipIf(engine.missing !== undefined)(
    "names the limit when a script's answer is above it, and blocks no other call",
    async () => {
      const code = isPython ? '"x" * 30_000_000' : `return "x".repeat(3_000_000)`;
      const result = await inShortTurns(100, async () => {
        await using at = await open();
        return await wholeResultOf(at, await at.runtime.runChain({ code, language, timeout: 150 }));
      });
      expect(result).toMatchObject({ status: "error", error_kind: "output", call_trace: [] });
      expect(result.error).toMatch(/returned \d{7,8} bytes and 1048576 may be/);
    },
    180_000,
  );

  it.skipIf(engine.missing !== undefined)(
    "puts a large value away in pieces, whole, and hands it on by reference",
    async () => {
      const text = isPython ? '"größer 💥\\0" * 300_000' : '"größer 💥\\0".repeat(300_000)';
      const code = isPython
        ? `kept = artifacts.put(${text}, "text/plain")\nimport hashlib\ntools.count(text=kept)\nhashlib.sha256((${text}).encode()).hexdigest() == str(kept)`
        : `files.write("/workspace/all", ${text}); const kept = await artifacts.put("/workspace/all"); await tools.count({ text: kept }); return kept.ref`;
      const { result, ran } = await inShortTurns(100, async () => {
        await using at = await open();
        const outcome = await at.runtime.runChain({ code, language, timeout: 150 });
        return { result: await wholeResultOf(at, outcome), ran: at.ran };
      });
      expect(result).toMatchObject({ status: "ok", tool_calls: 1 });
      expect(result.output_blocks_refs.length).toBe(1);
      expect(ran).toEqual([3_000_000]);
    },
    180_000,
  );
});

describe("on every engine", () => {
  it("refuses more values than a call may hold, and counts no punctuation inside texts", async () => {
    await using h = await scriptFixture();
    const code = `const ends = [];
      for (const to of [Array(100_000).fill([]), Array(99_998).fill(0), '\\\\"[,:{'.repeat(100_000)])
        try { await call("echo", { to }); ends.push("ok"); } catch (error) { ends.push(error.code + " " + error.message); }
      return ends.join("|");`;
    const { output_text: text } = resultOf(await h.runtime.runChain({ code }, asker));
    const [many, list, texts] = String(text).split("|");
    expect(many).toMatch(/^arguments_invalid The arguments of `echo` hold more than 100000 values and names/);
    expect(list).toMatch(/^arguments_invalid The arguments do not fit `echo`/);
    expect(texts).toBe("ok");
  });

  it("names the limit when an answer holds more values than allowed", async () => {
    await using h = await runtimeFixture({ chains: { engines: ["quickjs"], argumentValues: 1_000 } });
    const code = "return Array(1_000).fill({});";
    expect(resultOf(await h.runtime.runChain({ code, language: "javascript" }, asker))).toMatchObject({
      ...{ status: "error", error_kind: "output" },
      error: expect.stringContaining("more than 1000 values and names, or more than 100 names in one object"),
    });
  });

  it.each(Object.entries(shapes))(
    "blocks no other call with the most values that a call may hold: %s",
    async (_shape, made) => {
      const code = `const value = ${made}; return (await tools.take({ value })).text;`;
      const ended = await inShortTurns(100, async () => {
        const chains = { engines: ["quickjs"], cpuMs: 60_000 };
        await using runtime = await createRuntime({ chains, tools: [defineTool(take)] });
        return resultOf(await runtime.runChain({ code, language: "javascript" }, asker));
      });
      expect(ended).toMatchObject({ status: "ok", output_text: "taken" });
    },
    180_000,
  );

  it("counts a refused call, and gives the same refusal each time it is replayed", async () => {
    await using h = await scriptFixture({}, undefined);
    const code = `try { await call("echo", { to: "x".repeat(5_000_000) }) } catch (error) { return error.code + error.message; }`;
    const result = resultOf(await h.runtime.runChain({ code }, asker));
    expect(result["output_text"]).toMatch(/^arguments_invalidThe arguments of `echo` have 5000009 bytes/);
    expect(result).toMatchObject({ tool_calls: 1, call_trace: [{ status: "error", code: "arguments_invalid" }] });
  });

  it("uses the limit that is configured for scripts", async () => {
    const chains = { argumentBytes: 100_000, engines: ["quickjs"] };
    await using h = await scriptFixture({ chains });
    const code = `const ends = [];
      for (const length of [50_000, 99_000, 101_000, 400_000]) try { await tools.echo({ to: "x".repeat(length) }); ends.push("ok") } catch (error) { ends.push(error.code) }
      return ends.join();`;
    expect(resultOf(await h.runtime.runChain({ code, language: "javascript" }, asker))["output_text"]).toBe(
      "ok,ok,arguments_invalid,arguments_invalid",
    );
  });

  it("bounds what enters a script at once, and lets it enter one after the other", async () => {
    await using h = await scriptFixture();
    const code = `const { ref } = await host("artifact", { text: "m".repeat(4_000_000) });
      const all = await Promise.allSettled(Array.from({ length: 10 }, () => host("materialize", { ref })));
      const again = await host("materialize", { ref });
      return all.map(({ status, reason }) => reason?.code ?? status).join() + "," + again.text.length;`;
    const { output_text: text } = resultOf(await h.runtime.runChain({ code }, asker));
    expect(text).toBe(`${"fulfilled,".repeat(2)}${"overloaded,".repeat(8)}4000000`);
  });

  it("replays a script whose many requests ran beside a call that waits, and stores nothing of them", async () => {
    await using h = await scriptFixture();
    const code = `const big = { to: "x".repeat(4_000_000) };
      await Promise.all([call("echo", big), call("echo", big), call("echo", big), call("mail", { to: "b" })]); return "sent";`;
    const { approvalId = "", status } = await h.runtime.runChain({ code }, asker);
    expect(status).toBe("pending");
    const [waiting] = (await h.runtime.chains?.list()) ?? [];
    expect(waiting).toMatchObject({ state: "waiting", imageBytes: 0 });
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ status: "ok", output_text: "sent" });
  });
});
