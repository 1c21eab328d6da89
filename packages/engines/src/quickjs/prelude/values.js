// Values that leave a script: as arguments of tools and as text for a reader.
/** Arguments of a tool. A value that JSON would drop or empty is refused. */
function forArgument(name, value) {
  const kind = typeof value;
  if (kind === "bigint") throw new Wrong("A BigInt is no JSON; pass Number(n) or String(n).");
  if (kind === "number" && !isExact(value))
    throw unfit(
      name,
      isFiniteNumber(value)
        ? "the number " + Text(value) + " is beyond 2^53, so it may have been rounded: pass it as text"
        : Text(value) + " is no JSON number",
    );
  if (kind === "function" || kind === "symbol") throw unfit(name, "a " + kind + " is no JSON");
  if (kind !== "object" || value === null) return value;
  if (weakHas(handles, value)) return value.ref === undefined ? value.text : { $artifact: value.ref };
  if (value instanceof Later) throw unfit(name, "this is a promise: await it first");
  const plain = collected(value);
  if (!isArray(plain) && typeof plain === "object" && isBare(plain)) throw unfit(name, "such an object is no JSON");
  return plain;
}
/** Integers beyond 2^53 are rounded. From 1e21 on a number is written with an exponent and meant as a fraction. */
function isExact(value) {
  return (
    isFiniteNumber(value) &&
    ((value <= 9007199254740991 && value >= -9007199254740991) || value >= 1e21 || value <= -1e21)
  );
}
/** Whether an object holds no data for JSON: a generator, an error, a pattern, a weak map. */
function isBare(value) {
  const kind = prototypeOf(value);
  return kind !== ordinary && kind !== null && (isView(value) || keysOf(value).length === 0);
}
function unfit(name, why) {
  return new Wrong("A tool cannot be handed " + (name === "" ? "this" : '"' + name + '"') + ": " + why + ".");
}
function forReading(_, value) {
  if (typeof value === "bigint" || (typeof value === "number" && !isFiniteNumber(value))) return Text(value);
  if (typeof value === "function") return "[function" + (value.name ? " " + value.name : "") + "]";
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Failure) return describe(value);
  if (value instanceof Later) return "[promise: await it]";
  return collected(value);
}
function collected(value) {
  if (value instanceof Pairs) return keysFit(value) ? Object.fromEntries(value) : [...value];
  if (value instanceof Several) return [...value];
  return value instanceof Bytes ? btoa(binary(value)) : value;
}
function keysFit(pairs) {
  for (const key of pairs.keys()) if (typeof key !== "string") return false;
  return true;
}
function describe(error) {
  return (error.name ?? "Error") + ": " + error.message;
}
