/**
 * The same regular expression for the `u` flag, which the validator sets and which is stricter: without it `\-` means `-`,
 * a lone `{` means itself, and a class may hold `\w-.`.
 *
 * @returns the pattern as it is when it is valid; undefined when it is no regular expression at all
 */
export function unicodePattern(pattern: string): string | undefined {
  if (isValid(pattern, "u")) return pattern;
  if (!isValid(pattern, "")) return undefined;
  const changed = new Translation(pattern).text();
  return isValid(changed, "u") ? changed : undefined;
}

function isValid(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) !== undefined;
  } catch {
    return false; // a syntax error: all that the constructor throws
  }
}

const syntax = /[\^$\\.*+?()[\]{}|/]/;
/** Escapes that mean the same with and without the flag: classes, controls, code units, properties, named groups. */
const escapes =
  /\\(?:[dDsSwWbBfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]+\}|c[A-Za-z]|[pP]\{[^}]*\}|k<[^>]+>)/y;
const octal = /\\([0-3][0-7]{0,2}|[4-7][0-7]?)/y;
const reference = /\\([1-9][0-9]*)/y;
const quantifier = /\{[0-9]+(?:,[0-9]*)?\}/y;
/** One or several characters within a class: `\w`, `\d`. */
const classEscape = /^\\[dDsSwWpP]/;

class Translation {
  readonly #pattern: string;
  readonly #groups: number;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#groups = new RegExp(`${pattern}|`).exec("")?.length ?? 1;
  }

  text(): string {
    let made = "";
    while (this.#at < this.#pattern.length) made += this.#pattern[this.#at] === "[" ? this.#class() : this.#piece();
    return made;
  }

  #piece(): string {
    const letter = this.#pattern[this.#at] ?? "";
    if (letter === "\\") return this.#escape(false);
    const counted = letter === "{" ? this.#take(quantifier) : undefined;
    if (counted !== undefined) return counted;
    this.#at += 1;
    return /[{}\]]/.test(letter) ? `\\${letter}` : letter;
  }

  /** A hyphen beside `\w` is no range but a literal hyphen. */
  #class(): string {
    this.#at += 1;
    let made = "[";
    let before = "";
    if (this.#pattern[this.#at] === "^") made += this.#step("^");
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== "]") {
      const letter = this.#pattern[this.#at] ?? "";
      const isLiteral =
        letter === "-" && (classEscape.test(before) || classEscape.test(this.#pattern.slice(this.#at + 1)));
      before = letter === "\\" ? this.#escape(true) : this.#step(isLiteral ? "\\-" : letter);
      made += before;
    }
    this.#at += 1;
    return `${made}]`;
  }

  #step(written: string): string {
    this.#at += 1;
    return written;
  }

  #escape(inClass: boolean): string {
    const group = inClass ? undefined : this.#take(reference, (digits) => Number(digits) < this.#groups);
    const known = group ?? this.#take(escapes, undefined, inClass ? "B" : "");
    if (known !== undefined) return known;
    const code = this.#take(octal);
    if (code !== undefined) return `\\x${Number.parseInt(code.slice(1), 8).toString(16).padStart(2, "0")}`;
    const letter = this.#pattern[this.#at + 1] ?? "";
    if (letter === "c") return this.#step("\\\\");
    this.#at += 2;
    return syntax.test(letter) || (inClass && letter === "-") ? `\\${letter}` : letter;
  }

  /** What the expression matches at this place, if it is allowed here. */
  #take(expression: RegExp, fits: (group: string) => boolean = () => true, butNot = ""): string | undefined {
    expression.lastIndex = this.#at;
    const [found, group = ""] = expression.exec(this.#pattern) ?? [];
    if (found === undefined || !fits(group) || found === `\\${butNot}`) return undefined;
    this.#at += found.length;
    return found;
  }
}
