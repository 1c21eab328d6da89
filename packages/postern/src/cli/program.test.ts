import { expect, it } from "vitest";
import { noPostern } from "../../../../test/fakes/no-postern.ts";
import { UsageProblem } from "./usage-problem.ts";

async function typed(
  words: readonly string[],
): Promise<{ readonly code: number; readonly err: string; readonly out: string }> {
  const { program, out, err } = noPostern();
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
  [["approvals", "foo"], "`foo` is no command of `approvals`; there are list, show, approve"],
  [["approvals", "aprove"], "Did you mean `approve`?"],
  [["approvals", "grants", "foo"], "`foo` is no command of `grants`; there are list, revoke."],
  [["runs", "foo"], "`foo` is no command of `runs`"],
  [["audit", "foo"], "`foo` is no command of `audit`"],
  [["approvals", "list", "list"], "too many arguments for 'list'"],
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
  [["approvals", "list", "--risk", "odd"], "`--risk odd`: `odd` is none of safe, medium, high, critical."],
  [["approvals", "list", "--run", "a b"], "`--run a b`: must be 1 to 64 of A-Z a-z 0-9 _ -."],
  [["approvals", "list", "--limit", "few"], "`--limit few` is not a whole number"],
  [["approvals", "deny", "apr_1", "--digest", "x"], "`--digest x`: must be 64 lower-case hex digits."],
  [["memory", "candidates", "--state", "pending"], "`pending` is none of open, accepted"],
  [["memory", "candidates", "accept"], "missing required argument 'id'"],
])("%j is refused with 2 before anything is looked for, and says how to type it", async (words, printed) => {
  const { code, err, out } = await typed(words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(printed);
});

/** The lines of one part of a help text: what stands left, and what is said of it. */
function entries(
  help: string,
  part: "Commands" | "Options",
): readonly { readonly term: string; readonly printed: string }[] {
  const lines = (help.split(`\n${part}:\n`)[1] ?? "").split("\n\n", 1)[0] ?? "";
  return [...lines.matchAll(/^ {2}(\S.*?)(?: {2,}(\S.*))?$/gm)].map(([, term = "", printed = ""]) => ({
    term,
    printed,
  }));
}

async function silentEntries(path: readonly string[]): Promise<readonly string[]> {
  const { out } = await typed([...path, "--help"]);
  const commands = entries(out, "Commands");
  const silent = [...commands, ...entries(out, "Options")].filter(({ printed }) => printed === "");
  const below = commands.map(({ term }) => term.split(" ", 1)[0] ?? "").filter((name) => name !== "help");
  const inner = await Promise.all(below.map((name) => silentEntries([...path, name])));
  return [...silent.map(({ term }) => [...path, term].join(" ")), ...inner.flat()];
}

it("the help of every command says what each of its commands and flags does", async () => {
  expect(await silentEntries([])).toEqual([]);
});

it("the help of a command names the flags that every command has", async () => {
  const { out } = await typed(["approvals", "approve", "--help"]);
  for (const flag of ["--json", "--data", "--config"]) expect(out).toContain(flag);
});

it("help and version end well, and go where results go", async () => {
  expect(await typed(["--version"])).toEqual({ code: 0, err: "", out: "1.2.3\n" });
  expect(await typed(["approvals", "--help"])).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringContaining("deny"),
  });
});
