/** `npm run bench -- files [--json] [--files N]`: what opening beneath a root costs, and searching a tree beside ripgrep. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { folderHandle, HeldFolder, walkBeneath } from "../packages/postern/src/builtin/files/guard/folder.ts";
import { loadOpenat2 } from "../packages/postern/src/builtin/files/guard/openat2.ts";
import { fileTools } from "../packages/postern/src/builtin/index.ts";
import { createRuntime, type RuntimeSession } from "../packages/postern/src/index.ts";
import { median } from "./harness.ts";

const { values } = parseArgs({ options: { json: { type: "boolean" }, files: { type: "string" } } });
const fileCount = Number(values.files ?? 100_000);
const base = mkdtempSync(join(tmpdir(), "postern-bench-files-"));
const limits = { maxInlineResultBytes: 4_000_000 } as const;
const searches = [
  { name: "literal", pattern: "needle42", given: { literal: true } },
  { name: "expression", pattern: "n[a-z]+dle\\d+ is", given: {} },
  { name: "no case", pattern: "NEEDLE42", given: { ignore_case: true } },
] as const;

try {
  const opens = await openCosts();
  const grep = await grepCosts();
  const machine = {
    node: process.version,
    cores: cpus().length,
    model: cpus()[0]?.model ?? "unknown",
    load: loadavg()[0] ?? 0,
  };
  if (values.json === true) console.log(JSON.stringify({ machine, opens, files: fileCount, grep }, null, 2));
  else print(opens, grep, machine.load);
} finally {
  rmSync(base, { recursive: true, force: true });
}

interface OpenCost {
  readonly way: string;
  readonly depth: number;
  readonly microseconds: number;
}

/** Open and close of one file; rounds interleaved, so that noise hits every way alike. */
async function openCosts(): Promise<readonly OpenCost[]> {
  const root = join(base, "open");
  const folders = Array.from({ length: 7 }, (_, i) => `d${i}`);
  mkdirSync(join(root, ...folders), { recursive: true });
  const openat2 = await loadOpenat2();
  const rules = { device: statSync(root).dev, hardLinks: false };
  const costs: OpenCost[] = [];
  for (const depth of [1, 3, 8]) {
    const parts = [...folders.slice(0, depth - 1), "f"];
    writeFileSync(join(root, ...parts), "x");
    using walk = new HeldFolder(openSync(root, folderHandle), rules, walkBeneath);
    using kernel = new HeldFolder(openSync(root, folderHandle), rules, openat2 ?? walkBeneath);
    const path = join(root, ...parts);
    const ways: readonly (readonly [string, () => number])[] = [
      ["open by path, unguarded", () => openSync(path, "r")],
      ["walk", () => walk.openFile(parts)],
      ...(openat2 === undefined ? [] : ([["openat2 (koffi)", () => kernel.openFile(parts)]] as const)),
    ];
    const rounds = ways.map((): number[] => []);
    for (let round = 0; round < 25; round += 1)
      for (const [i, [, open]] of ways.entries()) rounds[i]?.push(timed(open, 2_000));
    for (const [i, [way]] of ways.entries()) costs.push({ way, depth, microseconds: median(rounds[i] ?? []) });
  }
  return costs;
}

function timed(open: () => number, times: number): number {
  const began = performance.now();
  for (let i = 0; i < times; i += 1) closeSync(open());
  return ((performance.now() - began) * 1000) / times;
}

interface GrepCost {
  readonly search: string;
  readonly files: number;
  readonly matches: number;
  readonly milliseconds: number;
  /** Undefined: it is not installed here. */
  readonly ripgrepMs: number | undefined;
}

/** Through the whole path of a call, and `rg` with the same pattern on the same tree, in turn; medians of five. */
async function grepCosts(): Promise<readonly GrepCost[]> {
  const tree = join(base, "tree");
  growTree(tree, fileCount);
  const tools = fileTools({ roots: { tree: { path: tree } }, searchTimeMs: 60_000 });
  await using runtime = await createRuntime({ tools, autonomy: "A4", store: "memory", limits });
  const session = runtime.openSession();
  const costs: GrepCost[] = [];
  for (const { name, pattern, given } of searches) {
    const ours: number[] = [];
    const theirs: (number | undefined)[] = [];
    let found = { files: 0, matches: 0 };
    for (let round = 0; round < 6; round += 1) {
      const began = performance.now();
      found = await search(session, { path: "tree", pattern, ...given });
      if (round > 0) ours.push(performance.now() - began); // the first one starts the threads
      const rg = ripgrepMs(tree, pattern, name);
      if (round > 0) theirs.push(rg);
    }
    const known = theirs.filter((ms) => ms !== undefined);
    costs.push({
      search: name,
      ...found,
      milliseconds: median(ours),
      ripgrepMs: known.length === 0 ? undefined : median(known),
    });
  }
  return costs;
}

async function search(
  session: RuntimeSession,
  given: Record<string, string | boolean>,
): Promise<{ readonly files: number; readonly matches: number }> {
  const { structured, text } = await session.invoke({ tool: "grep_files", arguments: given });
  const found = structured as { readonly files?: number; readonly matches?: readonly unknown[] } | undefined; // as the tool answers
  if (found?.files === undefined) throw new Error(text);
  return { files: found.files, matches: found.matches?.length ?? 0 };
}

function ripgrepMs(tree: string, pattern: string, name: string): number | undefined {
  const flags = ["--hidden", "--no-messages", ...(name === "literal" ? ["-F"] : name === "no case" ? ["-i"] : [])];
  const began = performance.now();
  try {
    execFileSync("rg", [...flags, "--line-number", pattern, tree], { maxBuffer: 1 << 26 });
  } catch {
    return undefined;
  }
  return performance.now() - began;
}

/** Folders of a hundred small source-like files; one file in two hundred holds the needle. */
function growTree(tree: string, files: number): void {
  const words = ["alpha", "beta", "gamma", "delta", "return", "const", "value"];
  for (let i = 0; i < files; i += 1) {
    const folder = join(tree, `d${Math.floor(i / 5_000)}`, `e${Math.floor(i / 100) % 50}`);
    if (i % 100 === 0) mkdirSync(folder, { recursive: true });
    const lines = Array.from(
      { length: 20 + (i % 40) },
      (_, line) => `${words[(i + line) % 7]} ${words[line % 5]} some text on line ${line}`,
    );
    if (i % 200 === 0) lines.push("the needle42 is here");
    writeFileSync(join(folder, `f${i % 100}.txt`), `${lines.join("\n")}\n`);
  }
}

function print(opens: readonly OpenCost[], grep: readonly GrepCost[], load: number): void {
  console.log(
    `Node ${process.version}, ${cpus().length} cores, load ${load.toFixed(2)}\n\n| opening and closing | depth | µs |\n|---|---:|---:|`,
  );
  for (const { way, depth, microseconds } of opens) console.log(`| ${way} | ${depth} | ${microseconds.toFixed(1)} |`);
  console.log("\n| search | files | lines | ms | ripgrep ms | ratio |\n|---|---:|---:|---:|---:|---:|");
  for (const { search: name, files, matches, milliseconds, ripgrepMs: rg } of grep)
    console.log(
      `| ${name} | ${files} | ${matches} | ${milliseconds.toFixed(0)} | ${rg?.toFixed(0) ?? "not installed"} | ${rg === undefined ? "" : (milliseconds / rg).toFixed(2)} |`,
    );
}
