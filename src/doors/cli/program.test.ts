import { expect, it } from "vitest";
import { FakeClock } from "../../../test/fakes/clock.ts";
import type { Host } from "./host.ts";
import { createProgram } from "./program.ts";
import { UsageProblem } from "./usage-problem.ts";

/** A process where no command may get as far as a Postern. */
function nowhere() {
  const out: string[] = [];
  const err: string[] = [];
  const unreachable = () => Promise.reject(new Error("a command that is typed wrong looked for a Postern"));
  const host: Host = {
    terminal: {
      out: (text) => void out.push(text),
      aside: (text) => void err.push(text),
      colour: false,
      columns: 80,
      interactive: false,
      screen: false,
    },
    clock: new FakeClock(),
    dataFolder: unreachable,
    wantedPort: () => undefined,
    startInside: unreachable,
    start: unreachable,
    inspect: unreachable,
    configurationText: unreachable,
  };
  return { program: createProgram(host, "1.2.3"), out, err };
}

async function typed(
  words: readonly string[],
): Promise<{ readonly code: number; readonly err: string; readonly out: string }> {
  const { program, out, err } = nowhere();
  try {
    return { code: await program.run(words), err: err.join(""), out: out.join("") };
  } catch (error) {
    if (error instanceof UsageProblem) return { code: 2, err: error.message, out: out.join("") };
    throw error;
  }
}

it.each([
  [["nope"], "unknown command 'nope'"],
  [["aprovals"], "Did you mean approvals?"],
  [["call"], "missing required argument 'tool'"],
  [["tools", "--nope"], "unknown option '--nope'"],
  [["calls", "--state", "odd"], "`odd` is none of held, queued"],
  [["calls", "--limit", "-1"], "is not a whole number"],
  [["calls", "settle", "call_1", "perhaps", "--reason", "x"], "`perhaps` is none of succeeded, failed, retry"],
  [["calls", "settle", "call_1", "failed"], 'Say how you know: `--reason "…"`'],
  [["calls", "settle", "call_1", "failed", "--reason", " "], "Say how you know"],
  [["controls", "autonomy", "A9"], "`A9` is none of A0, A1, A2, A3, A4"],
  [["controls", "tool", "x", "maybe"], "`maybe` is none of on, off"],
  [["call", "echo", "--wait", "soon"], "`--wait soon` is not a whole number"],
  [["call", "echo", "--autonomy", "A7"], "`A7` is none of"],
  [["approvals", "modify", "apr_1"], "required option '--arguments <json>'"],
  [["approvals", "modify", "apr_1", "--arguments", "[]"], "must be a JSON object"],
  [["approvals", "list", "--state", "open"], "`open` is none of pending"],
  [["memory", "candidates", "--state", "pending"], "`pending` is none of open, accepted"],
  [["memory", "candidates", "accept"], "missing required argument 'id'"],
])("%j is refused with 2 before anything is looked for, and says how to type it", async (words, said) => {
  const { code, err, out } = await typed(words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(said);
});

it("help and version end well, and go where results go", async () => {
  expect(await typed(["--version"])).toEqual({ code: 0, err: "", out: "1.2.3\n" });
  expect(await typed(["approvals", "--help"])).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringContaining("deny"),
  });
});
