import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Actor } from "../calls/actor.ts";
import { isJsonObject, sha256 } from "../calls/json.ts";
import type { AccountNotes } from "./account-notes.ts";
import type { Account } from "./accounts.ts";

const kind = "sign-in-link";
export const linkLifeMs: number = 10 * 60_000;

/** Links that sign in once. One a person: a new one ends the one before. What is kept is a hash. */
export class LinkBook {
  readonly #notes: AccountNotes;

  constructor(notes: AccountNotes) {
    this.#notes = notes;
  }

  /** @param epoch of the account: whatever ends its sessions ends its link, too */
  make(account: Account, epoch: number, actor: Actor): Promise<{ readonly token: string; readonly expiresAt: number }> {
    const { name, tenant } = account;
    return this.#notes.untilWon(async () => {
      const secret = randomBytes(32).toString("base64url");
      const expiresAt = this.#notes.now + linkLifeMs;
      const version = (await this.#notes.get(kind, name))?.version ?? 0;
      const note = { act: "link_made", summary: `sign-in link for ${name} made`, tenant, data: { account: name } };
      const body = { hash: sha256(secret), expiresAt, epoch };
      const won = await this.#notes.put(
        { kind, id: name },
        { body, version },
        { ...note, by: actor.by, via: actor.via },
      );
      return won ? { token: `${Buffer.from(name).toString("base64url")}.${secret}`, expiresAt } : undefined;
    });
  }

  /** Whose link it was. It is used up by being asked for; a second one at the same moment gets nothing. */
  async take(token: string): Promise<{ readonly name: string; readonly epoch: number } | undefined> {
    const [coded = "", secret = ""] = token.split(".");
    const name = Buffer.from(coded, "base64url").toString();
    const found = name === "" ? undefined : await this.#notes.get(kind, name);
    if (found === undefined || !isJsonObject(found.body)) return undefined;
    const { hash, expiresAt, epoch } = found.body;
    if (typeof hash !== "string" || typeof expiresAt !== "number" || typeof epoch !== "number") return undefined;
    if (expiresAt <= this.#notes.now) return undefined;
    if (!timingSafeEqual(Buffer.from(sha256(secret)), Buffer.from(hash))) return undefined;
    const won = await this.#notes.put({ kind, id: name }, { body: { used: true }, version: found.version }, undefined);
    return won ? { name, epoch } : undefined;
  }
}
