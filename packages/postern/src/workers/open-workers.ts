/** Opens the gateway's end. It is loaded only if workers are configured. */
import { type Clock, messageOf, RuntimeFault } from "@postern/core";
import type { ArtifactStore } from "../results/artifact-store.ts";
import type { ResolveSecret } from "../secrets/lend.ts";
import type { Registry } from "../tools/registry.ts";
import type { Offer } from "../tools/tool.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { NatsLink } from "./nats.ts";
import type { WorkersOptions } from "./options.ts";
import { Placement } from "./placement.ts";
import { createWorkerKey, loadWorkerKey } from "./worker-key.ts";

export interface OpenWorkersOptions {
  readonly fence: string;
  /** Holds the key; undefined: it ends with the process. */
  readonly folder: string | undefined;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
  readonly answerBytes?: number | undefined;
  readonly log: (problem: string) => void;
  readonly resolve: ResolveSecret;
  readonly note: (
    type: string,
    summary: string,
    more: { readonly outcome: "success" | "failure"; readonly data: { readonly [name: string]: string } },
  ) => Promise<void>;
  /** The tools of this gateway. They must be registered already. */
  readonly registry: Registry;
}

/** @throws RuntimeFault `options_invalid`, `dependency_missing`, `nats_unusable`, `config_invalid` */
export async function openWorkers(given: WorkersOptions, options: OpenWorkersOptions): Promise<Dispatcher> {
  const { registry, clock, log, note, resolve, folder } = options;
  checkNames(given);
  const placement = new Placement(given.groups);
  let placed = placement.place(registry.offers());
  warnOfUnmatched(given, registry.offers(), log);
  const show = (): void => {
    for (const [tool, actions] of Map.groupBy(registry.offers(), ({ tool }) => tool)) showHealth(tool, actions);
  };
  const showHealth = (tool: string, actions: readonly Offer[]): void => {
    const group = placed.get(tool);
    if (group === undefined) return;
    const problem = dispatcher.problemOf(tool, group, actions);
    const { status, lastError } = registry.get(tool)?.health ?? {};
    if (problem !== undefined && (status !== "unavailable" || problem !== lastError))
      registry.updateHealth(tool, { status: "unavailable", lastError: problem });
    if (problem === undefined && status === "unavailable") registry.updateHealth(tool, { status: "healthy" });
  };
  const key = folder === undefined ? createWorkerKey() : await loadWorkerKey(folder);
  const link = await NatsLink.open(given.nats, { clock, resolve, log, name: "postern gateway", background: true });
  const noted: DispatcherOptions["note"] = (type, summary, failed, data) => {
    note(type, summary, { outcome: failed ? "failure" : "success", data }).catch((error: unknown) =>
      log(`${summary}, but the audit log has no record: ${messageOf(error)}`),
    );
  };
  const dispatcher = new Dispatcher({
    ...{ ...given, ...options, link, key, note: noted, changed: show },
    groupOf: (tool) => placed.get(tool),
  });
  await dispatcher.start();
  show();
  registry.follow(({ change, name }) => {
    if (change !== "added") return;
    try {
      placed = placement.place(registry.offers());
    } catch (error) {
      log(`${messageOf(error)} Until then it runs at the gateway.`);
    }
    showHealth(
      name,
      registry.offers().filter(({ tool }) => tool === name),
    );
  });
  return dispatcher;
}

function checkNames({ groups, keys }: WorkersOptions): void {
  for (const [group, { workers }] of Object.entries(groups))
    for (const name of workers)
      if (!Object.hasOwn(keys, name))
        throw new RuntimeFault(
          "options_invalid",
          `The group \`${group}\` of workers names \`${name}\`, and \`workers.keys\` has no key of that name; add what \`postern workers key\` prints on that worker.`,
        );
}

function warnOfUnmatched({ groups }: WorkersOptions, offers: readonly Offer[], log: (problem: string) => void): void {
  for (const [group, { tools = [] }] of Object.entries(groups))
    for (const name of tools)
      if (!name.includes("*") && !offers.some(({ tool }) => tool === name))
        log(`\`workers.groups.${group}.tools\` names \`${name}\`, and there is no tool of that name.`);
}
