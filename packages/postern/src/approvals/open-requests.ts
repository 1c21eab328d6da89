import type { ApprovalRecord } from "@postern/core";

type Request = Pick<ApprovalRecord, "id" | "principal">;

/** The open requests of each agent, so that one agent cannot fill the store or the list of those who decide. */
export class OpenRequests {
  readonly mostPerAgent: number;
  readonly #ids = new Map<string, Set<string>>();

  constructor(mostPerAgent: number) {
    this.mostPerAgent = mostPerAgent;
  }

  /** Returns false if its agent has too many. Synchronous, so two calls cannot both take the last place. */
  takePlace(request: Request): boolean {
    if ((this.#ids.get(agentOf(request))?.size ?? 0) >= this.mostPerAgent) return false;
    this.add(request);
    return true;
  }

  /** A request that is in the store already. */
  add(request: Request): void {
    const agent = agentOf(request);
    this.#ids.set(agent, (this.#ids.get(agent) ?? new Set<string>()).add(request.id));
  }

  remove(request: Request): void {
    const agent = agentOf(request);
    const ids = this.#ids.get(agent);
    ids?.delete(request.id);
    if (ids?.size === 0) this.#ids.delete(agent);
  }
}

function agentOf({ principal: { tenant, agent } }: Request): string {
  return JSON.stringify([tenant, agent]);
}
