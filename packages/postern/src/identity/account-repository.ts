import {
  type Actor,
  builtInName,
  defined,
  isRole,
  type JsonObject,
  newId,
  normalizedName,
  type Role,
  roles,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { Collection } from "../store/collection.ts";
import { type AccountNote, type AccountNotes, accountFault, mayTouch, type NotedChange } from "./account-notes.ts";
import type { Account, AccountChange, NewAccount } from "./accounts.ts";
import type { PasswordHash } from "./password.ts";

/** The stored account. */
export interface AccountRecord extends Account {
  readonly password?: PasswordHash;
  readonly openId?: { readonly issuer: string; readonly subject: string };
  /** Sessions of an earlier epoch have ended, so one write ends them all. */
  readonly epoch: number;
}

const namePattern = /^[a-z0-9][a-z0-9._@+-]{0,63}$/;
const wordPattern = /^[\p{L}\p{N}][\p{L}\p{N} ._@:/+-]{0,99}$/u;
const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The accounts, one document each under the login name. */
export class AccountRepository {
  readonly #notes: AccountNotes;
  readonly #accounts: Collection<AccountRecord>;
  readonly #subjects: Collection<{ readonly name: string }>;
  #exist = false;

  private constructor(notes: AccountNotes) {
    this.#notes = notes;
    this.#accounts = notes.collection("account");
    this.#subjects = notes.collection("account-subject");
  }

  static async open(notes: AccountNotes): Promise<AccountRepository> {
    const repository = new AccountRepository(notes);
    repository.#exist = (await repository.#accounts.ids()).length > 0;
    return repository;
  }

  get exist(): boolean {
    return this.#exist;
  }

  async list(actor: Actor): Promise<readonly Account[]> {
    const found = await Promise.all((await this.#accounts.ids()).map((name) => this.record(name)));
    return found.flatMap((one) => (one !== undefined && mayTouch(actor, one.tenant) ? [accountOf(one)] : []));
  }

  record(name: string): Promise<AccountRecord | undefined> {
    return this.#accounts.get(name);
  }

  async get(name: string, actor: Actor): Promise<Account> {
    const record = await this.record(normalizedName(name));
    if (record === undefined || !mayTouch(actor, record.tenant)) throw unknown(name);
    return accountOf(record);
  }

  /** The account of a person at an OpenID provider. */
  async bySubject(issuer: string, subject: string): Promise<AccountRecord | undefined> {
    const found = await this.#subjects.get(subjectId(issuer, subject));
    const record = found && (await this.record(found.name));
    return record?.openId?.issuer === issuer && record.openId.subject === subject ? record : undefined;
  }

  /** @throws RuntimeFault `account_exists`, `request_invalid`, `tenant_refused` */
  async add(given: NewAccount, how: Pick<AccountRecord, "password" | "openId">, actor: Actor): Promise<Account> {
    const name = checkedName(given.name);
    const tenant = checkedTenant(given.tenant ?? actor.tenant ?? "default", actor);
    const record: AccountRecord = {
      id: newId("usr"),
      name,
      displayName: checkedDisplay(given.displayName ?? given.name),
      tenant,
      roles: checkedRoles(given.roles),
      groups: checkedGroups(given.groups ?? []),
      disabled: false,
      signsIn: how.openId !== undefined ? "openid" : how.password !== undefined ? "password" : "link",
      createdAt: this.#notes.now,
      epoch: 1,
      ...how,
    };
    const note = noteOf(["account_added", `account ${name} added`], record, actor);
    if (how.openId !== undefined) await this.#claimSubject(how.openId, name);
    const add = (before: AccountRecord | undefined): NotedChange<AccountRecord> | undefined =>
      before === undefined ? { item: record, note } : undefined;
    const { changed } = await this.#notes.change(this.#accounts, name, add);
    if (!changed)
      throw accountFault("account_exists", `There is an account \`${name}\` already; names are given once.`);
    this.#exist = true;
    return accountOf(record);
  }

  /**
   * @param ending tokens that end with the change, for the log
   * @throws RuntimeFault `account_unknown`, `request_invalid`
   */
  change(
    name: string,
    {
      displayName,
      roles: held,
      groups,
      disabled,
      ending = [],
    }: AccountChange & { readonly ending?: readonly string[] },
    actor: Actor,
  ): Promise<Account> {
    return this.#change(name, actor, (before) => {
      const after: AccountRecord = {
        ...before,
        ...(displayName !== undefined && { displayName: checkedDisplay(displayName) }),
        ...(held !== undefined && { roles: checkedRoles(held) }),
        ...(groups !== undefined && { groups: checkedGroups(groups) }),
        ...defined({ disabled }),
        ...(disabled === true && { epoch: before.epoch + 1 }),
      };
      const note = noteOf(wordsFor(before, after), after, actor);
      const more = { roles_before: [...before.roles], ...(ending.length > 0 && { tokens_ended: ending }) };
      return { after, note: { ...note, data: { ...note.data, ...more } } };
    });
  }

  setPassword(name: string, password: PasswordHash, actor: Actor): Promise<Account> {
    return this.#change(name, actor, (before) => {
      if (before.openId !== undefined)
        throw accountFault("request_invalid", `\`${before.name}\` signs in at its provider, and has no password here.`);
      const after: AccountRecord = { ...before, password, signsIn: "password", epoch: before.epoch + 1 };
      return { after, note: noteOf(["password_set", `password of ${before.name} set`], after, actor) };
    });
  }

  /** Stores a stronger hash of the same password, unless the password was changed meanwhile. No session ends. */
  async strengthen({ name, epoch }: AccountRecord, password: PasswordHash): Promise<void> {
    await this.#accounts.change(name, (record) =>
      record?.epoch === epoch ? { item: { ...record, password } } : undefined,
    );
  }

  endSessions(name: string, actor: Actor): Promise<Account> {
    return this.#change(name, actor, (before) => {
      const after: AccountRecord = { ...before, epoch: before.epoch + 1 };
      return { after, note: noteOf(["sessions_ended", `all sessions of ${before.name} ended`], after, actor) };
    });
  }

  async #change(
    given: string,
    actor: Actor,
    make: (before: AccountRecord) => { readonly after: AccountRecord; readonly note: AccountNote },
  ): Promise<Account> {
    const { item } = await this.#notes.change(this.#accounts, normalizedName(given), (before) => {
      if (before === undefined || !mayTouch(actor, before.tenant)) throw unknown(given);
      const { after, note } = make(before);
      return JSON.stringify(after) === JSON.stringify(before) ? undefined : { item: after, note };
    });
    if (item === undefined) throw unknown(given);
    return accountOf(item);
  }

  /** The first sign-in with a subject gets it. After a crash between the two writes, the same name finds it again. */
  async #claimSubject({ issuer, subject }: NonNullable<AccountRecord["openId"]>, name: string): Promise<void> {
    await this.#subjects.change(subjectId(issuer, subject), () => ({ item: { name } }));
  }
}

export function accountOf({ password: _password, openId: _openId, epoch: _epoch, ...account }: AccountRecord): Account {
  return account;
}

type ChangeText = readonly [act: string, summary: string];

function wordsFor(before: AccountRecord, after: AccountRecord): ChangeText {
  const { name } = after;
  if (after.disabled !== before.disabled)
    return after.disabled
      ? ["account_disabled", `account ${name} disabled`]
      : ["account_enabled", `account ${name} enabled`];
  if (String(after.roles) !== String(before.roles))
    return ["account_roles", `roles of ${name} set to ${after.roles.join(", ") || "none"}`];
  return ["account_changed", `account ${name} changed`];
}

function noteOf([act, summary]: ChangeText, account: Account, actor: Actor): AccountNote {
  const { name, tenant, roles: held, groups } = account;
  const data: JsonObject = { account: name, roles: [...held], groups: [...groups] };
  return { act, summary, by: actor.by, via: actor.via, tenant, data };
}

/** @throws RuntimeFault `request_invalid` */
export function checkedName(given: string): string {
  const name = normalizedName(given);
  if (!namePattern.test(name))
    throw invalid("name", given, "1 to 64 of a-z 0-9 . _ @ + -, beginning with a letter or a digit");
  if (name === builtInName) throw invalid("name", name, "another: `operator` is who holds the data folder's token");
  return name;
}

function checkedRoles(given: readonly string[]): readonly Role[] {
  const odd = given.find((role) => !isRole(role));
  if (odd !== undefined) throw invalid("roles", odd, `of ${roles.join(", ")}`);
  return roles.filter((role) => given.includes(role));
}

function checkedGroups(given: readonly string[]): readonly string[] {
  const odd = given.find((group) => !wordPattern.test(group));
  if (odd !== undefined) throw invalid("groups", odd, "1 to 100 letters, digits, spaces and . _ @ : / + -");
  return [...new Set(given)].sort();
}

function checkedDisplay(given: string): string {
  const isShown = given.trim() !== "" && given.length <= 100 && !/[\p{Cc}\p{Cf}]/u.test(given);
  if (!isShown) throw invalid("display_name", given, "1 to 100 characters, none of them invisible");
  return given;
}

function checkedTenant(given: string, actor: Actor): string {
  if (!tenantPattern.test(given)) throw invalid("tenant", given, "1 to 64 of A-Z a-z 0-9 . _ -");
  if (!mayTouch(actor, given))
    throw accountFault("tenant_refused", `\`${actor.by}\` may not change people of the tenant \`${given}\`.`);
  return given;
}

function invalid(field: string, value: string, wanted: string): Error {
  return accountFault("request_invalid", `\`${field}\` is \`${value.slice(0, 100)}\`; it must be ${wanted}.`);
}

function unknown(name: string): Error {
  return accountFault("account_unknown", `There is no account \`${name.slice(0, 100)}\`.`);
}

function subjectId(issuer: string, subject: string): string {
  return sha256(JSON.stringify([issuer, subject]));
}
