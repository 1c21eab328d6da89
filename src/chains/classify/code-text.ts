/** Python without the content of its texts and comments; every character keeps its place. */
export type PythonText =
  | { readonly code: string /** By the place of the opening quote. */; readonly strings: ReadonlyMap<number, string> }
  | { readonly problem: string };

const openers: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Not a parser: it sees what no Python program has (a text that never ends, brackets that do not fit, a broken indent). */
export function blankPython(source: string): PythonText {
  const strings = new Map<number, string>();
  const brackets: string[] = [];
  let code = "";
  for (let at = 0; at < source.length; ) {
    const letter = source[at] ?? "";
    if (letter === "#") {
      const end = endOfLine(source, at);
      code += " ".repeat(end - at);
      at = end;
    } else if (letter === '"' || letter === "'") {
      const read = textFrom(source, at);
      if (read === undefined) return { problem: `a text that begins in line ${lineOf(source, at)} never ends` };
      const isFormatted = /[fFtT][rR]?$|[rR][fFtT]$/.test(source.slice(Math.max(0, at - 2), at));
      if (isFormatted && isTorn(read.text))
        return { problem: `a text in line ${lineOf(source, at)} holds another one in its braces` };
      const whole = source.slice(at, read.end);
      if (!isFormatted) strings.set(at, read.text);
      code += isFormatted ? whole : letter + whole.slice(1, -1).replaceAll(/[^\n]/g, " ") + letter; // what a formatted text holds in braces is code
      at = read.end;
    } else {
      if (letter in openers) brackets.push(openers[letter] ?? "");
      else if (")]}".includes(letter) && brackets.pop() !== letter)
        return { problem: `a bracket in line ${lineOf(source, at)} fits none` };
      code += letter;
      at += 1;
    }
  }
  if (brackets.length > 0) return { problem: "a bracket is never closed" };
  const odd = statementProblem(code);
  return odd === undefined ? { code, strings } : { problem: odd };
}

/** It ends within an expression: what looked like its end begins a text inside. */
function isTorn(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (depth === 0 && (letter === "{" || letter === "}") && text[at + 1] === letter) at += 1;
    else if (letter === "{") depth += 1;
    else if (letter === "}") depth -= 1;
  }
  return depth !== 0;
}

function textFrom(source: string, at: number): { readonly text: string; readonly end: number } | undefined {
  const quote = source[at] ?? "";
  const triple = source.startsWith(quote.repeat(3), at);
  const mark = triple ? quote.repeat(3) : quote;
  for (let end = at + mark.length; end < source.length; end += 1) {
    if (source[end] === "\\") end += 1;
    else if (source.startsWith(mark, end)) return { text: source.slice(at + mark.length, end), end: end + mark.length };
    else if (!triple && source[end] === "\n") return undefined;
  }
  return undefined;
}

/** A statement that opens a block says so with a colon, and its block is there. */
function statementProblem(code: string): string | undefined {
  const lines = code.split("\n");
  for (const [n, line] of lines.entries()) {
    if (/^\s*(?:def|class)\s+\w+[^:]*$/.test(line) && !line.includes("(")) return `line ${n + 1} opens no block`;
    if (
      /^\s*(?:if|while|for|else|elif|try|except|finally|with)\b[^:([{]*$/.test(line) &&
      !isChoice(line) &&
      !line.trimEnd().endsWith("\\")
    )
      return `line ${n + 1} opens no block`;
    if (/[^=!<>:]=\s*$/.test(line) || /^\s*(?:def|import|from|class)\s*$/.test(line))
      return `line ${n + 1} ends in the middle`;
    if (/^\s*[A-Za-z_]\w*\s+[A-Za-z_]\w*\s*$/.test(line) && !keyworded.test(line))
      return `line ${n + 1} is no statement`;
  }
  return undefined;
}

/** `a if b else c`. One search after the other: together they would look through the line once for every `if`. */
function isChoice(line: string): boolean {
  const first = line.search(/\bif\b/);
  return first >= 0 && /\belse\b/.test(line.slice(first));
}

const keyworded =
  /^\s*(?:return|import|del|global|nonlocal|raise|assert|await|yield|not|pass|async|from|lambda|type|match|case|print|else|in|and|or|is|if|for)\b|\b(?:and|or|in|is|not|if|else|for)\s*$/;

function endOfLine(source: string, at: number): number {
  const end = source.indexOf("\n", at);
  return end < 0 ? source.length : end;
}

function lineOf(source: string, at: number): number {
  return source.slice(0, at).split("\n").length;
}
