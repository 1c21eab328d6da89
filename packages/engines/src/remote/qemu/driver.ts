/** Python in a virtual machine of its own that QEMU runs: no network card, no disk, one serial port. */
import { accessSync, constants, existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { messageOf } from "@postern/core";
import type { SandboxLimits } from "@postern/core/sandbox";
import { HostProcess } from "../../child/host-process.ts";
import { type Carrier, RemoteEnd, type RemoteListener, RemotePools } from "../../child/remote-end.ts";
import { cpythonProgram } from "../../cpython/prelude/prelude.ts";
import { PythonDriver, type PythonOptions, type PythonSandboxes, pythonFrames } from "../../cpython/python-driver.ts";
import { loaded } from "../guest.ts";
import { kvm, type QemuSettings, qemuCommand, setpriv } from "./machine.ts";

/** Default 1 warm machine, from the first script on, and 4 machines at once. */
export interface QemuOptions extends PythonOptions {
  /** Absolute, like all paths here. `sh deploy/guest/build.sh FOLDER` makes it. */
  readonly kernel: string;
  readonly image: string;
  /** Default `/usr/bin/qemu-system-x86_64`. */
  readonly qemu?: string;
  /** Default `tcg`: in software, which needs no rights and is slow. `kvm` needs `/dev/kvm`. */
  readonly accelerator?: "kvm" | "tcg";
  /** Processors of a machine. Default 1. */
  readonly cpus?: number;
  /** Until a machine is ready. Default two minutes. */
  readonly startMs?: number;
}

const overheadBytes = 96 * 1024 * 1024;
/** The guest's kernel, and its unpacked image. */
const guestMebibytes = 160;
const mostErrorLetters = 500;

export class QemuDriver extends PythonDriver {
  readonly name = "qemu";
  readonly capabilities = { language: "python", durability: "replay", isolation: "vm", parallel: true } as const;
  readonly engine = "cpython-qemu-1";
  readonly #settings: QemuSettings;
  readonly #startMs: number;
  readonly #pools: RemotePools;
  readonly #living = new Set<HostProcess>();

  constructor(options: QemuOptions) {
    super(options);
    const { kernel, image, qemu = "/usr/bin/qemu-system-x86_64", accelerator = "tcg", cpus = 1 } = options;
    const { warm = 1, most = 4, startMs = 120_000 } = options;
    this.#settings = { qemu, kernel, image, accelerator, cpus };
    this.#startMs = startMs;
    this.#pools = new RemotePools((mebibytes, closing) => this.#open(mebibytes, closing), {
      ...{ warm, most, startsAtOnce: 1 },
    });
  }

  async unavailable(): Promise<string | undefined> {
    const { qemu, kernel, image, accelerator } = this.#settings;
    if (process.platform !== "linux") return "its guest is tried on Linux only";
    for (const path of [setpriv, qemu, kernel, image])
      if (!isAbsolute(path) || !existsSync(path)) return `\`${path}\` is not there`;
    if (accelerator === "tcg") return undefined;
    try {
      accessSync(kvm, constants.R_OK | constants.W_OK);
      return undefined;
    } catch {
      return `\`${kvm}\` cannot be opened; use the accelerator \`tcg\``;
    }
  }

  protected async sandboxes({ memoryBytes }: SandboxLimits): Promise<PythonSandboxes> {
    const problem = await this.unavailable();
    if (problem !== undefined) throw new Error(`QEMU cannot run here: ${problem}.`);
    return { pool: this.#pools.of(memoryBytes + overheadBytes), overheadBytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools[Symbol.asyncDispose]();
    await Promise.all([...this.#living].map(({ gone }) => gone));
  }

  /** Starts a machine that is ready for a script. @throws Error, with nothing left of it */
  async #open(mebibytes: number, closing: AbortSignal): Promise<RemoteEnd> {
    const needs = { memoryMebibytes: mebibytes + guestMebibytes, isRoot: process.getuid?.() === 0 };
    const [program, ...words] = qemuCommand(this.#settings, needs);
    const machine = await HostProcess.start(program, words);
    this.#living.add(machine);
    void machine.gone.then(() => this.#living.delete(machine));
    const kill = (): void => machine.kill();
    closing.addEventListener("abort", kill, { once: true });
    try {
      const terms = { frames: pythonFrames, startMs: this.#startMs };
      return await RemoteEnd.open(terms, async (listener) => carry(machine, listener));
    } catch (cause) {
      machine.kill();
      await machine.gone;
      const said = machine.errorText.trim().slice(0, mostErrorLetters); // no script ran in it
      throw new Error(`The machine did not start. ${messageOf(cause)} ${said}`.trim(), { cause });
    } finally {
      closing.removeEventListener("abort", kill);
    }
  }
}

/** QEMU reads its input when the guest has opened the port, so the program can be written at once. */
function carry(machine: HostProcess, listener: RemoteListener): Carrier {
  const { stdin, stdout } = machine.child;
  stdout?.on("data", (chunk: Buffer) => listener.read(chunk));
  void machine.gone.then(() => listener.ended("The machine ended."));
  stdin?.write(loaded(cpythonProgram));
  return {
    write: (bytes) => stdin?.write(bytes),
    close: () => machine.kill(),
    hold: (isHeld) => machine.idle(!isHeld),
  };
}
