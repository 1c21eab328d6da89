/**
 * What raises the risk of a call beyond the tool's own: a group as its target, destruction, a large blast radius, and
 * earlier results from outside. Each raises one level, they add up, critical is the ceiling.
 *
 * Invariant: an adjuster only raises.
 */
import type { Json } from "@postern/core";
import type { Facts, Reads, Suggestion, ToolFacts } from "../policy.ts";
import { globMatcher } from "../rules/glob.ts";
import { effectsOf } from "../rules/rules.ts";
import type { AdjusterOptions } from "../schema.ts";
import { recipientsIn } from "./recipients.ts";

type SettingsOf<Name extends keyof AdjusterOptions> = Exclude<AdjusterOptions[Name], false | undefined>;

/** Returns why a call is riskier than its tool, or undefined if it is not. */
type Raise = (facts: Facts) => string | undefined;

export interface Adjusters {
  /** By the tool alone. */
  readonly ofTool: (tool: ToolFacts) => string | undefined;
  /** By the call. */
  readonly ofCall: readonly Raise[];
  readonly reads: Reads | undefined;
  readonly readsFor: (tool: ToolFacts) => Reads | undefined;
}

const mostRecipients = 10;
const mostAffected = 100;
const destructiveWords = ["delete", "wipe", "reset", "drop", "purge", "erase", "destroy", "truncate"];
const recipientArguments: readonly string[] = [
  ...["to", "cc", "bcc", "to_recipients", "cc_recipients", "bcc_recipients", "recipient", "recipients"],
  ...["channel", "channels", "channel_id", "audience", "attendees"],
];
const wholeRun: Reads = { run: Number.POSITIVE_INFINITY };

export function compileAdjusters(given: AdjusterOptions | false, taint: "off" | "raise"): Adjusters {
  const options = given === false ? ({ broadcast: false, destructive: false, blastRadius: false } as const) : given;
  const { broadcast = {}, destructive = {}, blastRadius = {} } = options;
  const ofCall: Raise[] = [];
  if (broadcast !== false) ofCall.push(broadcastRaise(broadcast));
  if (blastRadius !== false) ofCall.push(blastRaise(blastRadius));
  if (taint === "raise") ofCall.push(taintRaise);
  return {
    ofTool: destructive === false ? () => undefined : destructiveRaise(destructive),
    ofCall,
    reads: taint === "raise" ? wholeRun : undefined,
    readsFor: (tool) => (taint === "raise" && tool.openWorld === true ? wholeRun : undefined),
  };
}

/** An operator who stated a tool's risk knows its name and its effects, so they do not raise that risk. */
function destructiveRaise({ words = destructiveWords }: SettingsOf<"destructive">): Adjusters["ofTool"] {
  const wanted = new Set(words.map((word) => word.toLowerCase()));
  return (tool) => {
    if (tool.riskSource === "operator" || tool.effects === "read") return undefined;
    if (effectsOf(tool) === "destructive") return "adjuster destructive: its effects";
    const word = wordsOf(actionName(tool)).find((one) => wanted.has(one));
    return word === undefined ? undefined : `adjuster destructive: the action \`${word}\``;
  };
}

/** The words of a name: `deleteFile`, `delete_file` and `files__delete-file` all have `delete`. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** Without the server's own name, which does not say what the tool does. */
function actionName({ tool, action, server }: ToolFacts): string {
  if (action !== "default") return action;
  return server !== undefined && tool.startsWith(`${server}__`) ? tool.slice(server.length + 2) : tool;
}

function broadcastRaise(settings: SettingsOf<"broadcast">): Raise {
  const { moreThan: most = mostRecipients, groups = [], arguments: names = recipientArguments } = settings;
  const isGroup = groupTest(groups);
  const looked = new Set(names.map(plainName));
  return ({ tool, suggestion, arguments: args }) => {
    if (tool.effects === "read") return undefined;
    const named = suggestion && namedBy(suggestion);
    const recipients = recipientsIn(named ?? valuesNamed(looked, args));
    const targets = suggestion?.target === undefined ? [] : recipientsIn(String(suggestion.target));
    if (recipients === undefined || targets === undefined)
      return "adjuster broadcast: its recipients are too long a text to be counted";
    const group = targets.find(isGroup) ?? recipients.find(isGroup);
    if (group !== undefined) return `adjuster broadcast: \`${shown(group)}\` is a group`;
    return recipients.length > most
      ? `adjuster broadcast: ${recipients.length} recipients, more than ${most}`
      : undefined;
  };
}

/** The recipients that the tool itself names. Returns undefined if it names none. */
function namedBy({ recipients, target }: Suggestion): Json | undefined {
  const given: unknown = recipients;
  if (Array.isArray(given)) return given.map(String);
  if (typeof given === "string") return given; // its author may state one text instead of a list
  return target === undefined ? undefined : [];
}

/** `toRecipients`, `to_recipients` and `To-Recipients` are one name. */
function plainName(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

const deepestNames = 4;

/** Also inside other arguments: `message.to`. */
function valuesNamed(names: ReadonlySet<string>, given: Json, depth = 0): readonly Json[] {
  if (depth > deepestNames || typeof given !== "object" || given === null) return [];
  if (Array.isArray(given)) return (given as readonly Json[]).flatMap((inner) => valuesNamed(names, inner, depth + 1));
  return Object.entries(given).flatMap(([name, inner]) =>
    names.has(plainName(name)) ? [inner as Json] : valuesNamed(names, inner as Json, depth + 1),
  );
}

const groupNames: ReadonlySet<string> = new Set([
  ...["*", "all", "everyone", "everybody", "channel", "here", "broadcast", "public", "world", "group"],
  ...["all-staff", "allstaff", "all-hands", "allhands", "all-users", "all_users", "all-company", "announcements"],
]);
const listNames: ReadonlySet<string> = new Set([
  ...[...groupNames, "staff", "team", "company", "employees", "members", "subscribers"],
]);
const listParts: ReadonlySet<string> = new Set([
  ...["all", "everyone", "list", "lists", "group", "newsletter", "announce", "announcements"],
]);
const listHosts: readonly string[] = ["googlegroups.com", "groups.io", "freelists.org"];

function groupTest(own: readonly string[]): (name: string) => boolean {
  const fits = own.map((pattern) => globMatcher(pattern.toLowerCase()));
  return (given) => {
    const name = given.toLowerCase();
    return fits.some((matches) => matches(name)) || isUsualGroup(name);
  };
}

function isUsualGroup(name: string): boolean {
  const at = name.lastIndexOf("@");
  if (at <= 0) return groupNames.has(name.replace(/^[@#!]+/, "")) || name.startsWith("!subteam^");
  const box = name.slice(0, at);
  const host = name.slice(at + 1).replace(/\.$/, "");
  if (listNames.has(box.split(/[+%]/)[0] ?? box) || /^(lists?|groups?)\./.test(host) || listHosts.includes(host))
    return true;
  const parts = box.split(/[-_.+]/);
  return parts.length > 1 && (listParts.has(parts[0] ?? "") || listParts.has(parts.at(-1) ?? ""));
}

function blastRaise({ moreThan: most = mostAffected }: SettingsOf<"blastRadius">): Raise {
  return ({ suggestion }) => {
    if (suggestion === undefined) return undefined;
    const affected = affectedBy(suggestion);
    return affected > most ? `adjuster blast radius: ${affected} things at once, more than ${most}` : undefined;
  };
}

/** A value that cannot be counted, such as `NaN`, counts as many. */
function affectedBy(suggestion: Suggestion): number {
  const recipients = recipientsIn(namedBy(suggestion));
  const count: unknown = suggestion.affected ?? 0;
  return typeof count === "number" && !Number.isNaN(count)
    ? Math.max(count, recipients?.length ?? Number.POSITIVE_INFINITY)
    : Number.POSITIVE_INFINITY;
}

/** A past that cannot be seen counts as tainted. */
function taintRaise({ tool, history }: Facts): string | undefined {
  if (tool.openWorld !== true || history.run?.tainted === false) return undefined;
  return "taint: a result from outside was seen in this run";
}

function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79).toWellFormed()}…` : text;
}
