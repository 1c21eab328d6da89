/**
 * The port of the formats: how a file of a client is parsed, edited and shown. An edit adds or removes one server; every
 * other byte stays. Next: client-edit.ts (which edits are accepted), json-format.ts, toml-format.ts.
 */

import { type ClientEdit, RuntimeFault } from "@postern/core";

/** The parts of an edit that say where it is. */
export type EditPlace = Pick<ClientEdit, "servers" | "name" | "input">;

export interface FileFormat {
  /** @throws ClientSyntaxProblem, which says the place and never quotes the text */
  parse(text: string): unknown;
  added(text: string, edit: ClientEdit): string;
  removed(text: string, place: EditPlace): string;
  /** For people: every value outside of this server is left out, because it may be a secret. */
  masked(text: string, place: EditPlace): string;
}

/** A mistake in the syntax of a file. */
export class ClientSyntaxProblem extends Error {
  override readonly name = "ClientSyntaxProblem";
}

export function refused(path: string, why: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault("request_invalid", `\`${path}\` ${why}. Nothing was written.`, { cause });
}
