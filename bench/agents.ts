/**
 * What agents pay for Postern, beside each library alone in the same run:
 * `npm run bench -- agents [--json] [--quick] [--only overhead,turn,encoding,tokens,imports]`. It needs the libraries that
 * `npm run test:agents` installs.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { measureOverhead, type Overhead, type Spread, spreadOf } from "./agent-adapters.ts";
import { measureEncoding } from "./agent-encoding.ts";
import { measureImports } from "./agent-imports.ts";
import { libraryParts } from "./agent-libraries.ts";
import { timed } from "./harness.ts";
import { stolenSince } from "./stolen.ts";

interface TurnRow {
  readonly waitMs: number;
  /** Milliseconds a turn. */
  readonly alone: Spread;
  readonly withPostern: Spread;
  /** Of each round by itself. */
  readonly ratio: Spread;
}

const { values } = parseArgs({
  options: { json: { type: "boolean" }, quick: { type: "boolean" }, only: { type: "string" } },
});
const quick = values.quick === true;
const wanted = values.only?.split(",");
const isWanted = (section: string): boolean => wanted === undefined || wanted.includes(section);

async function overheads(): Promise<readonly Overhead[]> {
  const { adapterRows, addTool } = await libraryParts.adapters();
  const measured: Overhead[] = [];
  for (const row of adapterRows)
    measured.push(
      await measureOverhead(row, addTool, quick ? { rounds: 3, calls: 1_000 } : { rounds: 7, calls: 3_000 }),
    );
  return measured;
}

async function turns(): Promise<readonly TurnRow[]> {
  const { openTurn } = await libraryParts.turn();
  const measured: TurnRow[] = [];
  for (const waitMs of [0, 20]) {
    const { alone, withPostern, close } = await openTurn(waitMs);
    const times = { alone: [] as number[], withPostern: [] as number[] };
    for (let i = 0; i < 5; i += 1) {
      await alone();
      await withPostern();
    }
    for (let round = 0; round < (quick ? 9 : 31); round += 1) {
      const isFirst = round % 2 === 0;
      if (isFirst) times.alone.push(await timed(alone));
      times.withPostern.push(await timed(withPostern));
      if (!isFirst) times.alone.push(await timed(alone));
    }
    await close();
    const ratio = spreadOf(times.withPostern.map((time, i) => time / (times.alone[i] ?? Number.NaN)));
    measured.push({ waitMs, alone: spreadOf(times.alone), withPostern: spreadOf(times.withPostern), ratio });
  }
  return measured;
}

/** Says on standard error what was measured, because a whole run takes minutes. */
async function section<Row>(name: string, measure: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
  if (!isWanted(name)) return [];
  const began = performance.now();
  const rows = await measure();
  console.error(`${name}: measured in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return rows;
}

const stolen = stolenSince();
const result = {
  overhead: await section("overhead", overheads),
  turn: await section("turn", turns),
  encoding: await section("encoding", () => measureEncoding(quick ? 9 : 31)),
  tokens: await section("tokens", async () => (await libraryParts.tokens()).measureTokens()),
  imports: await section("imports", () => measureImports(quick ? 3 : 7)),
};
const machine = {
  ...{ node: process.version, cores: cpus().length, model: cpus()[0]?.model ?? "unknown" },
  ...{ load: loadavg()[0] ?? 0, stolen: stolen() },
};

/** The bars. On a busy machine a figure above its bar says little: `load` is printed beside it. */
const over = [
  ...result.overhead.filter(({ overhead }) => overhead.median > 15).map(({ id }) => `overhead of ${id}`),
  ...result.turn.filter(({ ratio }) => ratio.median > 1).map(({ waitMs }) => `64 calls of ${waitMs} ms in a turn`),
  ...result.encoding.filter(({ encode }) => encode.median > 20).map(({ provider }) => `encoding for ${provider}`),
  ...result.imports.filter(({ above }) => above.median > 30).map(({ subpath }) => `import of ${subpath}`),
];

if (values.json === true) console.log(JSON.stringify({ machine, quick, ...result, over }, null, 2));
else print();

function print(): void {
  const { node, cores, model, load } = machine;
  console.log(`Node ${node}, ${cores} cores (${model}), load ${load.toFixed(1)}; medians (least–most of the rounds)`);
  table("| one call, µs | library alone | bare `invoke` | with Postern | adapter: with − alone − bare; bar 15 |", [
    ...result.overhead.map(({ id, alone, bare, withPostern, overhead }) => [
      ...[id, shown(alone), shown(bare), shown(withPostern), shown(overhead)],
    ]),
  ]);
  table("| 64 calls in one OpenAI Agents turn, ms | library alone | with Postern | ratio; bar 1 |", [
    ...result.turn.map(({ waitMs, alone, withPostern, ratio }) => [
      ...[waitMs === 0 ? "a tool that does nothing" : `a tool that waits ${waitMs} ms`],
      ...[shown(alone), shown(withPostern), shown(ratio, 2)],
    ]),
  ]);
  table("| 1,000 tools, ms | list and encode; bar 20 | `JSON.stringify` of it |", [
    ...result.encoding.map(({ provider, encode, stringify }) => [provider, shown(encode), shown(stringify)]),
  ]);
  table("| tokens | tools | all | deferred | search | code mode |", [
    ...result.tokens.map(({ server, tools, all, deferred, search, codeMode }) =>
      [server, tools, all, deferred, search, codeMode].map((one) => one.toLocaleString("en")),
    ),
  ]);
  table("| import, ms | library | subpath above it; bar 30 |", [
    ...result.imports.map(({ subpath, library = "none", alone, above }) => [
      ...[`${subpath} (${library})`, shown(alone, 0), shown(above)],
    ]),
  ]);
  console.log(over.length === 0 ? "\nEvery bar holds." : `\nAbove the bar: ${over.join(", ")}.`);
}

function shown({ median, least, most }: Spread, digits = 1): string {
  return `${median.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`;
}

function table(head: string, rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return;
  const columns = head.split("|").length - 2;
  console.log(`\n${head}\n|---|${"---:|".repeat(columns - 1)}`);
  for (const row of rows) console.log(`| ${row.join(" | ")} |`);
}
