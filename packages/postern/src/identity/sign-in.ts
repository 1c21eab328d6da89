import { type Actor, normalizedName, RuntimeFault } from "@postern/core";
import type { AccountNote, AccountNotes } from "./account-notes.ts";
import { type AccountRecord, type AccountRepository, accountOf, checkedName } from "./account-repository.ts";
import {
  type Account,
  type AccountChange,
  type Attempt,
  accountProblems,
  type OpenIdPerson,
  type SignIn,
} from "./accounts.ts";
import type { LinkRepository } from "./link-repository.ts";
import type { Passwords } from "./password.ts";
import type { SessionRepository } from "./session-repository.ts";
import type { Tries } from "./tries.ts";

export interface SignInOptions {
  readonly notes: AccountNotes;
  readonly accounts: AccountRepository;
  readonly sessions: SessionRepository;
  readonly links: LinkRepository;
  readonly passwords: Passwords;
  readonly tries: Tries;
  /** Changes an account and ends what must end with it. */
  readonly change: (name: string, change: AccountChange, actor: Actor) => Promise<Account>;
  /** Adds an account for a person that a provider names. */
  readonly add: (...given: Parameters<AccountRepository["add"]>) => Promise<Account>;
  readonly record: (name: string) => Promise<AccountRecord | undefined>;
}

/** The ways to sign in. Each try is counted and logged, takes the same time and gets the same answer, whatever was wrong. */
export class SigningIn {
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  async byPassword(given: string, password: string, from: Attempt): Promise<SignIn> {
    const name = normalizedName(given);
    if (this.#options.tries.isOver(`name:${name}`, from.address) || this.#options.passwords.isBusy)
      return { refused: "too_many" };
    this.#options.tries.count(`name:${name}`, from.address); // before the work, so that tries at the same time count
    const record = await this.#options.accounts.record(name);
    const isRight = await this.#options.passwords.verify(password, record?.password);
    const now = isRight ? await this.#options.accounts.record(name) : undefined; // the account may have been disabled meanwhile
    if (now === undefined || now.disabled || now.epoch !== record?.epoch)
      return this.#refusedSignIn({ name, how: "password", why: whyNot(record), from, tenant: record?.tenant });
    this.#options.tries.forgive(`name:${name}`, from.address);
    if (now.password !== undefined && this.#options.passwords.isWeak(now.password))
      await this.#options.accounts.strengthen(now, await this.#options.passwords.make(password));
    return this.#signedIn(now, "password");
  }

  async byLink(token: string, from: Attempt): Promise<SignIn> {
    if (this.#options.tries.isOver("link", from.address)) return { refused: "too_many" };
    const { name, epoch } = (await this.#options.links.take(token)) ?? {};
    const record = name === undefined ? undefined : await this.#options.record(name);
    if (record !== undefined && !record.disabled && record.epoch === epoch) return this.#signedIn(record, "link");
    this.#options.tries.count("link", from.address);
    const why =
      record === undefined ? "no such link" : record.disabled ? "disabled" : "older than what ended its sessions";
    return this.#refusedSignIn({ name: name ?? "unknown", how: "link", why, from, tenant: record?.tenant });
  }

  async byOpenId(answer: OpenIdPerson | { readonly refused: string }, from: Attempt): Promise<SignIn> {
    const refuse = (name: string, why: string, record?: Account): Promise<SignIn> =>
      this.#refusedSignIn({ name, how: "openid", why, from, tenant: record?.tenant });
    if ("refused" in answer) {
      if (this.#options.tries.isOver(from.address)) return { refused: "too_many" }; // each try is an entry in the log
      this.#options.tries.count(from.address);
      return refuse("unknown", answer.refused);
    }
    const found = await this.#options.accounts.bySubject(answer.issuer, answer.subject);
    if (found?.disabled === true) return refuse(found.name, "disabled", found);
    if (found === undefined && answer.unknown === "refuse") return refuse(answer.name, "no account");
    try {
      const record = await (found === undefined ? this.#addFromProvider(answer) : this.#synchronized(found, answer));
      return this.#signedIn(record, "openid");
    } catch (error) {
      if (error instanceof RuntimeFault && Object.hasOwn(accountProblems, error.code))
        return refuse(answer.name, error.message, found);
      throw error;
    }
  }

  /** A person whom the provider gives the name of an existing account does not get that account. */
  async #addFromProvider({ issuer, subject, firstRoles, ...person }: OpenIdPerson): Promise<AccountRecord> {
    const name = checkedName(person.name);
    const other = await this.#options.accounts.record(name);
    const isSame = other?.openId?.issuer === issuer && other.openId.subject === subject;
    if (other !== undefined && isSame) return other; // the account was added, but not its subject
    const given = { ...person, name, roles: person.roles ?? firstRoles };
    const actor: Actor = { by: name, via: "openid", tenant: person.tenant };
    await this.#options.add(given, { openId: { issuer, subject } }, actor);
    return this.#mustHave(name);
  }

  /** Takes roles and groups from the provider, if it sends them. */
  async #synchronized(found: AccountRecord, { roles, groups }: OpenIdPerson): Promise<AccountRecord> {
    if (roles !== undefined || groups !== undefined)
      await this.#options.change(
        found.name,
        { roles, groups },
        { by: found.name, via: "openid", tenant: found.tenant },
      );
    return this.#mustHave(found.name);
  }

  async #mustHave(name: string): Promise<AccountRecord> {
    const record = await this.#options.accounts.record(name);
    if (record === undefined) throw new Error(`The account ${name} was written and is not there.`);
    return record;
  }

  /** Whether it is the person's password. It counts as a try. */
  async isPasswordOf(name: string, password: string, from: Attempt): Promise<"right" | "wrong" | "too_many"> {
    if (this.#options.tries.isOver(`name:${name}`, from.address) || this.#options.passwords.isBusy) return "too_many";
    this.#options.tries.count(`name:${name}`, from.address);
    const record = await this.#options.accounts.record(name);
    if (!(await this.#options.passwords.verify(password, record?.password))) return "wrong";
    this.#options.tries.forgive(`name:${name}`, from.address);
    return "right";
  }

  async #signedIn(record: AccountRecord, how: string): Promise<SignIn> {
    const account = accountOf(record);
    const { name, tenant } = account;
    const summary = `${name} signed in by ${how}`;
    const note: AccountNote = { act: "sign_in", summary, by: name, via: how, tenant, data: { account: name } };
    return { account, ...(await this.#options.sessions.begin(account, record.epoch, note)) };
  }

  /** The log gets the name that was tried, shortened. The answer is the same for all of them. */
  async #refusedSignIn(refused: SignInRefusal): Promise<SignIn> {
    const { name, how, why, from, tenant = "default" } = refused;
    const tried = name.replaceAll(/[^\w.@+-]/g, "?").slice(0, 64);
    await this.#options.notes.note({
      act: "sign_in_failed",
      summary: `sign-in of ${tried} by ${how} refused`,
      by: tried,
      via: how,
      tenant,
      outcome: "failure",
      data: { account: tried, address: from.address, why: why.slice(0, 200) },
    });
    return { refused: "wrong" };
  }
}

interface SignInRefusal {
  readonly name: string;
  readonly how: "password" | "link" | "openid";
  readonly why: string;
  readonly from: Attempt;
  readonly tenant: string | undefined;
}

function whyNot(record: AccountRecord | undefined): string {
  if (record === undefined) return "no account of that name";
  return record.disabled ? "disabled" : "wrong password";
}
