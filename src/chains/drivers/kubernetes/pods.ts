/** Pods of ours: made, attached to, and taken away whatever happens. */
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type Clock, SystemClock } from "../../../calls/clock.ts";
import { messageOf } from "../../../calls/fault.ts";
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";
import { Openings } from "../child/openings.ts";
import { type Carrier, type Listener, RemoteEnd, type RemoteTerms } from "../child/remote-end.ts";
import { pythonFrames } from "../python/child-script.ts";
import { cpythonProgram } from "../python/prelude/prelude.ts";
import { type Cluster, ClusterRefused } from "./cluster.ts";
import {
  changedIn,
  container,
  isOrphan,
  labels,
  labelsOf,
  listIn,
  objectIn,
  type PodSettings,
  podManifest,
  podsOf,
  stateOf,
} from "./pod.ts";
import { openIn, policiesOf } from "./policy.ts";
import { WebSocketLine } from "./web-socket.ts";

const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;
const channels = { input: 0, output: 1, status: 3 } as const;
const pollMs = { first: 100, most: 1_000 } as const;
const removals = { tries: 5, waitMs: 500 } as const;
const beatMs = 20_000;
/** So many beats without a sign of life: the connection is half dead, and never says so itself. */
const mostSilentBeats = 3;
const mostStatusBytes = 16_384;
const clock = new SystemClock(); // connections are of real time

export interface PodTimes {
  readonly startMs: number;
  readonly restMs: number;
  /** Of heartbeats. */
  readonly clock: Clock;
}

export class Pods implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #settings: PodSettings;
  readonly #times: PodTimes;
  readonly #leaving = new Set<Promise<void>>();
  readonly #openings = new Openings();
  #swept: Promise<void> | undefined;

  constructor(cluster: Cluster, settings: PodSettings, times: PodTimes) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#times = times;
  }

  /** Why no pod is made here. */
  async problem(): Promise<string | undefined> {
    const { namespace } = this.#settings;
    try {
      return openIn(await this.#cluster.ask("GET", policiesOf(namespace)), labelsOf(this.#settings));
    } catch (error) {
      return `the NetworkPolicies of \`${namespace}\` cannot be read (${messageOf(error)})`;
    }
  }

  /** A pod that is ready for a script. @throws Error, with nothing left in the cluster */
  open(memoryMebibytes: number): Promise<RemoteEnd> {
    return this.#openings.of(this.#opened(memoryMebibytes));
  }

  /** Waits for pods that are being taken away. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#openings[Symbol.asyncDispose]();
    await Promise.all(this.#leaving);
  }

  async #opened(memoryMebibytes: number): Promise<RemoteEnd> {
    this.#swept ??= this.#sweep();
    await this.#swept;
    const problem = await this.problem(); // before every pod: somebody may have opened the network meanwhile
    if (problem !== undefined) throw new Error(`No pod is made: ${problem}.`);
    const name = `postern-${this.#settings.incarnation}-${randomBytes(4).toString("hex")}`;
    const terms: RemoteTerms = { frames: pythonFrames, ...this.#times };
    try {
      const given = { name, memoryMebibytes, program: cpythonProgram };
      const made = await this.#cluster.ask(
        "POST",
        podsOf(this.#settings.namespace),
        podManifest(this.#settings, given),
      );
      const changed = changedIn(made, this.#settings);
      if (changed !== undefined) throw new Error(`The pod is not what was asked for: ${changed}.`);
      await this.#running(name);
      const end = await RemoteEnd.open(terms, (listener) => this.#attached(name, listener));
      if (this.#openings.isClosed) end.kill();
      this.#openings.check();
      return end;
    } catch (error) {
      this.#remove(name); // also where nothing was answered: it may be there all the same
      throw error;
    }
  }

  async #running(name: string): Promise<void> {
    const until = clock.monotonic() + this.#times.startMs;
    let waits = "Pending";
    for (
      let wait: number = pollMs.first;
      clock.monotonic() < until && !this.#openings.isClosed;
      wait = Math.min(wait * 1.5, pollMs.most)
    ) {
      const pod = await this.#cluster.ask("GET", `${podsOf(this.#settings.namespace)}/${name}`).catch(retried);
      const state: ReturnType<typeof stateOf> = pod === undefined ? { runs: false } : stateOf(pod);
      if (state.runs) return;
      if (state.never !== undefined) throw new Error(`The pod does not start. ${state.never}`);
      waits = state.waits ?? waits;
      await setTimeout(wait);
    }
    this.#openings.check();
    throw new Error(`The pod did not start within ${this.#times.startMs} ms (${waits}).`);
  }

  async #attached(name: string, listener: Listener): Promise<Carrier> {
    const query = `container=${container}&stdin=true&stdout=true&stderr=false&tty=false`;
    const path = `${podsOf(this.#settings.namespace)}/${name}/attach?${query}`;
    const { socket, head } = await this.#cluster.upgrade(path, protocols);
    const streams = new Streams(listener);
    const line = new WebSocketLine(socket, head, streams);
    const stop = beating(line, streams, this.#times.clock);
    const remove = (): void => this.#remove(name);
    return {
      write: (bytes) => line.sendTo(channels.input, bytes),
      close() {
        stop();
        line.close();
        remove();
      },
      hold(isHeld) {
        if ("ref" in socket && "unref" in socket) (socket as unknown as Held)[isHeld ? "ref" : "unref"](); // a TCP or TLS socket
      },
    };
  }

  #remove(name: string): void {
    const removal = this.#removed(name).finally(() => this.#leaving.delete(removal));
    this.#leaving.add(removal);
  }

  async #removed(name: string): Promise<void> {
    for (let tries = 1; tries <= removals.tries; tries += 1) {
      try {
        await this.#cluster.ask("DELETE", `${podsOf(this.#settings.namespace)}/${name}?gracePeriodSeconds=0`);
        return;
      } catch (error) {
        if (error instanceof ClusterRefused && error.status === 404) return;
        if (tries < removals.tries) await setTimeout(removals.waitMs * tries);
        // the last time: its closed input ends the script, its deadline the pod, and the next sweep takes it away
      }
    }
  }

  /** What an earlier life of this installation left behind. Where it cannot be looked for, deadlines end it. */
  async #sweep(): Promise<void> {
    const selector = encodeURIComponent(`${labels.script}=true,${labels.installation}=${this.#settings.installation}`);
    const path = `${podsOf(this.#settings.namespace)}?labelSelector=${selector}&limit=500`;
    const found = await this.#cluster.ask("GET", path).catch(() => undefined);
    for (const pod of found === undefined ? [] : listIn(found, "items")) {
      const { name } = isJsonObject(pod) ? objectIn(pod, "metadata") : {};
      if (typeof name === "string" && isOrphan(pod, this.#settings)) this.#remove(encodeURIComponent(name));
    }
  }
}

interface Held {
  ref(): void;
  unref(): void;
}

/** A pod's streams, told apart by the first byte of each message. */
class Streams {
  readonly #listener: Listener;
  #channel = -1;
  #status = "";

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  part(bytes: Buffer, isFirst: boolean): void {
    if (isFirst) this.#channel = bytes[0] ?? -1;
    const rest = isFirst ? bytes.subarray(1) : bytes;
    if (this.#channel === channels.output) this.#listener.read(rest);
    if (this.#channel === channels.status && rest.length > 0) this.#told(rest);
  }

  ended(message: string): void {
    this.#listener.ended(message);
  }

  /** The container has ended; which code it ended with is the cluster's word. */
  #told(bytes: Buffer): void {
    this.#status = (this.#status + bytes.toString("utf8")).slice(0, mostStatusBytes);
    const code = /"ExitCode"\s*,\s*"message"\s*:\s*"(\d{1,3})"/.exec(this.#status)?.[1];
    this.#listener.ended(code === undefined ? "The sandbox ended." : `The sandbox ended with code ${code}.`);
  }
}

/** Keeps what stands between from forgetting the connection, and finds out when the other side is gone. */
function beating(line: WebSocketLine, streams: Streams, time: Clock): () => void {
  let silent = 0;
  let forget = time.in(beatMs, beat, false);
  function beat(): void {
    silent = line.heardSomething ? 0 : silent + 1;
    if (silent >= mostSilentBeats) {
      streams.ended("The connection to the pod is dead.");
      return;
    }
    line.ping();
    forget = time.in(beatMs, beat, false);
  }
  return () => forget();
}

/** A server that is overtaxed answers the next time; one that refuses us does not. */
function retried(error: unknown): JsonObject | undefined {
  if (error instanceof ClusterRefused && error.status < 500 && error.status !== 429) throw error;
  return undefined;
}
