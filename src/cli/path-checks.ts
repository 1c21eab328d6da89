import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { whyUnreadable } from "../core/system/error-code.ts";
import type { DoctorFinding } from "./checks.ts";
import type { Inspected } from "./host.ts";

/** What the configuration names on this machine: that it is there, and that no server is given what is Postern's own. */
export function* pathChecks(settings: Inspected): Generator<DoctorFinding> {
  for (const named of pathsIn(settings)) yield* missing(named);
  yield* editable(settings);
  yield* reach(settings);
}

interface NamedPath {
  readonly key: string;
  readonly path: string;
  readonly is: "folder" | "file";
  /** Without it Postern does not start; else only what is in it is away. */
  readonly isNeeded: boolean;
}

/** Also while a Postern runs: it would not be found before the next start. */
function pathsIn({ toolFolders, toolModules, skillFolders, files, servers }: Inspected): readonly NamedPath[] {
  const listed = (key: string, paths: readonly string[], more: Pick<NamedPath, "is" | "isNeeded">): NamedPath[] =>
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
  const level = isNeeded ? "fail" : "warn";
  const fix = `Make it readable, or correct \`${key}\`.`;
  try {
    const isFolder = statSync(path).isDirectory();
    if (isFolder !== (is === "folder"))
      yield { level, check: "paths", message: `\`${key}\`: ${path} is no ${is}.`, fix };
    accessSync(path, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
  } catch (error) {
    yield { level, check: "paths", message: `\`${key}\`: ${path} ${whyUnreadable(error)}.`, fix };
  }
}

/** Whether what the console may do can be done. */
function* editable({ file, console: { editPolicy } }: Inspected): Generator<DoctorFinding> {
  if (!editPolicy) return;
  try {
    if (file !== undefined) accessSync(file, constants.W_OK);
  } catch (error) {
    yield {
      level: "warn",
      check: "paths",
      message: `\`console.edit_policy\` is true, and the configuration ${whyUnreadable(error)}.`,
      fix: "Let this user write it, or leave `console.edit_policy` out.",
    };
  }
}

/**
 * No folder a server is given may hold the data folder: its tokens and keys would be the agent's (DESIGN 4). Nor should it
 * hold what says what the agent may do, or what it did.
 */
function* reach(settings: Inspected): Generator<DoctorFinding> {
  const others = othersOf(settings).map(({ what, path }) => ({ what, path: real(path) }));
  const data = real(settings.dataFolder);
  let isClean = true;
  for (const { server, folder } of givenFolders(settings)) {
    const isData = isWithin(data, folder) || isWithin(folder, data);
    const held = isData ? { what: "the data folder", path: data } : others.find(({ path }) => isWithin(path, folder));
    if (held === undefined) continue;
    isClean = false;
    const shared = `which shares files with ${held.what} ${held.path}`;
    yield {
      level: isData ? "fail" : "warn",
      check: "reach",
      message: `Server \`${server}\` is given ${folder}, ${shared}.`,
      fix: `Give it a folder of its own, \`workspace\` for example, or move ${isData ? "`data`" : "that"} elsewhere.`,
    };
  }
  if (isClean) yield { level: "ok", check: "reach", message: "no server is given the data folder" };
}

function othersOf(settings: Inspected): readonly { readonly what: string; readonly path: string }[] {
  const { file, runs, secretSettings, toolFolders, toolModules, skillFolders } = settings;
  const code = [...toolFolders, ...toolModules].map((path) => ({ what: "code of tools in", path }));
  return [
    { what: "the folders of runs", path: runs.folder },
    { what: "the key of the secrets", path: secretSettings.keyFile },
    ...(file === undefined ? [] : [{ what: "the configuration", path: file }]),
    ...code,
    ...skillFolders.map((path) => ({ what: "skills in", path })),
  ];
}

function* givenFolders({ servers }: Inspected): Generator<{ readonly server: string; readonly folder: string }> {
  for (const [server, { args = [], cwd = "." }] of Object.entries(servers))
    for (const argument of args.filter((one) => !one.startsWith("-"))) {
      const folder = real(resolve(cwd, argument));
      if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) yield { server, folder };
    }
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path); // it is not there yet; by its name then
  }
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}
