import type { AccountWire, ListedTokenWire, TokenWire } from "../wire-accounts.ts";
import type { AccountFields, NewAccountFields, NewTokenFields } from "./account-schemas.ts";
import type { Line } from "./client-line.ts";

/** People and tokens, from the other end. Throws as PosternClient does. */
export class AccountsClient {
  readonly #line: Line;

  constructor(line: Line) {
    this.#line = line;
  }

  async list(): Promise<readonly AccountWire[]> {
    return (await this.#line.get<{ readonly accounts: readonly AccountWire[] }>("/v1/accounts")).accounts;
  }
  add(account: NewAccountFields): Promise<AccountWire> {
    return this.#line.post("/v1/accounts", account);
  }
  change(name: string, change: AccountFields): Promise<AccountWire> {
    return this.#line.patch(pathOf(name), change);
  }
  setPassword(name: string, password: string): Promise<AccountWire> {
    return this.#line.put(`${pathOf(name)}/password`, { password });
  }
  signOut(name: string): Promise<AccountWire> {
    return this.#line.post(`${pathOf(name)}/sign-out`, {});
  }
  link(name: string): Promise<{ readonly url: string; readonly token: string; readonly expires_at: string }> {
    return this.#line.post(`${pathOf(name)}/link`, {});
  }

  async tokens(): Promise<readonly ListedTokenWire[]> {
    return (await this.#line.get<{ readonly tokens: readonly ListedTokenWire[] }>("/v1/tokens")).tokens;
  }
  makeToken(token: NewTokenFields): Promise<{ readonly token: string; readonly details: TokenWire }> {
    return this.#line.post("/v1/tokens", token);
  }
  revokeToken(id: string): Promise<TokenWire> {
    return this.#line.remove(`/v1/tokens/${encodeURIComponent(id)}`);
  }
}

function pathOf(name: string): string {
  return `/v1/accounts/${encodeURIComponent(name)}`;
}
