/**
 * `postern/identity`: accounts of people, their roles, sessions and API tokens, and sign-in.
 *
 * @packageDocumentation
 */

export type { Permission, Role } from "@postern/core";
export { permissions } from "@postern/core";
export type {
  Account,
  AccountChange,
  Accounts,
  ApiToken,
  Attempt,
  FoundCredential,
  FoundSession,
  FoundToken,
  ListedToken,
  LiveSession,
  NewAccount,
  NewToken,
  OpenIdPerson,
  SignedIn,
  SignIn,
} from "./accounts.ts";
export type { OpenIdSettings } from "./openid.ts";
export type { PasswordCost } from "./password.ts";
export type { SessionLimits } from "./session-repository.ts";
