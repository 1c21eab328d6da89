import { accessSync, constants, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../core/fault.ts";
import { directLimits, limitsWarning } from "../core/session.ts";
import { counted } from "../core/shown.ts";
import type { HealthView } from "../server/contract/tools.ts";
import { checkFree } from "../server/http/port.ts";
import { connect } from "./connect.ts";
import { nearbyFolders } from "./data-folder.ts";
import type { GlobalFlags, Host, Inspected } from "./host.ts";
import { pathChecks } from "./path-checks.ts";
import { policyChecks } from "./policy-checks.ts";
import { routeFindings } from "./route-checks.ts";
import { aroundFindings } from "./running-checks.ts";
import { secretChecks } from "./secret-checks.ts";
import { findServer } from "./server-file.ts";

export interface DoctorFinding {
  readonly level: "ok" | "warn" | "fail";
  readonly check: string;
  readonly message: string;
  readonly fix?: string;
}

/** In the order in which one failing makes the next pointless; what depends on a broken configuration is not asked. */
export async function* checkEverything(host: Host, flags: GlobalFlags): AsyncGenerator<DoctorFinding> {
  yield { level: "ok", check: "node", message: `Node ${process.versions.node}` }; // `bin/postern.js` refuses an older one
  let settings: Inspected;
  try {
    settings = await host.inspect(flags);
  } catch (error) {
    yield { level: "fail", check: "configuration", message: messageOf(error) };
    return;
  }
  yield configuration(settings);
  yield* variables(settings);
  yield* limitsInOrder(settings);
  yield* dataFolder(settings.dataFolder);
  yield clock(settings.dataFolder, host.clock.now());
  yield* pathChecks(settings);
  yield* secretChecks(settings);
  const running = await findServer(settings.dataFolder, host.clock);
  if (running === undefined) yield await port(settings);
  else
    yield {
      level: "ok",
      check: "port",
      message: `Postern runs at ${running.url} (process ${running.pid}).`,
    };
  yield* inside(host, flags, settings);
}

function configuration({ file, codeNearby }: Inspected): DoctorFinding {
  const check = "configuration";
  if (file !== undefined) return { level: "ok", check, message: file };
  if (codeNearby === undefined)
    return {
      level: "warn",
      check,
      message: "There is none here, so nothing is offered.",
      fix: "`postern init` writes a first one here; or name one: `--config FILE`.",
    };
  return {
    level: "warn",
    check,
    message: `\`${codeNearby}\` is code, and is not run because it was not named.`,
    fix: `If you trust it: \`--config ${codeNearby}\`.`,
  };
}

function* variables({ mistyped }: Inspected): Generator<DoctorFinding> {
  for (const { name, meant } of mistyped)
    yield {
      level: "warn",
      check: "environment",
      message: `Nobody reads the variable \`${name}\`.`,
      fix: `Did you mean \`${meant}\`?`,
    };
}

function* limitsInOrder({ limits }: Inspected): Generator<DoctorFinding> {
  const warning = limitsWarning({ ...directLimits, ...limits });
  if (warning === undefined) return;
  const fix = "Set `limits.approval_wait_ms` below `limits.call_timeout_ms`; what is left out is its default.";
  yield { level: "warn", check: "limits", message: warning, fix };
}

function* dataFolder(folder: string): Generator<DoctorFinding> {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) {
    const check = "data folder";
    const others = nearbyFolders(folder);
    if (others === "") yield { level: "ok", check, message: `${folder} (made at the first start)` };
    else yield { level: "warn", check, message: `There is none at ${folder} yet.`, fix: others.trim() };
    return;
  }
  yield isWritable(folder)
    ? privateTo(found, "data folder", folder)
    : { level: "fail", check: "data folder", message: `${folder} cannot be written by this user.`, fix: unwritable };
  for (const name of ["agent.token", "operator.token", "audit.key"]) {
    const file = statSync(join(folder, name), { throwIfNoEntry: false });
    if (file !== undefined) yield privateTo(file, name, join(folder, name));
  }
}

const unwritable = "Start as the user it belongs to, or name another folder: `--data DIR`.";

function isWritable(folder: string): boolean {
  try {
    const books = join(folder, "postern.db");
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (statSync(books, { throwIfNoEntry: false }) !== undefined) accessSync(books, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function privateTo(found: Stats, check: string, path: string): DoctorFinding {
  const { mode } = found;
  if ((mode & 0o077) === 0) return { level: "ok", check, message: path };
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return {
    level: "fail",
    check,
    message: `${path} can be used by others (mode ${shown}).`,
    fix: `chmod ${found.isDirectory() ? "0700" : "0600"} ${JSON.stringify(path)}`,
  };
}

/** Expiry goes by the wall clock: one that went back lets old approvals live again. */
function clock(folder: string, now: number): DoctorFinding {
  const check = "clock";
  const last = ["postern.db", "postern.db-wal", "audit.anchors"].map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  const newest = Math.max(...last);
  if (newest > now + 5 * 60_000) {
    return {
      level: "fail",
      check,
      message: `The clock says ${new Date(now).toISOString()}, but the books were written at ${new Date(newest).toISOString()}.`,
      fix: "Set the clock; let NTP keep it.",
    };
  }
  if (now < Date.UTC(2026, 0, 1))
    return {
      level: "fail",
      check,
      message: `The clock says ${new Date(now).toISOString()}.`,
      fix: "Set the clock; let NTP keep it.",
    };
  return { level: "ok", check, message: new Date(now).toISOString() };
}

async function port({ listen }: Inspected): Promise<DoctorFinding> {
  const check = "port";
  if (listen.port === 0) return { level: "ok", check, message: "a free one is taken at start" };
  try {
    await checkFree(listen.host, listen.port);
    return { level: "ok", check, message: `${listen.host}:${listen.port} is free` };
  } catch (error) {
    const fix = `Stop what listens there, or take another: \`--port ${listen.port + 1}\`.`;
    return { level: "fail", check, message: messageOf(error), fix };
  }
}

function* serverFindings(found: HealthView["servers"], configured: Inspected["servers"]): Generator<DoctorFinding> {
  for (const { name, status, problem = status, refused } of found) {
    const check = `server ${name}`;
    if (status === "connected") yield { level: "ok", check, message: "connected" };
    else yield { level: "warn", check, message: problem, fix: wayTo(name, problem, configured[name]) }; // its tools are away; everything else works
    for (const { tool, why } of refused)
      yield {
        level: "warn",
        check,
        message: `\`${tool}\` is not offered. ${why}`,
        fix: "Mend its definition in the server, or ask whoever makes it.",
      };
  }
}

/** @param told what a Postern that was started for this has said itself */
function* rejectedFindings(rejected: HealthView["rejected"], told: readonly string[]): Generator<DoctorFinding> {
  for (const { tool, why } of rejected)
    if (!told.some((message) => message.endsWith(why)))
      yield {
        level: "warn",
        check: "tools",
        message: `\`${tool}\` is not offered: ${why}`,
        fix: "Mend it, then start again.",
      };
}

/** Where to look first, by what stands in the way. */
function wayTo(name: string, problem: string, configured: Inspected["servers"][string] = {}): string {
  if (problem.startsWith("There is no secret ")) return "Give it; the server is connected within half a minute then.";
  if (configured.command === undefined)
    return `See that it runs and answers at \`servers.${name}.url\`, and that \`headers\` let Postern in.`;
  return `Run its command by hand; see \`servers.${name}\` in the configuration.`;
}

/** Store, servers and tools as they really start; a running Postern is asked instead. */
async function* inside(
  host: Host,
  flags: GlobalFlags,
  { file, servers, limits, approvals }: Inspected,
): AsyncGenerator<DoctorFinding> {
  const known = limitsWarning({ ...directLimits, ...limits });
  const told: string[] = [];
  const problem = (message: string): void => void (message !== known && told.push(message));
  try {
    const connection = await connect(host, flags, { tools: true, books: "any", problem });
    try {
      const health = await connection.operator.health.show();
      if (health.status === "ok")
        yield { level: "ok", check: "store", message: `opens; it offers ${counted(health.tools, "tool")}` };
      else
        yield {
          level: "fail",
          check: "store",
          message: health.problem ?? "It is broken.",
          fix: "Make room on the disk or mend it, then start again.",
        };
      yield* policyChecks(connection.operator, file === undefined ? undefined : () => host.configurationText(flags));
      yield* routeFindings(approvals, (await connection.operator.accounts.list()).accounts);
      yield* aroundFindings(connection.operator);
      yield* serverFindings(health.servers, servers);
      yield* rejectedFindings(health.rejected, told);
    } finally {
      await connection.close();
    }
  } catch (error) {
    yield { level: "fail", check: "start", message: messageOf(error) };
  }
  yield* told.map((message): DoctorFinding => ({ level: "warn", check: "start", message }));
}
