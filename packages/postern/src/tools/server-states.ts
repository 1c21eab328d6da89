/** Which servers can be called, for the tools of the registry. */
export class ServerStates {
  /** Why each is not connected, if that is known. */
  readonly #down = new Map<string, string | undefined>();
  readonly #arriving = new Map<string, Promise<void>>();
  /** How servers are started that no call needed for a time. */
  readonly #idle = new Map<string, () => Promise<void>>();

  /** Returns whether something changes for a caller. */
  set(name: string, state: "up" | "down", problem: string | undefined, attempt: Promise<void> | undefined): boolean {
    this.#idle.delete(name);
    if (state === "up" && !this.#down.delete(name)) return false; // it was idle
    if (state === "down") this.#down.set(name, problem);
    if (attempt !== undefined)
      this.#arriving.set(
        name,
        attempt.finally(() => this.#arriving.delete(name)),
      );
    return true;
  }

  setIdle(name: string, start: () => Promise<void>): void {
    this.#idle.set(name, start);
  }

  /** Undefined if it can be called. */
  problemOf(name: string): string | undefined {
    return this.#down.has(name) ? (this.#down.get(name) ?? "its server is not connected") : undefined;
  }

  /** As a part of a sentence. Undefined if it can be called. */
  whyAway(name: string): string | undefined {
    if (!this.#down.has(name)) return undefined;
    const problem = this.#down.get(name);
    return `the server \`${name}\` is not connected${problem === undefined ? "" : `: ${problem}`}`;
  }

  /** Of a tool that is not registered: whether its server has not listed its tools yet. */
  whyNotListed(tool: string, hasTools: (server: string) => boolean): string | undefined {
    for (const server of this.#down.keys())
      if (isNameOf(server, tool) && !hasTools(server)) return this.whyAway(server);
    return undefined;
  }

  /** The first attempt to connect the server of this tool. */
  arriving(tool: string, own: string | undefined): Promise<void> | undefined {
    if (this.#arriving.size === 0) return undefined;
    for (const [server, attempt] of this.#arriving)
      if (own === server || (own === undefined && isNameOf(server, tool))) return attempt;
    return undefined;
  }

  /** Starts it if it is idle. */
  start(server: string | undefined): Promise<void> | undefined {
    return server === undefined ? undefined : this.#idle.get(server)?.();
  }
}

/** A name at `/mcp/<server>` comes as `server/name`. */
function isNameOf(server: string, tool: string): boolean {
  return tool.startsWith(`${server}__`) || tool.startsWith(`${server}/`);
}
