import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { constants, type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import {
  agentPermissions,
  allPermissions,
  builtInName,
  type Clock,
  defined,
  ownAgents,
  type Permission,
  type Principal,
  RuntimeFault,
} from "@postern/core";
import { codeOf, makeOwnFolder, namingFullDisk } from "@postern/core/system";
import type { Account, Accounts, FoundSession, FoundToken, LiveSession } from "../identity/accounts.ts";
import type { ResourceServer, SignedInCaller, TokenRefusal } from "../identity/resource-server.ts";
import type { Decider } from "../runtime/api/api.ts";
import { givenSecret, type SecretEnvironment } from "../system/given-secret.ts";
import { openIfThere } from "../system/plain-file.ts";
import { createWhole } from "../system/whole-file.ts";
import type { RemoteWorkers } from "../workers/options.ts";
import type { OpenOrder } from "../workers/order-tokens.ts";

/** The caller that a credential stands for, and what it may do. Made for each request; nothing in a body adds to it. */
export interface Who {
  /** An agent sees its own; a person sees its tenant. */
  readonly kind: "agent" | "person";
  readonly credential: "agent-token" | "operator-token" | "api-token" | "oauth-token" | "order-token" | "session";
  readonly principal: Principal;
  readonly scopes: readonly string[];
  readonly permissions: ReadonlySet<Permission>;
  /** The name under which it acts. It never decides what it asked for itself. */
  readonly decider: Decider;
  /** Behind a session or an API token. */
  readonly account?: Account;
  /** Of a session in a browser, whose requests need its CSRF token. */
  readonly session?: LiveSession;
  /** Of the worker of one call. */
  readonly order?: OpenOrder;
  /** Calls `then` once, when the credential ends, so that open streams end too. Returns a function that stops watching. */
  readonly whenEnded?: (then: () => void) => () => void;
}

/** The tokens of the data folder, each in its file. */
export type TokenRole = "agent" | "operator";

export interface Credentials {
  /** Problems of the folder that were repaired: a sentence each. */
  readonly notices: readonly string[];
  /** The caller of an `Authorization` header. Returns undefined for every wrong token, and takes the same time for each. */
  authenticate(header: string | null | undefined): Who | undefined;
}

interface CredentialOptions {
  /** Scopes the agent's token grants; a request may name some of them. `"*"`: any. */
  readonly agentScopes?: readonly string[];
  /** Default: the process's own. */
  readonly environment?: SecretEnvironment;
}

const tokenBytes = 32;
const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * The two tokens: from the environment (`tokenVariables`), else of the data folder: made on first start, files of mode 0600 in a folder of mode 0700, tightened when wider.
 *
 * @throws RuntimeFault `config_invalid` when a token file is not one, `data_folder_unusable`: each names the path and what to do.
 */
export async function openCredentials(folder: string, options: CredentialOptions = {}): Promise<Credentials> {
  const notices: string[] = [];
  await ownFolder(folder, notices);
  const { environment } = options;
  const agent = (await givenToken("agent", environment)) ?? (await openToken(join(folder, "agent.token"), notices));
  const operator =
    (await givenToken("operator", environment)) ?? (await openToken(join(folder, "operator.token"), notices));
  if (agent === operator)
    throw new RuntimeFault("config_invalid", "The agent's token is the operator's; give each its own.");
  return tokenCredentials({ agent, operator }, options.agentScopes ?? [], notices);
}

/**
 * Reads a token as a client on the same machine does. Returns undefined when there is none yet.
 *
 * @throws RuntimeFault `config_invalid`
 */
export async function readToken(
  folder: string,
  role: TokenRole,
  environment?: SecretEnvironment,
): Promise<string | undefined> {
  const given = await givenToken(role, environment);
  if (given !== undefined) return given;
  const path = join(folder, `${role}.token`);
  await using file = await openExisting(path);
  return file && checkedToken(path, await file.readFile("utf8"));
}

/** Of the data folder. */
interface OwnTokens {
  readonly agent: string;
  readonly operator: string;
}

function tokenCredentials(tokens: OwnTokens, scopes: readonly string[], notices: readonly string[]): Credentials {
  const [agentDigest, operatorDigest] = [digest(tokens.agent), digest(tokens.operator)];
  const tenant = "default";
  const agent: Who = {
    kind: "agent",
    credential: "agent-token",
    principal: { tenant, agent: ownAgents.folder, via: "token:agent" },
    scopes,
    permissions: agentPermissions,
    decider: { user: ownAgents.folder, via: "token:agent", tenant },
  };
  const operator: Who = {
    kind: "person",
    credential: "operator-token",
    principal: { tenant, agent: ownAgents.operator, user: "operator", via: "token:operator" },
    scopes: ["*"],
    permissions: allPermissions,
    decider: { user: "operator", via: "token:operator", tenant },
  };
  return {
    notices,
    authenticate(header) {
      const token = /^Bearer +([A-Za-z0-9_-]+)$/i.exec(header ?? "")?.[1] ?? "";
      const given = digest(token);
      // Both are always compared, so that the time does not tell which one was near.
      const isAgent = timingSafeEqual(given, agentDigest);
      const isOperator = timingSafeEqual(given, operatorDigest);
      if (isOperator) return operator;
      return isAgent ? agent : undefined;
    },
  };
}

async function openToken(path: string, notices: string[]): Promise<string> {
  await using existing = await openExisting(path);
  if (existing === undefined) return makeToken(path);
  const { mode } = await existing.stat();
  if ((mode & 0o077) !== 0) {
    const isChanged = await existing.chmod(0o600).then(() => true, onReadOnly);
    const now = isChanged
      ? "is 0600 now; remove it and start again if it may have been read"
      : "stays so, because it is on a read-only mount; mount it for this user alone";
    notices.push(`\`${path}\` could be read by others (mode ${octal(mode)}) and ${now}.`);
  }
  return checkedToken(path, await existing.readFile("utf8"));
}

/** The variables from which each token comes; with `_FILE` behind the name, the file that holds it. */
const tokenVariables: Readonly<Record<TokenRole, string>> = {
  agent: "POSTERN_LOCAL_AGENT_TOKEN", // clients read POSTERN_AGENT_TOKEN
  operator: "POSTERN_OPERATOR_TOKEN",
};

async function givenToken(role: TokenRole, environment?: SecretEnvironment): Promise<string | undefined> {
  const given = await givenSecret(tokenVariables[role], environment);
  if (given === undefined || tokenPattern.test(given.text)) return given?.text;
  throw new RuntimeFault(
    "config_invalid",
    `${given.from} does not hold a token of 43 characters; make one with \`openssl rand -base64 32 | tr '+/' '-_' | tr -d '='\`.`,
  );
}

/** @throws the error, unless the file system is read-only */
function onReadOnly(error: unknown): false {
  if (codeOf(error) === "EROFS") return false;
  throw error;
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  const file = await openIfThere(path).catch((error: unknown) => {
    const code = codeOf(error);
    throw unreadable(path, code === "ELOOP" ? "is a link" : `cannot be opened (${code})`, error);
  });
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  throw unreadable(path, "is not a file");
}

/** A second first start at the same moment finds the first one's token. */
async function makeToken(path: string): Promise<string> {
  const token = randomBytes(tokenBytes).toString("base64url");
  const isMine = await createWhole(path, Buffer.from(`${token}\n`));
  return isMine ? token : openToken(path, []);
}

async function ownFolder(folder: string, notices: string[]): Promise<void> {
  try {
    makeOwnFolder(folder);
    await using handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    const { mode } = await handle.stat();
    if ((mode & 0o077) === 0) return;
    await handle.chmod(0o700);
    notices.push(`\`${folder}\` could be opened by others (mode ${octal(mode)}) and is 0700 now.`);
  } catch (error) {
    throw unusableFolder(folder, error);
  }
}

export function unusableFolder(folder: string, cause: unknown): RuntimeFault {
  const full = namingFullDisk(cause, folder);
  if (full instanceof RuntimeFault) return full;
  const message = `\`${folder}\` cannot be used as data folder (${codeOf(cause)}); name another with \`--data\`.`;
  return new RuntimeFault("data_folder_unusable", message, { cause });
}

function checkedToken(path: string, text: string): string {
  const token = text.trim();
  if (!tokenPattern.test(token)) throw unreadable(path, "does not hold a token of 43 characters");
  return token;
}

function unreadable(path: string, why: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault(
    "config_invalid",
    `\`${path}\` ${why}; remove it and a new token is made at the next start.`,
    { cause },
  );
}

function digest(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** The credentials that came with a request. */
interface ShownCredential {
  readonly authorization: string | null;
  /** Of the session's cookie. */
  readonly cookie: string | undefined;
  /** Of the header: what the sign-in answered to the page. */
  readonly csrf: string | null;
  readonly changesSomething: boolean;
  /** A page that changes something must send it. */
  readonly hasOrigin: boolean;
}

export type Identified =
  | { readonly by: Who; readonly cookie?: string | undefined }
  | { readonly refused: "missing" | "wrong_token" | "ended" | "no_csrf" | "no_origin" }
  | { readonly refused: "oauth_token"; readonly because: TokenRefusal };

/** What knows credentials. */
export interface Identities {
  readonly credentials: Credentials;
  readonly accounts: Accounts | undefined;
  readonly clock: Clock;
  /** Tokens of an authorization server. */
  readonly oauth: ResourceServer | undefined;
  readonly workers: RemoteWorkers | undefined;
}

/** The endpoint of MCP that a request is sent to: `/mcp`, or `/mcp/<server>`. */
export interface McpEndpoint {
  readonly server?: string | undefined;
}

/**
 * Who sends a request: a token in `Authorization`, else the session of a cookie and its proof, reading or not: every
 * port of this host gets the cookie. A wrong token is not made good by a cookie beside it. The tokens of the data folder
 * are looked at first, and need no waiting. A token of the authorization server is read only where MCP is spoken.
 *
 * @param endpoint undefined for every route beside MCP
 */
export function identify(
  shown: ShownCredential,
  identities: Identities,
  endpoint: McpEndpoint | undefined,
): Identified | Promise<Identified> {
  const { credentials, accounts, oauth, workers } = identities;
  const { authorization, cookie } = shown;
  if (authorization === null)
    return cookie === undefined || accounts === undefined ? { refused: "missing" } : byCookie(cookie, shown, accounts);
  const by = credentials.authenticate(authorization);
  if (by !== undefined) return { by };
  const ordered = workers === undefined ? undefined : orderToken.exec(authorization)?.[1];
  if (ordered !== undefined) return byOrderToken(workers?.order(ordered));
  const signed = signedToken.exec(authorization)?.[1];
  if (oauth !== undefined && signed !== undefined)
    return endpoint === undefined ? onlyAtMcp : bySignedToken(signed, oauth, { ...endpoint, clock: identities.clock });
  return accounts === undefined ? { refused: "wrong_token" } : byToken(authorization, accounts);
}

/** A JSON Web Token; unsigned ones too, so that their refusal says why. */
const signedToken = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)$/i;
const onlyAtMcp: Identified = {
  refused: "oauth_token",
  because: {
    why: "invalid",
    message:
      "Tokens of the authorization server are taken at `/mcp` only; for `/v1`, make one with `postern tokens create NAME`.",
  },
};

const orderToken = /^Bearer +(order_[A-Za-z0-9_-]{43})$/i;

/** A worker reads and keeps bytes for one running call, and does nothing else. */
function byOrderToken(order: OpenOrder | undefined): Identified {
  if (order === undefined) return { refused: "wrong_token" };
  const { principal } = order;
  const { tenant, user = principal.agent } = principal;
  const who = { kind: "agent", credential: "order-token", scopes: [], permissions: orderPermissions } as const;
  return { by: { ...who, principal, order, decider: { user, via: "token:order", tenant } } };
}

const orderPermissions: ReadonlySet<Permission> = new Set(["artifacts:read", "artifacts:write"]);

async function bySignedToken(
  token: string,
  oauth: ResourceServer,
  { server, clock }: McpEndpoint & { readonly clock: Clock },
): Promise<Identified> {
  const found = await oauth.identify(token, server);
  return "why" in found ? { refused: "oauth_token", because: found } : { by: signedInWho(found, clock) };
}

async function byToken(authorization: string, accounts: Accounts): Promise<Identified> {
  const text = /^Bearer +(pat_[A-Za-z0-9_-]{43})$/i.exec(authorization)?.[1];
  const found = text === undefined ? undefined : await accounts.token(text);
  return found === undefined ? { refused: "wrong_token" } : { by: tokenWho(found) };
}

async function byCookie(cookie: string, shown: ShownCredential, accounts: Accounts): Promise<Identified> {
  const { csrf } = shown;
  if (csrf === null || csrf === "") return { refused: "no_csrf" };
  if (shown.changesSomething && !shown.hasOrigin) return { refused: "no_origin" };
  const found = await accounts.session(cookie, csrf);
  if (found === undefined) return { refused: "ended" };
  return { by: sessionWho(found), cookie: found.cookie };
}

function tokenWho({ account, permissions, whenEnded, token }: FoundToken): Who {
  const via = `token:${token.id}`;
  const { tenant, scopes } = token;
  const who = { credential: "api-token", scopes, permissions, account, whenEnded } as const;
  if (token.kind === "person") {
    const principal = { tenant, agent: ownAgents.person, user: account.name, via };
    return { ...who, kind: "person", principal, decider: { ...deciderOf(account, via), signedIn: false } };
  }
  const { agent = token.name, user } = token;
  const owner = token.owner === builtInName ? {} : { owner: token.owner }; // the holder of the data folder sets up agents for every person
  const principal = { tenant, agent, ...defined({ user }), via, ...owner };
  return { ...who, kind: "agent", principal, decider: { user: user ?? agent, via, tenant } };
}

/** A person's client: it calls as an agent, so the person decides nothing with it. */
function signedInWho({ principal, scopes, until }: SignedInCaller, clock: Clock): Who {
  const { tenant, agent, user = agent, via = "oauth:unknown" } = principal;
  return {
    kind: "agent",
    credential: "oauth-token",
    principal,
    scopes,
    permissions: agentPermissions,
    decider: { user, via, tenant },
    // In whole seconds, because a clock shares waits of one length.
    whenEnded: (then) => clock.in(Math.ceil((until - clock.now()) / 1000) * 1000, then, false),
  };
}

function sessionWho({ account, permissions, whenEnded, session }: FoundSession): Who {
  const via = `session:${account.name}`;
  return {
    kind: "person",
    credential: "session",
    principal: { tenant: account.tenant, agent: ownAgents.session, user: account.name, via },
    scopes: ["*"],
    permissions,
    decider: { ...deciderOf(account, via), signedIn: true },
    account,
    session,
    whenEnded,
  };
}

function deciderOf({ name, tenant, roles, groups }: Account, via: string): Who["decider"] {
  return { user: name, via, tenant, roles, groups };
}
