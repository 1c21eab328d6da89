/** A glob as the source of a regular expression for a whole path, in RE2's dialect: matched in linear time. */
export function globSource(glob: string): string {
  let source = "";
  let open = 0;
  for (let at = 0; at < glob.length; ) {
    const [piece, length] = pieceAt(glob, at, open);
    if (piece === "(?:") open += 1;
    if (piece === ")") open -= 1;
    source += piece;
    at += length;
  }
  return `^${source}${")".repeat(open)}$`;
}

/** One piece of a glob: what it is in a regular expression, and how many characters of the glob it took. */
function pieceAt(glob: string, at: number, open: number): readonly [piece: string, length: number] {
  const character = String.fromCodePoint(glob.codePointAt(at) ?? 0);
  switch (character) {
    case "*":
      return starsAt(glob, at);
    case "?":
      return ["[^/]", 1];
    case "[":
      return classAt(glob, at);
    case "{":
      return glob.includes("}", at) ? ["(?:", 1] : ["\\{", 1];
    case "}":
      return open > 0 ? [")", 1] : ["\\}", 1];
    case ",":
      return open > 0 ? ["|", 1] : [",", 1];
    case "\\":
      return at + 1 < glob.length ? [literal(glob.charAt(at + 1)), 2] : ["\\\\", 1];
    default:
      return [literal(character), character.length];
  }
}

/** `**` stands for any number of folders, but only where it is a whole part of the path. */
function starsAt(glob: string, at: number): readonly [piece: string, length: number] {
  let end = at;
  while (glob[end] === "*") end += 1;
  const isPart = end - at >= 2 && (at === 0 || glob[at - 1] === "/");
  if (isPart && glob[end] === "/") return ["(?:[^/]+/)*", end - at + 1];
  if (isPart && end === glob.length) return [".*", end - at];
  return ["[^/]*", end - at];
}

function classAt(glob: string, at: number): readonly [piece: string, length: number] {
  const negated = glob[at + 1] === "!" || glob[at + 1] === "^";
  const begin = at + (negated ? 2 : 1);
  const end = glob.indexOf("]", begin + 1); // a `]` at the very beginning stands for itself
  if (end < 0) return ["\\[", 1];
  const inside = glob.slice(begin, end).replace(/[\\\][^&~]/g, "\\$&");
  return [negated ? `[^/${inside}]` : `[${inside}]`, end - at + 1];
}

export function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
