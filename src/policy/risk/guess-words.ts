/** What words suggest about a tool. A guess: docs/reference/risk.md says how often it is wrong. */
import type { Risk } from "../../core/call.ts";
import type { ToolFacts } from "../policy.ts";

export interface WordClass {
  readonly risk: Risk;
  readonly effects: ToolFacts["effects"];
  readonly says: string;
}

const reads: WordClass = { risk: "safe", effects: "read", says: "reads" };
const writes: WordClass = { risk: "medium", effects: "write", says: "changes something" };
const reaches: WordClass = { risk: "high", effects: "write", says: "reaches others" };
const rights: WordClass = { risk: "high", effects: "write", says: "changes what others may do" };
export const money: WordClass = { risk: "critical", effects: "write", says: "moves money" };
export const destroys: WordClass = { risk: "critical", effects: "destructive", says: "destroys" };
export const runs: WordClass = { risk: "critical", effects: "destructive", says: "runs code or commands" };

/** Verbs, and nouns that are tools' whole names. */
export const verbs: ReadonlyMap<string, WordClass> = new Map([
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

/** Nouns as often as verbs: they count where no other word of the name does. */
export const doubtfulVerbs: ReadonlyMap<string, WordClass> = new Map([
  ...classed(reaches, "post message mail email order request comment call schedule text sms review"),
  ...classed(reads, "weather time date location price prices balance profile report summary"),
]);

/** Reading these is not harmless. */
export const secretNouns: ReadonlySet<string> = wordSet(
  "password passwords passcode secret secrets credential credentials token tokens private_key api_key keychain vault",
);
export const privateNouns: ReadonlySet<string> = wordSet(
  "patient patients medical genetic health personal payment bank salary ssn passport identity people person background",
);
export const rightsNouns: ReadonlySet<string> = wordSet(
  "permission permissions privacy policy policies role roles access membership guest guests firewall user users participants",
);
/** Changing these is heard or paid by others. */
export const publicNouns: ReadonlySet<string> = wordSet(
  "review post comment tweet order reservation booking appointment dispatch prescription shipment invitation",
);
export const moneyNouns: ReadonlySet<string> = wordSet(
  "money payment transaction transfer withdrawal balance funds payout refund",
);
export const outsideWords: ReadonlySet<string> = wordSet(
  "web url uri http https browser browse internet website site page pages news email emails mail inbox gmail message messages",
  "tweet tweets post posts comment comments issue issues review reviews feed rss fetch download slack sms notes channel shared public google",
);

export const commandArguments: ReadonlySet<string> = wordSet(
  "command commands cmd shell script sql code python javascript bash",
);
export const recipientArguments: ReadonlySet<string> = wordSet(
  "to cc bcc recipient recipients recipient_email recipient_username user_email phone_number to_phone_numbers participants",
);
export const moneyArguments: ReadonlySet<string> = wordSet("amount total_price price_limit");
export const accountArguments: ReadonlySet<string> = wordSet(
  "account account_id recipient recipient_username iban currency destination_address payment_method to_account_id",
);
export const secretArguments: ReadonlySet<string> = wordSet(
  "password private_key secret api_key passphrase seed_phrase",
);
export const savingArguments: ReadonlySet<string> = wordSet(
  "local_path local_file_path local_destination_folder destination_path output_path save_path file_name output_file",
);
export const addressArguments: ReadonlySet<string> = wordSet("url urls uri href link");

function classed(kind: WordClass, ...lines: readonly string[]): readonly (readonly [string, WordClass])[] {
  return lines.flatMap((line) => line.split(" ")).map((word) => [word, kind] as const);
}

function wordSet(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}
