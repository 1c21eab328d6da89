/** A name as a Python script writes it: `create-issue` is `create_issue`, `class` is `class_`, `1st` is `_1st`. */
export function pythonName(name: string): string {
  const plain = isIdentifier(name) ? name : name.replace(/[^0-9A-Za-z_]/g, "_").replace(/^(?=\d|$)/, "_");
  return keywords.has(plain) ? `${plain}_` : plain;
}

/** Python reads identifiers in their compatibility form. */
function isIdentifier(name: string): boolean {
  return /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(name) && name.normalize("NFKC") === name;
}

/** By member: the name of its keyword argument. A member whose name is another one's has none. */
export function argumentNames(members: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(members.filter((name) => pythonName(name) === name));
  const names = new Map<string, string>();
  for (const member of members) {
    const name = pythonName(member);
    if (name !== member && taken.has(name)) continue;
    taken.add(name);
    names.set(member, name);
  }
  return names;
}

const keywords: ReadonlySet<string> = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);
