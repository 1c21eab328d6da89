/** Creates pods, attaches to them, and deletes each one, whatever happens. */
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type Clock, isJsonObject, type JsonObject, messageOf, SystemClock } from "@postern/core";
import { type Carrier, RemoteEnd, type RemoteListener, type RemoteTerms } from "../../child/remote-end.ts";
import { cpythonProgram } from "../../cpython/prelude/prelude.ts";
import { pythonFrames } from "../../cpython/python-driver.ts";
import { type AttachedSocket, type Cluster, ClusterRefused } from "./cluster.ts";
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

const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;
const channels = { input: 0, output: 1, status: 3 } as const;
const pollMs = { first: 100, most: 1_000 } as const;
const removals = { tries: 5, waitMs: 500 } as const;
const beatMs = 20_000;
/** A connection that is silent for this long is dead. */
const maxSilentBeats = 3;
const mostSentBytes = 128 * 1024;
const clock = new SystemClock(); // connections use real time

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
  #swept: Promise<void> | undefined;

  constructor(cluster: Cluster, settings: PodSettings, times: PodTimes) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#times = times;
  }

  /** Returns why no pod can be created here. */
  async problem(): Promise<string | undefined> {
    const { namespace } = this.#settings;
    try {
      return openIn(await this.#cluster.ask("GET", policiesOf(namespace)), labelsOf(this.#settings));
    } catch (error) {
      return `the NetworkPolicies of \`${namespace}\` cannot be read (${messageOf(error)})`;
    }
  }

  /** Waits for deletions that are under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#leaving);
  }

  /** Creates a pod that is ready for a script. @throws Error, with nothing left in the cluster */
  async open(memoryMebibytes: number, closing: AbortSignal): Promise<RemoteEnd> {
    this.#swept ??= this.#sweep();
    await this.#swept;
    const problem = await this.problem(); // before every pod: policies can change
    if (problem !== undefined) throw new Error(`No pod is created: ${problem}.`);
    const name = `postern-${this.#settings.incarnation}-${randomBytes(4).toString("hex")}`;
    const terms: RemoteTerms = { frames: pythonFrames, ...this.#times };
    try {
      const manifest = podManifest(this.#settings, { name, memoryMebibytes, program: cpythonProgram });
      const created = await this.#cluster.ask("POST", podsOf(this.#settings.namespace), manifest);
      const changed = changedIn(created, this.#settings);
      if (changed !== undefined) throw new Error(`The pod is not what was asked for: ${changed}.`);
      await this.#running(name, closing);
      return await RemoteEnd.open(terms, (listener) => this.#attached(name, listener));
    } catch (error) {
      this.#remove(name); // after a timeout the pod may exist
      throw error;
    }
  }

  async #running(name: string, closing: AbortSignal): Promise<void> {
    const until = clock.monotonic() + this.#times.startMs;
    let waits = "Pending";
    for (let waitMs: number = pollMs.first; clock.monotonic() < until; waitMs = Math.min(waitMs * 1.5, pollMs.most)) {
      closing.throwIfAborted();
      const pod = await this.#cluster.ask("GET", `${podsOf(this.#settings.namespace)}/${name}`).catch(retryLater);
      const state: ReturnType<typeof stateOf> = pod === undefined ? { runs: false } : stateOf(pod);
      if (state.runs) return;
      if (state.never !== undefined) throw new Error(`The pod does not start. ${state.never}`);
      waits = state.waits ?? waits;
      await setTimeout(waitMs);
    }
    throw new Error(`The pod did not start within ${this.#times.startMs} ms (${waits}).`);
  }

  async #attached(name: string, listener: RemoteListener): Promise<Carrier> {
    const query = `container=${container}&stdin=true&stdout=true&stderr=false&tty=false`;
    const path = `${podsOf(this.#settings.namespace)}/${name}/attach?${query}`;
    const heartbeat = new PodHeartbeat(this.#times.clock);
    const socket = await this.#cluster.attach(path, protocols, {
      message: (bytes) => readMessage(bytes, listener),
      alive: () => heartbeat.alive(),
      ended: (message) => listener.ended(message),
    });
    heartbeat.start(socket, () => listener.ended("The connection to the pod is dead."));
    return {
      write(bytes) {
        for (let at = 0; at < bytes.length; at += mostSentBytes)
          socket.send(Buffer.concat([Buffer.of(channels.input), bytes.subarray(at, at + mostSentBytes)]));
      },
      close: () => {
        heartbeat.stop();
        socket.close();
        this.#remove(name);
      },
      hold: (isHeld) => socket.hold(isHeld),
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
        // After the last try, the closed input ends the script, the deadline ends the pod, and the next sweep deletes it.
      }
    }
  }

  /** Deletes pods that an earlier process of this installation left. If the list cannot be read, deadlines end them. */
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

/** The first byte of a message names its stream. */
function readMessage(bytes: Buffer, listener: RemoteListener): void {
  const [channel] = bytes;
  const text = bytes.subarray(1);
  if (channel === channels.output) listener.read(text);
  if (channel !== channels.status || text.length === 0) return;
  const code = /"ExitCode"\s*,\s*"message"\s*:\s*"(\d{1,3})"/.exec(text.toString("utf8"))?.[1];
  listener.ended(code === undefined ? "The sandbox ended." : `The sandbox ended with code ${code}.`);
}

/** Pings the other side, so that proxies keep the connection and a dead one is found. */
class PodHeartbeat {
  readonly #clock: Clock;
  #isAlive = true;
  #silentBeats = 0;
  #cancel: (() => void) | undefined;

  constructor(time: Clock) {
    this.#clock = time;
  }

  alive(): void {
    this.#isAlive = true;
  }

  start(socket: AttachedSocket, onDead: () => void): void {
    const beat = (): void => {
      this.#silentBeats = this.#isAlive ? 0 : this.#silentBeats + 1;
      this.#isAlive = false;
      if (this.#silentBeats >= maxSilentBeats) {
        onDead();
        return;
      }
      socket.ping();
      this.#cancel = this.#clock.in(beatMs, beat, false);
    };
    this.#cancel = this.#clock.in(beatMs, beat, false);
  }

  stop(): void {
    this.#cancel?.();
  }
}

/** Returns undefined for errors of an overloaded server, which may pass; throws refusals. */
function retryLater(error: unknown): JsonObject | undefined {
  if (error instanceof ClusterRefused && error.status < 500 && error.status !== 429) throw error;
  return undefined;
}
