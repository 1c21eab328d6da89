import { type Actor, type Permission, permissionsOf } from "@postern/core";
import type { AccountNotes } from "./account-notes.ts";
import type { Account, ApiToken, ListedToken } from "./accounts.ts";
import { isOwnAgent, mayNameAnyAgent } from "./agent-names.ts";
import type { TokenRepository } from "./token-repository.ts";

/**
 * What a token may do, by its maker. A name is an authority: grants, runs, approvals and rules go by `tenant, agent,
 * user`.
 * Invariant: only an admin makes a token for an agent or a user that is not their own, and no token has more than its
 * maker has now.
 */

type MakerState = { readonly permissions: ReadonlySet<Permission> } | { readonly dead: string };

/** What a token may do, given its maker now. @param maker undefined: the maker existed only until there were accounts */
function makerStateOf(token: ApiToken, maker: Account | undefined): MakerState {
  const { owner, agent, user } = token;
  if (maker === undefined)
    return { dead: `\`${owner}\` made it in a session by the folder's link, which ended with the first account` };
  if (maker.disabled) return { dead: `\`${owner}\`, who made it, is disabled` };
  const may = permissionsOf(maker.roles, maker.tenant);
  if (!mayNameAnyAgent(may) && agent !== undefined && !isOwnAgent(agent, maker))
    return { dead: `\`${owner}\`, who made it, is no longer an admin, and it calls as the agent \`${agent}\`` };
  if (!mayNameAnyAgent(may) && user !== undefined && user !== owner)
    return { dead: `\`${owner}\`, who made it, is no longer an admin, and it calls for \`${user}\`` };
  return { permissions: new Set(token.permissions.filter((one) => may.has(one))) };
}

interface TokenServiceOptions {
  readonly notes: AccountNotes;
  readonly tokens: TokenRepository;
  /** The maker of a token now. Undefined: the maker existed only until there were accounts. */
  readonly maker: (token: ApiToken) => Promise<Account | undefined>;
}

const noteEveryMs = 60_000;

/** Checks tokens against their makers, at each use and in lists. */
export class TokenService {
  readonly #options: TokenServiceOptions;
  /** When the use of each dead token was last logged. */
  readonly #notedAt = new Map<string, number>();

  constructor(options: TokenServiceOptions) {
    this.#options = options;
  }

  async find(
    text: string,
  ): Promise<
    { readonly token: ApiToken; readonly maker: Account; readonly permissions: ReadonlySet<Permission> } | undefined
  > {
    const token = await this.#options.tokens.find(text);
    if (token === undefined) return undefined;
    const maker = await this.#options.maker(token);
    const state = makerStateOf(token, maker);
    if (maker === undefined || "dead" in state) {
      await this.#noteUse(token, state);
      return undefined;
    }
    await this.#options.tokens.used(token);
    return { token, maker, permissions: state.permissions };
  }

  async list(actor: Actor, owner: string | undefined): Promise<readonly ListedToken[]> {
    const tokens = await this.#options.tokens.list(actor, owner);
    return Promise.all(tokens.map((token) => this.#listed(token)));
  }

  /** The tokens that end with their owner. */
  async endingWith({ name, tenant }: Account, actor: Actor): Promise<readonly string[]> {
    const tokens = await this.list({ ...actor, tenant }, name);
    return tokens.flatMap(({ id, state }) => (state === "live" ? [id] : []));
  }

  async #listed(token: ApiToken): Promise<ListedToken> {
    const state = makerStateOf(token, await this.#options.maker(token));
    const isRevoked = token.revokedAt !== undefined;
    const isOver = isRevoked || this.#options.tokens.isOver(token);
    if (!isOver && "dead" in state) return { ...token, state: "dead", why: state.dead, lost: token.permissions };
    const lost = "dead" in state ? [] : token.permissions.filter((one) => !state.permissions.has(one));
    return { ...token, state: isRevoked ? "revoked" : isOver ? "over" : "live", lost };
  }

  /** Logs the use of a dead token, once a minute. */
  async #noteUse({ id, owner, tenant }: ApiToken, state: MakerState): Promise<void> {
    if (!("dead" in state)) return;
    const { notes } = this.#options;
    if (notes.now - (this.#notedAt.get(id) ?? Number.NEGATIVE_INFINITY) < noteEveryMs) return;
    this.#notedAt.set(id, notes.now);
    await notes.note({
      act: "token_refused",
      summary: `token ${id} refused`,
      by: owner,
      via: `token:${id}`,
      tenant,
      outcome: "failure",
      data: { token: id, why: state.dead },
    });
  }
}
