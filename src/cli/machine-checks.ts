import { accessSync, constants, realpathSync, type Stats, statSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { codeNearby } from "../config/find-file.ts";
import { mistypedVariables } from "../config/overrides.ts";
import type { Settings } from "../config/settings.ts";
import { messageOf } from "../core/fault.ts";
import { directLimits, limitsWarning } from "../core/session.ts";
import { whyUnreadable } from "../core/system/error-code.ts";
import { checkFree } from "../server/http/port.ts";
import { nearbyFolders } from "./data-folder.ts";
import { type DoctorFinding, fail, ok, warn } from "./findings.ts";
import type { ServerFile } from "./server-file.ts";

/** The configuration and what it names on this machine. */
export function* machineChecks(settings: Settings, now: number): Generator<DoctorFinding> {
  yield configuration(settings);
  for (const { name, meant } of mistypedVariables(process.env))
    yield warn("environment", `Nothing reads the variable \`${name}\`.`, `Did you mean \`${meant}\`?`);
  const limits = limitsWarning({ ...directLimits, ...settings.limits });
  if (limits !== undefined)
    yield warn(
      "limits",
      limits,
      "Set `limits.approval_wait_ms` below `limits.call_timeout_ms`; what is left out is its default.",
    );
  yield* dataFolder(settings.dataFolder);
  yield clock(settings.dataFolder, now);
  for (const named of pathsIn(settings)) yield* missing(named);
  yield* editable(settings);
  yield* reach(settings);
}

function configuration({ file }: Settings): DoctorFinding {
  const check = "configuration";
  if (file !== undefined) return ok(check, file);
  const code = codeNearby(process.cwd());
  return code === undefined
    ? warn(
        check,
        "There is none here, so nothing is offered.",
        "`postern init` writes a first one here; or name one: `--config FILE`.",
      )
    : warn(
        check,
        `\`${code}\` is code, and is not run because it was not named.`,
        `If you trust it: \`--config ${code}\`.`,
      );
}

function* dataFolder(folder: string): Generator<DoctorFinding> {
  const check = "data folder";
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) {
    const others = nearbyFolders(folder).trim();
    yield others === ""
      ? ok(check, `${folder} (made at the first start)`)
      : warn(check, `There is none at ${folder} yet.`, others);
    return;
  }
  yield isWritable(folder)
    ? privateTo(found, check, folder)
    : fail(
        check,
        `${folder} cannot be written by this user.`,
        "Start as the user it belongs to, or name another folder: `--data DIR`.",
      );
  for (const name of ["agent.token", "operator.token", "audit.key"]) {
    const file = statSync(join(folder, name), { throwIfNoEntry: false });
    if (file !== undefined) yield privateTo(file, name, join(folder, name));
  }
}

function isWritable(folder: string): boolean {
  try {
    const store = join(folder, "postern.db");
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (statSync(store, { throwIfNoEntry: false }) !== undefined) accessSync(store, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function privateTo(found: Stats, check: string, path: string): DoctorFinding {
  if ((found.mode & 0o077) === 0) return ok(check, path);
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  const fix = `chmod ${found.isDirectory() ? "0700" : "0600"} ${JSON.stringify(path)}`;
  return fail(check, `${path} can be used by others (mode ${mode}).`, fix);
}

/** Approvals expire by the wall clock: if it went back, old ones would be valid again. */
function clock(folder: string, now: number): DoctorFinding {
  const check = "clock";
  const time = new Date(now).toISOString();
  const fix = "Set the clock; let NTP keep it.";
  const written = ["postern.db", "postern.db-wal", "audit.anchors"].map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  const newest = Math.max(...written);
  if (newest > now + 5 * 60_000)
    return fail(check, `The clock says ${time}, but the store was written at ${new Date(newest).toISOString()}.`, fix);
  return now < Date.UTC(2026, 0, 1) ? fail(check, `The clock says ${time}.`, fix) : ok(check, time);
}

export async function* portChecks(
  { listen }: Settings,
  running: ServerFile | undefined,
): AsyncGenerator<DoctorFinding> {
  const check = "port";
  if (running !== undefined) yield ok(check, `Postern runs at ${running.url} (process ${running.pid}).`);
  else if (listen.port === 0) yield ok(check, "a free one is taken at start");
  else
    try {
      await checkFree(listen.host, listen.port);
      yield ok(check, `${listen.host}:${listen.port} is free`);
    } catch (error) {
      const fix = `Stop the program that listens there, or take another port: \`--port ${listen.port + 1}\`.`;
      yield fail(check, messageOf(error), fix);
    }
}

interface NamedPath {
  readonly key: string;
  readonly path: string;
  readonly is: "folder" | "file";
  /** Without it Postern does not start; else only what is in it is away. */
  readonly isNeeded: boolean;
}

function pathsIn({ toolFolders, toolModules, skillFolders, files, servers }: Settings): readonly NamedPath[] {
  const listed = (key: string, paths: readonly string[], more: Omit<NamedPath, "key" | "path">): NamedPath[] =>
    paths.map((path, i) => ({ key: `${key}[${i}]`, path, ...more }));
  const folder = { is: "folder", isNeeded: true } as const;
  return [
    ...listed("tools.folders", toolFolders, folder),
    ...listed("tools.modules", toolModules, { is: "file", isNeeded: true }),
    ...listed("skills.folders", skillFolders, { ...folder, isNeeded: false }),
    ...Object.entries(files?.roots ?? {}).map(([name, { path }]) => ({ key: `files.roots.${name}`, path, ...folder })),
    ...Object.entries(servers).flatMap(([name, { cwd: path }]) =>
      path === undefined ? [] : [{ key: `servers.${name}.cwd`, path, ...folder, isNeeded: false }],
    ),
  ];
}

function* missing({ key, path, is, isNeeded }: NamedPath): Generator<DoctorFinding> {
  const finding = isNeeded ? fail : warn;
  const fix = `Make it readable, or correct \`${key}\`.`;
  try {
    const isFolder = statSync(path).isDirectory();
    if (isFolder !== (is === "folder")) yield finding("paths", `\`${key}\`: ${path} is no ${is}.`, fix);
    accessSync(path, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
  } catch (error) {
    yield finding("paths", `\`${key}\`: ${path} ${whyUnreadable(error)}.`, fix);
  }
}

/** The console may edit the policy only if this user can write the configuration. */
function* editable({ file, console: { editPolicy } }: Settings): Generator<DoctorFinding> {
  if (!editPolicy || file === undefined) return;
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    const message = `\`console.edit_policy\` is true, and the configuration ${whyUnreadable(error)}.`;
    yield warn("paths", message, "Let this user write it, or leave `console.edit_policy` out.");
  }
}

/**
 * No server may be given the data folder: its agent would have the tokens and keys. Nor should a server be given the
 * files that say what the agent may do, or what it did.
 */
function* reach(settings: Settings): Generator<DoctorFinding> {
  const others = protectedPaths(settings).map(([what, path]) => ({ what, path: realPath(path) }));
  const data = realPath(settings.dataFolder);
  let isClean = true;
  for (const { server, folder } of givenFolders(settings)) {
    const isData = isWithin(data, folder) || isWithin(folder, data);
    const found = isData ? { what: "the data folder", path: data } : others.find(({ path }) => isWithin(path, folder));
    if (found === undefined) continue;
    isClean = false;
    yield (isData ? fail : warn)(
      "reach",
      `Server \`${server}\` is given ${folder}, which shares files with ${found.what} ${found.path}.`,
      `Give it a folder of its own, \`workspace\` for example, or move ${isData ? "`data`" : "that"} elsewhere.`,
    );
  }
  if (isClean) yield ok("reach", "no server is given the data folder");
}

function protectedPaths({
  file,
  runs,
  secretSettings,
  toolFolders,
  toolModules,
  skillFolders,
}: Settings): readonly (readonly [what: string, path: string])[] {
  return [
    ["the folders of runs", runs.folder],
    ["the key of the secrets", secretSettings.keyFile],
    ...(file === undefined ? [] : [["the configuration", file] as const]),
    ...[...toolFolders, ...toolModules].map((path) => ["code of tools in", path] as const),
    ...skillFolders.map((path) => ["skills in", path] as const),
  ];
}

function* givenFolders({ servers }: Settings): Generator<{ readonly server: string; readonly folder: string }> {
  for (const [server, { args = [], cwd = "." }] of Object.entries(servers))
    for (const argument of args.filter((one) => !one.startsWith("-"))) {
      const folder = realPath(resolve(cwd, argument));
      if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) yield { server, folder };
    }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path); // it does not exist yet
  }
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}
