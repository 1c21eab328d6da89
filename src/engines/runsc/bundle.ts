import { chmodSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeOwnFolder } from "../../core/system/own-folder.ts";
import { passingFolder, removePassing } from "../../core/system/passing-folder.ts";
import { timeZones } from "../cpython/bubblewrap.ts";
import { pythonEnvironment, pythonFlags } from "../cpython/prelude/prelude.ts";

/** What gVisor is told to run: the folder of an OCI bundle, of which every container of a driver is made. */
export interface Bundle extends Disposable {
  readonly folder: string;
  /** Where gVisor keeps what it knows of its containers. */
  readonly state: string;
}

const nobody = 65_534;
const fileBytes = 16 * 1024 * 1024;

/** Its root is empty but for the interpreter and its libraries, read-only; two folders in memory can be written. */
export function makeBundle(python: string, program: string): Bundle {
  const folder = passingFolder("runsc");
  const state = join(folder, "state");
  makeOwnFolder(state);
  const root = join(folder, "rootfs");
  for (const path of ["", "usr", "usr/lib", "usr/bin", "lib", "lib64", "tmp", "workspace", "proc", "dev"])
    mkdirSync(join(root, path));
  for (const path of [folder, root, join(root, "usr")]) chmodSync(path, 0o755); // the container's user walks through them
  writeFileSync(join(folder, "config.json"), JSON.stringify(specFor(realpathSync(python), program)));
  return { folder, state, [Symbol.dispose]: () => removePassing(folder) };
}

function specFor(python: string, program: string): object {
  const none = { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] };
  return {
    ociVersion: "1.0.0",
    process: {
      terminal: false,
      user: { uid: nobody, gid: nobody },
      args: [python, ...pythonFlags, "-c", program],
      env: Object.entries(pythonEnvironment).map((pair) => pair.join("=")),
      cwd: "/workspace",
      capabilities: none,
      noNewPrivileges: true,
    },
    root: { path: "rootfs", readonly: true },
    hostname: "postern",
    mounts: [
      ...["/usr/lib", "/lib", "/lib64", join(dirname(dirname(python)), "lib")]
        .filter((path, n, all) => all.indexOf(path) === n)
        .flatMap(readOnly),
      ...readOnly(python),
      ...readOnly(timeZones),
      ...["/tmp", "/workspace"].map((destination) => ({
        destination,
        type: "tmpfs",
        source: "tmpfs",
        options: [`size=${fileBytes}`, "mode=1777"],
      })),
    ],
    linux: { namespaces: ["pid", "network", "ipc", "uts", "mount"].map((type) => ({ type })) },
  };
}

/** Of a host that has no such place nothing is shown. */
function readOnly(path: string): readonly object[] {
  try {
    return [{ destination: path, type: "bind", source: realpathSync(path), options: ["ro", "rbind"] }];
  } catch {
    return [];
  }
}
