/**
 * Runs our file tools beside a process that swaps a folder or a file inside the root for a link to the outside, tens of
 * thousands of times a second. No answer may contain anything from outside, and nothing outside may change.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileTools } from "../../packages/postern/src/builtin/index.ts";
import {
  createRuntime,
  type JsonObject,
  type RuntimeSession,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import { descriptors } from "../attacks/files/file-fixture.ts";
import { type Attacker, startAttacker } from "./attacker.ts";

export const operations = ["read", "write", "append", "list", "grep"] as const;
export const swaps = ["folder", "file"] as const;
export const guards = ["walk", "openat2"] as const;

export interface RaceOrder {
  readonly operation: (typeof operations)[number];
  readonly swap: (typeof swaps)[number];
  readonly guard: (typeof guards)[number];
  readonly seconds: number;
  /** The attacker changes nothing, so the check of the harness must fail. */
  readonly idle?: boolean | undefined;
}

export interface RaceResult extends RaceOrder {
  readonly swapsPerSecond: number;
  readonly tries: number;
  /** The calls that succeeded, because they found the inside. */
  readonly served: number;
  readonly escapes: number;
  readonly leakedDescriptors: number;
}

interface RaceFolders {
  readonly base: string;
  readonly root: string;
  readonly outside: string;
}

const limits = { maxToolCalls: 1_000_000_000, totalTimeoutMs: 7 * 86_400_000 } as const;
const fewestSwapsPerSecond = 100;
/** The least number of tries, however busy the machine is. */
const fewestTries = 5;
const inside = "INSIDE";
const secret = "OUTSIDE";

export async function race(order: RaceOrder): Promise<RaceResult> {
  const stage = makeFolders();
  const files = { root: { path: stage.root, writable: true } };
  const tools = fileTools({ roots: files, write: true, openat2: order.guard === "openat2" });
  const runtime = await createRuntime({ tools, autonomy: "A4", store: "memory", limits });
  const session = runtime.openSession();
  let attacker: Attacker | undefined;
  try {
    // The search threads and other things that are made once have their own descriptors.
    await session.invoke({ tool: "grep_files", arguments: { path: "root", pattern: "x" } });
    for (const operation of operations) for (const i of [0, 1]) await invoke(session, calls[operation](i));
    await startAttacker(join(stage.base, "no"), join(stage.base, "none")).stop();
    const open = descriptors();
    const names =
      order.idle === true ? ([join(stage.base, "no"), join(stage.base, "none")] as const) : swapped(stage, order.swap);
    attacker = startAttacker(...names);
    const began = performance.now();
    const counted = await attempts(order, session, stage);
    const secondsTaken = (performance.now() - began) / 1000;
    const swapCount = await attacker.stop();
    attacker = undefined;
    const leaked = descriptors() - open;
    return { ...order, ...counted, swapsPerSecond: Math.round(swapCount / secondsTaken), leakedDescriptors: leaked };
  } finally {
    await attacker?.stop();
    await runtime.close();
    rmSync(stage.base, { recursive: true, force: true });
  }
}

/** Returns a sentence for each reason why a result is worthless: an idle attacker, or calls that met no swap. */
export function faultsOf({ operation, swap, guard, swapsPerSecond, served }: RaceResult): readonly string[] {
  const race = `${operation}, ${swap}, ${guard}`;
  return [
    ...(swapsPerSecond < fewestSwapsPerSecond ? [`${race}: the attacker made ${swapsPerSecond} swaps a second.`] : []),
    ...(served === 0 ? [`${race}: no call found the file inside.`] : []),
  ];
}

/** Makes the folders: `dir` and `link`, or `dir/f` and `dir/l`, are swapped; the links lead to the same names outside. */
function makeFolders(): RaceFolders {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "postern-race-")));
  const [root, outside] = [join(base, "root"), join(base, "outside")];
  for (const [folder, content] of [
    [join(root, "dir"), inside],
    [outside, secret],
  ] as const) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "f"), content);
  }
  writeFileSync(join(outside, "only-outside"), secret);
  symlinkSync(outside, join(root, "link"));
  symlinkSync(join(outside, "f"), join(root, "dir/l"));
  return { base, root, outside };
}

function swapped({ root }: RaceFolders, swap: RaceOrder["swap"]): readonly [string, string] {
  return swap === "folder" ? [join(root, "dir"), join(root, "link")] : [join(root, "dir/f"), join(root, "dir/l")];
}

const calls: Readonly<Record<RaceOrder["operation"], (i: number) => readonly [tool: string, given: JsonObject]>> = {
  read: () => ["read_file", { path: "root/dir/f" }],
  write: (i) => ["write_file", { path: "root/dir/f", content: `${inside} ${i}` }],
  append: () => ["append_file", { path: "root/dir/f", content: "+" }],
  list: () => ["list_files", { path: "root/dir", depth: 3 }],
  grep: () => ["grep_files", { path: "root/dir", pattern: "SIDE" }],
};

function invoke(session: RuntimeSession, [tool, given]: readonly [string, JsonObject]): Promise<ToolOutcome> {
  return session.invoke({ tool, arguments: given });
}

async function attempts(
  { operation, seconds }: RaceOrder,
  session: RuntimeSession,
  { outside }: RaceFolders,
): Promise<Pick<RaceResult, "tries" | "served" | "escapes">> {
  const until = performance.now() + seconds * 1000;
  let [tries, served, escapes] = [0, 0, 0];
  while (performance.now() < until || tries < fewestTries) {
    const outcome = await invoke(session, calls[operation](tries));
    if (outcome.refusal !== undefined && outcome.refusal.code !== "tool_failed") throw new Error(outcome.text); // it never reached the tool
    tries += 1;
    if (outcome.status === "ok") served += 1;
    if (JSON.stringify(outcome).includes(operation === "list" ? "only-outside" : secret)) escapes += 1;
    if (operation === "write" || operation === "append") escapes += restoreOutside(outside);
  }
  return { tries, served, escapes: escapes + restoreOutside(outside) };
}

/** Returns 1 if something outside changed, and restores it, so that each escape counts once. */
function restoreOutside(outside: string): number {
  const names = readdirSync(outside);
  if (names.length === 2 && readFileSync(join(outside, "f"), "utf8") === secret) return 0;
  for (const name of names) rmSync(join(outside, name), { recursive: true });
  for (const name of ["f", "only-outside"]) writeFileSync(join(outside, name), secret);
  return 1;
}
