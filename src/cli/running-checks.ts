import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { messageOf } from "../core/fault.ts";
import { counted } from "../core/shown.ts";
import type { PosternClient } from "../server/client/client.ts";
import type { CheckedView } from "../server/contract/audit.ts";
import type { ChainPage } from "../server/contract/chains.ts";
import type { DoctorFinding } from "./checks.ts";

/** What stands around the calls: who signs in, what runs scripts, who is told, where people look. */
export async function* aroundFindings(operator: PosternClient): AsyncGenerator<DoctorFinding> {
  yield await accounts(operator);
  yield engineFinding((await operator.chains.list({ limit: 1 })).engines);
  yield* await channels(operator);
  yield consolePage(existsSync);
  yield auditFinding(await operator.audit.latest({ limit: 1 }).catch(messageOf));
  yield* await alarms(operator);
}

async function accounts(client: PosternClient): Promise<DoctorFinding> {
  const check = "accounts";
  const enabled = (await client.accounts.list()).accounts.filter(({ disabled }) => !disabled);
  if (enabled.length === 0)
    return { level: "ok", check, message: "none: whoever holds the data folder decides; `postern accounts add`" };
  if (enabled.some(({ roles }) => roles.includes("approver")))
    return { level: "ok", check, message: `${counted(enabled.length, "person")} may sign in` };
  return {
    level: "warn",
    check,
    message: "Nobody who may sign in has the role `approver`, so nobody can decide what is critical.",
    fix: "`postern accounts roles NAME approver`, beside the roles it has.",
  };
}

/** An engine that is not here is no trouble while another is: its package is optional. */
export function engineFinding(found: ChainPage["engines"]): DoctorFinding {
  const check = "engines";
  if (found.length === 0) return { level: "ok", check, message: "code mode is off" };
  const ready = found.filter(({ problem }) => problem === undefined);
  const names = ready.map(({ name, language }) => (language === undefined ? name : `${name} (${language})`));
  const away = found.flatMap(({ name, problem }) => (problem === undefined ? [] : [`without ${name}: ${problem}`]));
  const message = [names.join(", "), ...away].filter((line) => line !== "").join("\n");
  if (ready.length === 0)
    return { level: "warn", check, message, fix: "No script can run; install an engine, or see `chains.engines`." };
  const down = found.filter((engine) => engine.down === true).map(({ name }) => `\`${name}\``);
  if (down.length === 0 && lacksPython(found)) return { level: "warn", check, message, fix: getPython };
  if (down.length === 0) return { level: "ok", check, message };
  const fix = `Mend ${down.join(", ")}, or leave ${down.length === 1 ? "it" : "them"} out of \`chains.engines\`; until then scripts go to the others.`;
  return { level: "warn", check, message, fix };
}

/** Whether an engine for Python is configured and none can run. */
export function lacksPython(engines: ChainPage["engines"]): boolean {
  const python = engines.filter(({ name, language }) => language === "python" || usualPython.has(name));
  return python.length > 0 && python.every(({ problem }) => problem !== undefined);
}

/** An engine that could not be loaded states no language. */
const usualPython: ReadonlySet<string> = new Set(["cpython", "pyodide"]);

export const getPython =
  "Scripts in Python cannot run here. Get an engine: `apt install bubblewrap python3` on Linux, or `npm install pyodide deno`.";

async function channels(operator: PosternClient): Promise<readonly DoctorFinding[]> {
  const { channels: found } = await operator.channels.list();
  if (found.length === 0)
    return [
      { level: "ok", check: "channels", message: "none: people hear of requests in the console and at a terminal" },
    ];
  return found.map(({ name, target, delivered, dead, problem }) => {
    const check = `channel ${name}`;
    if (problem === undefined && dead.length === 0)
      return { level: "ok", check, message: `${target}, ${counted(delivered, "notice")} delivered` };
    const message = problem ?? `${counted(dead.length, "notice")} given up: ${dead.at(-1)?.problem ?? ""}`;
    return {
      level: "warn",
      check,
      message,
      fix: `Mend it, then \`postern channels test ${name}\`${dead.length === 0 ? "" : ` and \`postern channels retry ${name}\``}.`,
    };
  });
}

const inPackage = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** @param exists whether a file is there */
export function consolePage(exists: (path: string) => boolean): DoctorFinding {
  const check = "console";
  if (exists(inPackage("dist/console/index.html")))
    return { level: "ok", check, message: "built; `postern start` serves it" };
  if (exists(inPackage("console/vite.config.ts")))
    return { level: "ok", check, message: "is built when a browser first asks for it (`npm run build:console`)" };
  return {
    level: "warn",
    check,
    message: "The package has no console; approvals are decided at a terminal or over HTTP.",
    fix: "Install the package anew.",
  };
}

/** @param found the end of the log, with what it was found to be when it was last read from its beginning; or why it cannot be read */
export function auditFinding(found: { readonly size: number; readonly checked?: CheckedView } | string): DoctorFinding {
  const check = "audit log";
  const fix = "`postern audit verify` reads it again; of a disk that fails, save the folder first.";
  if (typeof found === "string") return { level: "fail", check, message: `It cannot be read: ${found}`, fix };
  const { size, checked } = found;
  if (checked === undefined)
    return { level: "ok", check, message: `${counted(size, "event")}, not read again since the start` };
  if (checked.intact)
    return { level: "ok", check, message: `${counted(checked.events, "event")}, intact at ${checked.at}` };
  const { unreadable, first_broken: first, why, at } = checked;
  const what = unreadable === undefined ? "It is not intact" : "It cannot be read";
  const level = unreadable === "failing" ? "warn" : "fail";
  return { level, check, message: `${what} from event ${first} on (${at}): ${why}`, fix };
}

/** Without its log Postern is not what it says it is; the other alarms are about what it works with. */
async function alarms(operator: PosternClient): Promise<readonly DoctorFinding[]> {
  const { alarms: open } = await operator.alarms.list({ state: "open" });
  return open.map(({ alarm_id, kind, summary }) => ({
    level: kind === "audit_not_intact" ? "fail" : "warn",
    check: `alarm ${kind}`,
    message: summary,
    fix: `\`postern alarms\` says more; \`postern alarms ack ${alarm_id}\` when you know.`,
  }));
}
