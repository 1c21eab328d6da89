/**
 * Who may do what: people with roles, tokens that act for them, sessions of the console.
 * Invariant: the table below is the only place where a role becomes permissions, and a credential never has more than
 * its owner has at that moment. Of a password, a token, a link or a session only a hash is stored.
 * Next: accounts.ts (the methods), account-repository.ts (people), token-repository.ts, session-repository.ts,
 * link-repository.ts, openid.ts (sign-in at a provider), password.ts (scrypt).
 */

/**
 * A person's task. A person may have several.
 *
 * @public
 */
export type Role = "viewer" | "approver" | "operator" | "auditor" | "admin";

/** The holder of the data folder. No account has this name. */
export const builtInName = "operator";

export const roles: readonly Role[] = ["viewer", "approver", "operator", "auditor", "admin"];

/**
 * All permissions.
 *
 * @public
 */
export const permissions = [
  "approvals:read",
  "approvals:decide",
  "grants:write",
  "calls:read",
  "calls:make",
  "calls:settle",
  "runs:read",
  "runs:write",
  "artifacts:read",
  "artifacts:write",
  "events:read",
  "tools:read",
  "tools:approve",
  "tools:switch",
  "skills:read",
  "skills:write",
  "memory:decide",
  "policy:read",
  "policy:write",
  "controls:read",
  "controls:write",
  "agents:pause",
  "alarms:read",
  "alarms:write",
  "channels:read",
  "channels:write",
  "metrics:read",
  "audit:read",
  "audit:sign",
  "audit:export",
  "backups:make",
  "accounts:admin",
  "tokens:own",
  "session:own",
] as const;

/**
 * The permission that a route needs. Each route names exactly one.
 *
 * @public
 */
export type Permission = (typeof permissions)[number];

const everyone: readonly Permission[] = [
  "approvals:read",
  "calls:read",
  "runs:read",
  "artifacts:read",
  "events:read",
  "tools:read",
  "skills:read",
  "policy:read",
  "controls:read",
  "alarms:read",
  "tokens:own",
  "session:own",
];

/** The table. A role that decides does not administer, and a role that administers does not decide; one person may have both. */
const table: Readonly<Record<Role, readonly Permission[]>> = {
  viewer: everyone,
  approver: [...everyone, "approvals:decide", "grants:write", "memory:decide"],
  operator: [
    ...everyone,
    "calls:make",
    "calls:settle",
    "runs:write",
    "tools:approve",
    "tools:switch",
    "skills:write",
    "memory:decide",
    "policy:write",
    "controls:write",
    "agents:pause",
    "alarms:write",
    "channels:read",
    "channels:write",
    "metrics:read",
    "backups:make",
  ],
  auditor: [...everyone, "audit:read", "audit:sign", "audit:export", "channels:read"],
  admin: [...everyone, "accounts:admin", "channels:read", "metrics:read"],
};

/** An agent may call, wait, and see its own calls. It never decides or administers, with any token. */
export const agentPermissions: ReadonlySet<Permission> = new Set([
  "calls:make",
  "calls:read",
  "approvals:read",
  "runs:read",
  "runs:write",
  "artifacts:read",
  "tools:read",
]);

export const allPermissions: ReadonlySet<Permission> = new Set(permissions);

/** Permissions over the whole installation. Only people of its own tenant have them. */
const installationWide: ReadonlySet<Permission> = new Set([
  "tools:approve",
  "tools:switch",
  "policy:write",
  "controls:write",
  "channels:write",
  "metrics:read",
  "audit:sign",
  "audit:export",
  "backups:make",
]);
export const ownTenant = "default";

/** Every person has these, even without a role: their own session. */
export function permissionsOf(held: readonly Role[], tenant: string): ReadonlySet<Permission> {
  const all = ["session:own" as const, ...held.flatMap((role) => table[role])];
  return new Set(tenant === ownTenant ? all : all.filter((permission) => !installationWide.has(permission)));
}

/** The roles with this permission, for a message that says whom to ask. */
export function rolesWith(permission: Permission): readonly Role[] {
  return roles.filter((role) => table[role].includes(permission));
}

export function isRole(text: string): text is Role {
  return roles.some((role) => role === text);
}

export function isPermission(text: string): text is Permission {
  return permissions.some((permission) => permission === text);
}
