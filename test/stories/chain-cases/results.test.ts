/** What comes back, inside and outside, on each engine: handles, files, output (CASES 216 to 226). */
import { expect } from "vitest";
import { onEachEngine } from "../../fakes/engine-cases.ts";
import { bigText, resultOf, wholeResultOf } from "../../fakes/engine-fixture.ts";

await onEachEngine(({ code, room, says }) => {
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

  says("what is printed is in the logs, what is returned in the output (case 220)", async () => {
    await using at = await room();
    expect(resultOf(await at.runtime.runChain(code("prints")))).toMatchObject({ logs: "hello 1", output_text: "42" });
  });

  says(
    "materialize gives a path under /workspace with the whole content, inline and offloaded (case 225)",
    async () => {
      await using at = await room();
      const { output_text, error } = resultOf(await at.runtime.runChain(code("materializes")));
      expect([output_text, error]).toEqual([`true:5,true:${bigText.length}`, null]);
    },
  );

  says("artifacts.put gives a reference: usable as an argument, and returned as media (case 226)", async () => {
    await using at = await room();
    const outcome = await at.runtime.runChain(code("puts"));
    expect(resultOf(outcome)).toMatchObject({ output_text: "9", error: null });
    expect(at.ran).toEqual([9]);
    expect(outcome.content.filter(({ type }) => type === "image")).toHaveLength(1);
    expect(resultOf(outcome).output_blocks_refs).toHaveLength(1);
  });
});
