/**
 * Python in a pod of a cluster, under a RuntimeClass with a kernel of its own (gVisor, Kata).
 *
 * Tested against a fake that speaks the API's protocol, and on no real cluster: `npm run proof -- driver kubernetes FILE` runs
 * the same scripts where there is one.
 */
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { messageOf } from "@postern/core";
import type { SandboxLimits } from "@postern/core/sandbox";
import { RemotePools } from "../../child/remote-end.ts";
import { PythonDriver, type PythonOptions, type PythonSandboxes } from "../../cpython/python-driver.ts";
import { type AccessOptions, openAccess } from "./access.ts";
import { Cluster } from "./cluster.ts";
import type { PodSettings } from "./pod.ts";
import { Pods } from "./pods.ts";

/** Default 1 warm pod, from the first script on, and 32 pods at once. */
export interface KubernetesOptions extends AccessOptions, PythonOptions {
  /** A namespace in which only scripts run. */
  readonly namespace: string;
  /** A RuntimeClass with a kernel of its own: gVisor's or Kata's. */
  readonly runtimeClass: string;
  /** With `python3` (3.11 or newer); pin it by digest. */
  readonly image: string;
  /** Processors of a pod. Default 1. */
  readonly cpus?: number;
  /** The cluster ends a pod at this age. Default one hour. */
  readonly longestSeconds?: number;
  /** Until a pod runs. Default two minutes. */
  readonly startMs?: number;
  /** A label that all pods of this installation have. Default: a digest of this host's name. */
  readonly installation?: string;
}

const overheadBytes = 96 * 1024 * 1024;
const labelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

export class KubernetesDriver extends PythonDriver {
  readonly name = "kubernetes";
  readonly capabilities = { language: "python", durability: "replay", isolation: "kernel", parallel: true } as const;
  readonly engine = "cpython-kubernetes-1";
  readonly #options: KubernetesOptions;
  readonly #settings: PodSettings;
  #opening: Promise<{ readonly pods: Pods; readonly pools: RemotePools }> | undefined;

  constructor(options: KubernetesOptions) {
    super(options);
    const { namespace, runtimeClass, image, cpus = 1, longestSeconds = 3600 } = options;
    const installation = options.installation ?? createHash("sha256").update(hostname()).digest("hex").slice(0, 16);
    const incarnation = randomBytes(4).toString("hex");
    this.#options = options;
    this.#settings = { namespace, runtimeClass, image, cpus, longestSeconds, installation, incarnation };
  }

  /** Also checks that NetworkPolicies close the network. */
  async unavailable(): Promise<string | undefined> {
    const problem = this.#misconfigured();
    if (problem !== undefined) return problem;
    try {
      await import("ws");
    } catch {
      return "the package `ws` is not installed (npm install ws)";
    }
    try {
      return await (await this.#opened()).pods.problem();
    } catch (error) {
      return messageOf(error);
    }
  }

  protected async sandboxes(limits: SandboxLimits): Promise<PythonSandboxes> {
    const problem = this.#misconfigured() ?? this.#tooLong(limits);
    if (problem !== undefined) throw new Error(`The cluster cannot be used: ${problem}.`);
    const { pools } = await this.#opened();
    const limitOf = (message: string): "cpu" | undefined => (/code 152\b/.test(message) ? "cpu" : undefined);
    return { pool: pools.of(limits.memoryBytes + overheadBytes), overheadBytes, limitOf };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opening === undefined) return;
    const opened = await this.#opening.catch(() => undefined); // it was never opened
    await opened?.pools[Symbol.asyncDispose]();
    await opened?.pods[Symbol.asyncDispose]();
  }

  #opened(): Promise<{ readonly pods: Pods; readonly pools: RemotePools }> {
    this.#opening ??= this.#open();
    this.#opening.catch(() => {
      this.#opening = undefined; // a missing file may exist the next time
    });
    return this.#opening;
  }

  async #open(): Promise<{ readonly pods: Pods; readonly pools: RemotePools }> {
    const { warm = 1, most = 32, startMs = 120_000 } = this.#options;
    const cluster = new Cluster(await openAccess(this.#options));
    const pods = new Pods(cluster, this.#settings, {
      startMs,
      restMs: this.#settings.longestSeconds * 500,
      clock: this.clock,
    });
    return { pods, pools: new RemotePools((...needs) => pods.open(...needs), { warm, most, startsAtOnce: 4 }) };
  }

  #misconfigured(): string | undefined {
    const { runtimeClass, namespace, image, installation } = this.#settings;
    if (runtimeClass === "") return "a RuntimeClass with a kernel of its own must be named";
    if (namespace === "" || image === "") return "a namespace and an image must be named";
    return labelValue.test(installation) ? undefined : `\`${installation}\` is not a valid name for an installation`;
  }

  /** A pod may be idle for half of its longest age, so a script must fit into the other half. */
  #tooLong({ wallMs }: SandboxLimits): string | undefined {
    const { longestSeconds } = this.#settings;
    return wallMs <= longestSeconds * 500
      ? undefined
      : `a script of ${wallMs} ms needs a \`longest_seconds\` of at least ${Math.ceil(wallMs / 500)}, and it is ${longestSeconds}`;
  }
}
