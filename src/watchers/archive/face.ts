import { join } from "node:path";
import type { AuditLog } from "../../audit/log.ts";
import type { Principal } from "../../calls/call.ts";
import { RuntimeFault } from "../../calls/fault.ts";
import type { Archive } from "./archive.ts";
import type { Redact } from "./bounded.ts";
import { folderName } from "./folders.ts";
import { eventIn, recordIn } from "./kept.ts";
import { checkDeliverables, writeAbout } from "./papers.ts";
import { lastLines, linesAfter } from "./reader.ts";
import { RunListing } from "./run-listing.ts";
import type { RunLog } from "./run-log.ts";
import type { RunAbout, RunEvent, RunName, RunSummary, Runs, RunVerification, ToolRecord } from "./runs.ts";
import { tarOf } from "./tar.ts";
import { sizesIn, verifyRun } from "./verify.ts";

const defaultLimit = 200;

export interface RunsOptions {
  readonly archive: Archive;
  readonly audit: Pick<AuditLog, "query" | "size">;
  readonly redact: Redact;
  /** Whose run it is, for whoever begins one by name. */
  readonly owners: {
    claims(of: { readonly principal: Principal; readonly runId: string }): boolean | Promise<boolean>;
  };
}

/** The archive as the public face has it. Reading waits for what was announced before, and for nothing else. */
export class RunsFace implements Runs {
  readonly #archive: Archive;
  readonly #listing: RunListing;
  readonly #options: RunsOptions;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#archive = options.archive;
    this.#listing = new RunListing(options.archive);
  }

  async begin(name: RunName, about: RunAbout & { readonly principal?: Principal } = {}): Promise<RunSummary> {
    const { principal } = about;
    if (principal !== undefined && !(await this.#options.owners.claims({ principal, runId: name.runId }))) {
      throw new RuntimeFault(
        "run_foreign",
        `Run \`${name.runId}\` belongs to another principal; name one of your own.`,
      );
    }
    return this.#change(name, about.principal, async (run) => {
      run.start();
      await writeAbout(run, about, this.#options.redact);
    });
  }

  describe(name: RunName, about: RunAbout): Promise<RunSummary> {
    return this.#change(name, undefined, (run) => writeAbout(run, about, this.#options.redact));
  }

  finish(
    name: RunName,
    { state = "completed", reason }: { readonly state?: "completed" | "failed"; readonly reason?: string } = {},
  ): Promise<RunSummary> {
    return this.#change(name, undefined, async (run) => {
      await checkDeliverables(run);
      const said = reason === undefined ? undefined : this.#options.redact(reason).slice(0, 300).toWellFormed();
      run.say(`run.${state}`, `The run has ${state}`, {
        severity: state === "failed" ? "error" : "info",
        ...(said !== undefined && { data: { reason: said } }),
      });
      await this.#archive.runs.seal(run);
    });
  }

  async list({
    tenant,
    agent,
    limit = defaultLimit,
  }: {
    readonly tenant?: string;
    readonly agent?: string;
    readonly limit?: number;
  } = {}): Promise<readonly RunSummary[]> {
    await this.#archive.flush();
    const isWanted = ({ tenant: whose, principal }: RunSummary): boolean =>
      (tenant ?? whose) === whose && (agent === undefined || agent === principal?.agent);
    return this.#listing.latest(isWanted, limit);
  }

  async get({ tenant = "default", runId }: RunName): Promise<RunSummary | undefined> {
    const name = folderName(tenant, runId);
    await this.#archive.flush();
    const summary = this.#archive.runs.get(tenant, runId)?.summary(true) ?? (await this.#listing.kept(name));
    return summary?.tenant === tenant && summary.run_id === runId ? summary : undefined;
  }

  async events(
    name: RunName,
    {
      after = 0,
      limit = defaultLimit,
      type,
    }: { readonly after?: number; readonly limit?: number; readonly type?: string } = {},
  ): Promise<readonly RunEvent[] | undefined> {
    if ((await this.get(name)) === undefined) return undefined;
    const isWanted = (event: RunEvent): boolean =>
      event.sequence > after &&
      (type === undefined || event.type === type || (type.endsWith(".") && event.type.startsWith(type)));
    return linesAfter(join(this.#folder(name), "events.jsonl"), limit, eventIn, isWanted);
  }

  async calls(name: RunName, limit: number = defaultLimit): Promise<readonly ToolRecord[] | undefined> {
    if ((await this.get(name)) === undefined) return undefined;
    return lastLines(join(this.#folder(name), "logs", "tools.jsonl"), limit, recordIn);
  }

  async verify(name: RunName): Promise<RunVerification | undefined> {
    const { tenant = "default", runId } = name;
    if ((await this.get(name)) === undefined) return undefined;
    const now = await this.#archive.with(async () => {
      const run = this.#archive.runs.get(tenant, runId);
      const { position } = this.#archive;
      const sizes = await sizesIn(this.#folder(name)); // nobody writes now, so these belong together
      return { sizes, isLive: run !== undefined, isUnsealed: run?.isUnsealed ?? false, upTo: position.upTo };
    });
    return verifyRun({
      ...{ folder: this.#folder(name), tenant, runId, audit: this.#options.audit },
      covers: (seq) => seq < now.upTo && this.#archive.position.covers(seq),
      leftOut: this.#archive.position.leftOut,
      sizes: now.sizes,
      isLive: now.isLive,
      isUnsealed: now.isUnsealed,
    });
  }

  async export(name: RunName): Promise<AsyncIterable<Uint8Array> | undefined> {
    await this.#archive.with(() => this.#archive.runs.save());
    return (await this.get(name)) === undefined ? undefined : tarOf(this.#folder(name), name.runId);
  }

  flush(): Promise<void> {
    return this.#archive.flush();
  }

  #change(
    { tenant = "default", runId }: RunName,
    principal: Principal | undefined,
    change: (run: RunLog) => Promise<void>,
  ): Promise<RunSummary> {
    return this.#archive.with(async () => {
      const run = await this.#archive.runs.open(tenant, runId, principal);
      await change(run);
      await run.flush();
      await run.save(true);
      return run.summary(true);
    });
  }

  #folder({ tenant = "default", runId }: RunName): string {
    return join(this.#archive.folder, folderName(tenant, runId));
  }
}
