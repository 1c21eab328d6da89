/**
 * A process that another one started for us: spoken to through named pipes, of which nobody but the two ends keeps a name.
 *
 * Invariant: no moment of its start waits for a program that is gone. So both ends are open before it runs, the input by us
 * for reading too: who opens a pipe for writing alone would wait for a reader.
 */
import { constants, openSync, unlink } from "node:fs";
import { Socket } from "node:net";
import { constants as system } from "node:os";
import { finished } from "node:stream/promises";
import { SystemClock } from "../../../calls/clock.ts";
import { holdStream, type ProcessEnd, type Started } from "./started.ts";

interface Streams {
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
}

/** Between the end of what it says and the word that it is gone. */
const longestSilenceMs = 5_000;
const clock = new SystemClock(); // processes end in real time

/** Of one that is being started: what is told of it, in the order in which it is told. */
export class PipedStart {
  readonly #pipe: string;
  readonly #hold: (isHeld: boolean) => void;
  readonly #started = Promise.withResolvers<Started>();
  readonly #told = Promise.withResolvers<ProcessEnd>();
  #streams: Streams | undefined;

  /**
   * @param pipe what its pipes are called, but for `.in`, `.out` and `.err`
   * @param hold whether our process stays for what is told of it
   */
  constructor(pipe: string, hold: (isHeld: boolean) => void) {
    this.#pipe = pipe;
    this.#hold = hold;
  }

  /** @throws Error when it does not start */
  get started(): Promise<Started> {
    return this.#started.promise;
  }

  made(): void {
    try {
      this.#streams = openPipes(this.#pipe);
    } catch (error) {
      this.#started.reject(error); // it waits for an other end until ours is over
    }
  }

  runs(pid: number): void {
    removeNames(this.#pipe);
    const streams = this.#streams;
    if (streams === undefined) return;
    this.#streams = undefined; // they are its own from here on
    this.#started.resolve(new PipedProcess(pid, { streams, told: this.#told.promise, hold: this.#hold }));
  }

  ended(status: number): void {
    this.#told.resolve(endOf(status));
  }

  /** Nothing of one that runs: its end is told all the same. */
  failed(why: string): void {
    for (const stream of Object.values<Socket>({ ...this.#streams })) stream.destroy();
    this.#started.reject(new Error(why));
  }
}

interface Parts {
  readonly streams: Streams;
  readonly told: Promise<ProcessEnd>;
  readonly hold: (isHeld: boolean) => void;
}

class PipedProcess implements Started {
  readonly pid: number;
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly ended: Promise<ProcessEnd>;
  isGone = false;
  #isHeld = false;
  readonly #hold: Parts["hold"];

  constructor(pid: number, { streams, told, hold }: Parts) {
    this.pid = pid;
    ({ stdin: this.stdin, stdout: this.stdout, stderr: this.stderr } = streams);
    this.#hold = hold;
    this.ended = this.#end(told);
    this.hold(true);
  }

  hold(isHeld: boolean): void {
    for (const stream of [this.stdin, this.stdout, this.stderr]) holdStream(stream, isHeld);
    if (isHeld !== this.#isHeld) this.#hold(isHeld);
    this.#isHeld = isHeld;
  }

  async #end(told: Promise<ProcessEnd>): Promise<ProcessEnd> {
    const read = Promise.allSettled([finished(this.stdout), finished(this.stderr)]);
    const nobodyTells = Promise.withResolvers<ProcessEnd>();
    void read.then(() => clock.in(longestSilenceMs, () => nobodyTells.resolve({ code: null, signal: null }), false));
    const end = await Promise.race([told, nobodyTells.promise]); // whoever would tell may have been ended itself
    this.isGone = true;
    await read;
    this.stdin.destroy();
    this.hold(false);
    return end;
  }
}

/** What has just been read, of whichever: it is copied at once. Node's own way makes 64 KiB for each answer of a sandbox. */
const inbox = Buffer.allocUnsafeSlow(64 * 1024);

function openPipes(pipe: string): Streams {
  const { O_RDWR, O_RDONLY, O_NONBLOCK } = constants;
  const opened: Socket[] = [];
  const open = (end: string, flags: number): Socket => {
    const fd = openSync(`${pipe}.${end}`, flags | O_NONBLOCK);
    const isInput = end === "in";
    const callback = (bytes: number): boolean => {
      const piece = Buffer.from(inbox.subarray(0, bytes));
      if (socket.readableFlowing !== true || socket.readableLength > 0) return socket.push(piece);
      socket.emit("data", piece); // whoever listens has had all that came before
      return !socket.isPaused();
    };
    const onread = { buffer: inbox, callback };
    const socket = new Socket({ fd, readable: !isInput, writable: isInput, ...(end === "out" && { onread }) });
    opened.push(socket);
    return socket;
  };
  try {
    return { stdin: open("in", O_RDWR), stdout: open("out", O_RDONLY), stderr: open("err", O_RDONLY) };
  } catch (error) {
    for (const socket of opened) socket.destroy();
    throw error;
  }
}

/** They have served: whoever runs has them open. */
function removeNames(pipe: string): void {
  for (const end of ["in", "out", "err"]) unlink(`${pipe}.${end}`, () => undefined); // somebody else was faster
}

/** As a shell tells it: a signal by its number, above 128. */
function endOf(status: number): ProcessEnd {
  const signal = Object.entries(system.signals).find(([, number]) => number === status - 128)?.[0];
  return signal === undefined ? { code: status, signal: null } : { code: null, signal };
}
