/**
 * What people sign in to: upstream servers that ask for OAuth, or for a key of each person.
 *
 * Invariant: a token or a key is used only for its own person and for the server it was given for, and the caller's own
 * credential is never passed on. Requests of a sign-in go only to addresses that were checked.
 * Next: open-connections.ts (the methods), connected-server.ts (one server), sign-in.ts (OAuth with the SDK),
 * access.ts (the token of each request), connection-repository.ts (what is sealed), checked-fetch.ts (where requests may go).
 */
import { builtInName, defined, type Principal } from "@postern/core";

/** How Postern signs in at a server: the `oauth` of its configuration. */
export interface OAuthConfig {
  /** Of a client that is registered by hand. Without it Postern registers itself. */
  readonly clientId?: string;
  /** `secret://connector/key`. */
  readonly clientSecret?: string;
  /** Default: those that the server asks for. */
  readonly scopes?: readonly string[];
  /** `user` (default): each person signs in, and calls go out with the token of their person. `server`: one sign-in for all. */
  readonly per?: "user" | "server";
  /** `client_credentials`: no person signs in. It needs `clientId` and `clientSecret`. Default: `authorization_code`. */
  readonly grant?: "authorization_code" | "client_credentials";
}

/** A person with connections of their own. */
export interface ConnectionPerson {
  readonly tenant: string;
  readonly user: string;
  /** The credential with which the person acts, for the log. */
  readonly via?: string;
}

/**
 * For whom a call is made: its user, else the person who made the agent's token, else the holder of the data folder. An agent
 * without a user that an authorization server names is none of these: it uses no connection of a person.
 */
export function personOf({ tenant, agent, user, owner, via }: Principal): ConnectionPerson {
  const other = via?.startsWith("oauth:") === true ? `agent ${agent}` : builtInName;
  return { tenant, user: user ?? owner ?? other, ...defined({ via }) };
}

/** One server that people connect to, as it stands for one person. */
export interface ConnectionState {
  readonly server: string;
  readonly per: "user" | "server";
  /** Whether a person signs in there in a browser. */
  readonly signsIn: boolean;
  /** The keys that a person enters, by the names in `secret://person/NAME`. */
  readonly keys: readonly string[];
  readonly connected: boolean;
  /** Wall clock, milliseconds. */
  readonly since?: number;
  readonly scopes?: readonly string[];
}

/** Where to send the browser. `binder` must come back from the same browser. */
export interface StartedSignIn {
  readonly url: string;
  readonly binder: string;
}

export type FinishedSignIn =
  | { readonly server: string; readonly person: ConnectionPerson; readonly refused?: never }
  /** Why, for people. The server is known unless the state is wrong. */
  | { readonly refused: string; readonly server?: string };

/** Where the browser comes back to, and where this Postern's client document is if others can read it. */
export interface BeginOptions {
  readonly redirectUri: string;
  readonly clientDocument?: string | undefined;
}

/**
 * The connections of people to servers.
 *
 * @public
 */
export interface Connections {
  /** Servers that people connect to, in the order of the configuration. */
  list(person: ConnectionPerson): readonly ConnectionState[];
  /** @throws RuntimeFault `connection_unknown`, `connection_failed` when the server or its authorization server cannot be asked */
  begin(server: string, person: ConnectionPerson, options: BeginOptions): Promise<StartedSignIn>;
  /** Takes what the authorization server sent the browser back with. Never throws for anything that a browser sends. */
  finish(back: URLSearchParams, binder: string | undefined): Promise<FinishedSignIn>;
  /** Keeps the keys that a person enters. @throws RuntimeFault `connection_unknown`, `request_invalid` */
  enter(server: string, person: ConnectionPerson, keys: Readonly<Record<string, string>>): Promise<ConnectionState>;
  /** Ends it here, and at the authorization server if that can be asked. Resolves to whether there was one. */
  revoke(server: string, person: ConnectionPerson): Promise<boolean>;
}
