/** Python in pieces: enough to know names, operators and texts apart. Not a parser: who needs one asks an engine. */

export interface Token {
  readonly kind: "name" | "operator" | "string" | "number" | "newline";
  readonly text: string;
  readonly start: number;
  readonly line: number;
  /** Of a text: whether it holds expressions. */
  readonly formatted?: boolean;
}

const space = /[ \t\f\r]+|\\\r?\n|#[^\n]*/y;
const name = /[\p{ID_Start}_][\p{ID_Continue}]*/uy;
const number = /(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+-]?\d+)?[jJ]?)/y;
const prefix = /(?:[rRbBuUfFtT]{0,3})(?="""|'''|"|')/y;
const operator = /\*\*=?|\/\/=?|>>=?|<<=?|->|:=|[-+*/%@&|^=<>!]=|[-+*/%@&|^~=<>!()[\]{},:;.?$]/y;

export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  while (at < source.length) {
    const start = at;
    const blank = match(space, source, at);
    if (blank !== undefined) {
      at += blank.length;
      line += count(blank);
      continue;
    }
    const token = next(source, at);
    tokens.push({ ...token, start, line });
    at += token.text.length;
    line += count(token.text);
  }
  return tokens;
}

function next(source: string, at: number): Pick<Token, "kind" | "text" | "formatted"> {
  if (source[at] === "\n") return { kind: "newline", text: "\n" };
  const marks = match(prefix, source, at);
  if (marks !== undefined) return text(source, at, marks);
  const digits = /[\d.]/.test(source[at] ?? "") ? match(number, source, at) : undefined;
  if (digits !== undefined && /\d/.test(digits)) return { kind: "number", text: digits };
  const word = match(name, source, at);
  if (word !== undefined) return { kind: "name", text: word };
  return { kind: "operator", text: match(operator, source, at) ?? source[at] ?? "" };
}

function text(source: string, at: number, marks: string): Pick<Token, "kind" | "text" | "formatted"> {
  const from = at + marks.length;
  const quote =
    source.startsWith(`"""`, from) || source.startsWith("'''", from)
      ? source.slice(from, from + 3)
      : (source[from] ?? "");
  let end = from + quote.length;
  while (end < source.length && !source.startsWith(quote, end)) {
    if (quote.length === 1 && source[end] === "\n") break;
    end += source[end] === "\\" ? 2 : 1;
  }
  return {
    kind: "string",
    text: source.slice(at, Math.min(source.length, end + quote.length)),
    formatted: /[fFtT]/.test(marks),
  };
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

function count(text: string): number {
  return text.split("\n").length - 1;
}
