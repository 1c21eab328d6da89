/** What a script is told of a tool that is not there. It stands in prelude.ts's scope. */
export const nearSource: string = `  function edits(one, other) {
    let row = Array.from({ length: other.length + 1 }, (_, n) => n);
    for (let i = 1; i <= one.length; i++) {
      const next = [i];
      for (let j = 1; j <= other.length; j++)
        next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
      row = next;
    }
    return row[other.length];
  }
  function instead(name, names, there) {
    let meant = "", least = name.length > 64 ? 0 : 1 + name.length / 3;
    for (const one of names) {
      const count = one.length > 64 ? 64 : edits(name.toLowerCase(), one.toLowerCase());
      if (count < least) [meant, least] = [one, count];
    }
    const listed = there.slice(0, 40).join(", ") + (there.length > 40 ? ", … (" + there.length + " in all)" : "");
    return (meant === "" ? "" : "Did you mean " + meant + "? ") + "There are: " + (listed || "none") + ".";
  }
`;
