/** Python scripts through the command line, over real servers. */
import { expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import { chainGateway, script } from "../fakes/chain-gateway.ts";
import { enginesInTurn } from "../fakes/share.ts";

const engines = enginesInTurn.filter((name) => name !== "quickjs");
const missing = new Map<string, string>();
for (const name of engines) {
  await using engine = await knownEngines.get(name)?.(new SystemClock());
  const problem = engine === undefined ? "there is no such engine" : await engine.unavailable();
  if (problem !== undefined) missing.set(name, problem);
  if (problem !== undefined) console.warn(`SKIPPED: ${name}: ${problem}`);
}

it.each(engines)(
  "`postern chain run x.py` on %s makes calls, waits for a person, and ends",
  async (name) => {
    if (missing.has(name)) return;
    await using gateway = await chainGateway(name);
    const path = script(
      gateway,
      `total = tools.everything.get_sum(a=20, b=22)
said = tools.everything.echo(message=f"{total.text}")
print("asking")
tools.filesystem.write_file(path=${JSON.stringify(gateway.file("note.txt"))}, content=said.text)
{"said": said.text}
`,
      "story.py",
    );
    const pending = await gateway.command("chain", "run", path, "--json");
    expect(pending.code, pending.out + pending.err).toBe(4);
    await (await gateway.operator()).approvals.approve({ id: JSON.parse(pending.out).approval_id });
    const done = await gateway.command("chain", "run", path, "--json");
    expect(done.code, done.out + done.err).toBe(0);
    expect(JSON.parse(done.out).structured).toMatchObject({
      ...{ status: "ok", engine: name, logs: "asking", tool_calls: 3, error: null },
      output_text: expect.stringContaining("Echo: The sum of 20 and 22 is 42."),
      call_trace: [
        { tool: "everything__get-sum", status: "ok", line: 1 },
        { tool: "everything__echo", status: "ok", line: 2 },
        { tool: "filesystem__write_file", status: "ok", line: 4 },
      ],
    });
    const wrong = script(gateway, "tools.everything.get_sum(a=1, b=\n", "wrong.py");
    const failed = await gateway.command("chain", "run", wrong, "--json");
    expect(failed.code, failed.out + failed.err).toBe(1);
    expect(JSON.parse(failed.out).structured).toMatchObject({ status: "error", tool_calls: 0 });
  },
  180_000,
);
