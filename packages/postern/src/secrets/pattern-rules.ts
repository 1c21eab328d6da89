import { RuntimeFault } from "@postern/core";

/** A part of a text that a rule takes for a secret: its kind and its place. */
export interface Suspect {
  /** In words: "github token". */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** One rule of secretlint, ready to search texts. */
export interface PatternRule {
  /** A text without any of these has no match of this rule. */
  readonly keywords: readonly string[];
  /** A text that must be present too. */
  readonly besides: string;
  search(text: string): readonly Suspect[];
}

/** The parts of a secretlint rule that are used here. */
interface RuleCreator {
  readonly meta: { readonly id: string };
  create(context: object, options: object): { file?(source: object): unknown };
}

interface Report {
  readonly range: readonly [number, number];
  readonly message: { readonly messageId: string; readonly data?: Readonly<Record<string, unknown>> };
}

/**
 * Rules that are not run. One lets a text exclude itself (`secretlint-disable`), which an attacker could use; the other
 * reads files by their name.
 */
const notRun: ReadonlySet<string> = new Set(["filter-comments", "gcp"]);

const combined = (one: readonly string[], other: readonly string[]): readonly string[] =>
  one.flatMap((first) => other.map((second) => first + second));

/** Keywords of each rule: every match contains one of them. */
const keywords: ReadonlyMap<string, readonly string[]> = new Map([
  ["1password", ["ops_ey"]],
  ["anthropic", ["sk-ant-api0"]],
  ["aws", combined(combined(["SECRET", "secret", "Secret"], ["", "_"]), ["ACCESS", "access", "Access"])],
  ["basicauth", ["://"]],
  ["cloudflare", ["cfk_", "cfut_", "cfat_"]],
  ["database-connection-string", ["://"]],
  ["databricks", ["dapi"]],
  ["docker", ["dckr_pat_"]],
  ["figma", ["figd_"]],
  ["github", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]],
  ["gitlab", ["glpat-"]],
  ["grafana", ["glc_", "glsa_"]],
  ["groq", ["gsk_"]],
  ["hashicorp-vault", ["hvs.", "hvb.", "hvr."]],
  ["huggingface", ["hf_"]],
  ["linear", ["lin_api_"]],
  ["notion", ["ntn_"]],
  ["npm", ["npm_", ":x-oauth-basic@"]],
  ["openai", ["T3BlbkFJ"]],
  ["privatekey", ["PRIVATE KEY"]],
  ["sendgrid", ["SG."]],
  ["shopify", ["shppa_", "shpca_", "shpat_", "shpss_"]],
  ["slack", ["xoxb-", "xoxp-", "xapp-", "xoxa-", "xoxo-", "xoxr-", "hooks.slack.com"]],
  ["stripe", ["sk_live", "sk_test", "rk_live", "rk_test"]],
  ["tailscale", ["tskey-"]],
  ["vercel", ["vcp_", "vci_", "vca_", "vcr_", "vck_"]],
]);

/** Addresses are frequent, addresses with a password are not. */
const besides: ReadonlyMap<string, string> = new Map([
  ["basicauth", "@"],
  ["database-connection-string", "@"],
]);

/**
 * secretlint's recommended rules, loaded on first use.
 *
 * @throws RuntimeFault `internal` when the package has other rules than this file expects
 */
export async function loadRules(): Promise<readonly PatternRule[]> {
  const { rules }: { readonly rules: readonly unknown[] } = await import(
    "@secretlint/secretlint-rule-preset-recommend"
  );
  return rules.flatMap((creator) => {
    const name = isCreator(creator) ? creator.meta.id.replace("@secretlint/secretlint-rule-", "") : "";
    if (notRun.has(name)) return [];
    const words = keywords.get(name);
    if (words !== undefined && isCreator(creator))
      return [{ keywords: words, besides: besides.get(name) ?? "", search: searchWith(creator) }];
    throw new RuntimeFault(
      "internal",
      `The rule \`${name}\` of secretlint is not one of those Postern knows; install the version Postern names.`,
    );
  });
}

function isCreator(rule: unknown): rule is RuleCreator {
  return typeof rule === "object" && rule !== null && "create" in rule && "meta" in rule;
}

/** The rules are synchronous. Each reports through its context while it searches. */
function searchWith(creator: RuleCreator): PatternRule["search"] {
  let reports: Report[] = [];
  const context = {
    sharedOptions: {},
    createTranslator: () => (messageId: string, data?: object) => ({ messageId, data, message: messageId }),
    report: (report: Report) => void reports.push(report),
    ignore() {},
  };
  const rule = creator.create(context, {});
  return (text) => {
    reports = [];
    // Without a name and a path, because some rules would trust the name or open the file.
    rule.file?.({ content: text, contentType: "text", filePath: undefined, ext: "" });
    return reports.map((report) => suspectOf(report, text));
  };
}

/** Characters that end a credential in any text. */
const ending = /["'`\\<>\s]/;

/**
 * The place of a secret is found from its value when the rule gives it, because the range of some rules begins too
 * early and ends before the secret does. It never crosses a quote or a backslash, so that masked JSON stays valid.
 */
function suspectOf({ range, message: { messageId, data = {} } }: Report, text: string): Suspect {
  const [from, to] = range;
  const values = Object.entries(data).flatMap(([name, value]) =>
    typeof value === "string" && value.length >= 8 && name !== "typeName" ? [value] : [],
  );
  const [value] = values.filter((one) => text.startsWith(one, text.indexOf(one, from)) && text.indexOf(one, from) >= 0);
  const start = value === undefined ? from : text.indexOf(value, from);
  const end = value === undefined ? to : start + value.length;
  const kind = wordsOf(messageId);
  if (kind.includes("private key")) return { kind, start, end };
  const cut = text.slice(start, end).search(ending);
  return { kind, start, end: cut < 1 ? end : start + cut };
}

/** `GITHUB_TOKEN`, `BasicAuth` → "github token", "basic auth". */
function wordsOf(id: string): string {
  return id
    .replace(/([a-z])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4")
    .replaceAll("_", " ")
    .toLowerCase();
}
