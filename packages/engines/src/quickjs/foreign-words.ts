/** Finds names that scripts expect and do not have here, before a script has called anything. */

interface Foreign {
  readonly name: string;
  /** Matches uses of the name, and no method or property of that name. */
  readonly used: RegExp;
  readonly instead: string;
}

const before = String.raw`(?:^|[=(,;{:&|?]|\breturn\b|\bawait\b|=>)[ \t]*`;
const noNetwork = "A script reaches no network; call a tool instead.";
const noModules = "A script loads no modules; tools, files, artifacts, help and console are there already.";

const foreign: readonly Foreign[] = [
  { name: "fetch", used: new RegExp(`${before}fetch[ \t]*\\(`, "m"), instead: noNetwork },
  { name: "require", used: new RegExp(`${before}require[ \t]*\\(`, "m"), instead: noModules },
  { name: "import", used: new RegExp(`${before}import[ \t]*\\(`, "m"), instead: noModules },
  {
    name: "process",
    used: new RegExp(`${before}process\\.(?:env|argv|cwd|exit|stdout|stdin)\\b`, "m"),
    instead: "A script has no process and no environment; write what it needs into the script.",
  },
  { name: "XMLHttpRequest", used: /\bnew[ \t]+XMLHttpRequest\b/, instead: noNetwork },
  { name: "WebSocket", used: /\bnew[ \t]+WebSocket\b/, instead: noNetwork },
  {
    name: "Intl",
    used: /\bIntl[ \t]*\./,
    instead: "Write numbers and dates with toFixed, padStart and toISOString.",
  },
  { name: "Worker", used: /\bnew[ \t]+Worker\b/, instead: "A script has one thread; await several calls together." },
];

/** Returns undefined when none is used. Texts, comments and names that the script declares do not count. */
export function foreignWord(source: string): string | undefined {
  const code = codeIn(source);
  for (const { name, used, instead } of foreign) {
    const at = code.search(used);
    if (at < 0 || isOwn(code, name)) continue;
    const line = code.slice(0, code.indexOf(name, at)).split("\n").length;
    return `\`${name}\` (line ${line}) is not here. ${instead}`;
  }
  return undefined;
}

/** Whether the name is declared, a parameter, or tested with `typeof`. */
function isOwn(code: string, name: string): boolean {
  return new RegExp(
    `\\b(?:const|let|var|function|class|typeof)[ \t]+${name}\\b|\\b${name}[ \t]*\\([^()]{0,200}\\)[ \t]*\\{|[{(,][ \t]*${name}[ \t]*[,})=]|\\b${name}[ \t]*=>`,
  ).test(code);
}

/** Replaces comments and texts by spaces and keeps the lines. A text that is not closed ends with its line or the script. */
function codeIn(source: string): string {
  const textOrComment =
    /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[\s\S]|[^`\\])*`?/g;
  return source.replace(textOrComment, (text) => text.replaceAll(/[^\n]/g, " "));
}
