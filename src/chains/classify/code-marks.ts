/** Something that is looked for in code, and what it would mean. */
export interface Mark {
  readonly found: RegExp;
  readonly says: string;
}

/** The first of each, with its line. */
export function marked(code: string, marks: readonly Mark[]): readonly string[] {
  return marks.flatMap(({ found: pattern, says }) => {
    const match = pattern.exec(code);
    return match === null ? [] : [`${lineAt(code, match.index)}: ${says} (\`${match[0].trim().slice(0, 40)}\`)`];
  });
}

export function lineAt(code: string, index: number): string {
  return `line ${code.slice(0, index).split("\n").length}`;
}

/** More are told to nobody; each costs a look for its line. */
export const mostReasons = 20;

export function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Any of the words, wherever it stands: called, handed on, or under another name. */
export function anyOf(words: string): RegExp {
  return new RegExp(`(?<![\\w$])(?:${words.trim().replaceAll(/\s+/g, "|")})(?![\\w$])`);
}
