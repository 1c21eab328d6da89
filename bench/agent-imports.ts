/** What importing a subpath takes above the library that it adapts, each time in a new process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { packages, root } from "../scripts/packages.ts";
import { type Spread, spreadOf } from "./agent-adapters.ts";

export interface ImportRow {
  readonly subpath: string;
  /** Undefined: it adapts none. */
  readonly library: string | undefined;
  /** Milliseconds. */
  readonly alone: Spread;
  /** Milliseconds, after the library. */
  readonly above: Spread;
}

const run = promisify(execFile);

/** The file in `agents`, and the library as its user imports it. */
const subpaths: readonly (readonly [string, string | undefined])[] = [
  ["index", undefined],
  ["loop", undefined],
  ["ai-sdk", "ai"],
  ["openai-agents", "@openai/agents"],
  ["langchain", "@langchain/core/tools"],
  ["mastra", "@mastra/core/tools"],
  ["anthropic-runner", "@anthropic-ai/sdk"],
  ["strands", "@strands-agents/sdk"],
  ["adk", "@google/adk"],
  ["openai", "openai"],
  ["anthropic", "@anthropic-ai/sdk"],
  ["google", "@google/genai"],
];

/** Builds the packages first: what is measured are their files, not the sources. */
export async function measureImports(rounds: number): Promise<readonly ImportRow[]> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  for (const folder of packages)
    await run(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd: join(root, "packages", folder) });
  const times = subpaths.map(([file, library]) => ({ file, library, alone: [] as number[], above: [] as number[] }));
  for (let round = 0; round < rounds; round += 1)
    for (const { file, library, alone, above } of times) {
      const [ofLibrary = 0, ofSubpath = 0] = await importTimes(file, library);
      alone.push(ofLibrary);
      above.push(ofSubpath);
    }
  return times.map(({ file, library, alone, above }) => ({
    ...{ subpath: file === "index" ? "@postern/agents" : `@postern/agents/${file}`, library },
    ...{ alone: spreadOf(alone), above: spreadOf(above) },
  }));
}

async function importTimes(file: string, library: string | undefined): Promise<readonly number[]> {
  const own = pathToFileURL(join(root, `packages/agents/dist/${file}.js`)).href;
  const script = `const began = performance.now();
${library === undefined ? "" : `await import(${JSON.stringify(library)});`}
const between = performance.now();
await import(${JSON.stringify(own)});
console.log(JSON.stringify([between - began, performance.now() - between]));
process.exit(0);`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: join(root, "test/agents"),
    env: { ...process.env, NODE_OPTIONS: undefined },
  });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "[]") as number[];
}
