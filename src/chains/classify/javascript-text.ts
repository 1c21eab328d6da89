/**
 * JavaScript without the content of its texts and comments; every line keeps its place. What stands in a template is kept,
 * for it may be code. Undefined where a `/` can be read in two ways: then nothing is taken for a text.
 */
export interface JavaScriptText {
  readonly code: string;
  /** The plain texts, as they are written. */
  readonly strings: readonly string[];
}

const regularBefore =
  /(?:[(,=:[&|?{;*%<>~^]|(?<![\w$)\]])!|(?<!\+)\+|(?<!-)-|(?<![\w$.])(?:return|typeof|case|in|instanceof|new|delete|void|throw|do|else))$/;
const neverBefore = /[\w$\]"'`.]$/;
const keyword = /\b(?:await|yield|of|async|get|set|static)$/;
const plain = /[^"'`/\\]+/y;
const text = /"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/y;
/** With expressions that hold no text and no block of their own; any other is not taken for one. */
const template = /`(?:\\[\s\S]|[^`\\$]|\$(?!\{)|\$\{[^`{}"'/\\]*\})*`/y;
const comment = /\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\//y;
const regular = /\/(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;

export function javascriptText(source: string): JavaScriptText | undefined {
  const strings: string[] = [];
  let code = "";
  for (let at = 0; at < source.length; ) {
    const found = match(plain, source, at) ?? match(comment, source, at) ?? match(text, source, at);
    const piece = found ?? match(template, source, at) ?? slash(source, at, code);
    if (piece === undefined) return undefined;
    if (piece.startsWith("/") && isComment(piece)) code += blank(piece);
    else if (piece.startsWith('"') || piece.startsWith("'")) {
      strings.push(piece.slice(1, -1));
      code += `${piece[0]}${blank(piece.slice(1, -1))}${piece[0]}`;
    } else code += piece;
    at += piece.length;
  }
  return { code, strings };
}

/** Of a template only what stands in its braces is code, and that it begins: what stands before it may be called with it. */
export function withoutTemplates(code: string): string {
  return code.replaceAll(/`(?:\\[\s\S]|[^`\\])*`/g, (whole) => {
    let at = 0;
    let kept = "";
    for (const { 1: inside = "", index } of whole.matchAll(/\$\{([^{}]*)\}/g)) {
      kept += `${blank(whole.slice(Math.max(at, 1), index + 2))}${inside}`;
      at = index + 2 + inside.length;
    }
    return `\`${kept}${blank(whole.slice(Math.max(at, 1)))}`;
  });
}

/** A division, or a regular expression; where neither is sure, nothing. */
export function slash(source: string, at: number, before: string): string | undefined {
  if (source[at] !== "/") return undefined;
  const last = lastOf(before);
  if (last === "" || regularBefore.test(last)) return match(regular, source, at);
  return neverBefore.test(last) && !keyword.test(last) ? "/" : undefined;
}

/** The last few letters that are no space, however much of it there is. */
function lastOf(code: string): string {
  let end = code.length;
  while (end > 0 && (code[end - 1] ?? "").trim() === "") end -= 1;
  return code.slice(Math.max(0, end - 20), end);
}

function isComment(piece: string): boolean {
  return piece.startsWith("//") || piece.startsWith("/*");
}

function blank(piece: string): string {
  return piece.replaceAll(/[^\n]/g, " ");
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}
