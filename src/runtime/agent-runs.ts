import type { AgentRunId, AgentRuns } from "../core/agent-runs.ts";
import type { Json } from "../core/json.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import type { Store } from "../store/store.ts";

const kind = "agent_run";

/** Agent runs as documents of the store. */
export function storedAgentRuns(store: Pick<Store, "commit" | "documents">, redactor: Redactor): AgentRuns {
  return {
    async load(run) {
      const found = await store.documents.get(kind, idOf(run));
      return found && { version: found.version, state: found.body };
    },
    async save(run, state, expectedVersion) {
      const body: Json = redactJson(state, redactor);
      const write = { write: "document", kind, id: idOf(run), body, expectedVersion } as const;
      return (await store.commit(write, "synced")).won;
    },
    async list(principal) {
      const start = startOf(principal);
      const ids = await store.documents.list(kind, start);
      return ids.map((id) => JSON.parse(id.slice(start.length)) as string); // `idOf` writes it so
    },
  };
}

/** JSON, so that two names never give one id. */
function idOf({ principal, runId }: AgentRunId): string {
  return `${startOf(principal)}${JSON.stringify(runId)}`;
}

function startOf({ tenant, agent, user }: AgentRunId["principal"]): string {
  return `${JSON.stringify([tenant, agent, user ?? null])} `;
}
