import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { noPostern } from "../../../../test/fakes/no-postern.ts";

const text = readFileSync(
  fileURLToPath(new URL("../../../../docs/reference/command-line.md", import.meta.url)),
  "utf8",
);
const rows = text.split("\n").filter((line) => line.startsWith("| `"));

interface Typed {
  readonly words: readonly string[];
  /** Without those that every command has. */
  readonly flags: readonly string[];
}

/** Every command that `--help` leads to, as its reader finds them. */
async function commandsBelow(words: readonly string[]): Promise<readonly Typed[]> {
  const help = await helpOf(words);
  const names = named(help, "Commands", /^ {2}([a-z][a-z-]*)/gm).filter((name) => name !== "help");
  const below = await Promise.all(names.map((name) => commandsBelow([...words, name])));
  const flags = named(help, "Options", /^ {2}(?:-\w, )?(--[a-z-]+)/gm).filter((flag) => flag !== "--help");
  return below.length === 0 ? [{ words, flags }] : below.flat();
}

function named(help: string, heading: string, pattern: RegExp): readonly string[] {
  const section = new RegExp(`^${heading}:\\n((?: .*\\n?|\\n(?= ))*)`, "m").exec(help)?.[1] ?? "";
  return [...section.matchAll(pattern)].map(([, name = ""]) => name);
}

async function helpOf(words: readonly string[]): Promise<string> {
  const { program, out } = noPostern(200);
  await program.run([...words, "--help"]);
  return out.join("");
}

/** What the table says of a command: the rows of its first word that name its second. */
function decisionText([group = "", name]: readonly string[]): string {
  const ofGroup = rows.filter((row) => new RegExp(`^\\| [^|]*\`${group}[ \`]`).test(row));
  return (name === undefined ? ofGroup : ofGroup.filter((row) => new RegExp(`[\` \\[|]${name}\\b`).test(row))).join(
    "\n",
  );
}

let commands: readonly Typed[];
beforeAll(async () => {
  commands = (await commandsBelow([])).filter(({ words }) => words.length > 0);
});

it("the reference of the command line names every command that --help leads to", () => {
  expect(commands.length).toBeGreaterThan(60);
  expect(commands.filter(({ words }) => decisionText(words) === "").map(({ words }) => words.join(" "))).toEqual([]);
});

it("the reference of the command line names every flag of every command", () => {
  const missing = commands.flatMap(({ words, flags }) =>
    flags
      .filter((flag) => !new RegExp(`${flag}(?![a-z-])`).test(decisionText(words)))
      .map((flag) => `${words.join(" ")} ${flag}`),
  );
  expect(missing).toEqual([]);
});
