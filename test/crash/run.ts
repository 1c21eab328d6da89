/**
 * `npm run crash [-- --kills N] [--folders N] [--json] [--idle]`: real processes, real SIGKILL at every named point, an outside
 * record of effects. Exits with 1 also if a kill missed its point. With `--idle`, no process kills itself, so the run fails.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileCache } from "../setup/compile-cache.ts";
import { readOptions } from "./options.ts";
import { points } from "./points.ts";

const values = readOptions(process.argv.slice(2));
if (values.store !== "sqlite") throw new Error("cluster/run.ts runs this.");
const { kills: wanted, folders, idle, json } = values;
const child = fileURLToPath(new URL("./child.ts", import.meta.url));
const killedAt = new Map<string, number>();
const problems: string[] = [];
const effects: string[] = [];
const acknowledged: string[] = [];
const began = performance.now();

// The processes of one folder run one after the other; two folders run at once.
await Promise.all(Array.from({ length: folders }, (_, index) => runFolder(index)));

if (killedAt.size === 0) problems.push("nothing was killed");
if (effects.length === 0) problems.push("no effect was recorded: the lives did nothing before they were killed");
const result = {
  kills: [...killedAt.values()].reduce((sum, count) => sum + count, 0),
  byPoint: Object.fromEntries(killedAt),
  effects: effects.length,
  effectsTwice: effects.length - new Set(effects).size,
  acknowledged: acknowledged.length,
  problems,
  seconds: Math.round((performance.now() - began) / 1000),
};
if (json) console.log(JSON.stringify(result, null, 2));
else {
  console.log(
    `${result.kills} kills in ${result.seconds} s, at: ${[...killedAt].map(([point, count]) => `${point} ${count}`).join(", ")}`,
  );
  console.log(
    `${result.effects} effects, ${result.effectsTwice} of them twice; ${result.acknowledged} acknowledged outcomes, ${problems.length === 0 ? "none lost, nothing left open, every log intact" : ""}`,
  );
  for (const problem of problems) console.log(`PROBLEM ${problem}`);
}
process.exitCode = problems.length === 0 ? 0 : 1;

/** Runs one folder's share of the processes, one after the other. */
async function runFolder(index: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "postern-crash-"));
  const until = Math.floor((wanted * (index + 1)) / folders);
  let life = Math.floor((wanted * index) / folders);
  for (; life < until && problems.length === 0; life += 1) {
    const round = Math.floor(life / (points.length + 1));
    const point = [...points, "anywhere"][(life + round) % (points.length + 1)] ?? "anywhere"; // each point with both kinds of process
    const isCheckpoint = /^(checkpoint|anchored)/.test(point); // there is one a second
    const nth = isCheckpoint ? 1 : 1 + (round % 5);
    // Every second process runs without approvals and so never reaches the points of a request.
    const reachable = life % 2 === 1 || !/^(hold|decide)/.test(point) ? point : "claim.after";
    const ended = await live([folder, String(life), reachable, String(nth)]);
    if (ended === "killed") killedAt.set(reachable, (killedAt.get(reachable) ?? 0) + 1);
    else problems.push(`life ${life} (${reachable}, time ${nth}): ${ended}; all is left in ${folder}`);
  }
  // The last process reaches an outcome, so it has checked what the earlier ones left.
  const last = await live([folder, String(wanted + index), "acknowledged", "1"]);
  if (last !== "killed") problems.push(`the last life: ${last}; all is left in ${folder}`);
  effects.push(...linesOf(join(folder, "effects")));
  acknowledged.push(...linesOf(join(folder, "acknowledged")));
  if (problems.length === 0) rmSync(folder, { recursive: true });
}

function linesOf(file: string): readonly string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

/** Runs one process until it is killed: at `anywhere` by us after a while, otherwise by itself at its point. */
function live(words: readonly [folder: string, life: string, point: string, nth: string]): Promise<string> {
  const [folder, life, point, nth] = words;
  const killsItself = point !== "anywhere";
  const { promise, resolve } = Promise.withResolvers<string>();
  const running = spawn(process.execPath, [child, folder, life, idle ? "none" : point, nth], {
    env: { ...process.env, ...compileCache },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  running.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  let isLate = false;
  const end = (): void => {
    isLate = killsItself;
    running.kill("SIGKILL");
  };
  const patienceMs = idle ? 3_000 : 20_000;
  const latest = setTimeout(end, killsItself ? patienceMs : 400 + ((Number(life) * 7919) % 600));
  running.on("exit", (code, signal) => {
    clearTimeout(latest);
    if (isLate) resolve("it never came by its point and was ended from outside");
    else resolve(signal === "SIGKILL" ? "killed" : `exit ${code}: ${output.slice(0, 500)}`);
  });
  return promise;
}
