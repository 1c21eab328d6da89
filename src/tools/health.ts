import type { ToolHealth } from "./tool.ts";

/** From so many failures in a row a tool is `degraded`: it still runs, but is not listed as healthy. */
const degradedFrom = 3;
const maxErrorLength = 500;

/** The changing side of one tool's `ToolHealth` (SPEC 4.6). It never becomes `unavailable` by itself. */
export class HealthRecord {
  #status: ToolHealth["status"] = "healthy";
  #consecutiveErrors = 0;
  #lastSuccessAt: number | undefined;
  #lastError: string | undefined;
  #rateLimitResetsAt: number | undefined;

  succeeded(now: number): void {
    this.#status = "healthy";
    this.#consecutiveErrors = 0;
    this.#lastSuccessAt = now;
  }

  failed(error: string, rateLimitResetsAt?: number): void {
    this.#consecutiveErrors += 1;
    this.#lastError = error.slice(0, maxErrorLength);
    if (rateLimitResetsAt !== undefined) this.#rateLimitResetsAt = rateLimitResetsAt;
    if (this.#status === "healthy" && this.#consecutiveErrors >= degradedFrom) this.#status = "degraded";
  }

  update(health: Partial<ToolHealth>): void {
    this.#status = health.status ?? this.#status;
    this.#consecutiveErrors = health.consecutiveErrors ?? this.#consecutiveErrors;
    this.#lastSuccessAt = health.lastSuccessAt ?? this.#lastSuccessAt;
    this.#lastError = health.lastError?.slice(0, maxErrorLength) ?? this.#lastError;
    this.#rateLimitResetsAt = health.rateLimitResetsAt ?? this.#rateLimitResetsAt;
  }

  /** Why a call fails at once now. Undefined: it may run. */
  problem(clock: { now(): number }): string | undefined {
    if (this.#status === "unavailable")
      return this.#lastError === undefined ? "it is unavailable" : `it is unavailable: ${this.#lastError}`;
    if (this.#rateLimitResetsAt === undefined) return undefined;
    if (this.#rateLimitResetsAt > clock.now())
      return `it is rate limited until ${new Date(this.#rateLimitResetsAt).toISOString()}`;
    this.#rateLimitResetsAt = undefined;
    return undefined;
  }

  view(): ToolHealth {
    return Object.freeze({
      status: this.#status,
      consecutiveErrors: this.#consecutiveErrors,
      ...(this.#lastSuccessAt !== undefined && { lastSuccessAt: this.#lastSuccessAt }),
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      ...(this.#rateLimitResetsAt !== undefined && { rateLimitResetsAt: this.#rateLimitResetsAt }),
    });
  }
}
