import { canonical } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { Definition, TrustedDefinitions } from "./definition.ts";

import type { ServerConfig } from "./server-config.ts";

const mostCharacters = 2_000;

/**
 * What a server tells models about itself. It is pinned like a tool, under the name `NAME.instructions`: text that changed,
 * or came after the first connection, is not shown until an operator approves it.
 */
export class ServerInstructions {
  readonly #server: string;
  readonly #config: ServerConfig;
  readonly #pins: TrustedDefinitions;
  #stated: { readonly text: string; readonly digest: string } | undefined;

  constructor(server: string, config: ServerConfig, pins: TrustedDefinitions) {
    this.#server = server;
    this.#config = config;
    this.#pins = pins;
  }

  /** Called before the tools are listed: after that the server is known, and what it adds is not trusted. */
  async see(stated: string | undefined): Promise<void> {
    this.#stated = undefined;
    const text = shortened(stated ?? "");
    if (text === "") return;
    const { servers } = this.#pins;
    const definition = definitionOf(text);
    const strict = this.#config.pin === "strict" || (await servers.knows(this.#server, this.#config).catch(() => true));
    try {
      await this.#pins.recordSeen({ server: this.#server, tool: this.#name }, definition, strict);
      this.#stated = { text, digest: definition.digest };
    } catch {
      // Nothing can be stored now, and what is not pinned is not shown.
    }
  }

  /** A server that is not started says what it said before. */
  assumePinned(): void {
    const { digest, body } = this.#pins.get(this.#name)?.pinned ?? {};
    const text = body?.["description"];
    if (digest !== undefined && typeof text === "string") this.#stated ??= { text, digest };
  }

  get trusted(): string | undefined {
    const { text, digest } = this.#stated ?? {};
    return this.#pins.get(this.#name)?.pinned?.digest === digest ? text : undefined;
  }

  /** No tool name has a dot. */
  get #name(): string {
    return `${this.#server}.instructions`;
  }
}

/** What a model does not read need not be approved. */
function shortened(text: string): string {
  const whole = text.trim().toWellFormed();
  return whole.length <= mostCharacters ? whole : `${whole.slice(0, mostCharacters).toWellFormed()}\n[Cut here.]`;
}

function definitionOf(text: string): Definition {
  const body = { name: "instructions", description: text };
  return { body, digest: sha256(`mcp-instructions/1\0${canonical(body)}`) };
}
