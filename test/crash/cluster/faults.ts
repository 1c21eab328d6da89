import { setTimeout as pause } from "node:timers/promises";
import type { TcpProxy } from "../../fakes/tcp-proxy.ts";
import { gatewayPoints, workerPoints } from "./at-point.ts";
import { type Cluster, storeLeaseMs } from "./cluster.ts";
import type { Program } from "./program.ts";
import type { Random } from "./random.ts";

/** One fault: it begins when it runs, and is over when all that it touched works again. */
interface Fault {
  readonly kind: string;
  /** What it touches. Two faults never touch the same at once. */
  readonly target: string;
  run(): Promise<void>;
}

type MakeFault = (isFree: (target: string) => boolean) => Fault | undefined;

export interface FaultsOptions {
  readonly cluster: Cluster;
  readonly random: Random;
  readonly note: (what: string) => void;
  readonly problem: (what: string) => void;
}

/** How long a process has to come by its point; then it is killed where it is. */
const pointPatienceMs = 8_000;
const healthEveryMs = 500;
/** With more at once, calls would only wait. */
const mostAtOnce = 3;

/** Makes faults at random moments, and restarts a gateway that says that it is broken, as a supervisor does. */
export class Faults {
  /** How often each kind happened. */
  readonly counts = new Map<string, number>();
  /** Gateways that were restarted because they said that they were broken. */
  restarts = 0;
  readonly #options: FaultsOptions;
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #deck: MakeFault[] = [];
  #points: Readonly<Record<"gateway" | "worker", string[]>> = { gateway: [], worker: [] };
  #isWatching = true;
  /** Gateways that may say that they are broken: something was done to them or to their database since they started. */
  readonly #mayBreak = new Set<string>();

  constructor(options: FaultsOptions) {
    this.#options = options;
    void this.#watch();
  }

  /** Begins the next fault. Resolves when it has begun. */
  async begin(): Promise<void> {
    for (;;) {
      const fault = this.#running.size < mostAtOnce ? this.#next() : undefined;
      if (fault !== undefined) return this.#run(fault);
      await pause(100);
    }
  }

  /** Resolves when all that was broken works again. */
  async healed(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  stop(): void {
    this.#isWatching = false;
  }

  #run(fault: Fault): void {
    const { note } = this.#options;
    this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
    for (const { program } of this.#options.cluster.gateways)
      if (fault.target.startsWith(program.name) || fault.target === "PostgreSQL") this.#mayBreak.add(program.name);
    this.#hold(fault.target, async () => {
      note(`${fault.kind}: ${fault.target}`);
      await fault.run();
      note(`over: ${fault.kind}: ${fault.target}`);
    });
  }

  #hold(target: string, work: () => Promise<void>): void {
    this.#busy.add(target);
    const running = work().finally(() => {
      this.#busy.delete(target);
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  /** The next of a shuffled deck whose target is free. */
  #next(): Fault | undefined {
    if (this.#deck.length === 0) this.#deck = this.#options.random.shuffled(this.#newDeck());
    for (const [i, make] of this.#deck.entries()) {
      const fault = make((target) => !this.#busy.has(target));
      if (fault === undefined) continue;
      this.#deck.splice(i, 1);
      return fault;
    }
    return undefined;
  }

  #newDeck(): MakeFault[] {
    const { cluster, random } = this.#options;
    const short = (): number => random.between(300, 5_000);
    const long = (): number => storeLeaseMs + random.between(1_000, 6_000);
    const away = (): number => random.between(0, 1_500);
    const gateway = (kind: string, run: (program: Program) => Promise<void>): MakeFault =>
      this.#of(kind, cluster.gateways, ({ program }) => [program.name, () => run(program)]);
    const worker = (kind: string, run: (program: Program) => Promise<void>): MakeFault =>
      this.#of(kind, cluster.workers, ({ program }) => [program.name, () => run(program)]);
    const postgres = (kind: string, how: "SIGKILL" | "SIGQUIT"): MakeFault =>
      this.#of(kind, [cluster.postgres], (server) => [
        "PostgreSQL",
        () => bounce(() => server.kill(how), server, away()),
      ]);
    const nats = this.#of("NATS killed", [cluster.nats], (server) => [
      "NATS",
      () => bounce(() => server.kill(), server, away()),
    ]);
    const fromPostgres = (kind: string, run: (proxy: TcpProxy) => Promise<void>): MakeFault =>
      this.#of(kind, cluster.gateways, ({ program, toPostgres }) => [
        `${program.name} to PostgreSQL`,
        () => run(toPostgres),
      ]);
    const fromNats = (kind: string, places: Cluster["gateways"] | Cluster["workers"]): MakeFault =>
      this.#of<{ readonly program: Program; readonly toNats: TcpProxy }>(kind, places, ({ program, toNats }) => [
        `${program.name} to NATS`,
        () => parted(toNats, short()),
      ]);
    const killed = (program: Program): Promise<void> => bounce(() => program.kill(), program, away());
    return [
      ...Array.from({ length: 2 }, () => gateway("gateway killed", killed)),
      ...Array.from({ length: 4 }, () => gateway("gateway killed at a point", (one) => this.#atPoint("gateway", one))),
      gateway("gateway away for longer than its lease", (one) => bounce(() => one.kill(), one, long())),
      gateway("gateway stopped for longer than its lease", (one) => stopped(one, long())),
      gateway("gateway stopped", (one) => stopped(one, short())),
      worker("worker killed", killed),
      ...Array.from({ length: 2 }, () => worker("worker killed at a point", (one) => this.#atPoint("worker", one))),
      postgres("PostgreSQL killed", "SIGKILL"),
      postgres("PostgreSQL stopped at once", "SIGQUIT"),
      ...[nats, nats],
      fromPostgres("gateway parted from PostgreSQL", (proxy) => parted(proxy, short())),
      fromPostgres("gateway parted from PostgreSQL for longer than its lease", (proxy) => parted(proxy, long())),
      fromPostgres("answers of PostgreSQL lost", (proxy) => answersLost(proxy, short())),
      fromNats("gateway parted from NATS", cluster.gateways),
      fromNats("worker parted from NATS", cluster.workers),
    ];
  }

  #of<Place>(
    kind: string,
    places: readonly Place[],
    fault: (place: Place) => readonly [target: string, run: () => Promise<void>],
  ): MakeFault {
    return (isFree) => {
      const free = places.map(fault).filter(([target]) => isFree(target));
      if (free.length === 0) return undefined;
      const [target, run] = this.#options.random.pick(free);
      return { kind, target, run };
    };
  }

  async #atPoint(kind: "gateway" | "worker", program: Program): Promise<void> {
    const { random, note } = this.#options;
    if (this.#points[kind].length === 0)
      this.#points[kind].push(...random.shuffled(kind === "gateway" ? gatewayPoints : workerPoints));
    const point = this.#points[kind].pop() ?? "claim.after";
    const nth = /^(checkpoint|anchored)/.test(point) ? 1 : random.between(1, 2); // there is one checkpoint a second
    const reached = await program.killAt(point, nth, pointPatienceMs);
    const named = `${kind} ${reached ? "at" : "before"} ${point}`;
    this.counts.set(named, (this.counts.get(named) ?? 0) + 1);
    note(`${program.name} ended ${reached ? "at" : "before"} ${point}, time ${nth}`);
    await pause(random.between(0, 1_500));
    await program.start();
  }

  /** A gateway says so if its database has lost something, or cannot be reached for long. */
  async #watch(): Promise<void> {
    const { cluster, note, problem } = this.#options;
    while (this.#isWatching) {
      await pause(healthEveryMs);
      for (const gateway of cluster.gateways) {
        const { program } = gateway;
        if (this.#busy.has(program.name) || !program.isReady) continue;
        const answer = await cluster.ask(gateway, "/healthz", { patienceMs: 1_000 }).catch(() => undefined);
        if (answer?.status !== 503 || this.#busy.has(program.name)) continue;
        this.restarts += 1;
        const what = `${program.name} is broken: ${JSON.stringify(answer.body)}`;
        note(what);
        if (!this.#mayBreak.delete(program.name)) problem(`${what}, and its database was there since its last start`);
        this.#hold(program.name, () => bounce(() => program.kill("SIGTERM"), program, 0));
      }
    }
  }
}

async function bounce(end: () => Promise<void>, server: { start(): Promise<void> }, awayMs: number): Promise<void> {
  await end();
  await pause(awayMs);
  await server.start();
}

async function stopped(program: Program, ms: number): Promise<void> {
  program.signal("SIGSTOP");
  await pause(ms);
  program.signal("SIGCONT");
}

/** Nothing passes. What was sent meanwhile arrives afterwards. */
async function parted(proxy: TcpProxy, ms: number): Promise<void> {
  proxy.mode = "hold";
  await pause(ms);
  proxy.mode = "forward";
}

/** Requests arrive and answers do not; then the connections end. */
async function answersLost(proxy: TcpProxy, ms: number): Promise<void> {
  proxy.mode = "drop answers";
  await pause(ms);
  proxy.mode = "forward";
  proxy.cut();
}
