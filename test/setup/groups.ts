/**
 * The groups of tests. What a file does decides its group, so that a new file is in the right one by itself:
 *
 * - together: files share a process, because its own import of the runtime takes longer than most files.
 * - apart: a file has a process of its own, because it changes or measures the process.
 * - system: `npm run test:system` runs them and `npm test` does not, because they take seconds of machine time.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Floods, gigabytes, full disks, kills, process groups, import time, growth of engines, sandboxes, real servers. */
export const system: readonly string[] = [
  "packages/engines/src/{remote/firecracker,remote/kubernetes}/*.test.ts",
  "packages/engines/src/cpython/**/{cpython,pyodide}.test.ts",
  "packages/engines/src/quickjs/{freeze,growing,hostile,reuse}.test.ts",
  "packages/postern/src/mcp/client/{flood,large-answers,loop-delay,process-group}.test.ts",
  "packages/postern/src/results/large-results.test.ts",
  "packages/postern/src/store/sqlite/crash.test.ts",
  "test/**/*-killed.test.ts",
  "test/attacks/chains/large-values.test.ts",
  "test/attacks/files/full-disk.test.ts",
  "test/attacks/long-texts.test.ts",
  "test/attacks/mcp/long-lines.test.ts",
  "test/attacks/provided/shell.test.ts",
  "test/attacks/sandbox/*.test.ts",
  "test/{harnesses,import-time}.test.ts",
  "test/race/*.test.ts",
  "test/stories/chain-cases/*.test.ts",
  "test/stories/{anchors-crashed,canary,crash-concurrent,python-replayed-kills,runs-behind}.test.ts",
  "test/stories/{fluid-lists,full-disk,gateway,guardrails-bytes,results-gigabyte,results-streams}.test.ts",
  "test/stories/{runs-by-hand,small-disk}.test.ts",
];

const root = join(import.meta.dirname, "../..");
const exclude = ["test/{agents,conformance}/**"];
const tests = globSync("{packages/*/src,test}/**/*.test.ts", { cwd: root, exclude }).sort();
const share = "test/fakes/share.ts";

/** What a file changes of its process, or measures of it. Text for a child process counts too: that costs a second. */
const ownProcess = [
  /\bprocess\.(?:chdir|umask|on|once|memoryUsage|resourceUsage|cpuUsage)\b/,
  /\bprocess\.env(?:\.\w+|\[[^\]]+\]) = |\bdelete process\.env\b/,
  /\bvi\.(?:mock|doMock|resetModules|stubEnv|stubGlobal|useFakeTimers)\(/,
  /\bvi\.spyOn\((?:process|console|globalThis|\w+\.prototype)\b/,
  /\bReflect\.set\(globalThis\b|\bglobalThis\.|\(process\.pid\)|\/proc\/self\/fd/,
];

/** The file, and the helpers of tests that it imports. */
function reached(file: string, into = new Map<string, string>()): ReadonlyMap<string, string> {
  if (into.has(file)) return into;
  const text = readFileSync(join(root, file), "utf8");
  into.set(file, text);
  for (const [, path = ""] of text.matchAll(/\b(?:from|import\()\s*"(\.[^"]+\.ts)"/g)) {
    const helper = relative(root, join(root, dirname(file), path));
    if (helper.startsWith("test/")) reached(helper, into);
  }
  return into;
}

/** Tests that need a process of their own. */
export const apart: readonly string[] = tests.filter((file) =>
  [...reached(file).values()].some((text) => ownProcess.some((pattern) => pattern.test(text))),
);

/** Tests of which `npm test` runs a part. Each asks test/fakes/share.ts which it is. */
export const inPart: readonly string[] = tests.filter((file) => reached(file).has(share));
