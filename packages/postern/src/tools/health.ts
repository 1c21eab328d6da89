import { defined } from "@postern/core";
import type { ToolHealth } from "./tool.ts";

/** From so many failures in a row a tool is `degraded`: it still runs, but is not listed as healthy. */
const degradedFrom = 3;
const maxErrorLength = 500;

/** Keeps the `ToolHealth` of one tool. It never becomes `unavailable` by itself. */
export class HealthRecord {
  #health: ToolHealth = { status: "healthy", consecutiveErrors: 0 };

  succeeded(now: number): void {
    this.#health = { ...this.#health, status: "healthy", consecutiveErrors: 0, lastSuccessAt: now };
  }

  failed(error: string, rateLimitResetsAt?: number): void {
    const { status, consecutiveErrors: before } = this.#health;
    const consecutiveErrors = before + 1;
    const isDegraded = status === "healthy" && consecutiveErrors >= degradedFrom;
    this.update({
      ...{ consecutiveErrors, lastError: error, status: isDegraded ? "degraded" : status },
      ...defined({ rateLimitResetsAt }),
    });
  }

  update(health: Partial<ToolHealth>): void {
    const known = Object.entries(health).filter(([, value]) => value !== undefined && value !== null);
    const next: ToolHealth = { ...this.#health, ...Object.fromEntries(known) };
    this.#health =
      next.lastError === undefined ? next : { ...next, lastError: next.lastError.slice(0, maxErrorLength) };
  }

  /** Why a call fails at once now. Returns undefined when it may run. */
  problem(clock: { now(): number }): string | undefined {
    const { status, lastError, rateLimitResetsAt: until } = this.#health;
    if (status === "unavailable")
      return lastError === undefined ? "it is unavailable" : `it is unavailable: ${lastError}`;
    if (until === undefined) return undefined;
    if (until > clock.now()) return `it is rate limited until ${new Date(until).toISOString()}`;
    const { rateLimitResetsAt: _over, ...rest } = this.#health;
    this.#health = rest;
    return undefined;
  }

  view(): ToolHealth {
    return Object.freeze({ ...this.#health });
  }
}
