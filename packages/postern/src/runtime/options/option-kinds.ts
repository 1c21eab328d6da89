import { checkMember, type Kind, RuntimeFault, shown } from "@postern/core";
import { isStore } from "../../store/open-store.ts";

type OwnKind = "a list" | "a list or a set of tools" | "a store";

/** The kinds of options that no other check has. */
const fits: Readonly<Record<OwnKind, (value: unknown) => boolean>> = {
  "a list": Array.isArray,
  "a list or a set of tools": isHolder,
  "a store": (value) => typeof value === "string" || typeof value === "function" || isStore(value),
};

/** The kind of each option. An option that is left out or undefined gets its default. */
const optionKinds: Readonly<Record<string, OwnKind | Extract<Kind, string>>> = {
  tools: "a list or a set of tools",
  policy: "an object",
  guardrails: "a list",
  store: "a store",
  secrets: "an object",
  "secrets.get": "a function",
  redactor: "an object",
  "redactor.learn": "a function",
  "redactor.redact": "a function",
  "redactor.finds": "a function",
  hooks: "an object",
  "hooks.toolStart": "a function",
  "hooks.toolEnd": "a function",
  clock: "an object",
  "clock.now": "a function",
  "clock.monotonic": "a function",
  "clock.in": "a function",
  limits: "an object",
  approvals: "an object",
  "approvals.approver": "an object",
  "approvals.approver.name": "a text",
  "approvals.approver.ask": "a function",
  "approvals.separateUser": "true or false",
  "approvals.routes": "a list",
  "approvals.accountsExist": "a function",
  accounts: "an object",
  "accounts.sessions": "an object",
  "accounts.passwordCost": "an object",
  audit: "an object",
  "audit.recheck": "an object",
  "audit.witness": "an object",
  results: "an object",
  skills: "an object",
  chains: "an object",
  channels: "an object",
  servers: "an object",
  serverWaitMs: "a number",
  folder: "a text",
  archive: "an object",
  "archive.folder": "a text",
  "archive.config": "a text",
  log: "a function",
};
/** Objects of the application that must be complete. The folder of a run has no default. */
const completeObjects: ReadonlySet<string> = new Set(["secrets", "redactor", "clock", "approvals.approver"]);
const needed: ReadonlySet<string> = new Set(["archive.folder"]);
const mayBeEmpty: ReadonlySet<string> = new Set(["archive.config"]);

const code = "options_invalid";

/** @throws RuntimeFault `options_invalid` that names the member and the value */
export function checkKinds(options: object): void {
  checkMember("options", options, "an object", code);
  for (const [path, kind] of Object.entries(optionKinds)) {
    const names = path.split(".");
    const [name = "", ...holders] = names.toReversed();
    const holder = holders.reduceRight<unknown>(memberOf, options);
    if (holder === undefined) continue;
    const value = memberOf(holder, name);
    const isNeeded = needed.has(path) || completeObjects.has(path.slice(0, -name.length - 1));
    if (value === undefined && !isNeeded) continue;
    const isEmpty = value === "" && !mayBeEmpty.has(path);
    if (isEmpty || (isOwn(kind) && !fits[kind](value)))
      throw new RuntimeFault(code, `\`${path}\` is ${shown(value)}; it must be ${kind}.`);
    if (!isOwn(kind)) checkMember(path, value, kind, code);
  }
}

function memberOf(holder: unknown, name: string): unknown {
  return holder === undefined ? undefined : (holder as Readonly<Record<string, unknown>>)[name]; // the kind of `holder` was checked before
}

function isOwn(kind: OwnKind | Extract<Kind, string>): kind is OwnKind {
  return Object.hasOwn(fits, kind);
}

function isHolder(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
