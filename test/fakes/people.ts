import { afterEach } from "vitest";
import type { Actor } from "../../packages/core/src/actor.ts";
import { type Role, roles } from "../../packages/core/src/roles.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { eventIn, serializeWith } from "../../packages/postern/src/audit/entry.ts";
import type { Account, Accounts, SignedIn, SignIn } from "../../packages/postern/src/identity/accounts.ts";
import { type AccountsOptions, openAccounts } from "../../packages/postern/src/identity/open-accounts.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { openStore } from "../../packages/postern/src/store/open-store.ts";
import type { Store } from "../../packages/postern/src/store/store.ts";
import { newStore } from "./story-store.ts";

/** A cheap password hash; one test checks the real cost. */
export const cheap = { cost: 2, blockSize: 8, parallel: 1 } as const;
export const here = { address: "127.0.0.1" } as const;
/** The operator who holds the data folder. */
export const holder: Actor = { by: "operator", via: "token:operator" };
export const goodPassword = "correct horse battery";

/** Returns the signed-in person, and throws when the sign-in was refused. */
export function entered(signedIn: SignIn): SignedIn {
  if ("refused" in signedIn) throw new Error(`Refused: ${signedIn.refused}.`);
  return signedIn;
}

export interface People {
  readonly accounts: Accounts;
  readonly clock: FakeClock;
  readonly store: Store;
  /** Adds an account with `goodPassword`. */
  add(name: string, held: readonly Role[], tenant?: string): Promise<Account>;
  /** Signs a person in. */
  signIn(name: string): Promise<SignedIn>;
  /** Returns the operator acts in the log, in order. */
  acts(): Promise<readonly string[]>;
}

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store[Symbol.asyncDispose]();
});

async function ownStore(clock: FakeClock): Promise<Store> {
  const redactor = createRedactor();
  const context = { clock, serialize: serializeWith((text) => redactor.redact(text)), log: () => {} };
  const store = await openStore(newStore("memory"), context);
  open.push(store);
  return store;
}

export async function people(more: Partial<AccountsOptions> = {}): Promise<People> {
  const clock = new FakeClock();
  const store = more.store ?? (await ownStore(clock));
  const accounts = await openAccounts({ store, clock, policy: { version: "p1" }, passwordCost: cheap, ...more });
  return {
    accounts,
    clock,
    store,
    add: (name, held, tenant = "default") =>
      accounts.add({ name, roles: held, tenant, password: goodPassword }, holder),
    signIn: async (name) => entered(await accounts.signIn(name, goodPassword, here)),
    acts: async () => {
      const types: string[] = [];
      for await (const { body } of store.events({ after: -1 })) types.push(String(eventIn(body)?.type));
      return types.map((type) => type.replace("operator.action.", ""));
    },
  };
}

/** Adds one account for each role, also in another tenant: `viewer-here`, `viewer@acme`, … */
export async function everybody({ add }: People): Promise<void> {
  for (const role of roles) {
    await add(`${role}-here`, [role]);
    await add(`${role}@acme`, [role], "acme");
  }
}
