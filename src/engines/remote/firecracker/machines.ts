/** Starts machines in a jail, connects to them, and kills each one, whatever happens. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { SystemClock } from "../../../core/clock.ts";
import { messageOf } from "../../../core/fault.ts";
import { isAlive } from "../../../core/system/alive.ts";
import { codeOf } from "../../../core/system/error-code.ts";
import { makeOwnFolder } from "../../../core/system/own-folder.ts";
import { type Carrier, RemoteEnd, type RemoteListener } from "../../child/remote-end.ts";
import { cpythonProgram } from "../../cpython/prelude/prelude.ts";
import { pythonFrames } from "../../cpython/python-driver.ts";
import { configure, connectGuest, jailCommand, jailOf, loaded, type MachineSettings, parentGroup } from "./machine.ts";

const lookMs = 20;
const greetingMs = 2_000;
const mostStderr = 500;
/** The guest's own kernel and init. */
const guestMebibytes = 64;
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
    const machine = new MicroVm(this.#settings, memoryMebibytes + guestMebibytes);
    this.#living.add(machine);
    void machine.gone.then(() => this.#living.delete(machine));
    const terms = { frames: pythonFrames, startMs: this.#startMs };
    try {
      return await RemoteEnd.open(terms, (listener) => this.#connect(machine, listener, closing));
    } catch (error) {
      machine.kill();
      await machine.gone;
      throw new Error(`The machine did not start. ${messageOf(error)} ${machine.said}`.trim(), { cause: error });
    }
  }

  /** Waits until every machine is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#living].map(({ gone }) => gone));
  }

  async #connect(machine: MicroVm, listener: RemoteListener, closing: AbortSignal): Promise<Carrier> {
    const until = clock.monotonic() + this.#startMs;
    const waitFor = async (problem: string): Promise<void> => {
      if (machine.isOver) throw new Error("It ended while it started.");
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

  /** Kills the machines of a Postern that is gone. */
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
  isOver = false;
  #stderr = "";
  readonly #id = `postern-${process.pid}-${randomBytes(4).toString("hex")}`;
  readonly #root: string;
  readonly #process: ChildProcess | undefined;

  constructor(settings: MachineSettings, memoryMebibytes: number) {
    this.memoryMebibytes = memoryMebibytes;
    this.#root = join(jailOf(settings, this.#id), "root");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise;
    const over = (): void => {
      this.isOver = true;
      running.delete(this);
      clear(settings, this.#id);
      resolve();
    };
    try {
      makeOwnFolder(this.#root);
      linkSync(settings.kernel, join(this.#root, "kernel"));
      linkSync(settings.rootfs, join(this.#root, "rootfs"));
    } catch (error) {
      this.#stderr = messageOf(error);
      over();
      return;
    }
    const words = jailCommand(settings, { id: this.#id, memoryMebibytes });
    const jailed = spawn(settings.unshare, [...words], {
      env: {},
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    this.#process = jailed;
    running.add(this);
    jailed.stderr.on("data", (chunk: Buffer) => {
      if (this.#stderr.length < mostStderr) this.#stderr += chunk.toString("utf8").slice(0, mostStderr);
    });
    jailed.once("error", (error) => {
      this.#stderr = messageOf(error);
      over();
    });
    jailed.once("exit", over);
    jailed.unref(); // what holds it is the connection
    if ("unref" in jailed.stderr && typeof jailed.stderr.unref === "function") jailed.stderr.unref();
  }

  get apiSocket(): string {
    return join(this.#root, "api.socket");
  }

  get vsockSocket(): string {
    return join(this.#root, "vsock.socket");
  }

  /** What it wrote to standard error. It is shown only before a script ran, so it holds nothing of a script. */
  get said(): string {
    return this.#stderr.trim().slice(0, mostStderr);
  }

  kill(): void {
    const { pid } = this.#process ?? {};
    if (pid === undefined || this.isOver) return; // another process may have its number by now
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      this.#process?.kill("SIGKILL"); // no group of its own, or gone already
    }
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

/** The live machines: all are killed when the host exits. */
const running = new Set<MicroVm>();
process.once("exit", () => {
  for (const machine of running) machine.kill();
});

function clear(settings: MachineSettings, id: string): void {
  rmSync(jailOf(settings, id), { recursive: true, force: true });
  const base = "/sys/fs/cgroup";
  const roots = settings.groups === 2 ? [base] : ["memory", "pids", "cpu"].map((controller) => join(base, controller));
  for (const root of roots) {
    try {
      rmdirSync(join(root, parentGroup, id));
    } catch {
      // it was never made, or still ends; it is an empty folder of the kernel
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
