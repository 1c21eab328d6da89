import { randomBytes, timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Actor, isJsonObject, type Json } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { Collection } from "../store/collection.ts";
import type { AccountNotes } from "./account-notes.ts";
import type { Account } from "./accounts.ts";

interface Link {
  readonly hash: string;
  readonly expiresAt: number;
  readonly epoch: number;
}

export const linkLifeMs: number = 10 * 60_000;

/** Links that sign in once. A person has one: a new link ends the earlier one. Only a hash is stored. */
export class LinkRepository {
  readonly #notes: AccountNotes;
  readonly #links: Collection<Link | "used">;

  constructor(notes: AccountNotes) {
    this.#notes = notes;
    this.#links = notes.collection("sign-in-link", linkFrom);
  }

  /** @param epoch of the account: what ends its sessions ends its link too */
  async make(
    account: Account,
    epoch: number,
    actor: Actor,
  ): Promise<{ readonly token: string; readonly expiresAt: number }> {
    const { name, tenant } = account;
    const secret = randomBytes(32).toString("base64url");
    const expiresAt = this.#notes.now + linkLifeMs;
    const event = { act: "link_made", summary: `sign-in link for ${name} made`, tenant, data: { account: name } };
    const item = { hash: sha256(secret), expiresAt, epoch };
    const note = { ...event, by: actor.by, via: actor.via };
    await this.#notes.change(this.#links, name, () => ({ item, note }));
    return { token: `${Buffer.from(name).toString("base64url")}.${secret}`, expiresAt };
  }

  /** Returns the owner of the link and uses the link up. A second request at the same time gets undefined. */
  async take(token: string): Promise<{ readonly name: string; readonly epoch: number } | undefined> {
    const [coded = "", secret = ""] = token.split(".");
    const name = Buffer.from(coded, "base64url").toString();
    if (name === "") return undefined;
    const link = await this.#links.get(name);
    if (link === undefined || !this.#opens(link, secret)) return undefined;
    const { changed } = await this.#links.change(name, (now) =>
      isDeepStrictEqual(now, link) ? { item: "used" } : undefined,
    );
    return changed ? { name, epoch: link.epoch } : undefined;
  }

  #opens(link: Link | "used", secret: string): link is Link {
    if (link === "used" || link.expiresAt <= this.#notes.now) return false;
    return timingSafeEqual(Buffer.from(sha256(secret)), Buffer.from(link.hash));
  }
}

function linkFrom(body: Json): Link | "used" {
  if (!isJsonObject(body)) return "used";
  const { hash, expiresAt, epoch } = body;
  if (typeof hash !== "string" || typeof expiresAt !== "number" || typeof epoch !== "number") return "used";
  return { hash, expiresAt, epoch };
}
