/** Starts machines in a jail, connects to them, and kills each one, whatever happens. */
import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { messageOf, SystemClock } from "@postern/core";
import { codeOf, isAlive, makeOwnFolder } from "@postern/core/system";
import { HostProcess } from "../../child/host-process.ts";
import { type Carrier, RemoteEnd, type RemoteListener } from "../../child/remote-end.ts";
import { cpythonProgram } from "../../cpython/prelude/prelude.ts";
import { pythonFrames } from "../../cpython/python-driver.ts";
import { loaded } from "../guest.ts";
import { configure, connectGuest, jailCommand, jailOf, type MachineSettings, parentGroup } from "./machine.ts";

const lookMs = 20;
const greetingMs = 2_000;
const mostErrorLetters = 500;
/** The guest's own kernel, and its unpacked image. */
const guestMebibytes = 160;
const idPattern = /^postern-(\d+)-[0-9a-f]{8}$/;
const clock = new SystemClock(); // a machine boots in real time

export class Machines implements AsyncDisposable {
  readonly #settings: MachineSettings;
  readonly #startMs: number;
  readonly #living = new Set<MicroVm>();
  #isSwept = false;

  constructor(settings: MachineSettings, startMs: number) {
    this.#settings = settings;
    this.#startMs = startMs;
  }

  /** Starts a machine that is ready for a script. @throws Error, with nothing left of it */
  async open(memoryMebibytes: number, closing: AbortSignal): Promise<RemoteEnd> {
    if (!this.#isSwept) this.#sweep();
    this.#isSwept = true;
    let machine: MicroVm | undefined;
    try {
      machine = await this.#started(memoryMebibytes + guestMebibytes);
      return await this.#connected(machine, closing);
    } catch (cause) {
      machine?.kill();
      await machine?.gone;
      throw new Error(`The machine did not start. ${messageOf(cause)} ${machine?.errorText ?? ""}`.trim(), { cause });
    }
  }

  async #started(memoryMebibytes: number): Promise<MicroVm> {
    const machine = await MicroVm.start(this.#settings, memoryMebibytes);
    this.#living.add(machine);
    void machine.gone.then(() => this.#living.delete(machine));
    return machine;
  }

  #connected(machine: MicroVm, closing: AbortSignal): Promise<RemoteEnd> {
    const terms = { frames: pythonFrames, startMs: this.#startMs };
    return RemoteEnd.open(terms, (listener) => this.#connect(machine, listener, closing));
  }

  /** Waits until every machine is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#living].map(({ gone }) => gone));
  }

  async #connect(machine: MicroVm, listener: RemoteListener, closing: AbortSignal): Promise<Carrier> {
    const until = clock.monotonic() + this.#startMs;
    const waitFor = async (problem: string): Promise<void> => {
      if (machine.isGone) throw new Error("It ended while it started.");
      closing.throwIfAborted();
      if (clock.monotonic() > until) throw new Error(`It was not there within ${this.#startMs} ms: ${problem}`);
      await setTimeout(lookMs);
    };
    while (!existsSync(machine.apiSocket)) await waitFor("no API socket.");
    while (!(await this.#configured(machine))) await waitFor("its API socket takes no connection.");
    for (;;) {
      const greeted = await connectGuest(machine.vsockSocket, greetingMs).catch((error: unknown) => messageOf(error));
      if (typeof greeted !== "string") return machine.carry(greeted.socket, greeted.early, listener);
      await waitFor(greeted);
    }
  }

  /** Returns false when the socket takes no connection yet: its file exists before Firecracker listens. */
  async #configured({ apiSocket, memoryMebibytes }: MicroVm): Promise<boolean> {
    try {
      await configure(apiSocket, this.#settings.cpus, memoryMebibytes);
      return true;
    } catch (error) {
      if (["ECONNREFUSED", "ENOENT"].includes(codeOf(error) ?? "")) return false;
      throw error;
    }
  }

  /** Kills the machines of a Postern that has ended. */
  #sweep(): void {
    const folder = join(jailOf(this.#settings, "x"), "..");
    for (const id of existsSync(folder) ? readdirSync(folder) : []) {
      const maker = Number(idPattern.exec(id)?.[1] ?? Number.NaN);
      if (Number.isNaN(maker) || isAlive(maker)) continue;
      killLeft(this.#settings, id);
      clear(this.#settings, id);
    }
  }
}

/** Firecracker under its jailer, and the folder it is jailed in. */
class MicroVm {
  readonly memoryMebibytes: number;
  readonly gone: Promise<void>;
  readonly #process: HostProcess;
  readonly #root: string;

  private constructor(own: HostProcess, root: string, memoryMebibytes: number) {
    this.#process = own;
    this.#root = root;
    this.memoryMebibytes = memoryMebibytes;
    this.gone = own.gone.then(() => undefined);
    own.child.stdin?.end();
    own.child.stdout?.resume();
    own.idle(true); // its connection keeps the host alive
  }

  /** @throws Error, with nothing left of it */
  static async start(settings: MachineSettings, memoryMebibytes: number): Promise<MicroVm> {
    const id = `postern-${process.pid}-${randomBytes(4).toString("hex")}`;
    const root = join(jailOf(settings, id), "root");
    try {
      makeOwnFolder(root);
      linkSync(settings.kernel, join(root, "kernel"));
      linkSync(settings.image, join(root, "image"));
      const own = await HostProcess.start(settings.unshare, jailCommand(settings, { id, memoryMebibytes }));
      void own.gone.then(() => clear(settings, id));
      return new MicroVm(own, root, memoryMebibytes);
    } catch (error) {
      clear(settings, id);
      throw error;
    }
  }

  get isGone(): boolean {
    return this.#process.isGone;
  }

  get apiSocket(): string {
    return join(this.#root, "api.socket");
  }

  get vsockSocket(): string {
    return join(this.#root, "vsock.socket");
  }

  /** What it wrote to standard error. It is shown only before a script ran, so it holds nothing of a script. */
  get errorText(): string {
    return this.#process.errorText.trim().slice(0, mostErrorLetters);
  }

  kill(): void {
    this.#process.kill();
  }

  carry(socket: Socket, early: Buffer, listener: RemoteListener): Carrier {
    socket.on("data", (chunk: Buffer) => listener.read(chunk));
    socket.on("end", () => listener.ended("The machine closed its connection."));
    socket.on("close", () => listener.ended("The machine's connection is closed."));
    void this.gone.then(() => listener.ended("The machine ended."));
    socket.write(loaded(cpythonProgram));
    if (early.length > 0) listener.read(early);
    socket.resume();
    return {
      write: (bytes) => socket.write(bytes),
      close: () => {
        socket.destroy();
        this.kill();
      },
      hold: (isHeld) => socket[isHeld ? "ref" : "unref"](),
    };
  }
}

function clear(settings: MachineSettings, id: string): void {
  rmSync(jailOf(settings, id), { recursive: true, force: true });
  const base = "/sys/fs/cgroup";
  const roots = settings.groups === 2 ? [base] : ["memory", "pids", "cpu"].map((controller) => join(base, controller));
  for (const root of roots) {
    try {
      rmdirSync(join(root, parentGroup, id));
    } catch {
      // it was never made, or is still ending; it is an empty folder of the kernel
    }
  }
}

/** The jailer writes the number of its process to a file. The process is killed only if it still has the machine's name. */
function killLeft(settings: MachineSettings, id: string): void {
  try {
    const pid = Number(readFileSync(join(jailOf(settings, id), "root", "firecracker.pid"), "latin1").trim());
    const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
    if (words.some((word) => word === id || word === `--id=${id}`)) process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
}
