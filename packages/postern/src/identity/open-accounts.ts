import { type Actor, builtInName, defined, normalizedName, permissionsOf } from "@postern/core";
import { AccountNotes, type AccountNotesOptions, accountFault, mayTouch } from "./account-notes.ts";
import { type AccountRecord, AccountRepository, accountOf, checkedName } from "./account-repository.ts";
import type {
  Account,
  AccountChange,
  Accounts,
  ApiToken,
  Attempt,
  FoundSession,
  FoundToken,
  ListedToken,
  NewAccount,
  NewToken,
  OpenIdPerson,
  SignIn,
} from "./accounts.ts";
import {
  checkAccount,
  checkActor,
  checkAttempt,
  checkChange,
  checkNew,
  checkPasswords,
  checkProviderAnswer,
  checkTexts,
  checkToken,
} from "./checks.ts";
import { Endings } from "./endings.ts";
import { LinkRepository } from "./link-repository.ts";
import { checkPassword, type PasswordCost, Passwords } from "./password.ts";
import { type SessionLimits, SessionRepository } from "./session-repository.ts";
import { SigningIn } from "./sign-in.ts";
import { TokenRepository } from "./token-repository.ts";
import { TokenService } from "./token-service.ts";
import { Tries } from "./tries.ts";

export interface AccountsOptions extends AccountNotesOptions {
  readonly sessions?: SessionLimits | undefined;
  /** The cost of one password check. Default: about 0.2 s. */
  readonly passwordCost?: PasswordCost | undefined;
}

export async function openAccounts(options: AccountsOptions): Promise<Accounts> {
  const notes = new AccountNotes(options);
  return new StoredAccounts(notes, await AccountRepository.open(notes), options);
}

/** The holder of the data folder, who signs in by link while there are no accounts. */
const builtIn: AccountRecord = {
  id: "usr_operator",
  name: builtInName,
  displayName: "Operator",
  tenant: "default",
  roles: ["approver", "operator", "auditor", "admin"],
  groups: [],
  disabled: false,
  signsIn: "link",
  createdAt: 0,
  epoch: 1,
};

class StoredAccounts implements Accounts {
  readonly #repository: AccountRepository;
  readonly #sessions: SessionRepository;
  readonly #links: LinkRepository;
  readonly #tokens: TokenRepository;
  readonly #tokenService: TokenService;
  readonly #passwords: Passwords;
  readonly #signingIn: SigningIn;
  readonly #endings: Endings;

  constructor(notes: AccountNotes, repository: AccountRepository, options: AccountsOptions) {
    const { clock, sessions, passwordCost } = options;
    this.#repository = repository;
    this.#sessions = new SessionRepository(notes, sessions);
    this.#links = new LinkRepository(notes);
    this.#tokens = new TokenRepository(notes);
    this.#tokenService = new TokenService({ notes, tokens: this.#tokens, maker: (token) => this.#maker(token) });
    this.#passwords = new Passwords(passwordCost);
    this.#endings = new Endings(clock);
    this.#signingIn = new SigningIn({
      ...{ notes, accounts: repository, tries: new Tries(clock) },
      sessions: this.#sessions,
      links: this.#links,
      passwords: this.#passwords,
      change: (name, change, actor) => this.change(name, change, actor),
      add: (given, how, actor) => this.#add(given, how, actor),
      record: (name) => this.#record(name),
    });
  }

  get exist(): boolean {
    return this.#repository.exist;
  }

  async list(actor: Actor): Promise<readonly Account[]> {
    checkActor(actor);
    return this.#repository.list(actor);
  }

  async get(name: string, actor: Actor): Promise<Account> {
    checkNamed(name, actor);
    return this.#repository.get(name, actor);
  }

  async add(given: NewAccount, actor: Actor): Promise<Account> {
    checkActor(actor);
    checkNew(given);
    const { password } = given;
    if (password !== undefined) checkPassword(password, checkedName(given.name)); // before the expensive hash
    const hash = password === undefined ? undefined : await this.#passwords.make(password);
    return this.#add(given, hash === undefined ? {} : { password: hash }, actor);
  }

  async #add(...given: Parameters<AccountRepository["add"]>): Promise<Account> {
    const account = await this.#repository.add(...given);
    this.#endings.end(`account:${builtInName}`); // sessions by the folder's link end with the first account
    return account;
  }

  async change(name: string, change: AccountChange, actor: Actor): Promise<Account> {
    checkNamed(name, actor);
    checkChange(change);
    const ending =
      change.disabled === true
        ? await this.#tokenService.endingWith(await this.#repository.get(name, actor), actor)
        : [];
    return this.#ended(await this.#repository.change(name, { ...change, ending }, actor));
  }

  async setPassword(name: string, password: string, actor: Actor): Promise<Account> {
    checkNamed(name, actor);
    checkTexts({ password });
    await this.#repository.get(name, actor); // refused before the work when it is another tenant's
    checkPassword(password, name);
    return this.#ended(await this.#repository.setPassword(name, await this.#passwords.make(password), actor));
  }

  async endSessions(name: string, actor: Actor): Promise<Account> {
    checkNamed(name, actor);
    return this.#ended(await this.#repository.endSessions(name, actor));
  }

  async makeLink(name: string, actor: Actor): Promise<{ readonly token: string; readonly expiresAt: number }> {
    checkNamed(name, actor);
    if (normalizedName(name) === builtInName && mayTouch(actor, builtIn.tenant)) {
      if (!this.exist) return this.#links.make(builtIn, builtIn.epoch, actor);
      const message = "There are accounts now, so a link needs a name: `postern accounts link NAME`.";
      throw accountFault("account_unknown", message);
    }
    const account = await this.#repository.get(name, actor);
    const epoch = (await this.#repository.record(account.name))?.epoch ?? 0;
    if (account.disabled)
      throw accountFault("request_invalid", `\`${account.name}\` is disabled; enable it before it gets a link.`);
    return this.#links.make(account, epoch, actor);
  }

  async signIn(name: string, password: string, from: Attempt): Promise<SignIn> {
    checkTexts({ name, password });
    checkAttempt(from);
    return this.#signingIn.byPassword(name, password, from);
  }

  async signInByLink(token: string, from: Attempt): Promise<SignIn> {
    checkTexts({ token });
    checkAttempt(from);
    return this.#signingIn.byLink(token, from);
  }

  async signInByOpenId(answer: OpenIdPerson | { readonly refused: string }, from: Attempt): Promise<SignIn> {
    checkProviderAnswer(answer);
    checkAttempt(from);
    return this.#signingIn.byOpenId(answer, from);
  }

  async changeOwnPassword(
    account: Account,
    password: { readonly current: string; readonly next: string },
    from: Attempt,
  ): Promise<"changed" | "wrong" | "too_many"> {
    checkAccount(account);
    checkPasswords(password);
    checkAttempt(from);
    const { name, tenant } = account;
    const found = await this.#signingIn.isPasswordOf(name, password.current, from);
    if (found !== "right") return found;
    await this.setPassword(name, password.next, { by: name, via: `session:${name}`, tenant });
    return "changed";
  }

  async session(cookie: string, csrf: string): Promise<FoundSession | undefined> {
    checkTexts({ cookie, csrf });
    const known = await this.#sessions.find(cookie, csrf);
    const record = known && (await this.#record(known.name));
    if (known === undefined || record === undefined || record.disabled || record.epoch !== known.epoch)
      return undefined;
    const { session, cookie: next } = known;
    return {
      account: accountOf(record),
      permissions: permissionsOf(record.roles, record.tenant),
      session,
      whenEnded: (then) =>
        this.#endings.watch([`account:${record.name}`, `session:${session.id}`], session.expiresAt, then),
      ...defined({ cookie: next }),
    };
  }

  async signOut(cookie: string): Promise<void> {
    checkTexts({ cookie });
    const ended = await this.#sessions.end(cookie, async (name) => ({
      act: "sign_out",
      summary: `${name} signed out`,
      by: name,
      via: `session:${name}`,
      tenant: (await this.#record(name))?.tenant ?? "default",
    }));
    if (ended !== undefined) this.#endings.end(`session:${ended}`);
  }

  async listTokens(actor: Actor, owner?: string): Promise<readonly ListedToken[]> {
    checkActor(actor);
    if (owner !== undefined) checkTexts({ owner });
    return this.#tokenService.list(actor, owner);
  }

  async makeToken(
    token: NewToken,
    owner: Account,
    actor: Actor,
  ): Promise<{ readonly token: ApiToken; readonly text: string }> {
    checkActor(actor);
    checkToken(token);
    checkAccount(owner);
    return this.#tokens.make(token, owner, actor);
  }

  async revokeToken(id: string, actor: Actor, owner?: string): Promise<ApiToken> {
    checkActor(actor);
    checkTexts({ id, ...defined({ owner }) });
    const token = await this.#tokens.revoke(id, actor, owner);
    this.#endings.end(`token:${id}`);
    return token;
  }

  async isRevoked(via: string): Promise<boolean> {
    checkTexts({ via });
    return this.#tokens.isRevoked(via);
  }

  async token(text: string): Promise<FoundToken | undefined> {
    checkTexts({ text });
    const found = await this.#tokenService.find(text);
    if (found === undefined) return undefined;
    const { token, maker, permissions } = found;
    const names = [`account:${maker.name}`, `token:${token.id}`];
    const whenEnded: FoundToken["whenEnded"] = (then) => this.#endings.watch(names, token.expiresAt, then);
    return { account: maker, permissions, token, whenEnded };
  }

  async #record(name: string): Promise<AccountRecord | undefined> {
    if (name !== builtInName) return this.#repository.record(name);
    return this.exist ? undefined : builtIn;
  }

  /** The data folder's token stays valid when there are accounts; a session by its link does not. */
  async #maker({ owner, via }: ApiToken): Promise<Account | undefined> {
    const isByFolder = owner === builtInName && !via.startsWith("session:");
    const record = isByFolder ? builtIn : await this.#record(owner);
    return record && accountOf(record);
  }

  /** Makes open streams of the account check their credential again. */
  #ended(account: Account): Account {
    this.#endings.end(`account:${account.name}`);
    return account;
  }
}

function checkNamed(name: string, actor: Actor): void {
  checkActor(actor);
  checkTexts({ name });
}
