import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { rankOf } from "../../core/risk.ts";
import type { RiskGuess } from "../policy.ts";
import { wordsOf } from "./adjusters.ts";
import {
  accountArguments,
  addressArguments,
  commandArguments,
  destroys,
  doubtfulVerbs,
  money,
  moneyArguments,
  moneyNouns,
  outsideWords,
  privateNouns,
  publicNouns,
  recipientArguments,
  rightsNouns,
  runs,
  savingArguments,
  secretArguments,
  secretNouns,
  verbs,
  type WordClass,
} from "./guess-words.ts";

/** What a stranger says of its tool. */
export interface GuessedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: JsonObject | undefined;
  readonly annotations?:
    | {
        readonly readOnlyHint?: boolean;
        readonly destructiveHint?: boolean;
        readonly idempotentHint?: boolean;
        readonly openWorldHint?: boolean;
      }
    | undefined;
}

/** Descriptions may be of any length; what a tool does is said early. */
const readLength = 2_000;

/**
 * What name, description, schema and annotations of a tool suggest. Pure, and no more than a guess: whoever wrote them may
 * be wrong, or lie. It is for an operator to look at; what is enforced until then is `high` at least.
 *
 * @example
 * guessRisk({ name: "delete_branch", description: "Deletes a branch." });
 * // { risk: "critical", effects: "destructive", openWorld: false, why: ["`delete` destroys"] }
 *
 * @public
 */
export function guessRisk(tool: GuessedTool): RiskGuess {
  const words = wordsOf(tool.name.slice(0, 200));
  const description = (tool.description ?? "").slice(0, readLength);
  const fields = argumentsOf(tool.inputSchema);
  const draft = new Guess();
  fromName(words, draft);
  fromDescription(description, draft);
  if (!draft.isKnown && tool.annotations?.readOnlyHint === true)
    draft.saw({ risk: "safe", effects: "read", says: "" }, "its server says that it only reads");
  if (!draft.isKnown) draft.saw({ risk: "high", effects: "write", says: "" }, "nothing says what it does");
  fromNouns(words, draft);
  fromArguments(fields, draft);
  fromAnnotations(tool.annotations, draft);
  const outside = [...words, ...wordsOf(description.split(/[.\n]/)[0] ?? "")].some((word) => outsideWords.has(word));
  const reachesOut = fields.some((field) => addressArguments.has(field));
  const openWorld = tool.annotations?.openWorldHint === true || outside || reachesOut;
  return { risk: draft.risk, effects: draft.effects, openWorld, why: draft.why };
}

const effectRanks = { read: 0, write: 1, destructive: 2 } as const;

/** It only grows: each sign is believed where it is worse. */
class Guess {
  risk: RiskGuess["risk"] = "safe";
  effects: RiskGuess["effects"] = "read";
  isKnown = false;
  readonly why: string[] = [];

  saw({ risk, effects }: WordClass, why: string): void {
    const first = !this.isKnown;
    const worse = rankOf(risk) > rankOf(this.risk) || effectRanks[effects] > effectRanks[this.effects];
    this.isKnown = true;
    if (!first && !worse) return;
    if (rankOf(risk) > rankOf(this.risk)) this.risk = risk;
    if (effectRanks[effects] > effectRanks[this.effects]) this.effects = effects;
    this.why.push(why);
  }
}

/** The first verb decides, and whatever is joined to it: `get_deleted_items` reads, `read_and_delete` does not. */
function fromName(words: readonly string[], draft: Guess): void {
  const at = words.findIndex((word) => verbs.has(word));
  if (at < 0) {
    const word = words.find((one) => doubtfulVerbs.has(one));
    const kind = word === undefined ? undefined : doubtfulVerbs.get(word);
    if (kind !== undefined) draft.saw(kind, `\`${word}\` ${kind.says}`);
    return;
  }
  seeVerb(words[at] ?? "", draft);
  for (const [i, word] of words.entries()) if (joins.has(word) && i > at) seeVerb(words[i + 1] ?? "", draft);
}

const joins: ReadonlySet<string> = new Set(["and", "or", "then"]);

function seeVerb(word: string, draft: Guess): void {
  const kind = verbs.get(word);
  if (kind !== undefined) draft.saw(kind, `\`${word}\` ${kind.says}`);
}

/** The verbs it begins with (`List, create, update and delete …`), and what it says of side effects. */
function fromDescription(description: string, draft: Guess): void {
  let begun = false;
  let joined = true;
  for (const word of description.split(/[\s/]+/, 24)) {
    const plain = word.toLowerCase().replaceAll(/[^\p{L}]/gu, "");
    if (joins.has(plain) || (!begun && prefaces.has(plain))) {
      joined = true;
      continue;
    }
    const stem = joined ? stemOf(plain) : undefined;
    if (stem === undefined) break;
    seeVerb(stem, draft);
    begun = true;
    joined = word.endsWith(",") || word.endsWith("/");
  }
  const lower = description.toLowerCase();
  if (/\b(?:permanently|irreversibl[ey]|cannot be undone|can't be undone|overwrites?|overwriting)\b/.test(lower))
    draft.saw(destroys, "its description speaks of what cannot be undone");
  if (/\b(?:also|will) (?:also )?(?:send|notify|email|invite|post)\b/.test(lower))
    draft.saw({ risk: "high", effects: "write", says: "" }, "its description says that others are told");
  if (/\b(?:arbitrary|shell|terminal|bash) (?:command|code|script)s?\b/.test(lower))
    draft.saw(runs, "its description speaks of commands");
}

/** What stands before the verb: `This tool will permanently delete …`, `Use this to list …`. */
const prefaces: ReadonlySet<string> = new Set(
  "a an the this that tool function command api to use used using allows allow lets let you your user users can will it for please securely permanently quickly".split(
    " ",
  ),
);

/** `creates`, `searches` and `copies` are verbs as well. */
function stemOf(word: string): string | undefined {
  return [word, word.replace(/s$/, ""), word.replace(/es$/, ""), word.replace(/ies$/, "y")].find((one) =>
    verbs.has(one),
  );
}

function fromNouns(words: readonly string[], draft: Guess): void {
  const secret = words.find((word) => secretNouns.has(word));
  const own = words.find((word) => privateNouns.has(word));
  const right = words.find((word) => rightsNouns.has(word));
  if (secret !== undefined)
    draft.saw(
      { risk: draft.effects === "read" ? "high" : "critical", effects: draft.effects, says: "" },
      `it is about \`${secret}\``,
    );
  if (own !== undefined) draft.saw({ risk: "medium", effects: draft.effects, says: "" }, `it is about \`${own}\` data`);
  if (right !== undefined && draft.effects !== "read")
    draft.saw({ risk: "high", effects: "write", says: "" }, `it changes \`${right}\``);
  const spent = words.find((word) => moneyNouns.has(word));
  const heard = words.find((word) => publicNouns.has(word));
  if (draft.effects === "read") return;
  if (spent !== undefined) draft.saw(money, `it changes \`${spent}\``);
  if (heard !== undefined) draft.saw({ risk: "high", effects: "write", says: "" }, `others see its \`${heard}\``);
}

function fromArguments(fields: readonly string[], draft: Guess): void {
  const takes = (names: ReadonlySet<string>): string | undefined => fields.find((field) => names.has(field));
  const command = takes(commandArguments);
  if (command !== undefined) draft.saw(runs, `it takes \`${command}\``);
  const address = takes(addressArguments);
  if (address !== undefined)
    draft.saw({ risk: "medium", effects: "read", says: "" }, `it takes \`${address}\`: an address can carry data away`);
  const saved = takes(savingArguments);
  if (saved !== undefined) draft.saw({ risk: "medium", effects: "write", says: "" }, `it takes \`${saved}\``);
  if (draft.effects === "read") return;
  const recipient = takes(recipientArguments);
  if (recipient !== undefined) draft.saw({ risk: "high", effects: "write", says: "" }, `it takes \`${recipient}\``);
  const amount = takes(moneyArguments);
  if (amount !== undefined && takes(accountArguments) !== undefined)
    draft.saw(money, `it takes \`${amount}\` and an account`);
  const secret = takes(secretArguments);
  if (secret !== undefined) draft.saw({ risk: "critical", effects: "write", says: "" }, `it takes \`${secret}\``);
}

/** A hint is believed where it makes things worse. */
function fromAnnotations(annotations: GuessedTool["annotations"], draft: Guess): void {
  const { readOnlyHint, destructiveHint } = annotations ?? {};
  if (destructiveHint === true && readOnlyHint !== true) draft.saw(destroys, "its server says that it destroys");
  if (readOnlyHint === false)
    draft.saw({ risk: "medium", effects: "write", says: "" }, "its server says that it does more than read");
}

function argumentsOf(schema: JsonObject | undefined): readonly string[] {
  const properties = schema?.["properties"];
  if (!isJsonObject(properties)) return [];
  return Object.keys(properties)
    .slice(0, 200)
    .map((name) => wordsOf(name).join("_"));
}
