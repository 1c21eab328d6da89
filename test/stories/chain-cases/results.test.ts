/** What a call returns to a script and what the script returns, on each engine: handles, files, output (CASES 216 to 226). */
import { expect } from "vitest";
import { onEachEngine } from "../../fakes/engine-cases.ts";
import { bigText, resultOf, wholeResultOf } from "../../fakes/engine-fixture.ts";

await onEachEngine(({ code, room: open, check }) => {
  check("a handle is passed on by reference: the next tool gets the bytes, not the sandbox (case 216)", async () => {
    await using at = await open();
    const { output_text } = resultOf(await at.runtime.runChain(code("handle")));
    expect(output_text.replace(/[[\]]/g, "")).toBe(`true,true,${bigText.length}`);
    expect(at.ran).toEqual([bigText.length]);
    expect(JSON.stringify(at.seen.settled).length).toBeLessThan(10_000);
  });

  check("10 kB of output hide neither the answer nor the error, calls and last lines", async () => {
    await using at = await open();
    const ends = [code("printsAndAnswers"), code("printsAndFails")];
    for (const [place, expected] of [
      /\n42\n\[chain: 1 tool call/,
      /boom[\s\S]*It had called: note ok\.\n\[chain: 1/,
    ].entries()) {
      const outcome = await at.runtime.runChain(ends[place] ?? code("prints"));
      expect(outcome.text).toMatch(expected);
      expect(outcome.text).toMatch(/^row 0\n[\s\S]*…\n[\s\S]*row 999\n/);
      expect(resultOf(outcome)).toMatchObject({
        logs: expect.stringMatching(/^row 0\n[\s\S]*row 999$/),
        call_trace: [{ tool: "note", status: "ok" }],
      });
      expect(Buffer.byteLength(outcome.text + JSON.stringify(outcome.structured))).toBeLessThanOrEqual(4_096);
      expect((await wholeResultOf(at, outcome)).logs).toHaveLength("row 999".length * 1_000 + 999 - 110);
    }
  });

  check("printed text is in the logs, and the return value in the output (case 220)", async () => {
    await using at = await open();
    expect(resultOf(await at.runtime.runChain(code("prints")))).toMatchObject({ logs: "hello 1", output_text: "42" });
  });

  check(
    "materialize gives a path under /workspace with the whole content, inline or offloaded (case 225)",
    async () => {
      await using at = await open();
      const { output_text, error } = resultOf(await at.runtime.runChain(code("materializes")));
      expect([output_text, error]).toEqual([`true:5,true:${bigText.length}`, null]);
    },
  );

  check("artifacts.put gives a reference that works as an argument and returns as media (case 226)", async () => {
    await using at = await open();
    const outcome = await at.runtime.runChain(code("puts"));
    expect(resultOf(outcome)).toMatchObject({ output_text: "9", error: null });
    expect(at.ran).toEqual([9]);
    expect(outcome.content.filter(({ type }) => type === "image")).toHaveLength(1);
    expect(resultOf(outcome).output_blocks_refs).toHaveLength(1);
  });
});
