import { RuntimeFault } from "./calls/fault.ts";
import { shown } from "./calls/shown.ts";

type Kind = "an object" | "a list" | "a function" | "a text" | "true or false" | "a list or a set of tools" | "a store";

/** What each option is, before anybody looks into it. One that is left out, or undefined, is as it is by default. */
const optionKinds: Readonly<Record<string, Kind>> = {
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
  results: "an object",
  skills: "an object",
  chains: "an object",
  channels: "an object",
  servers: "an object",
  folder: "a text",
  archive: "an object",
  "archive.folder": "a text",
  "archive.config": "a text",
  log: "a function",
};
/** Where an object of somebody else's stands, all of it must be there; and a run's folder has no default. */
const whole: ReadonlySet<string> = new Set(["secrets", "redactor", "clock", "approvals.approver"]);
const needed: ReadonlySet<string> = new Set(["archive.folder"]);
const mayBeEmpty: ReadonlySet<string> = new Set(["archive.config"]);

/** @throws RuntimeFault `options_invalid` that names the member and the value */
export function checkKinds(options: object): void {
  if (!isObject(options))
    throw new RuntimeFault("options_invalid", `The options are ${shown(options)}; they must be an object.`);
  for (const [path, kind] of Object.entries(optionKinds)) {
    const names = path.split(".");
    const [name = "", ...holders] = names.toReversed();
    const holder = holders.reduceRight<unknown>(memberOf, options);
    if (holder === undefined) continue;
    const value = memberOf(holder, name);
    const isNeeded = needed.has(path) || whole.has(path.slice(0, -name.length - 1));
    if (value === undefined && !isNeeded) continue;
    if (!isKind(value, kind) || (value === "" && !mayBeEmpty.has(path)))
      throw new RuntimeFault("options_invalid", `\`${path}\` is ${shown(value)}; it must be ${kind}.`);
  }
}

function memberOf(holder: unknown, name: string): unknown {
  return holder === undefined ? undefined : (holder as Readonly<Record<string, unknown>>)[name]; // its own kind was looked at before
}

function isKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case "an object":
      return isObject(value);
    case "a list":
      return Array.isArray(value);
    case "a function":
      return typeof value === "function";
    case "a text":
      return typeof value === "string";
    case "true or false":
      return typeof value === "boolean";
    case "a list or a set of tools":
      return typeof value === "object" && value !== null;
    case "a store":
      return typeof value === "string" || (isObject(value) && typeof memberOf(value, "commit") === "function");
    default:
      return kind satisfies never;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
