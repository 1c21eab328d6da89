import { randomBytes } from "node:crypto";
import {
  type Actor,
  agentPermissions,
  defined,
  isPermission,
  isSamePerson,
  type Json,
  type Permission,
  permissions,
  permissionsOf,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { Collection } from "../store/collection.ts";
import { type AccountNote, type AccountNotes, accountFault, mayTouch } from "./account-notes.ts";
import type { Account, ApiToken, NewToken } from "./accounts.ts";
import { agentNameFor, isTaken, mayNameAnyAgent } from "./agent-names.ts";

const idDigits = 16;
const dayMs = 86_400_000;
const longestMs = 366 * dayMs;
const defaultMs = 90 * dayMs;
const usedEveryMs = 60_000;
/** Permissions that no token has: to make other tokens, which would outlive it, and to act as a person's session. */
const neverTokens: ReadonlySet<Permission> = new Set(["tokens:own", "accounts:admin"]);
const namePattern = /^[\p{L}\p{N}][\p{L}\p{N} ._@:/+-]{0,99}$/u;

/** Tokens for programs, stored under the SHA-256 of their text. The beginning of that hash is their public name. */
export class TokenRepository {
  readonly #notes: AccountNotes;
  readonly #tokens: Collection<ApiToken>;
  readonly #uses: Collection<{ readonly at: number }>;

  constructor(notes: AccountNotes) {
    this.#notes = notes;
    this.#tokens = notes.collection("api-token", tokenFrom);
    this.#uses = notes.collection("api-token-use");
  }

  /** @throws RuntimeFault `token_refused` */
  async make(
    given: NewToken,
    owner: Account,
    actor: Actor,
  ): Promise<{ readonly token: ApiToken; readonly text: string }> {
    const may = permissionsOf(owner.roles, owner.tenant);
    const text = `pat_${randomBytes(32).toString("base64url")}`;
    const hash = sha256(text);
    const now = this.#notes.now;
    const { name, kind: what, agent, user } = given;
    const isOwn = isSamePerson(owner.name, user);
    const token: ApiToken = {
      id: `tok_${hash.slice(0, idDigits)}`,
      name: word("name", name),
      kind: what,
      owner: owner.name,
      via: actor.via,
      tenant: owner.tenant,
      scopes: [...new Set((given.scopes ?? []).map((scope) => word("scopes", scope, /^[!-~]{1,256}$/)))].sort(),
      permissions: checkedPermissions(given, may),
      ...(what === "agent" && { agent: checkedAgent(agentNameFor(agent ?? name, owner, may)) }),
      ...(user !== undefined && { user: isOwn ? owner.name : word("user", user) }),
      createdAt: now,
      expiresAt: now + checkedLife(given.ttlMs),
    };
    if (what === "person" && (agent !== undefined || user !== undefined))
      throw refused("`agent` and `user` name who calls with an agent's token; a person's speaks for its owner.");
    if (user !== undefined && !isOwn && !mayNameAnyAgent(may))
      throw refused("`user` is for whom an agent calls; only an admin lets one call for another user.");
    const note = noteOf("created", token, actor);
    const { changed } = await this.#notes.change(this.#tokens, hash, (other) =>
      other === undefined ? { item: token, note } : undefined,
    );
    if (!changed) throw new Error("Two tokens of 256 random bits are the same."); // the machine's randomness is broken
    return { token, text };
  }

  isOver({ expiresAt }: ApiToken): boolean {
    return expiresAt <= this.#notes.now;
  }

  async list(actor: Actor, owner: string | undefined): Promise<readonly ApiToken[]> {
    const found = await Promise.all((await this.#tokens.ids()).map((hash) => this.#tokens.get(hash)));
    const mine = found
      .filter((token) => token !== undefined)
      .filter((token) => mayTouch(actor, token.tenant) && (owner ?? token.owner) === token.owner);
    return Promise.all(mine.map((token) => this.#withUse(token)));
  }

  /** Revokes it from the next request on. @throws RuntimeFault `token_unknown` */
  async revoke(id: string, actor: Actor, owner: string | undefined): Promise<ApiToken> {
    const unknown = accountFault("token_unknown", `There is no token \`${id.slice(0, 100)}\`.`);
    const hash = await this.#hashOf(id);
    if (hash === undefined) throw unknown;
    const { item } = await this.#notes.change(this.#tokens, hash, (token) => {
      const isTheirs = token !== undefined && (owner ?? token.owner) === token.owner;
      if (!isTheirs || !mayTouch(actor, token.tenant)) throw unknown;
      if (token.revokedAt !== undefined) return undefined;
      const revoked: ApiToken = { ...token, revokedAt: this.#notes.now };
      return { item: revoked, note: noteOf("revoked", revoked, actor) };
    });
    if (item === undefined) throw unknown;
    return item;
  }

  /** Reads the store each time, as `find` does. */
  async isRevoked(via: string): Promise<boolean> {
    const hash = await this.#hashOf(via.replace(/^token:/, ""));
    return hash !== undefined && (await this.#tokens.get(hash))?.revokedAt !== undefined;
  }

  /** Returns undefined if it is wrong, expired or revoked. Reads the store each time, so that a revocation counts at once. */
  async find(text: string): Promise<ApiToken | undefined> {
    const token = await this.#tokens.get(sha256(text));
    return token !== undefined && token.revokedAt === undefined && !this.isOver(token) ? token : undefined;
  }

  /** Records the last use, to the minute. A lost write has no other effect. */
  async used({ id }: ApiToken): Promise<void> {
    const now = this.#notes.now;
    const last = await this.#uses.get(id);
    if (last !== undefined && now - last.at < usedEveryMs) return;
    await this.#uses.change(id, () => ({ item: { at: now } }));
  }

  async #withUse(token: ApiToken): Promise<ApiToken> {
    const last = await this.#uses.get(token.id);
    return last === undefined ? token : { ...token, lastUsedAt: last.at };
  }

  /** Returns undefined if no token, or more than one, has this public name. */
  async #hashOf(id: string): Promise<string | undefined> {
    const hashes = /^tok_[0-9a-f]{16}$/.test(id) ? await this.#tokens.ids(id.slice(4)) : [];
    return hashes.length === 1 ? hashes[0] : undefined;
  }
}

/** Only Postern writes this kind. Its first version had no credential. */
function tokenFrom(body: Json): ApiToken {
  const token = body as unknown as Omit<ApiToken, "via"> & { readonly via?: string };
  return { ...token, via: token.via ?? "token:unknown" };
}

function checkedPermissions(
  { kind: what, permissions: asked }: NewToken,
  may: ReadonlySet<Permission>,
): readonly Permission[] {
  const most = permissions.filter(
    (one) => may.has(one) && !neverTokens.has(one) && (what === "person" || agentPermissions.has(one)),
  );
  if (asked === undefined) return most;
  const odd = asked.find((one) => !isPermission(one) || !most.includes(one));
  if (odd === undefined) return most.filter((one) => asked.includes(one));
  const why = isPermission(odd) ? "is not yours to give to this token" : "is no permission";
  throw refused(`\`${String(odd).slice(0, 100)}\` ${why}; it may have ${most.join(", ") || "none"}.`);
}

function checkedAgent(agent: string): string {
  if (isTaken(agent))
    throw refused(`\`${agent}\` is Postern's own name for who calls without a token; choose another.`);
  return word("agent", agent);
}

function checkedLife(ttlMs = defaultMs): number {
  if (Number.isSafeInteger(ttlMs) && ttlMs >= 1_000 && ttlMs <= longestMs) return ttlMs;
  throw refused("A token lives from 1 second to 366 days; 90 days by default.");
}

function word(field: string, given: string, pattern: RegExp = namePattern): string {
  if (pattern.test(given)) return given;
  throw refused(`\`${field}\` is \`${given.slice(0, 100)}\`; it must be 1 to 100 letters, digits and . _ @ : / + -.`);
}

function refused(message: string): Error {
  return accountFault("token_refused", message);
}

function noteOf(became: "created" | "revoked", token: ApiToken, actor: Actor): AccountNote {
  const { id, name, kind: what, owner, agent, tenant, permissions: may, expiresAt } = token;
  const data = {
    token: id,
    name,
    kind: what,
    owner,
    ...defined({ agent }),
    permissions: [...may],
    expires_at: new Date(expiresAt).toISOString(),
  };
  const event = { act: `token_${became}`, summary: `token ${id} ${became}` };
  return { ...event, by: actor.by, via: actor.via, tenant, data };
}
