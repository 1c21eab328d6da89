/**
 * Python in a Firecracker machine of its own: no network card, no disk, one vsock.
 *
 * Tested against a fake that speaks its protocol, and on no real host: `npm run proof -- driver firecracker FILE` runs the
 * same scripts where there is one.
 */
import { existsSync, statSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import type { SandboxLimits } from "@postern/core/sandbox";
import { RemotePools } from "../../child/remote-end.ts";
import { PythonDriver, type PythonOptions, type PythonSandboxes } from "../../cpython/python-driver.ts";
import { jailOf, type MachineSettings } from "./machine.ts";
import { Machines } from "./machines.ts";

/** Default 1 warm machine, from the first script on, and 16 machines at once. */
export interface FirecrackerOptions extends PythonOptions {
  /** Absolute, like all paths here. Its file name contains `firecracker`. */
  readonly firecracker: string;
  readonly jailer: string;
  readonly kernel: string;
  /** The guest, as `sh deploy/guest/build.sh FOLDER` makes it with the kernel: see docs/reference/engines.md. */
  readonly image: string;
  /** The folder of the jails, on one file system with kernel and image. */
  readonly chrootBase: string;
  /** The user that a machine runs as. */
  readonly uid: number;
  readonly gid: number;
  /** Processors of a machine. Default 1. */
  readonly cpus?: number;
  /** Until a machine is ready. Default one minute. */
  readonly startMs?: number;
  /** Default `/dev/kvm`. */
  readonly kvm?: string;
  /** Default `/usr/bin/unshare`. */
  readonly unshare?: string;
}

const overheadBytes = 96 * 1024 * 1024;
/** The kernel's limit of a socket's path. */
const longestSocketPath = 107;

export class FirecrackerDriver extends PythonDriver {
  readonly name = "firecracker";
  readonly capabilities = { language: "python", durability: "replay", isolation: "vm", parallel: true } as const;
  readonly engine = "cpython-firecracker-1";
  readonly #options: FirecrackerOptions;
  #started: { readonly machines: Machines; readonly pools: RemotePools } | undefined;

  constructor(options: FirecrackerOptions) {
    super(options);
    this.#options = options;
  }

  async unavailable(): Promise<string | undefined> {
    if (process.platform !== "linux") return "Firecracker needs Linux";
    const { firecracker, jailer, kernel, image, uid, gid, kvm = "/dev/kvm" } = this.#options;
    const settings = this.#settings();
    for (const path of [kvm, firecracker, jailer, kernel, image, settings.unshare])
      if (!isAbsolute(path) || !existsSync(path)) return `\`${path}\` is not there`;
    if (process.getuid?.() !== 0) return "the jailer makes its jails as root only";
    if (uid === 0 || gid === 0) return "a machine is not run as root; name another `uid` and `gid`";
    if (!basename(firecracker).includes("firecracker"))
      return `the jailer starts no \`${basename(firecracker)}\`; its name must hold \`firecracker\``;
    const base = nearest(settings.chrootBase);
    for (const path of [kernel, image])
      if (statSync(path).dev !== statSync(base).dev)
        return `\`${path}\` is on another file system than \`${settings.chrootBase}\``;
    const socket = join(jailOf(settings, "postern-4194304-00000000"), "root", "vsock.socket");
    return socket.length > longestSocketPath
      ? `\`${settings.chrootBase}\` is too long a path for a socket in it`
      : undefined;
  }

  protected async sandboxes({ memoryBytes }: SandboxLimits): Promise<PythonSandboxes> {
    const problem = await this.unavailable();
    if (problem !== undefined) throw new Error(`Firecracker cannot run here: ${problem}.`);
    return { pool: this.#opened().of(memoryBytes + overheadBytes), overheadBytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started?.pools[Symbol.asyncDispose]();
    await this.#started?.machines[Symbol.asyncDispose]();
  }

  #settings(): MachineSettings {
    const { firecracker, jailer, kernel, image, chrootBase, uid, gid } = this.#options;
    const { cpus = 1, unshare = "/usr/bin/unshare" } = this.#options;
    const groups = existsSync("/sys/fs/cgroup/cgroup.controllers") ? 2 : 1;
    return { firecracker, jailer, kernel, image, chrootBase, uid, gid, cpus, groups, unshare };
  }

  #opened(): RemotePools {
    if (this.#started !== undefined) return this.#started.pools;
    const { warm = 1, most = 16, startMs = 60_000 } = this.#options;
    const machines = new Machines(this.#settings(), startMs);
    const pools = new RemotePools((mebibytes, closing) => machines.open(mebibytes, closing), {
      warm,
      most,
      startsAtOnce: 2,
    });
    this.#started = { machines, pools };
    return pools;
  }
}

/** The folder itself, or the one it will be made in. */
function nearest(path: string): string {
  let found = path;
  while (!existsSync(found)) found = join(found, "..");
  return found;
}
