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
  "packages/engines/src/{remote/firecracker,remote/kubernetes,remote/qemu}/*.test.ts",
  "packages/engines/src/cpython/**/{cpython,pyodide}.test.ts",
  "packages/engines/src/quickjs/{freeze,growing,hostile,reuse}.test.ts",
  "packages/postern/src/mcp/client/{flood,large-answers,loop-delay,process-group}.test.ts",
  "packages/postern/src/results/large-results.test.ts",
  "packages/postern/src/store/postgres/*.test.ts",
  "packages/postern/src/store/sqlite/crash.test.ts",
  "test/**/*-killed.test.ts",
  "test/attacks/chains/large-values.test.ts",
  "test/attacks/files/full-disk.test.ts",
  "test/attacks/long-texts.test.ts",
  "test/attacks/mcp/long-lines.test.ts",
  "test/attacks/provided/shell.test.ts",
  "test/attacks/sandbox/*.test.ts",
  "test/{harnesses,import-time}.test.ts",
  "test/postgres/*.test.ts",
  "test/race/*.test.ts",
  "test/stories/chain-cases/*.test.ts",
  "test/stories/gateways/*.test.ts",
  "test/stories/{anchors-crashed,canary,crash-concurrent,python-replayed-kills,runs-behind}.test.ts",
  "test/stories/{drain,fluid-lists,full-disk,gateway,guardrails-bytes,policy-read-only}.test.ts",
  "test/stories/{remote-command,results-gigabyte,results-streams}.test.ts",
  "test/stories/{metrics-served,runs-by-hand,small-disk}.test.ts",
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

/** Whether a file opens its stores where test/fakes/story-store.ts says. */
export function hasStoryStores(file: string): boolean {
  return reached(file).has("test/fakes/story-store.ts");
}

/**
 * Stories that `npm run test:system` runs on PostgreSQL too. A story is here if its promise is kept by stored rows: calls,
 * requests, votes, grants, pins, budgets, the past of a call, scripts that wait, runs, accounts, tokens, switches, candidates
 * of memories. Of two that use the same rows in the same way one is here, because each test makes a schema.
 */
export const onPostgres: readonly string[] = [
  "packages/postern/src/identity/{accounts,sessions}.test.ts",
  "packages/postern/src/pipeline/{resume,settle}.test.ts",
  "packages/postern/src/server/http/memory-routes.test.ts",
  "test/attacks/accounts/{own-call,two-tokens}.test.ts",
  "test/attacks/approvals/{replaced-approvals,used-once}.test.ts",
  "test/attacks/two-users-tokens.test.ts",
  "test/stories/{agent-limits,calls-edited,grants,grants-limits,history,once,operator,pins,reconciled,risk}.test.ts",
  "test/stories/{approval-batches,approval-quorum,approval-routes,approval-times,brakes}.test.ts",
  "test/stories/{approvals,approvals-ended,approvals-unused,cases-approvals,comments,equal-calls}.test.ts",
  "test/stories/{chains,chains-cut-short,chains-decided,chains-ended,session-waiting}.test.ts",
  "test/stories/{run-folders,runs,runs-finished}.test.ts",
];
