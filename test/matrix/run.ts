/**
 * Compares each Python engine with the local Python, program by program. Exits with 1 on a difference.
 *
 *     npm run proof -- matrix [--json] [--engine NAME] [--all] [--programs path/to/cases.mjs]
 *
 * Pyodide starts slowly, so it runs the operator programs and a part of the others; with `--all`, all.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import { compared, type Row } from "./compare.ts";
import { operatorPrograms } from "./operators.ts";
import { type MatrixProgram, matrixPrograms } from "./programs.ts";

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean" },
    all: { type: "boolean" },
    engine: { type: "string", multiple: true },
    programs: { type: "string" },
  },
});

const names = options.engine ?? ["cpython", "pyodide"];
const rows: Row[] = [];
for (const name of names) rows.push(...(await rowsOf(name)));
report();
process.exit(rows.length > 0 && rows.every(({ same }) => same) ? 0 : 1);

async function rowsOf(name: string): Promise<readonly Row[]> {
  await using driver = await knownEngines.get(name)?.(new SystemClock());
  if (driver?.capabilities.language !== "python") throw new Error(`\`${name}\` is no engine for Python.`);
  const problem = await driver.unavailable();
  if (problem === undefined) return await compared(driver, await programsFor(name));
  console.error(`SKIPPED: ${name}: ${problem}`);
  return [];
}

async function programsFor(name: string): Promise<readonly MatrixProgram[]> {
  if (options.programs !== undefined) return await programsOf(options.programs);
  const isPart = name === "pyodide" && options.all !== true;
  return [...operatorPrograms, ...matrixPrograms.filter((_, at) => !isPart || at % 12 === 0)];
}

async function programsOf(path: string): Promise<readonly MatrixProgram[]> {
  // A module that exports `cases`: a program by its name.
  const { cases } = (await import(pathToFileURL(resolve(path)).href)) as {
    readonly cases: Readonly<Record<string, string>>;
  };
  return Object.entries(cases).map(([name, source]) => ({ name, source }));
}

function report(): void {
  if (options.json === true) {
    console.log(JSON.stringify(rows, null, 1));
    return;
  }
  for (const row of rows.filter(({ same }) => !same))
    console.log(`${row.engine.padEnd(8)} ${row.program.padEnd(18)} ${firstDifference(row)}`);
  for (const engine of names) {
    const own = rows.filter((row) => row.engine === engine);
    const same = own.filter((row) => row.same).length;
    if (own.length > 0) console.log(`${engine}: ${same} of ${own.length} as CPython`);
  }
}

function firstDifference({ result, expected }: Row): string {
  const at = [...expected].findIndex((sign, place) => result[place] !== sign);
  const around = (text: string): string => text.slice(Math.max(0, at - 60), at + 100);
  return `${around(result)}  (CPython: ${around(expected)})`;
}
