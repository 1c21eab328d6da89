import { type JsonObject, type ProgressCount, RuntimeFault, referenceKey } from "@postern/core";
import { readOnlyContext } from "../pipeline/read-only-context.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { LazySignal } from "../tools/run-foreign.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { RemoteArtifacts } from "./remote-artifacts.ts";
import type { WorkerProgress, WorkOrder } from "./workers.ts";

/** What a tool may use on a worker: all but calls of its own and the end of a session. */
export function workerContext(
  order: WorkOrder,
  run: LazySignal,
  {
    secrets,
    artifacts,
    report,
  }: {
    readonly secrets: SecretStore;
    readonly artifacts: RemoteArtifacts;
    readonly report: (what: Pick<WorkerProgress, "progress" | "emitted">) => void;
  },
): ToolContext {
  const { call, key, approvalId, inlineBytes, deadline } = order;
  const { tool } = call;
  return Object.assign(readOnlyContext(call, key, run), {
    ...{ secrets, approvalId, frozen: undefined },
    artifacts: {
      inlineBytes,
      open: (
        artifact: string | { readonly [referenceKey]: string },
        range?: Parameters<RemoteArtifacts["openStream"]>[1],
      ) => artifacts.openStream(typeof artifact === "string" ? artifact : artifact[referenceKey], range),
    },
    progress(content: string, fraction?: number, count?: ProgressCount): void {
      if (run.over) return;
      const done = Number.isFinite(fraction) ? { fraction: Number(fraction) } : {};
      report({ progress: { content: String(content), ...done, ...(count !== undefined && { count: { ...count } }) } });
    },
    emit(type: string, summary: string, data?: JsonObject): void {
      if (!run.over) report({ emitted: { type, summary, ...(data !== undefined && { data }) } });
    },
    check(): void {
      run.check();
      if (run.over || deadline <= Date.now()) throw new RuntimeFault("deadline_passed", "The call is over.");
    },
    afterSession(): void {
      throw cannot(tool, "follows the end of a session");
    },
    async call(): Promise<never> {
      throw cannot(tool, "makes calls of its own");
    },
  });
}

function cannot(tool: string, what: string): RuntimeFault {
  return new RuntimeFault(
    "options_invalid",
    `\`${tool}\` ${what}, which a worker cannot do; let it run at the gateway: leave it out of \`workers.groups\` there.`,
  );
}
