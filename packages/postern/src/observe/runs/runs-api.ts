import { join } from "node:path";
import { type Actor, type JsonObject, type Principal, RuntimeFault } from "@postern/core";
import { isElsewhere, isForeign } from "../../call/authority.ts";
import type { Archive } from "./archive.ts";
import type { Redact } from "./bounded.ts";
import { checkDeliverables, writeAbout } from "./documents.ts";
import { folderName } from "./folders.ts";
import { byHandType } from "./projection.ts";
import { eventIn, linesIn, recordIn } from "./reading.ts";
import { checkAbout, checkEnd, checkEventFilter, checkLimit, checkRun, checkRunFilter } from "./run-checks.ts";
import { RunListing } from "./run-listing.ts";
import type { RunLog } from "./run-log.ts";
import type { RunEvent, RunFilter, RunName, RunPage, RunSummary, Runs, ToolRecord } from "./runs.ts";

const defaultLimit = 200;

export interface RunsOptions {
  readonly archive: Archive;
  readonly redact: Redact;
  /** Writes into the audit log. */
  readonly note: (
    type: string,
    summary: string,
    more: Partial<Actor> & { readonly tenant: string; readonly outcome?: "success"; readonly data: JsonObject },
  ) => Promise<void>;
  /** Checks whose run it is when an agent begins one by name. */
  readonly owners: {
    claims(of: { readonly principal: Principal; readonly runId: string }): boolean | Promise<boolean>;
  };
}

/** A change of a run through this API. */
interface ChangeByHand {
  readonly as: "begun" | "described" | "finished";
  /** Missing if an agent does it; then the audit log has no event. */
  readonly by: Actor | undefined;
  readonly principal?: Principal | undefined;
  readonly data?: JsonObject;
}

/** The public API of runs. Reading waits for what was announced before, and for nothing else. */
export class RunsApi implements Runs {
  readonly #archive: Archive;
  readonly #listing: RunListing;
  readonly #options: RunsOptions;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#archive = options.archive;
    this.#listing = new RunListing(options.archive);
  }

  async begin(name: RunName, change: Parameters<Runs["begin"]>[1] = {}): Promise<RunSummary> {
    checkRun(name);
    checkAbout(change);
    const { by, principal, ...about } = change;
    if (principal !== undefined && !(await this.#options.owners.claims({ principal, runId: name.runId }))) {
      throw new RuntimeFault(
        "run_foreign",
        `Run \`${name.runId}\` belongs to another principal; name one of your own.`,
      );
    }
    return this.#change(name, { as: "begun", by, principal }, (run) => {
      run.start(by);
      return writeAbout(run, about, this.#options.redact);
    });
  }

  async describe(name: RunName, change: Parameters<Runs["describe"]>[1]): Promise<RunSummary> {
    checkRun(name);
    checkAbout(change);
    const { by, ...about } = change;
    return this.#change(name, { as: "described", by }, (run) => writeAbout(run, about, this.#options.redact));
  }

  async finish(name: RunName, change: Parameters<Runs["finish"]>[1] = {}): Promise<RunSummary> {
    checkRun(name);
    checkEnd(change);
    const { state = "completed", reason, by } = change;
    const because = reason === undefined ? {} : { reason: this.#options.redact(reason).slice(0, 300).toWellFormed() };
    return this.#change(name, { as: "finished", by, data: { state, ...because } }, async (run) => {
      await checkDeliverables(run);
      const data = { ...because, ...(by !== undefined && { via: by.via }) };
      run.record(`run.${state}`, `The run has ${state}`, {
        severity: state === "failed" ? "error" : "info",
        ...(by !== undefined && { actor: by.by }),
        ...(Object.keys(data).length > 0 && { data }),
      });
      await this.#archive.runs.writeManifest(run);
    });
  }

  async list(where: RunFilter = {}): Promise<readonly RunSummary[]> {
    return (await this.page(where)).runs;
  }

  async page(where: RunFilter = {}): Promise<RunPage> {
    checkRunFilter(where);
    const { tenant, agent, principal: asker, limit = defaultLimit, after } = where;
    await this.#archive.flush();
    const isWanted = ({ tenant: whose, principal }: RunSummary): boolean =>
      !isElsewhere({ tenant: whose }, tenant) &&
      (agent === undefined || agent === principal?.agent) &&
      !isForeign({ agent: "", ...principal, tenant: whose }, asker);
    return this.#listing.page({ isWanted, limit, after });
  }

  async get(run: RunName): Promise<RunSummary | undefined> {
    checkRun(run);
    const { tenant = "default", runId } = run;
    const name = folderName(tenant, runId);
    await this.#archive.flush();
    const summary =
      this.#archive.runs.get(tenant, runId)?.summary(true) ??
      (await this.#listing.stored(name)) ??
      (await this.#archive.openEarlier(tenant, runId))?.summary(true);
    return summary?.tenant === tenant && summary.run_id === runId ? summary : undefined;
  }

  async events(name: RunName, where: Parameters<Runs["events"]>[1] = {}): Promise<readonly RunEvent[] | undefined> {
    checkEventFilter(where);
    const { after = 0, limit = defaultLimit, type } = where;
    if ((await this.get(name)) === undefined) return undefined;
    const isWanted = (event: RunEvent): boolean =>
      event.sequence > after &&
      (type === undefined || event.type === type || (type.endsWith(".") && event.type.startsWith(type)));
    const read = (line: string): RunEvent | undefined => {
      const event = eventIn(line);
      return event !== undefined && isWanted(event) ? event : undefined;
    };
    return linesIn(join(this.#folder(name), "events.jsonl"), read, { limit });
  }

  async calls(name: RunName, limit: number = defaultLimit): Promise<readonly ToolRecord[] | undefined> {
    checkLimit(limit);
    if ((await this.get(name)) === undefined) return undefined;
    return linesIn(join(this.#folder(name), "logs", "tools.jsonl"), recordIn, { limit, which: "last" });
  }

  flush(): Promise<void> {
    return this.#archive.flush();
  }

  /** A person's change is in the audit log before the folder changes. */
  #change(
    { tenant = "default", runId }: RunName,
    { as, by, principal, data = {} }: ChangeByHand,
    change: (run: RunLog) => Promise<void>,
  ): Promise<RunSummary> {
    const { runs } = this.#archive;
    return this.#archive.with(async () => {
      runs.checkName(tenant, runId);
      if (by !== undefined)
        await this.#options.note(`${byHandType}${as}`, `Run ${runId} ${as} by hand`, {
          ...{ by: by.by, via: by.via, tenant, outcome: "success" },
          data: { run_id: runId, ...data },
        });
      const run = await runs.open({ tenant, runId, principal });
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
