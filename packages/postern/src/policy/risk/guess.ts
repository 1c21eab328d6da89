/**
 * Guesses the risk of a third-party tool from its name, description, schema and annotations. docs/reference/risk.md
 * shows how often the guess is wrong.
 * Invariant: a sign only raises the guess. What Postern enforces until an operator states a risk is `high` at least.
 */
import { isJsonObject, type JsonObject, rankOf } from "@postern/core";
import type { RiskGuess } from "../policy.ts";
import { wordsOf } from "./adjusters.ts";

/** What an upstream server says about its tool. */
export interface GuessedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: JsonObject | undefined;
  readonly annotations?: { readonly [Name in HintName]?: boolean } | undefined;
}

type HintName = "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint";
type Class = Pick<RiskGuess, "risk" | "effects">;
type VerbClass = Class & { readonly does: string };

const reads: VerbClass = { risk: "safe", effects: "read", does: "reads" };
const writes: VerbClass = { risk: "medium", effects: "write", does: "changes something" };
const reaches: VerbClass = { risk: "high", effects: "write", does: "reaches others" };
const rights: VerbClass = { risk: "high", effects: "write", does: "changes what others may do" };
const money: VerbClass = { risk: "critical", effects: "write", does: "moves money" };
const destroys: VerbClass = { risk: "critical", effects: "destructive", does: "destroys" };
const runs: VerbClass = { risk: "critical", effects: "destructive", does: "runs code or commands" };

/** Verbs, and nouns that are the whole names of tools. */
const verbs: ReadonlyMap<string, VerbClass> = new Map([
  ...classed(
    reads,
    "get list read search find fetch view show describe query lookup look check count retrieve browse inspect summarize",
    "summarise analyze analyse predict forecast compare validate verify calculate compute estimate convert parse diff stat",
    "stats tree glob grep head tail cat echo ping access observe watch monitor preview explain detect ask recall",
    "examine scan measure extract identify discover enumerate return display print test lint evaluate sum translate",
    "tell recommend suggest rank classify match trace think generate load select peek whoami info status",
    "recent history download render screenshot snapshot",
  ),
  ...classed(
    writes,
    "create add update set edit modify write append insert save store put move rename copy upload draft organize label",
    "tag archive unarchive mark assign configure import export like unlike star enable disable toggle click input fill type press",
    "hover drag navigate goto play pause start stop restart open close lock merge commit checkout fork subscribe unsubscribe join leave",
    "change make build setup resolve unresolve register link unlink attach detach sync restore replace patch upsert increment adjust turn",
    "convert apply init initialize mkdir touch annotate complete finish log record remember manage handle control change",
    "give hand grab pick place go walk drive fly switch autofill lift",
  ),
  ...classed(
    reaches,
    "send reply publish share invite tweet retweet broadcast notify submit book reserve reschedule cancel deploy release",
    "push dispatch prescribe announce forward upvote downvote vote sign escalate respond answer contact subscribe hire",
  ),
  ...classed(
    rights,
    "grant revoke permit authorize authorise approve reject block unblock ban unban kick remove promote demote unlock allow deny",
  ),
  ...classed(
    money,
    "pay transfer withdraw donate buy sell purchase trade refund charge wire deposit spend bid swap stake",
  ),
  ...classed(
    destroys,
    "delete wipe purge erase destroy truncate drop reset uninstall terminate kill shutdown reboot overwrite clear empty prune",
    "rm rmdir del unlink forget discard nuke format deactivate",
  ),
  ...classed(runs, "execute exec run eval shell bash terminal powershell sudo spawn invoke install ssh"),
]);

/** As often nouns as verbs, so they count only if the name has no other verb. */
const doubtfulVerbs: ReadonlyMap<string, VerbClass> = new Map([
  ...classed(reaches, "post message mail email order request comment call schedule text sms review"),
  ...classed(reads, "weather time date location price prices balance profile report summary"),
]);

/** `read_and_delete`: the verb after one of these counts too. */
const joins: ReadonlySet<string> = wordSet("and or then");

/** Words before the verb of a description: `This tool will permanently delete …`, `Use this to list …`. */
const prefaces: ReadonlySet<string> = wordSet(
  "a an the this that tool function command api to use used using allows allow lets let you your user users can will it for please securely permanently quickly",
);

const descriptionSigns: readonly (readonly [RegExp, Class, string])[] = [
  [
    /\b(?:permanently|irreversibl[ey]|cannot be undone|can't be undone|overwrites?|overwriting)\b/,
    destroys,
    "its description speaks of what cannot be undone",
  ],
  [
    /\b(?:also|will) (?:also )?(?:send|notify|email|invite|post)\b/,
    reaches,
    "its description says that it notifies others",
  ],
  [/\b(?:arbitrary|shell|terminal|bash) (?:command|code|script)s?\b/, runs, "its description speaks of commands"],
];

const words = wordSets({
  secret:
    "password passwords passcode secret secrets credential credentials token tokens private_key api_key keychain vault",
  private:
    "patient patients medical genetic health personal payment bank salary ssn passport identity people person background",
  rights:
    "permission permissions privacy policy policies role roles access membership guest guests firewall user users participants",
  money: "money payment transaction transfer withdrawal balance funds payout refund",
  /** Other people see or pay for a change of these. */
  public: "review post comment tweet order reservation booking appointment dispatch prescription shipment invitation",
  outside:
    "web url uri http https browser browse internet website site page pages news email emails mail inbox gmail message messages " +
    "tweet tweets post posts comment comments issue issues review reviews feed rss fetch download slack sms notes channel shared public google",
});

const takenWords = wordSets({
  command: "command commands cmd shell script sql code python javascript bash",
  address: "url urls uri href link",
  file: "local_path local_file_path local_destination_folder destination_path output_path save_path file_name output_file",
  recipient:
    "to cc bcc recipient recipients recipient_email recipient_username user_email phone_number to_phone_numbers participants",
  amount: "amount total_price price_limit",
  account:
    "account account_id recipient recipient_username iban currency destination_address payment_method to_account_id",
  secret: "password private_key secret api_key passphrase seed_phrase",
});

const isAbout = (word: string): string => `it is about ${word}`;
const changes = (word: string): string => `it changes ${word}`;
const takes = (word: string): string => `it takes ${word}`;

interface WordSign {
  readonly words: ReadonlySet<string>;
  readonly risk: RiskGuess["risk"];
  /** If left out, the effects known so far. */
  readonly effects?: RiskGuess["effects"];
  /** The sign counts only for a tool that does more than read. */
  readonly ifItChanges?: true;
  /** An argument of this name is needed too. */
  readonly beside?: ReadonlySet<string>;
  readonly why: (word: string) => string;
}

const nameSigns: readonly WordSign[] = [
  { words: words.secret, risk: "critical", ifItChanges: true, why: isAbout },
  { words: words.secret, risk: "high", why: isAbout },
  { words: words.private, risk: "medium", why: (word) => `it is about ${word} data` },
  { words: words.rights, risk: "high", effects: "write", ifItChanges: true, why: changes },
  { words: words.money, risk: "critical", effects: "write", ifItChanges: true, why: changes },
  { words: words.public, risk: "high", effects: "write", ifItChanges: true, why: (word) => `others see its ${word}` },
];

const argumentSigns: readonly WordSign[] = [
  { words: takenWords.command, risk: "critical", effects: "destructive", why: takes },
  { words: takenWords.address, risk: "medium", why: (word) => `it takes ${word}: an address can carry data away` },
  { words: takenWords.file, risk: "medium", effects: "write", why: takes },
  { words: takenWords.recipient, risk: "high", effects: "write", ifItChanges: true, why: takes },
  {
    ...{ words: takenWords.amount, beside: takenWords.account, risk: "critical", effects: "write", ifItChanges: true },
    why: (word) => `it takes ${word} and an account`,
  },
  { words: takenWords.secret, risk: "critical", effects: "write", ifItChanges: true, why: takes },
];

/** A description may be of any length, and says early what the tool does. */
const readLength = 2_000;

/**
 * What name, description, schema and annotations of a tool suggest. It is a pure guess: the author may be wrong, or lie. An
 * operator should look at it; until then Postern enforces `high` at least.
 *
 * @example
 * guessRisk({ name: "delete_branch", description: "Deletes a branch." });
 * // { risk: "critical", effects: "destructive", openWorld: false, why: ["`delete` destroys"] }
 *
 * @public
 */
export function guessRisk({ name, description: whole = "", inputSchema, annotations = {} }: GuessedTool): RiskGuess {
  const named = wordsOf(name.slice(0, 200));
  const description = whole.slice(0, readLength);
  const fields = argumentsOf(inputSchema);
  const guess = new Guess();
  fromName(named, guess);
  fromDescription(description, guess);
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  if (!guess.isKnown && readOnlyHint === true) guess.see(reads, "its server says that it only reads");
  if (!guess.isKnown) guess.see(reaches, "nothing describes what it does");
  seeWords(named, nameSigns, guess);
  seeWords(fields, argumentSigns, guess);
  // A hint counts only where it makes the guess worse.
  if (destructiveHint === true && readOnlyHint !== true) guess.see(destroys, "its server says that it destroys");
  if (readOnlyHint === false) guess.see(writes, "its server says that it does more than read");
  const sentence = [...named, ...wordsOf(description.split(/[.\n]/)[0] ?? "")];
  const isOutside =
    sentence.some((word) => words.outside.has(word)) || fields.some((one) => takenWords.address.has(one));
  const openWorld = openWorldHint === true || isOutside;
  return { risk: guess.risk, effects: guess.effects, openWorld, why: guess.why };
}

const effectRanks = { read: 0, write: 1, destructive: 2 } as const;

class Guess {
  risk: RiskGuess["risk"] = "safe";
  effects: RiskGuess["effects"] = "read";
  isKnown = false;
  readonly why: string[] = [];

  /** Each sign counts where it is worse than what is known. */
  see({ risk, effects }: Class, why: string): void {
    const isRiskier = rankOf(risk) > rankOf(this.risk);
    const doesMore = effectRanks[effects] > effectRanks[this.effects];
    if (isRiskier || doesMore || !this.isKnown) this.why.push(why);
    this.isKnown = true;
    if (isRiskier) this.risk = risk;
    if (doesMore) this.effects = effects;
  }

  seeVerb(word: string, known: ReadonlyMap<string, VerbClass> = verbs): void {
    const kind = known.get(word);
    if (kind !== undefined) this.see(kind, `\`${word}\` ${kind.does}`);
  }
}

/** The first verb decides, and each verb that is joined to it: `get_deleted_items` reads, `read_and_delete` does not. */
function fromName(words: readonly string[], guess: Guess): void {
  const at = words.findIndex((word) => verbs.has(word));
  const known = at < 0 ? doubtfulVerbs : verbs;
  guess.seeVerb(words.find((word) => known.has(word)) ?? "", known);
  for (const [i, word] of words.entries()) if (joins.has(word) && i > at && at >= 0) guess.seeVerb(words[i + 1] ?? "");
}

/** The verbs at its beginning (`List, create, update and delete …`), and what it says about side effects. */
function fromDescription(description: string, guess: Guess): void {
  let foundVerb = false;
  let joined = true;
  for (const word of description.split(/[\s/]+/, 24)) {
    const plain = word.toLowerCase().replaceAll(/[^\p{L}]/gu, "");
    if (joins.has(plain) || (!foundVerb && prefaces.has(plain))) {
      joined = true;
      continue;
    }
    const stem = joined ? stemOf(plain) : undefined;
    if (stem === undefined) break;
    guess.seeVerb(stem);
    foundVerb = true;
    joined = word.endsWith(",") || word.endsWith("/");
  }
  const lower = description.toLowerCase();
  for (const [pattern, kind, why] of descriptionSigns) if (pattern.test(lower)) guess.see(kind, why);
}

/** `creates`, `searches` and `copies` are verbs too. */
function stemOf(word: string): string | undefined {
  return [word, word.replace(/s$/, ""), word.replace(/es$/, ""), word.replace(/ies$/, "y")].find((one) =>
    verbs.has(one),
  );
}

function seeWords(given: readonly string[], signs: readonly WordSign[], guess: Guess): void {
  for (const { words: known, risk, effects, ifItChanges, beside, why } of signs) {
    if (ifItChanges === true && guess.effects === "read") continue;
    const word = given.find((one) => known.has(one));
    if (word === undefined || (beside !== undefined && !given.some((one) => beside.has(one)))) continue;
    guess.see({ risk, effects: effects ?? guess.effects }, why(`\`${word}\``));
  }
}

function argumentsOf(schema: JsonObject | undefined): readonly string[] {
  const properties = schema?.["properties"];
  if (!isJsonObject(properties)) return [];
  return Object.keys(properties)
    .slice(0, 200)
    .map((name) => wordsOf(name).join("_"));
}

function classed(kind: VerbClass, ...lines: readonly string[]): readonly (readonly [string, VerbClass])[] {
  return lines.flatMap((line) => line.split(" ")).map((word) => [word, kind] as const);
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

function wordSets<Name extends string>(lists: Readonly<Record<Name, string>>) {
  const sets = Object.entries<string>(lists).map(([name, list]) => [name, wordSet(list)] as const);
  return Object.fromEntries(sets) as Readonly<Record<Name, ReadonlySet<string>>>; // the same names
}
