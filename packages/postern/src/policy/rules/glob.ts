/**
 * Matches a name. Each `*` stands for any characters, also none; other characters match themselves, case by case. It takes
 * linear time and uses no regular expression, so no pattern can stall a decision.
 */
export function globMatcher(pattern: string): (name: string) => boolean {
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return (name) => name === pattern;
  return (name) => {
    if (name.length < head.length + tail.length) return false;
    if (!name.startsWith(head) || !name.endsWith(tail)) return false;
    const end = name.length - tail.length;
    let at = head.length;
    for (const piece of rest) {
      const found = name.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}

export function isGlob(pattern: string): boolean {
  return pattern.includes("*");
}

/** Without a pattern every name fits, also a missing one. With a pattern the name must exist. */
export function nameMatcher(pattern: string | undefined): (name: string | undefined) => boolean {
  if (pattern === undefined) return () => true;
  const fits = globMatcher(pattern);
  return (name) => name !== undefined && fits(name);
}
